"""Columns beyond those of a view: fields that the service knows by the names people call them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...errors import NoMatch
from ...language.template import Scope, fill_text, to_text
from ...output.columns import identifying
from .overlay import Unknown

if TYPE_CHECKING:
    from ...language.shape.commands import ColumnDefinition, CompiledCommand, FieldColumns, ViewDefinition
    from .lookup import Lookups

_FIELD = re.compile(r"\w")
_PATH = re.compile(r"[.\[\]()|`]")


def with_fields(
    command: CompiledCommand, view: ViewDefinition | None, lookups: Lookups, scope: Scope
) -> ViewDefinition | None:
    """The view with a column for every name of `--columns` it lacks; `columns` in the scope are the fields' ids.

    `needed` are the fields that the view's own columns need.
    """
    scope["columns"] = None
    scope["needed"] = needed(view) if view else None
    rule = command.get("columns")
    asked = lookups.context.option("columns")
    if not rule or view is None:
        return view
    if not asked:
        return _of_parameter(rule, view, scope)
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


def needed(view: ViewDefinition) -> list[str] | None:
    """What the columns of a view need, each once; None where they need nothing."""
    return list(dict.fromkeys(name for column in view["columns"] for name in column.get("needs", ()))) or None


def _of_parameter(rule: FieldColumns, view: ViewDefinition, scope: Scope) -> ViewDefinition:
    """The view with what identifies a thing, and the fields that were asked for in its order."""
    name = rule.get("asked", "").replace("-", "_")
    ids = scope.get(name) or []
    if not ids or any(isinstance(id, Unknown) or not _FIELD.match(to_text(id)) for id in ids):  # `*all`, `-comment`
        return view
    shown = identifying(view)
    for word, id in zip(scope["given"][name], ids, strict=True):
        value = fill_text(rule["value"], {"id": id})
        own = [column for column in view["columns"] if _is_of(column["value"], value)]
        shown += own or [{"name": word, "value": value}]
    return {**view, "columns": [{**column, "wide": False} for column in shown]}


def _is_of(expression: str, field: str) -> bool:
    """Whether a column shows a field, or a part of it."""
    plain, wanted = expression.replace('"', ""), field.replace('"', "")
    return plain == wanted or plain.startswith(f"{wanted}.")


def _field(lookups: Lookups, lookup: str, name: str, scope: Scope) -> Any:
    """Its id; None for an unknown word, which may be a key of the items. Several words can only be a field's name."""
    try:
        return lookups.resolve(lookup, name, scope)
    except NoMatch:
        if " " in name:
            raise
        return None
