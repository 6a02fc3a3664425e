"""JSON for handlers made of the JSON that was sent, without making values of it and a text of those again.

The result is what `jsontext.dump_json` writes of the values, but for an integer `-0`. Where it might not be, there is
none.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, NamedTuple

from msgspec import MsgspecError, Raw, json

_encode = json.Encoder().encode
_members_of = json.Decoder(dict[str, Raw]).decode
# Escapes of what may also be written without them. All others have one form.
_AMBIGUOUS: Final = (b"\\u", b"\\/")
_START: Final = b'{"id": %b, "event_type": %b, "event_time": %b, "source": %b, "body": '
_NAMED: Final = frozenset(("id", "event_type", "event_time", "source", "body"))


def one_line(text: bytes, payload: Any) -> bytes | None:
    """A JSON text in one line. `payload` is its value, of which only the shape counts.

    `": ` stands once for each member then. It stands in a text only behind an escaped quote, and more than once for a
    name that an object has twice: each of these makes the number larger than that of the members.
    """
    if b"\\" in text and any(escape in text for escape in _AMBIGUOUS):
        return None
    try:
        line: bytes = json.format(text, indent=0)
    except (MsgspecError, RecursionError):  # what only Python's own parser takes
        return None
    return line if line.count(b'": ') == _count_members(payload, line.count(b"{") + line.count(b"[")) else None


def _count_members(value: Any, containers: int) -> int:
    """Of all objects in a value; it holds at most so many objects and lists, itself included."""
    found, waiting = 0, [value]
    while waiting:
        inner = waiting.pop()
        containers -= 1
        if type(inner) is dict:
            found += len(inner)
            inner = inner.values()
        if containers > len(waiting):
            waiting += [child for child in inner if type(child) is dict or type(child) is list]
    return found


class Named(NamedTuple):
    """The members that every record begins with."""

    id: str | int | None
    event_type: str
    event_time: str | int | None
    source: str


def joined_record(
    named: Named, line: bytes, payload: dict[str, Any], body: Any, left_out: Collection[str]
) -> str | None:
    """What is `named`, the body, and all other members of the payload, which `line` is the text of.

    `body` is the payload, or an object or list that is one of its members.
    """
    if type(body) is not dict and type(body) is not list:
        return None
    start = _START % tuple([_encode(value) for value in named])
    if body is payload:
        return (start + line + b"}").decode()
    name = next((name for name, value in payload.items() if value is body), None)
    if name is None:
        return None
    members = _members_of(line)
    parts = [start, bytes(members.pop(name))]
    for name, raw in members.items():
        if name not in _NAMED and name not in left_out:
            parts += (b", ", _encode(name), b": ", bytes(raw))
    parts.append(b"}")
    return b"".join(parts).decode()
