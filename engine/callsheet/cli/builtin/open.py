"""`open`: a thing of the site in the browser."""

from __future__ import annotations

import re

from ...commands.context import Context, ParameterValues
from ...commands.resources import Things
from ...commands.steps.dispatcher import StepDispatcher
from ...commands.steps.lookup import Lookups, below_site, is_url, service_addresses
from ...errors import CallsheetError, NoMatch, NotFound, UsageError
from ...language.merge import on_deployment


def open_in_browser(context: Context, values: ParameterValues) -> None:
    """`address` definitions say which words stand for what, and where that is; the first that is there is taken."""
    url = address_of(context, values.get("thing"))
    if values.get("print") or context.option("dry-run"):
        context.streams.out.write(url + "\n")
        return
    context.show_in_browser(url)


def address_of(context: Context, word: str | None) -> str:
    """Raises `UsageError` for a word that no definition knows or another site's address, `NotFound` for nothing."""
    if word is None:
        return next(iter(service_addresses(context).values()))
    if is_url(word):
        if below_site(context, word) is None:
            raise UsageError(f"{word} is not an address of site {context.site().name!r}")
        return word
    openable = {
        id: each["pattern"]
        for id, definition in context.catalog.addresses.all().items()
        if "pattern" in (each := on_deployment(definition, context.site().deployment))
    }
    if not openable:
        hint = f"pass an address, or let a resource of {context.program} say `address`"
        raise UsageError(f"{word!r} cannot be opened: no definition says where the site shows things", hint=hint)
    wire = StepDispatcher(context)
    fitting = [id for id, pattern in openable.items() if re.fullmatch(pattern, word)]
    for id in fitting:
        if wire.dry or _is_there(wire, id, word):
            return context.web_address(id, word)
    for id in openable:
        # What is no id of such a thing may be the name of one all the same.
        if (found := _id_by_name(wire, id, f"name:{word}" if id in fitting else word)) is not None:
            return context.web_address(id, found)
    titles = [context.catalog.addresses.get(id)["title"] for id in openable]
    hint = f"expected one of: {', '.join(titles)}, a title, or an address"
    if wire.dry:
        raise UsageError(f"{word!r} cannot be opened", hint=hint)
    raise NotFound(f"there is nothing called {word!r} on site {context.site().name!r}", hint=hint)


def _is_there(wire: StepDispatcher, id: str, word: str) -> bool:
    """What cannot be found out is said, and the browser will tell."""
    if "read" not in wire.context.catalog.resources.all().get(id, {}):
        return True
    try:
        Things(wire, id).read_thing(word)
    except NotFound:
        return False
    except CallsheetError as error:
        wire.context.note(f"it was not checked whether {word} is there: {error.message}")
    return True


def _id_by_name(wire: StepDispatcher, id: str, word: str) -> str | None:
    """The id of the thing with this name, where things of this kind are found by their names."""
    lookups = Lookups(wire.context, wire, exact=True)
    if wire.dry or id not in wire.context.catalog.lookups.ids() or "call" not in lookups.lookup_definition(id):
        return None
    try:
        return str(lookups.resolve_word(id, word, {}))
    except NoMatch:
        return None
