"""The arguments of a call, checked against what the tool takes, as the values of its command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError, did_you_mean
from ..jsontext import parse_whole_number
from ..language.parameters import is_json, to_identifier
from .schemas import DRY_RUN, FIELDS, Schema

if TYPE_CHECKING:
    from ..commands.context import ParameterValues
    from .tools import Tool

_TRUTHS = {"true": True, "false": False}
_WRONG = object()


class ToolArguments(NamedTuple):
    """`values` by the names of the command's definition."""

    values: ParameterValues
    fields: list[str]
    dry_run: bool


def checked(tool: Tool, given: dict[str, Any]) -> ToolArguments:
    """Raises `UsageError` that tells every argument that is missing, unknown or of another type."""
    properties: dict[str, Schema] = tool.input_schema["properties"]
    other = _other_names(tool)
    there = {other.get(name, name): value for name, value in given.items() if value is not None}
    problems = [f"{name}: unknown argument{did_you_mean(name, properties)}" for name in there if name not in properties]
    problems += [f"{name}: required" for name in tool.input_schema.get("required", ()) if name not in there]
    values: dict[str, Any] = {}
    for name in (name for name in there if name in properties):
        param = tool.params.get(name)
        free = param is not None and is_json(param)
        values[name] = there[name] if free else _fitted(properties[name], there[name])
        if values[name] is _WRONG:
            problems.append(f"{name}: expected {_expected(properties[name], there[name])}")
    if problems:
        takes = ", ".join(properties)
        raise UsageError(f"{tool.name}: {'; '.join(problems)}", hint=f"{tool.name} takes: {takes}")
    fields = values.pop(FIELDS, []) if FIELDS not in tool.params else []
    dry_run = bool(values.pop(DRY_RUN, False)) if DRY_RUN not in tool.params else False
    named = {str(tool.params[name]["name"]) if name in tool.params else name: value for name, value in values.items()}
    return ToolArguments(named, fields, dry_run)


def _other_names(tool: Tool) -> dict[str, str]:
    """What else the parameters are called on the command line, where that is not the name of another one."""
    aliases = (
        (to_identifier(alias), name) for name, param in tool.params.items() for alias in param.get("aliases", ())
    )
    return {alias: name for alias, name in aliases if alias not in tool.params}


def _fitted(schema: Schema, value: Any) -> Any:
    """The value as the schema wants it. Models write numbers as texts and lists as JSON in a text: both are taken."""
    match schema["type"]:
        case "string":
            return _text(schema, value)
        case "integer":
            return _integer(value)
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else _WRONG
        case "boolean":
            found = _TRUTHS.get(value.lower(), _WRONG) if isinstance(value, str) else value
            return found if isinstance(found, bool) else _WRONG
        case "array":
            return _array(schema, value)
        case _:
            return _table(value)


def _text(schema: Schema, value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value) if isinstance(value, int | float) else None
    if text is None:
        return _WRONG
    if "enum" not in schema:
        return text
    return next((word for word in schema["enum"] if word.casefold() == text.casefold()), _WRONG)


def _integer(value: Any) -> Any:
    if isinstance(value, str):
        found = parse_whole_number(value)
        return _WRONG if found is None else found
    is_whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    return int(value) if is_whole else _WRONG


def _array(schema: Schema, value: Any) -> Any:
    if isinstance(value, str):
        read = _read(value)
        value = read if isinstance(read, list) else [value]
    if not isinstance(value, list):
        value = [value]
    items = [_fitted(schema["items"], item) for item in value]
    return _WRONG if any(item is _WRONG for item in items) else items


def _table(value: Any) -> Any:
    value = _read(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else _WRONG


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _expected(schema: Schema, value: Any) -> str:
    given = json.dumps(value, ensure_ascii=False)[:60]
    words = schema.get("enum") or schema.get("items", {}).get("enum")
    if words:
        near = did_you_mean(value, words) if isinstance(value, str) else ""
        return f"one of {', '.join(words)}, not {given}{near}"
    names = {"array": "a list", "object": "an object", "integer": "a whole number", "string": "a text"}
    return f"{names.get(schema['type'], 'a ' + schema['type'])}, not {given}"
