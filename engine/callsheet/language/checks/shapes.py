"""A definition's table, walked together with the JSON Schema of its kind: what is known of every place in it."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from ..locate import Path
from ..shape import KINDS, PARTS

PYTHON_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}


Schema = dict[str, Any]


class ShapePlace(NamedTuple):
    """A value in a table, where it is, and what its shape says of it."""

    path: Path
    value: Any
    schema: Schema


@cache
def adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter({**KINDS, **PARTS}[kind])


@cache
def kind_schema(kind: str) -> Schema:
    """The JSON Schema of one kind."""
    return adapter(kind).json_schema()


def shape_places(kind: str, table: Any) -> list[ShapePlace]:
    """Every value of a definition, tables and lists before what they hold."""
    schema = kind_schema(kind)
    found: list[ShapePlace] = []
    _collect(schema, schema, table, (), found)
    return found


def allowed_keys(kind: str, table: Any, path: Path) -> list[str]:
    """The keys that a table may have at a place."""
    return list(_at(kind, table, path).get("properties", ()))


def _at(kind: str, table: Any, path: Path) -> Schema:
    root = kind_schema(kind)
    node = root
    for key in path:
        node = _child(_resolve(root, node, table), key)
        table = _part(table, key)
    return _resolve(root, node, table)


def _part(table: Any, key: str | int) -> Any:
    try:
        return table[key]
    except (KeyError, IndexError, TypeError):
        return None


def _collect(root: Schema, node: Schema, value: Any, path: Path, found: list[ShapePlace]) -> None:
    node = _resolve(root, node, value)
    found.append(ShapePlace(path, value, node))
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in parts:
        _collect(root, node if node.get("format") == "value" else _child(node, key), item, (*path, key), found)


def _resolve(root: Schema, node: Schema, value: Any) -> Schema:
    """The schema itself: references followed, and of alternatives the one that is for such a value."""
    if "anyOf" in node:
        fitting = (_resolve(root, each, value) for each in node["anyOf"])
        chosen = next((each for each in fitting if _is_for(each, value)), {})
        return {**chosen, **{key: node[key] for key in ("sees",) if key in node}}
    reference = node.get("$ref")
    if reference is None:
        return node
    own = {key: node[key] for key in node if key != "$ref"}
    return {**root["$defs"][reference.rpartition("/")[2]], **own}


def _is_for(schema: Schema, value: Any) -> bool:
    if "const" in schema:
        return bool(schema["const"] == value and type(schema["const"]) is type(value))
    wanted = PYTHON_TYPES.get(str(schema.get("type")))
    return wanted is None or (isinstance(value, wanted) and (wanted is bool or not isinstance(value, bool)))


def _by_pattern(node: Schema) -> Any:
    """What the values of a table are, whose keys have to fit a pattern."""
    return next(iter(node.get("patternProperties", {}).values()), None)


def _child(node: Schema, key: str | int) -> Schema:
    found = (
        node.get("items")
        if isinstance(key, int)
        else node.get("properties", {}).get(key) or node.get("additionalProperties") or _by_pattern(node)
    )
    if not isinstance(found, dict):
        return {}
    return {**found, "sees": node["sees"]} if "sees" in node and "sees" not in found else found
