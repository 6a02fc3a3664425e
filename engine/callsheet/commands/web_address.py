"""Where a thing of a site is shown in the browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..language.merge import on_deployment
from ..language.template import fill_text

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..sites.site import Site


def web_address(catalog: Catalog, site: Site, id: str, word: str) -> str:
    """What the `address` definition of that id says of a thing; `word` is its key or id."""
    here = on_deployment(catalog.get("address", id), site.deployment)
    return site.address(here["service"]) + str(fill_text(here["url"], {"word": word}))
