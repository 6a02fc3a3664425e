"""Columns beyond those of a view: fields that the service knows by the names people call them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...errors import NoMatch
from ...language.template import fill_text
from .unknown import Unknown

if TYPE_CHECKING:
    from ...language.shape.commands import ColumnDefinition, ViewDefinition
    from ...language.shape.compiled import CompiledCommand
    from .lookup import Lookups

_PATH = re.compile(r"[.\[\]()|`]")


def with_fields(
    command: CompiledCommand, view: ViewDefinition | None, lookups: Lookups, scope: dict[str, Any]
) -> ViewDefinition | None:
    """The view with a column for every name of `--columns` it lacks; `columns` in the scope are the fields' ids."""
    scope["columns"] = None
    rule = command.get("columns")
    asked = lookups.context.option("columns")
    if not rule or not asked or view is None:
        return view
    known = {column["name"].casefold() for column in view["columns"]}
    names = [name.strip() for name in asked.split(",") if name.strip()]
    ids: list[Any] = []
    added: list[ColumnDefinition] = []
    for name in names:
        if name.casefold() in known or _PATH.search(name):
            continue
        id = _field(lookups, rule["lookup"], name, scope)
        if id is not None:
            ids.append(id)
            if not isinstance(id, Unknown):
                added.append({"name": name, "value": fill_text(rule["value"], {"id": id}), "wide": True})
    scope["columns"] = ids or None
    return {**view, "columns": [*view["columns"], *added]}


def _field(lookups: Lookups, lookup: str, name: str, scope: dict[str, Any]) -> Any:
    """Its id; None for an unknown name, which the output then refuses with all that it could be."""
    try:
        return lookups.resolve(lookup, name, scope)
    except NoMatch:
        return None
