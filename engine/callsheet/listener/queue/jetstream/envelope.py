"""One event as a message: a line of JSON that says what it is, then the bytes as they came and what they say."""

from __future__ import annotations

import hashlib
import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..port import storable_headers

if TYPE_CHECKING:
    from ...verify.event import Event

VERSION = 1


class InvalidEnvelope(Exception):
    """A message that others put there."""


class Envelope(NamedTuple):
    """`text` is the payload's JSON, `data` the body it came in."""

    source: str
    type: str
    id: str | int | None
    received: float
    headers: list[tuple[bytes, bytes]]
    query: bytes
    data: bytes
    text: bytes


def encode(event: Event) -> bytes:
    same, headers = event.text is event.data, storable_headers(event.headers)
    head = {
        "v": VERSION, "source": event.source.name, "type": event.type, "id": event.id, "received": time.time(),
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers],
        "query": event.query.decode("latin-1"), "size": len(event.data), "same": same,
    }  # fmt: skip
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + event.data + (b"" if same else event.text)


def decode(message: bytes) -> Envelope:
    """Raises `InvalidEnvelope` for what was not made by `encode`."""
    line, _, rest = message.partition(b"\n")
    try:
        head: dict[str, Any] = json.loads(line)
        if head["v"] != VERSION:
            raise InvalidEnvelope(f"of another version ({head['v']!r})")
        size, same = int(head["size"]), bool(head["same"])
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in head["headers"]]
        query, data = head["query"].encode("latin-1"), rest[:size]
        text = data if same else rest[size:]
        return Envelope(
            str(head["source"]), str(head["type"]), head["id"], float(head["received"]), headers, query, data, text
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError) as error:
        raise InvalidEnvelope(f"not an event of this program: {type(error).__name__} {error}") from None


def digest(text: str) -> str:
    """A word of a subject or message id for any text: ids hold dots, spaces and line ends."""
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def id_digest(id: str | int | None) -> str:
    return digest(json.dumps(id))
