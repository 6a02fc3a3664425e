"""JSON text to values and back without changing a number.

Integers keep every digit, and a float that Python would write differently (`1e5`, `1.10`, `0.1000000000000000055`)
keeps its own text. `NaN` and `Infinity`, which are not JSON, are refused both ways.
"""

from __future__ import annotations

import json
import os
import re
import sys
from typing import Any, NoReturn, Self

from .patterns import lazy_pattern

JsonObject = dict[str, Any]  # what others sent: nothing is known of its keys
CONSTANTS = frozenset({"false", "null", "true"})  # in an expression without backquotes, the names of members

_MARK = os.urandom(9).hex()
_MARKED = lazy_pattern(f'"{_MARK}([^"]*)"')
_OPEN_STRING = lazy_pattern(r'"(?:[^"\\]|\\.)*\\?\Z', re.DOTALL)
_SURROGATES = lazy_pattern("[\ud800-\udfff]")


class JSONError(ValueError):
    """The text is not JSON; the message says where: `line 3 column 7: ...`. `at_end` tells that it merely stops."""

    def __init__(self, message: str, *, at_end: bool = False) -> None:
        super().__init__(message)
        self.at_end = at_end


class ExactFloat(float):
    """A float whose JSON text is not the one Python would write; `text` is as it was received."""

    text: str
    made = False

    def __new__(cls, text: str) -> Self:
        self = super().__new__(cls, text)
        self.text = text
        ExactFloat.made = True
        return self

    def __repr__(self) -> str:
        return self.text

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override] # the number is made of its text alone
        return (self.text,)


ExactFloat.__name__ = "float"  # by this JMESPath's functions tell that it is a number


def exact_float(text: str) -> float:
    """The number that a JSON text stands for, with that text where Python would write another."""
    value = float(text)
    return value if repr(value) == text else ExactFloat(text)


def _refuse_constant(name: str) -> NoReturn:
    raise JSONError(f"{name} is not JSON")


_read = json.JSONDecoder(parse_float=exact_float, parse_constant=_refuse_constant).decode
_write = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def _decode_json(data: bytes) -> str:
    encoding = json.detect_encoding(data)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise JSONError(f"byte {error.start}: not valid {encoding.upper()}") from None


def parse_json(text: str | bytes, deepest: int | None = None) -> Any:
    """The value of a JSON text. Bytes are UTF-8, or UTF-16/32 where they plainly are. Raises `JSONError`.

    `deepest` is how many levels of objects and lists are taken; None: as many as the interpreter can read.
    """
    if isinstance(text, bytes):
        text = _decode_json(text)
    try:
        value = _read(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        at_end = error.pos >= len(error.doc.rstrip()) or _OPEN_STRING.match(error.doc, error.pos) is not None
        what = "the text ends too early" if at_end else error.msg[:1].lower() + error.msg[1:]
        raise JSONError(f"line {error.lineno} column {error.colno}: {what}", at_end=at_end) from None
    except RecursionError:
        raise JSONError("nested too deeply") from None
    except JSONError:
        raise
    except ValueError:
        raise JSONError(f"an integer of more than {sys.get_int_max_str_digits()} digits") from None
    if deepest is not None and text.count("[") + text.count("{") > deepest and _is_deeper(value, deepest):
        raise JSONError("nested too deeply")
    return value


def _is_deeper(value: Any, limit: int) -> bool:
    """Level by level: whatever walks the value afterwards calls itself for each, and must not run out of stack."""
    level = [value]
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer if type(outer) is list else ())
            if type(inner) is dict or type(inner) is list
        ]
        if not level:
            return False
    return True


def _marked_floats(value: Any) -> Any:
    if isinstance(value, ExactFloat):
        return _MARK + value.text
    if isinstance(value, dict):
        return {key: _marked_floats(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_marked_floats(item) for item in value]
    return value


def dump_json(value: Any, indent: int | None = None) -> str:
    """The JSON text of a value, characters beyond ASCII as they are; half a surrogate pair stays escaped."""
    exact = ExactFloat.made
    shown = _marked_floats(value) if exact else value
    text = _write(shown) if indent is None else json.dumps(shown, indent=indent, ensure_ascii=False, allow_nan=False)
    if exact:
        text = _MARKED.sub(r"\1", text)
    if text.isascii():
        return text
    return _SURROGATES.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_DIGITS = 18  # what counts things, bytes or seconds has no more


def parse_whole_number(text: str) -> int | None:
    """The number that a text is, of ASCII digits only and of no absurd length; None for every other text.

    `isdigit` alone also takes `²`, which `int` does not, nor does it take thousands of digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
