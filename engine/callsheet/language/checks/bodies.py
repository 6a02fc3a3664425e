"""Whether what a command sends as a body can be what the operation documents, as far as it is written out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from operator import gt, lt
from typing import Any

from ...errors import did_you_mean
from ..definition import Definitions
from ..locate import Path
from ..template import TemplateError, expressions_in_text
from .shapes import PYTHON_TYPES

Params = Mapping[str, Any]  # by the names that expressions have for them

_NO_PARAMS: Params = {}
# Their values are not as they are typed.
_CHANGED = ("lookup", "convert", "assign", "removes", "excludes")
_SAMPLES: dict[str, Any] = {"integer": 1, "number": 0.5, "text": "a", "path": "a"}


def body_faults(
    definitions: Definitions, schema: Any, body: Any, path: Path = (), *, params: Params = _NO_PARAMS
) -> Iterator[tuple[Path, str]]:
    """What is wrong wherever no placeholder stands; where a schema gives several forms, nothing is judged.

    Of placeholders only those are judged that take one parameter as it was typed.
    """
    schema = resolved_schema(definitions, schema)
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not schema or _is_filled(body):
        param = params.get(body[1:-1].strip()) if isinstance(body, str) else None
        if param is not None and schema:
            yield from islice(_param_faults(definitions, schema, param, path), 1)
        return
    if kinds and not any(_fits(kind, body) for kind in kinds):
        yield path, f"expected {' or '.join(kinds)}, not {body!r}"
    elif isinstance(schema.get("enum"), list) and body not in schema["enum"]:
        near = did_you_mean(body, map(str, schema["enum"])) if isinstance(body, str) else ""
        yield path, f"{body!r} is not an allowed value{near}"
    elif isinstance(body, dict):
        yield from _table(definitions, schema, body, path, params)
    elif isinstance(body, list) and "items" in schema:
        for place, item in enumerate(body):
            yield from body_faults(definitions, schema["items"], item, (*path, place), params=params)
    elif isinstance(body, int | float):
        for bound, is_beyond in (("minimum", lt), ("maximum", gt)):
            if isinstance(schema.get(bound), int | float) and is_beyond(body, schema[bound]):
                yield path, f"{body} is {'below' if bound == 'minimum' else 'above'} the {bound}, {schema[bound]}"


def _param_faults(
    definitions: Definitions, schema: Mapping[str, Any], param: Any, path: Path
) -> Iterator[tuple[Path, str]]:
    """What is wrong with any value that a parameter can have."""
    if any(key in param for key in _CHANGED):
        return
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if param.get("multiple") or param.get("split"):
        if kinds and "array" not in kinds:
            yield path, f"expected {' or '.join(kinds)}, and {param['name']!r} is a list of values"
        return
    values = param.get("choices", [True] if param.get("kind") == "flag" else [])
    for value in [*values, *([param["default"]] if "default" in param else [])]:
        yield from body_faults(definitions, schema, value, path)
    sample = _SAMPLES.get(param.get("type", "text")) if param.get("kind") != "flag" else None
    if sample is not None and kinds and not any(_fits(kind, sample) for kind in kinds):
        yield path, f"expected {' or '.join(kinds)}, and {param['name']!r} is a {param.get('type', 'text')}"


def _table(
    definitions: Definitions, schema: Mapping[str, Any], body: dict[str, Any], path: Path, params: Params
) -> Iterator[tuple[Path, str]]:
    known = schema.get("properties", {})
    for key, value in body.items():
        if key in known:
            yield from body_faults(definitions, known[key], value, (*path, key), params=params)
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
        return isinstance(value, str) and bool(expressions_in_text(value))
    except TemplateError:
        return True
