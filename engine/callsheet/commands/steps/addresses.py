"""Addresses of a site as people copy them from a browser, where an id is expected."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

from ...errors import CallsheetError, UsageError
from ...language.template import evaluate, to_text
from ...urls import url_origin

if TYPE_CHECKING:
    from ...language.shape.steps import LookupDefinition
    from ..context import Context


def is_url(word: str) -> bool:
    return word.lower().startswith(("https://", "http://"))


class InAddress(NamedTuple):
    """What an address names: the id, or else a word that is still to be looked up."""

    word: str
    is_id: bool


def found_in_url(context: Context, url: str, lookup: LookupDefinition) -> InAddress:
    """What one of the lookup's `urls` or `links` finds in an address of the site; raises `UsageError`."""
    rest = below_site(context, url)
    if rest is None:
        raise UsageError(f"{url} is not an address of site {context.site().name!r}", hint="choose the site with --site")
    for pattern in lookup.get("urls", ()):
        if match := re.search(pattern, rest):
            return InAddress(unquote(match[1]), is_id=True)
    for link in lookup.get("links", ()):
        match = re.search(link["url"], rest)
        word = evaluate(link["word"], {"word": unquote(match[1])}) if match else None
        if word is not None:
            return InAddress(to_text(word), is_id=False)
    raise UsageError(f"{url} shows no {lookup['title']}", hint=lookup.get("hint"))


def below_site(context: Context, url: str) -> str | None:
    """Path, query and fragment below the address of one of the site's services; None for another host."""
    for root in sorted(addresses(context).values(), key=len, reverse=True):
        own = urlsplit(root).path.rstrip("/")
        parts = urlsplit(url)
        if url_origin(url) == url_origin(root) and (parts.path == own or parts.path.startswith(own + "/")):
            return url[url.index(parts.netloc) + len(parts.netloc) + len(own) :]
    return None


def addresses(context: Context) -> dict[str, str]:
    """Service → its address in a browser, for the services the site has."""
    found: dict[str, str] = {}
    for service in context.catalog.ids("service"):
        try:
            found[service] = context.site().address(service)
        except CallsheetError:
            continue
    return found
