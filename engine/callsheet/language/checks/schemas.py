"""Whether the schemas of bodies can be used: JSON Schema's own keywords and what they hold, patterns, references."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from ...errors import did_you_mean
from ..definition import Definition, Definitions
from ..locate import Path
from .links import pattern_fault
from .problem import Finding, Findings

TYPES = ("null", "boolean", "object", "array", "number", "integer", "string")
_ONE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"),
    *("unevaluatedItems", "unevaluatedProperties"),
)
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas")
_SAME_VALUE = ("allOf", "anyOf", "oneOf")

_LARGEST = sys.float_info.max  # neither infinite, nor a whole number beyond all others

Is = Callable[[Any], bool]


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _LARGEST


def _count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _lists_of_names(value: Any) -> bool:
    return isinstance(value, Mapping) and all(_names(item) for item in value.values())


def _anything(_: Any) -> bool:
    return True


_HOLDS: dict[str, tuple[Is, str]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), (_number, "a number")),
    "multipleOf": (lambda value: _number(value) and value > 0, "a number above 0"),
    **dict.fromkeys(
        (
            *("minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"),
            *("minProperties", "maxProperties"),
        ),
        (_count, "a whole number of at least 0"),
    ),
    **dict.fromkeys(("uniqueItems", "readOnly", "writeOnly", "deprecated", "nullable"), (_flag, "true or false")),
    **dict.fromkeys(("format", "title", "description", "pattern", "ref"), (_text, "a text")),
    "required": (_names, "a list of names"),
    "dependentRequired": (_lists_of_names, "lists of names"),
    "enum": (lambda value: isinstance(value, list) and bool(value), "a list of at least one value"),
    **dict.fromkeys(("type", "const", "default", "example", "examples"), (_anything, "")),
}
_KEYWORDS = (*_HOLDS, *_ONE, *_LISTED, *_NAMED)


def can_hold(key: str, value: Any) -> bool:
    """Whether a keyword of JSON Schema can have this value."""
    if key == "type":
        return all(kind in TYPES for kind in (value if isinstance(value, list) else [value]))
    return key not in _HOLDS or _HOLDS[key][0](value)


def schema_problems(
    definitions: Definitions, definition: Definition, known: set[str], endless: Collection[str]
) -> Findings:
    yield from _schema(definition.table, (), known)
    if definition.id in endless and _circular(definitions, definition.id):
        yield Finding((), "refers back to itself without an object or a list between")


def _schema(schema: Any, path: Path, known: set[str]) -> Findings:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield Finding(path, f"expected a schema (a table), not {schema!r}")
        return
    yield from _keywords(schema, path)
    yield from _impossible(schema, path)
    reference = schema.get("ref")
    if isinstance(reference, str) and reference not in known:
        text = f"no schema {reference!r}{did_you_mean(reference, known)}"
        yield Finding((*path, "ref"), text, (("schema", reference),))
    yield from _type(schema.get("type", []), (*path, "type"))
    patterns: dict[Path, Any] = {("patternProperties", name): name for name in _table(schema, "patternProperties")}
    if isinstance(schema.get("pattern"), str):
        patterns["pattern",] = schema["pattern"]
    for key, pattern in patterns.items():
        if fault := pattern_fault(pattern):
            yield Finding((*path, *key), fault)
    for key, inner in _inside(schema):
        if inner is None:
            yield Finding((*path, *key), "expected a table or list of schemas")
        else:
            yield from _schema(inner, (*path, *key), known)


def _keywords(schema: Mapping[str, Any], path: Path) -> Findings:
    for key, value in schema.items():
        if key not in _KEYWORDS:
            yield Finding((*path, key), f"not a keyword of JSON Schema{did_you_mean(key, _KEYWORDS)}")
        elif key in _HOLDS and not _HOLDS[key][0](value):
            yield Finding((*path, key), f"expected {_HOLDS[key][1]}, not {value!r}")


_BOUNDS = (
    *(("minimum", "maximum"), ("minLength", "maxLength"), ("minItems", "maxItems")),
    ("minProperties", "maxProperties"),
)


def _impossible(schema: Mapping[str, Any], path: Path) -> Findings:
    """What no value can be."""
    for least, most in _BOUNDS:
        if _number(schema.get(least)) and _number(schema.get(most)) and schema[least] > schema[most]:
            yield Finding((*path, least), f"is above {most}, {schema[most]}")
    known, required = schema.get("properties", {}), schema.get("required", ())
    if schema.get("additionalProperties") is False and "patternProperties" not in schema and _names(required):
        for name in required:
            if name not in known:
                yield Finding((*path, "required"), f"only `properties` may be there, which have no {name!r}")


def _table(schema: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = schema.get(key)
    return found if isinstance(found, Mapping) else {}


def _inside(schema: Mapping[str, Any]) -> Iterator[tuple[Path, Any]]:
    """Every schema in a schema; None where something else stands in the place of several."""
    for key in _ONE:
        if key in schema:
            yield (key,), schema[key]
    for key in _NAMED:
        named = schema.get(key, {})
        yield from (
            (((key, name), each) for name, each in named.items()) if isinstance(named, Mapping) else [((key,), None)]
        )
    for key in _LISTED:
        listed = schema.get(key, [])
        yield from (
            (((key, place), each) for place, each in enumerate(listed))
            if isinstance(listed, list)
            else [((key,), None)]
        )


def _type(kinds: Any, path: Path) -> Findings:
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in TYPES:
            yield Finding(path, f"unknown type {kind!r}{did_you_mean(str(kind), TYPES)}")


def endless_schemas(definitions: Definitions) -> set[str]:
    """The schemas from which what describes the same value goes round for ever: most definitions have none.

    Those that lead nowhere are taken away, then those that lead to these alone, until none is left that can be.
    """
    tables = {id: found.table for (kind, id), found in definitions.items() if kind == "schema"}
    leads = {id: tables.keys() & set(_same_value(table)) for id, table in tables.items()}
    comes: dict[str, list[str]] = {}
    for id, others in leads.items():
        for other in others:
            comes.setdefault(other, []).append(id)
    waiting = [id for id, others in leads.items() if not others]
    while waiting:
        ended = waiting.pop()
        del leads[ended]
        for id in comes.get(ended, ()):
            leads[id].discard(ended)
            if not leads[id]:
                waiting.append(id)
    return set(leads)


def _circular(definitions: Definitions, start: str) -> bool:
    """Whether following what describes the same value leads back to where it began."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        found = definitions.get(("schema", waiting.pop()))
        for id in _same_value(found.table) if found else ():
            if id == start:
                return True
            if id not in seen:
                seen.add(id)
                waiting.append(id)
    return False


def _same_value(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(schema.get("ref"), str):
            yield schema["ref"]
        for key in _SAME_VALUE:
            parts = schema.get(key, ())
            for part in parts if isinstance(parts, list) else ():
                yield from _same_value(part)
