"""The arguments of a call in Python, as the values of a command's parameters."""

from __future__ import annotations

import keyword
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError, did_you_mean
from ..language.parameters import is_json, is_required, is_table, to_identifier

if TYPE_CHECKING:
    from ..language.shape.commands import CompiledCommand, Param

# What a single call may have beside the command's own values.
OF_A_CALL = frozenset({"yes", "input"})


class CallArguments(NamedTuple):
    """`values` by the names of the command's definition; `input` stands where a command reads standard input."""

    values: dict[str, Any]
    yes: bool = False
    input: str = ""


def python_name(name: str) -> str:
    """How a parameter is called in Python: `from` is `from_`."""
    found = to_identifier(name)
    return f"{found}_" if keyword.iskeyword(found) else found


def arguments_of(words: str, command: CompiledCommand, args: Sequence[Any], given: Mapping[str, Any]) -> CallArguments:
    """Raises `UsageError` for what the command does not take, or needs and does not get."""
    params = command.get("params", [])
    known = {python_name(alias): param for param in params for alias in param.get("aliases", ())}
    known |= {python_name(param["name"]): param for param in params}
    values: dict[str, Any] = {}
    for name, value in given.items():
        if name in known:
            values[known[name]["name"]] = value
        elif name not in OF_A_CALL:
            raise UsageError(
                f"{words} takes no {name!r}{did_you_mean(name, known)}", hint=_accepted_parameters(words, params)
            )
    values |= _by_place(words, params, values, args)
    options = {name: value for name, value in given.items() if name in OF_A_CALL and name not in known}
    found = check_arguments(words, command, values, options)
    if not found.values.get("resume"):
        _refuse_missing(words, params, found.values)
    return found


def check_arguments(
    words: str, command: CompiledCommand, values: Mapping[str, Any], options: Mapping[str, Any]
) -> CallArguments:
    """Values by the names of the definition, each as its parameter has it; `words` is who takes them in messages."""
    given = [param for param in command.get("params", []) if values.get(param["name"]) is not None]
    return CallArguments(
        {param["name"]: value_of(words, param, values[param["name"]]) for param in given},
        _check_flag(words, "yes", options.get("yes", False)),
        _input_text(words, options.get("input", "")),
    )


def in_order(params: Sequence[Param]) -> list[Param]:
    """Those that may stand without a name: arguments, then options that may stand without theirs."""
    arguments = [param for param in params if param.get("kind") == "argument"]
    return [*arguments, *(param for param in params if param.get("positional"))]


def _by_place(words: str, params: Sequence[Param], named: Mapping[str, Any], args: Sequence[Any]) -> dict[str, Any]:
    """Arguments without a name, in the order of a command line; one that may be repeated takes those too many."""
    places = [param for param in in_order(params) if param["name"] not in named]
    several = next((place for place, param in enumerate(places) if param.get("multiple")), None)
    extra = len(args) - len(places)
    if extra > 0 and several is None:
        raise UsageError(
            f"{words} takes {len(places)} arguments by place, not {len(args)}", hint=_accepted_parameters(words, params)
        )
    given = list(args)
    if extra > 0 and several is not None:
        given[several : several + extra + 1] = [[*_flatten_values(given[several : several + extra + 1])]]
    return {param["name"]: value for param, value in zip(places, given, strict=False)}


def _flatten_values(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        yield from value if isinstance(value, list | tuple) else [value]


def value_of(words: str, param: Param, value: Any) -> Any:
    """As the literal values of a command have it. Raises `UsageError` for another type than the parameter's."""
    name = python_name(param["name"])
    if param.get("kind") == "flag":
        return _check_flag(words, name, value)
    if isinstance(value, Mapping):
        if is_table(param) or is_json(param):
            return {str(key): json_value_of(words, name, item) for key, item in value.items()}
        raise UsageError(f"{words}: {name} takes a text or a number, not a table", hint="give one value of it")
    several = param.get("multiple") or param.get("split")
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike):
        if not (several or is_json(param)):
            raise UsageError(f"{words}: {name} takes one value, not several")
        return [_check_value(words, name, param, item) for item in value]
    return _check_value(words, name, param, value)


def _check_value(words: str, name: str, param: Param, value: Any) -> Any:
    if param.get("type") == "path":
        path = os.fspath(value) if isinstance(value, str | os.PathLike) else str(value)
        return os.path.join(".", "-") if path == "-" else path  # a file of that name, never standard input
    return json_value_of(words, name, value)


def json_value_of(words: str, name: str, value: Any) -> Any:
    """The value as JSON has it; dates and paths become texts."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, date):  # a time of day too
        return value.isoformat()
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): json_value_of(words, name, item) for key, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        return [json_value_of(words, name, item) for item in value]
    raise UsageError(f"{words}: {name} takes a text, a number or a date, not {type(value).__name__}")


def _check_flag(words: str, name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise UsageError(f"{words}: {name} takes True or False, not {value!r}")


def _input_text(words: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise UsageError(f"{words}: input takes a text, not {type(value).__name__}")


def _refuse_missing(words: str, params: Sequence[Param], values: Mapping[str, Any]) -> None:
    lacking = [python_name(each["name"]) for each in params if is_required(each) and each["name"] not in values]
    if lacking:
        raise UsageError(f"{words} needs {' and '.join(lacking)}", hint=_accepted_parameters(words, params))


def _accepted_parameters(words: str, params: Sequence[Param]) -> str:
    shown = [python_name(param["name"]) for param in params if not param.get("hidden")]
    return f"{words} takes: {', '.join(shown) or 'nothing'}"
