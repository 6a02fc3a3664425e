"""Alternatives that a document calls exclusive and does not keep apart."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import permutations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..jsontext import JsonObject

_PROSE = frozenset({"description", "default"})  # what says nothing about which values fit
_OF_OBJECTS = frozenset({"type", "required", "properties", "additionalProperties"})
_AS_MANY_HOPS = 8


def not_exclusive(table: Any, schemas: Mapping[str, JsonObject]) -> None:
    """Turn `oneOf` into `anyOf`, here and inside, where the least that one form takes always fits another form too.

    Many documents mean it so. Taken by the letter they would allow no request at all in such a form.
    """
    if isinstance(table, list):
        for item in table:
            not_exclusive(item, schemas)
    elif isinstance(table, dict):
        parts = table.get("oneOf")
        if isinstance(parts, list) and "anyOf" not in table:
            forms = [_resolved(part, schemas) for part in parts]
            if any(_least_fits(one, other) for one, other in permutations(forms, 2)):
                table["anyOf"] = table.pop("oneOf")
        for item in table.values():
            not_exclusive(item, schemas)


def _resolved(part: Any, schemas: Mapping[str, JsonObject]) -> JsonObject:
    for _ in range(_AS_MANY_HOPS):
        if not isinstance(part, dict) or set(part) - _PROSE != {"ref"}:
            break
        part = schemas.get(part["ref"], {})
    return _bare(part) if isinstance(part, dict) else {}


def _bare(schema: JsonObject) -> JsonObject:
    return {key: value for key, value in schema.items() if key not in _PROSE}


def _least_fits(one: JsonObject, other: JsonObject) -> bool:
    """Whether whatever has no more than `one` demands is taken by `other`; false where that is not plain to see."""
    if not one or one == other:
        return bool(one)
    if "properties" not in one or not (set(one) | set(other)) <= _OF_OBJECTS:
        return set(other) == {"type"} and _is_among(one.get("type"), other["type"])
    if one.get("type", "object") != other.get("type", "object"):
        return False
    needed = one.get("required", [])
    return set(other.get("required", ())) <= set(needed) and all(_is_taken(name, one, other) for name in needed)


def _is_taken(name: str, one: JsonObject, other: JsonObject) -> bool:
    said, known = one["properties"].get(name), other.get("properties", {})
    if name not in known:
        return "additionalProperties" not in other
    return isinstance(said, dict) and (_bare(said) == _bare(known[name]) or not _bare(known[name]))


def _is_among(kind: Any, kinds: Any) -> bool:
    wide = {kinds} if isinstance(kinds, str) else set(kinds)
    narrow = {kind} if isinstance(kind, str) else set(kind or ())
    return bool(narrow) and narrow <= wide | ({"integer"} if "number" in wide else set())
