"""Headers that the program sets itself, because they decide where or how a request is sent."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..errors import did_you_mean

if TYPE_CHECKING:
    from .shape.rest import OperationParam


# With `Host` a credential would go to another site of the same server, with the others one request could hold two.
OF_THE_CONNECTION = frozenset(
    {
        "host",
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)


class InvalidValue(ValueError):
    """A value that does not fit; the message goes on after the parameter's name: `expected ...`."""


_INTEGER = re.compile(r"[+-]?[0-9]+")
_RANGES = {"int32": 2**31, "int64": 2**63}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def value_as_text(value: Any) -> str:
    """The text of a value that commands hand over typed, or that a person typed."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        from ..jsontext import dump_json

        return dump_json(value)
    return str(value)


def _string_fault(text: str, format_: str) -> str:
    check = _FORMATS.get(format_)
    if check and not check(text):
        raise InvalidValue(f"expected a {format_}, not {text!r}")
    return text


def _integer_fault(text: str, format_: str) -> str:
    if not _INTEGER.fullmatch(text):
        raise InvalidValue(f"expected a whole number, not {text!r}")
    bound = _RANGES.get(format_)
    if bound and not -bound <= int(text) < bound:
        raise InvalidValue(f"expected a whole number of {format_[3:]} bits, {text} is beyond")
    return text.removeprefix("+")


def _number_fault(text: str, _format: str) -> str:
    try:
        finite = math.isfinite(float(text))
    except ValueError:
        finite = False
    if not finite:
        raise InvalidValue(f"expected a number, not {text!r}")
    return text


def _boolean_fault(text: str, _format: str) -> str:
    if text.lower() not in {"true", "false"}:
        raise InvalidValue(f"expected true or false, not {text!r}")
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
    "string": _string_fault,
    "integer": _integer_fault,
    "number": _number_fault,
    "boolean": _boolean_fault,
}


def checked_text(value: Any, type_: str, param: OperationParam | Mapping[str, Any]) -> str:
    """The text to send for one value (of a list: for one item), or `InvalidValue`."""
    text = _TYPES.get(type_, _string_fault)(value_as_text(value), param.get("format", ""))
    _check_enum(text, param)
    _check_bounds(text, type_, param)
    if "pattern" in param and not re.search(param["pattern"], text):
        raise InvalidValue(f"{text!r} does not fit {param['pattern']}")
    return text


def _check_enum(text: str, param: OperationParam | Mapping[str, Any]) -> None:
    listed = param.get("enum", ())
    if not listed or text in listed:
        return
    allowed = [value_as_text(value) for value in listed]
    if text not in allowed:
        guess = did_you_mean(text, allowed)
        raise InvalidValue(f"{text!r} is not an allowed value{guess or ': ' + ', '.join(allowed)}")


def _check_bounds(text: str, type_: str, param: OperationParam | Mapping[str, Any]) -> None:
    if type_ not in {"integer", "number"}:
        return
    number = int(text) if type_ == "integer" else float(text)
    if "minimum" in param and number < param["minimum"]:
        raise InvalidValue(f"{text} is below the minimum, {param['minimum']:g}")
    if "maximum" in param and number > param["maximum"]:
        raise InvalidValue(f"{text} is above the maximum, {param['maximum']:g}")
