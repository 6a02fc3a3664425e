"""One parameter value: is it what the operation documents, and which text is sent for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

from ...errors import did_you_mean
from .model import Placeholder

if TYPE_CHECKING:
    from ...language.shape.rest import OperationParam


class Unfit(ValueError):
    """A value that does not fit; the message goes on after the parameter's name: `expected ...`."""


_INTEGER = re.compile(r"[+-]?[0-9]+")
_RANGES = {"int32": 2**31, "int64": 2**63}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def text_of(value: Any) -> str:
    """The text of a value that commands hand over typed, or that a person typed."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        from ...jsontext import dump

        return dump(value)
    return str(value)


def _string(text: str, format_: str) -> str:
    check = _FORMATS.get(format_)
    if check and not check(text):
        raise Unfit(f"expected a {format_}, not {text!r}")
    return text


def _integer(text: str, format_: str) -> str:
    if not _INTEGER.fullmatch(text):
        raise Unfit(f"expected a whole number, not {text!r}")
    bound = _RANGES.get(format_)
    if bound and not -bound <= int(text) < bound:
        raise Unfit(f"expected a whole number of {format_[3:]} bits, {text} is beyond")
    return text.removeprefix("+")


def _number(text: str, _format: str) -> str:
    try:
        finite = math.isfinite(float(text))
    except ValueError:
        finite = False
    if not finite:
        raise Unfit(f"expected a number, not {text!r}")
    return text


def _boolean(text: str, _format: str) -> str:
    if text.lower() not in {"true", "false"}:
        raise Unfit(f"expected true or false, not {text!r}")
    return text.lower()


def _is_date(text: str) -> bool:
    from datetime import date

    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _is_moment(text: str) -> bool:
    from datetime import datetime

    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return "T" in text.upper()


_FORMATS: dict[str, Callable[[str], bool]] = {
    "uuid": lambda text: bool(_UUID.fullmatch(text)),
    "date": _is_date,
    "date-time": _is_moment,
}
_TYPES: dict[str, Callable[[str, str], str]] = {
    "string": _string,
    "integer": _integer,
    "number": _number,
    "boolean": _boolean,
}


def check_value(value: Any, type_: str, param: OperationParam) -> str:
    """The text to send for one value (of a list: for one item), or `Unfit`."""
    if isinstance(value, Placeholder):
        return value
    text = _TYPES.get(type_, _string)(text_of(value), param.get("format", ""))
    _check_enum(text, param)
    _check_bounds(text, type_, param)
    if "pattern" in param and not re.search(param["pattern"], text):
        raise Unfit(f"{text!r} does not fit {param['pattern']}")
    return text


def _check_enum(text: str, param: OperationParam) -> None:
    allowed = [text_of(value) for value in param.get("enum", [])]
    if allowed and text not in allowed:
        guess = did_you_mean(text, allowed)
        raise Unfit(f"{text!r} is not an allowed value{guess or ': ' + ', '.join(allowed)}")


def _check_bounds(text: str, type_: str, param: OperationParam) -> None:
    if type_ not in {"integer", "number"}:
        return
    number = int(text) if type_ == "integer" else float(text)
    if "minimum" in param and number < param["minimum"]:
        raise Unfit(f"{text} is below the least, {param['minimum']:g}")
    if "maximum" in param and number > param["maximum"]:
        raise Unfit(f"{text} is above the most, {param['maximum']:g}")


def _items(value: Any, style: str) -> list[Any]:
    if isinstance(value, Placeholder):
        return [value]
    if isinstance(value, str) and style == "comma":
        return value.split(",")
    return list(value) if isinstance(value, list | tuple) else [value]


_JOINTS = {"comma": ",", "space": " ", "pipe": "|"}


def _joined(texts: list[str], style: str) -> str:
    joined = _JOINTS[style].join(texts)
    return Placeholder(joined) if any(isinstance(text, Placeholder) for text in texts) else joined


def _array(value: Any, style: str, param: OperationParam) -> list[tuple[str, str]]:
    texts = [check_value(item, param.get("items", "string"), param) for item in _items(value, style)]
    if style in _JOINTS:
        return [(param["name"], _joined(texts, style))] if texts else []
    return [(param["name"], text) for text in texts]


def _object(value: Any, style: str, param: OperationParam) -> list[tuple[str, str]]:
    name = param["name"]
    if isinstance(value, str) and not isinstance(value, Placeholder) and value.lstrip().startswith("{"):
        value = _parsed(value)
    if not isinstance(value, Mapping):
        return [(name, text_of(value))]
    pairs = [(str(key), text_of(item)) for key, item in value.items()]
    if style == "deep":
        return [(f"{name}[{key}]", text) for key, text in pairs]
    if style in _JOINTS:
        return [(name, _joined([word for pair in pairs for word in pair], style))]
    return pairs


def _parsed(text: str) -> Any:
    from ...jsontext import JSONError, parse

    try:
        return parse(text)
    except JSONError as error:
        raise Unfit(f"expected a JSON object: {error}") from None


def pairs_of(value: Any, param: OperationParam) -> list[tuple[str, str]]:
    """What is sent for a parameter: name and text pairs, one for a plain value, several for a repeated one."""
    type_ = param.get("type", "string")
    style = param.get("style") or ("repeat" if param.get("in", "query") == "query" else "comma")
    if type_ == "array":
        return _array(value, style, param)
    if isinstance(value, list | tuple):
        if len(value) != 1:
            raise Unfit(f"takes one value, {len(value)} were given")
        value = value[0]
    if type_ == "object":
        return _object(value, style, param)
    return [(param["name"], check_value(value, type_, param))]


def unchecked(param: OperationParam) -> OperationParam:
    """Only what says how a value is sent: any value passes."""
    shape = param.get("type", "string")
    kept = {key: value for key, value in param.items() if key in {"name", "in", "style"}}
    return cast("OperationParam", {**kept, "type": shape if shape in {"array", "object"} else "string"})


def free_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """The same without a definition: a list is repeated."""
    values = value if isinstance(value, list | tuple) else [value]
    return [(name, item if isinstance(item, Placeholder) else text_of(item)) for item in values]
