"""Whether operations and schemas can be used: placeholders, patterns, references, JSON Schema's own keywords."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import did_you_mean
from ..load import Definition, Definitions
from ..locate import Path

Problems = Iterator[tuple[Path, str]]

TYPES = ("null", "boolean", "object", "array", "number", "integer", "string")
_ONE = ("items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames")
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties")
_SAME_VALUE = ("allOf", "anyOf", "oneOf")
_BRACES = re.compile(r"[^{}]*(\{[^{}/]+\}[^{}]*)*")


def operation_problems(_: Definitions, definition: Definition) -> Problems:
    table = definition.table
    path = table["http"].partition(" ")[2]
    if not _BRACES.fullmatch(path):
        yield ("http",), "a parameter of the path stands in a pair of braces: {name}"
    for index, param in enumerate(table.get("params", ())):
        at = ("params", index)
        if param.get("in") == "path" and f"{{{param['name']}}}" not in path:
            yield at, f"the path has no {{{param['name']}}}"
        if not param.get("enum", True):
            yield (*at, "enum"), "expected at least one value"
        yield from _pattern(param.get("pattern", ""), (*at, "pattern"))


def schema_problems(definitions: Definitions, definition: Definition) -> Problems:
    known = {id for kind, id in definitions if kind == "schema"}
    yield from _schema(definition.table, (), known)
    if _circular(definitions, definition.id):
        yield (), "refers back to itself without an object or a list between"


def _schema(schema: Any, path: Path, known: set[str]) -> Problems:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield path, f"expected a schema (a table), not {schema!r}"
        return
    reference = schema.get("ref")
    if "ref" in schema and reference not in known:
        yield (*path, "ref"), f"no schema {reference!r}{did_you_mean(str(reference), known)}"
    yield from _type(schema.get("type", []), (*path, "type"))
    yield from _pattern(schema.get("pattern", ""), (*path, "pattern"))
    if "enum" in schema and not (isinstance(schema["enum"], list) and schema["enum"]):
        yield (*path, "enum"), "expected a list of at least one value"
    for key, inner in _inside(schema):
        if inner is None:
            yield (*path, *key), "expected a table or list of schemas"
        else:
            yield from _schema(inner, (*path, *key), known)


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


def _type(kinds: Any, path: Path) -> Problems:
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        if kind not in TYPES:
            yield path, f"unknown type {kind!r}{did_you_mean(str(kind), TYPES)}"


def _pattern(pattern: Any, path: Path) -> Problems:
    try:
        re.compile(pattern)
    except (re.error, TypeError) as error:
        yield path, f"not a regular expression: {error}"


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
            for part in schema.get(key, ()):
                yield from _same_value(part)
