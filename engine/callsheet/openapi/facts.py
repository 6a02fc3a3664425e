"""What the schema of a single value says: type, format, allowed values, bounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from ..language.checks.bodies import can_hold
from ..language.checks.links import pattern_fault
from ..language.checks.operations import argument_misfit
from .document import Document

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import OperationParam

_DEEPEST = 8
# What is known already, by table of the document and depth: parts may share parts, each level many of them.
_Known = dict[tuple[int, int], "JsonObject"]
_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "array": list,
    "object": dict,
}


def facts_of(document: Document, schema: Any) -> JsonObject:
    """The keys of a parameter that its schema decides; a plain string says nothing."""
    known: _Known = {}
    merged = _merged(document, schema, 0, known)
    kind = _type(merged)
    facts: JsonObject = {} if kind == "string" else {"type": kind}
    values = merged
    if kind == "array":
        values = _merged(document, merged.get("items"), 0, known)
        item = _type(values)
        # No style says how objects or lists inside a list are written in a URL: their items are taken as text.
        facts |= {"items": item} if item in ("integer", "number", "boolean") else {}
    if isinstance(values.get("format"), str):
        facts["format"] = values["format"]
    if enum := [
        value
        for value in values.get("enum", ())
        if value is not None and argument_misfit(cast("OperationParam", {**facts, "pattern": ""}), value) is None
    ]:
        facts["enum"] = enum
    if isinstance(values.get("pattern"), str) and pattern_fault(values["pattern"]) is None:
        facts["pattern"] = values["pattern"]
    if kind in ("integer", "number"):
        facts |= {key: merged[key] for key in ("minimum", "maximum") if _is_number(merged.get(key))}
    if "default" in merged and (default := _default(merged["default"], kind)) is not None:
        facts["default"] = default
    return {
        key: value
        for key, value in facts.items()
        if key != "default" or argument_misfit(cast("OperationParam", facts), value) is None
    }


def _merged(document: Document, schema: Any, depth: int, known: _Known) -> JsonObject:
    """One flat table out of references, `allOf`, and alternatives that agree on a type."""
    found = document.table(schema)
    if depth > _DEEPEST:
        return dict(found)
    place = (id(found), depth)
    if place not in known:
        known[place] = _flat(document, dict(found), depth, known)
    return dict(known[place])


def _flat(document: Document, table: JsonObject, depth: int, known: _Known) -> JsonObject:
    for part in table.pop("allOf", None) or ():
        table = {**_merged(document, part, depth + 1, known), **table}
    alternatives = table.pop("oneOf", None) or table.pop("anyOf", None)
    if alternatives:
        table |= _common([_merged(document, part, depth + 1, known) for part in alternatives])
    if "const" in table:
        table["enum"] = [table.pop("const")]
    return table


def _common(alternatives: list[JsonObject]) -> JsonObject:
    """What holds whichever alternative is taken."""
    real = [table for table in alternatives if table.get("type") != "null"]
    kinds = {_type(table) for table in real}
    if len(kinds) != 1:
        return {"type": "string"}
    common: JsonObject = {"type": kinds.pop()}
    if len(real) == 1:
        return real[0]
    if all("enum" in table for table in real):
        common["enum"] = [value for table in real for value in table["enum"]]
    return common


def _type(table: Mapping[str, Any]) -> str:
    named = [kind for kind in _names(table.get("type")) if kind in _TYPES]
    if len(named) == 1:
        return named[0]
    if not named:
        if isinstance(table.get("properties"), dict):
            return "object"
        if "items" in table:
            return "array"
        enum = [value for value in table.get("enum", ()) if value is not None]
        return next((kind for kind in _TYPES if enum and all(fits(value, kind) for value in enum)), "string")
    return "string"


def _names(value: Any) -> Iterator[str]:
    yield from [value] if isinstance(value, str) else value if isinstance(value, list) else ()


def fits(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _TYPES[kind])


def _is_number(value: Any) -> bool:
    return can_hold("minimum", value)


def _default(value: Any, kind: str) -> Any:
    """A default of the documented type, one written as text read as that type; nothing when it does not fit."""
    if isinstance(value, str) and kind == "boolean":
        return {"true": True, "false": False}.get(value.lower())
    if isinstance(value, str) and kind == "integer" and value.lstrip("-").isdigit():
        return int(value)
    if kind == "array" and isinstance(value, str):
        return [piece.strip() for piece in value.split(",") if piece.strip()] or None
    if kind == "array" and not isinstance(value, list):
        return [value] if isinstance(value, int) else None
    if not fits(value, kind) or value in ("", [], {}):
        return None
    return value
