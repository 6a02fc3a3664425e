"""Bodies to values on the hot path, exact and nothing that is not JSON; why a delivery was not accepted."""

from __future__ import annotations

import json
from typing import Any, NoReturn
from urllib.parse import parse_qsl

from msgspec.json import Decoder

from ...jsontext import dump_json, exact_float, parse_json

# Why a delivery was not accepted, and what the sender is told.

NO_EVENT = 400
UNAVAILABLE = 503  # whether it is genuine cannot be told now


class Rejected(Exception):
    """`reason` is one of a few words, for figures; `detail` is for the log and is never sent."""

    __slots__ = ("detail", "reason", "status")

    def __init__(self, status: int, reason: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.detail = detail


def not_genuine(reason: str, detail: str) -> Rejected:
    return Rejected(401, reason, detail)


def unreadable_body(detail: str) -> Rejected:
    return Rejected(NO_EVENT, "unreadable", detail)


# JSON bodies to values on the hot path: exact integers, nothing that is not JSON.

CONTENT_TYPE = "application/x-www-form-urlencoded"
_MOST_FIELDS = 1000


def fields_of(body: bytes) -> list[tuple[str, str]]:
    """Names and values in their order, empty values too. Raises `Rejected` for what is no form."""
    try:
        text = body.decode()
        return parse_qsl(
            text, keep_blank_values=True, strict_parsing=bool(text), max_num_fields=_MOST_FIELDS, errors="strict"
        )
    except UnicodeDecodeError:
        raise unreadable_body("not an event: a form that is not UTF-8") from None
    except ValueError as error:
        raise unreadable_body(f"not an event: no form ({error})") from None


def json_of(body: bytes, holder: str | None) -> bytes:
    """A form as the text of a JSON object: its fields, or what one of them holds as JSON where it is there.

    Of a field that occurs twice the last one counts. Raises `Rejected`.
    """
    table = dict(fields_of(body))
    if holder is not None and holder in table:
        return table[holder].encode()
    return dump_json(table).encode()


def member_of(body: bytes, path: str) -> list[bytes]:
    """The text, or number, at `path` of a JSON body, if there is one. Raises `Rejected` for a body that is not JSON."""
    found = parse_any(body)
    for step in path.split("."):
        if type(found) is list and step.isdecimal():
            found = found[int(step)] if int(step) < len(found) else None
        else:
            found = found.get(step) if type(found) is dict else None
    if isinstance(found, bool) or not isinstance(found, str | int):
        return []
    return [str(found).encode("utf-8", "replace")]


_MAX_DEPTH = 200
_BRACKET = ord("[")  # a number: to look for one takes a tenth of looking for bytes


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


# A quarter of the library's time, and integers stay exact whatever their size. What it refuses is read again by the
# library, which takes a few odd but valid texts more (escaped halves of surrogate pairs, numbers beyond a double).
_decode_fast = Decoder().decode
_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


_decode_exact = Decoder(float_hook=exact_float).decode


def parse_exact(data: bytes) -> Any:
    """What `jsontext.parse_json` finds, with every number as it was sent, in a third of its time."""
    try:
        return _decode_exact(data)
    except (ValueError, RecursionError):
        return parse_json(data)


def parse_payload(data: bytes) -> dict[str, Any]:
    """A JSON object. Raises `Rejected`.

    Floats are Python's; whoever passes a payload on reads the bytes again with `parse_exact`, which keeps their text.
    """
    payload = parse_any(data)
    if type(payload) is not dict:
        raise unreadable_body(f"not an event: a JSON {_TYPE_NAMES.get(type(payload), 'value')} instead of an object")
    return payload


def parse_any(data: bytes) -> Any:
    """A JSON value, not nested too deeply. Raises `Rejected`."""
    try:
        payload = _decode_fast(data)
    except (ValueError, RecursionError):
        payload = _decode_with_library(data)
    lists = data.count(b"[") if _BRACKET in data else 0  # to look for none takes little of what counting none does
    if data.count(b"{") + lists > _MAX_DEPTH and _is_deep(payload):
        raise unreadable_body("nested too deeply")
    return payload


def _decode_with_library(data: bytes) -> Any:
    try:
        return _decode(data.decode())
    except UnicodeDecodeError as error:
        raise unreadable_body(f"not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise unreadable_body("nested too deeply") from None
    except ValueError as error:
        raise unreadable_body(f"not JSON: {error}") from None


def _is_deep(payload: Any) -> bool:
    """Whether something that handles it later could run out of stack. Level by level, without recursion."""
    level = [payload] if type(payload) in (dict, list) else []
    for _ in range(_MAX_DEPTH):
        level = [
            child
            for parent in level
            for child in (parent.values() if type(parent) is dict else parent)
            if type(child) in (dict, list)
        ]
        if not level:
            return False
    return True


_TYPE_NAMES: dict[type, str] = {list: "array", str: "text", int: "number", float: "number", bool: "boolean"}
_TYPE_NAMES[type(None)] = "null"
