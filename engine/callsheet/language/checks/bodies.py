"""Whether what a command sends as a body can be what the operation documents, as far as it is written out."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from ...errors import did_you_mean
from ..definition import Definitions
from ..locate import Path
from ..template import TemplateError, expressions
from .shapes import PYTHON_TYPES


def body_faults(
    definitions: Definitions, schema: Any, body: Any, path: Path = (), *, lists: Collection[str] = ()
) -> Iterator[tuple[Path, str]]:
    """What is wrong wherever no placeholder stands; where a schema gives several forms, nothing is judged.

    Of placeholders only those are judged that take one of the parameters whose values are `lists`.
    """
    schema = resolved_schema(definitions, schema)
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not schema or _is_filled(body):
        name = body[1:-1].strip() if isinstance(body, str) else ""
        if name in lists and kinds and "array" not in kinds:
            yield path, f"expected {' or '.join(kinds)}, and {name!r} is a list of values"
        return
    if kinds and not any(_fits(kind, body) for kind in kinds):
        yield path, f"expected {' or '.join(kinds)}, not {body!r}"
    elif isinstance(schema.get("enum"), list) and body not in schema["enum"]:
        near = did_you_mean(body, map(str, schema["enum"])) if isinstance(body, str) else ""
        yield path, f"{body!r} is not an allowed value{near}"
    elif isinstance(body, dict):
        yield from _table(definitions, schema, body, path, lists)
    elif isinstance(body, list) and "items" in schema:
        for place, item in enumerate(body):
            yield from body_faults(definitions, schema["items"], item, (*path, place), lists=lists)


def _table(
    definitions: Definitions, schema: Mapping[str, Any], body: dict[str, Any], path: Path, lists: Collection[str]
) -> Iterator[tuple[Path, str]]:
    known = schema.get("properties", {})
    for key, value in body.items():
        if key in known:
            yield from body_faults(definitions, known[key], value, (*path, key), lists=lists)
        elif schema.get("additionalProperties") is False and "patternProperties" not in schema:
            yield (*path, key), f"not documented{did_you_mean(key, known)}"


def resolved_schema(definitions: Definitions, schema: Any) -> Mapping[str, Any]:
    """The schema that a reference stands for; nothing where it has alternatives."""
    seen: set[str] = set()
    while isinstance(schema, Mapping) and isinstance(schema.get("ref"), str) and schema["ref"] not in seen:
        seen.add(schema["ref"])
        found = definitions.get(("schema", schema["ref"]))
        schema = found.table if found else {}
    if not isinstance(schema, Mapping) or {"anyOf", "oneOf", "allOf", "if", "not"} & schema.keys():
        return {}
    return schema


def _fits(kind: str, value: Any) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    if kind == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, PYTHON_TYPES.get(kind, object))


def _is_filled(value: Any) -> bool:
    """Whether a text has placeholders; one that is broken is told elsewhere."""
    try:
        return isinstance(value, str) and bool(expressions(value))
    except TemplateError:
        return True
