"""Names for the ids in a table: one call for many of them, once the items are there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..errors import CallsheetError
from ..language.template import evaluate, fill, to_text

if TYPE_CHECKING:
    from ..language.shape.steps import NamingDefinition
    from .context import Context


def names_of(context: Context, id: str, values: list[str]) -> dict[str, str]:
    """Id → name, as far as the service tells; a table is shown with ids rather than not at all."""
    naming = context.catalog.get("naming", id)
    ids = [value for value in dict.fromkeys(values) if re.fullmatch(naming["pattern"], value)]
    found: dict[str, str] = {}
    try:
        for start in range(0, len(ids), naming["size"]):
            found |= _asked(context, naming, ids[start : start + naming["size"]])
    except CallsheetError as error:
        context.note(f"ids stand in the place of some names: {error.message}")
    return found


def _asked(context: Context, naming: NamingDefinition, ids: list[str]) -> dict[str, str]:
    from .steps.dispatcher import Dispatcher

    dispatcher = Dispatcher(context)
    request = dispatcher.build(naming["call"], fill(naming.get("args", {}), {"ids": ids}) or {}, _body(naming, ids))
    answer = dispatcher.everything(naming["call"], request)
    items: Any = evaluate(naming["items"], answer) if "items" in naming else answer
    pairs = ((evaluate(naming["id"], item), evaluate(naming["name"], item)) for item in items or [])
    return {to_text(id): to_text(name) for id, name in pairs if id is not None and name}


def _body(naming: NamingDefinition, ids: list[str]) -> Any:
    return fill(naming["body"], {"ids": ids}) if "body" in naming else None
