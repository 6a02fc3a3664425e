"""`open`: a thing of the site in the browser."""

from __future__ import annotations

import re
from typing import Any

from ...commands.context import Context
from ...commands.steps.addresses import addresses, below_site, is_url
from ...errors import UsageError
from ...language.deployment import on_deployment
from ...language.template import fill_text


def open_in_browser(context: Context, values: dict[str, Any]) -> None:
    """`address` definitions say which words stand for what, and where that is; the first that fits is taken."""
    url = address_of(context, values.get("thing"))
    if values.get("print") or context.option("dry-run"):
        context.streams.out.write(url + "\n")
        return
    import webbrowser

    if not webbrowser.open(url):
        context.note("no browser could be started")
        context.streams.out.write(url + "\n")


def address_of(context: Context, word: str | None) -> str:
    """Raises `UsageError` for a word that no definition knows, and for another site's address."""
    if word is None:
        return next(iter(addresses(context).values()))
    if is_url(word):
        if below_site(context, word) is None:
            raise UsageError(f"{word} is not an address of site {context.site().name!r}")
        return word
    deployment = context.site().deployment
    for definition in context.catalog.all("address").values():
        here = on_deployment(definition, deployment)
        if re.fullmatch(here["pattern"], word):
            return context.site().address(here["service"]) + str(fill_text(here["url"], {"word": word}))
    known = ", ".join(definition["title"] for definition in context.catalog.all("address").values())
    raise UsageError(f"{word!r} cannot be opened", hint=f"expected one of: {known}, or an address")
