"""Answers as flat records: the columns of a view by name, whole and exact, with rich text as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.template import TemplateError, evaluate
from ..output.columns import (
    Column,
    Format,
    FormatContext,
    column_format,
    count,
    document,
    document_line,
    first_line,
    from_definition,
    joined,
    plain,
    storage,
    storage_line,
    yes,
)

if TYPE_CHECKING:
    from ..language.shape.commands import Detail, ViewDefinition

# What a column shows of a longer text, and how all of it is read.
_WHOLE: dict[Format, Format] = {document_line: document, storage_line: storage, first_line: plain}
_KINDS: dict[Format, str] = {joined: "texts", yes: "truth", count: "number"}

_TRUTHS: dict[Any, bool] = {True: True, False: False, "true": True, "false": False}


class RecordField(NamedTuple):
    """One value of a record. `read` gives None where there is nothing to tell."""

    name: str
    read: Callable[[Any, FormatContext], Any]


def name_of_field(title: str) -> str:
    """The name of a column as a key: `ISSUE TYPE` → `issue_type`."""
    return re.sub(r"\W+", "_", title.strip()).strip("_").lower() or "value"


def field_of(column: Column) -> RecordField:
    kind = _KINDS.get(column.format, "text")
    as_text = _WHOLE.get(column.format, column.exact)

    def read(item: Any, context: FormatContext) -> Any:
        value = column.value(item)
        if value is None:
            return None
        if kind == "texts":
            parts = value if isinstance(value, list) else list(value) if isinstance(value, dict) else [value]
            return [plain(part, context) for part in parts if part is not None] or None
        if kind == "truth":
            return _TRUTHS.get(value) if isinstance(value, bool | str) else None
        if kind == "number":
            return len(value) if isinstance(value, list | dict) else None
        return as_text(value, context) or None

    return RecordField(name_of_field(column.name), read)


def flat_record(item: Any, fields: list[RecordField], context: FormatContext) -> dict[str, Any]:
    """The fields of an item that say something."""
    values = ((field.name, field.read(item, context)) for field in fields)
    return {name: value for name, value in values if value is not None}


def detailed_fields(thing: Any, view: ViewDefinition, context: FormatContext) -> dict[str, Any]:
    """The parts of one thing in full, by name: a text, or a list of records."""
    found = ((name_of_field(part["title"]), _detail(part, thing, context)) for part in view.get("detail", ()))
    return {name: value for name, value in found if value}


def _is_text(part: Detail) -> bool:
    return "items" not in part and "line" not in part


def _detail(part: Detail, thing: Any, context: FormatContext) -> Any:
    items = _value(part.get("items", "[@]"), thing)
    listed = items if isinstance(items, list) else [] if items is None else [items]
    fields = [field_of(from_definition(column)) for column in part.get("line", ())]
    format = column_format(part.get("format"))
    found = []
    for item in listed:
        values = flat_record(item, fields, context)
        text = _value(part["text"], item) if "text" in part else None
        if text is not None and (said := format(text, context).strip()):
            values["text"] = said
        found.append(values)
    if _is_text(part):
        return "\n\n".join(values["text"] for values in found if "text" in values)
    return [values for values in found if values]


def _value(expression: str, thing: Any) -> Any:
    try:
        return evaluate(expression, thing)
    except TemplateError:
        return None
