"""`open`: a thing of the site in the browser."""

from __future__ import annotations

import re

from ...commands.browser import show_in_browser
from ...commands.context import Context, ParameterValues
from ...commands.steps.addresses import addresses, below_site, is_url
from ...commands.web_address import web_address
from ...errors import UsageError
from ...language.deployment import on_deployment


def open_in_browser(context: Context, values: ParameterValues) -> None:
    """`address` definitions say which words stand for what, and where that is; the first that fits is taken."""
    url = address_of(context, values.get("thing"))
    if values.get("print") or context.option("dry-run"):
        context.streams.out.write(url + "\n")
        return
    show_in_browser(context, url)


def address_of(context: Context, word: str | None) -> str:
    """Raises `UsageError` for a word that no definition knows, and for another site's address."""
    if word is None:
        return next(iter(addresses(context).values()))
    if is_url(word):
        if below_site(context, word) is None:
            raise UsageError(f"{word} is not an address of site {context.site().name!r}")
        return word
    for id, definition in context.catalog.all("address").items():
        pattern = on_deployment(definition, context.site().deployment).get("pattern")
        if pattern is not None and re.fullmatch(pattern, word):
            return web_address(context.catalog, context.site(), id, word)
    known = ", ".join(each["title"] for each in context.catalog.all("address").values() if "pattern" in each)
    raise UsageError(f"{word!r} cannot be opened", hint=f"expected one of: {known}, or an address")
