"""One received event, and JSON for handlers that is made of the JSON that was sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import msgspec.json
from msgspec import MsgspecError, Raw

from ...jsontext import dump_json
from .payload import parse_exact
from .proofs import Headers, text_headers

# JSON for handlers made of the JSON that was sent, without making values of it and a text of those again.
#
# The result is what `jsontext.dump_json` writes of the values, but for an integer `-0`. Where it might not be, there
# is none.

_encode = msgspec.json.Encoder().encode
_members_of = msgspec.json.Decoder(dict[str, Raw]).decode
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
        line: bytes = msgspec.json.format(text, indent=0)
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


# One received event.

T = TypeVar("T")


# How a trace goes from one program to the next (W3C Trace Context).
TRACE_HEADERS = (b"traceparent", b"tracestate")


class lazy(Generic[T]):  # noqa: N801 - used like `property`
    """`functools.cached_property` without its lock, which costs more than what most of these hold."""

    def __init__(self, make: Callable[[Any], T]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> T:
        value: T = self.make(instance)
        instance.__dict__[self.name] = value
        return value


class EventSource(Protocol):
    """What an event asks of the source that it came from."""

    name: str
    dedup_ignore: frozenset[str]
    registered: frozenset[str]
    needs_headers: bool
    record_needs_headers: bool
    type_is_signed: bool
    id_is_signed: bool
    time_of: Callable[[Any], Any]
    body_of: Callable[[Any], Any]

    def identify_event(self, scope: dict[str, Any]) -> tuple[str, str | int | None]: ...
    def unregistered_claims(self, payload: dict[str, Any]) -> dict[str, Any]: ...


class Event:
    """`payload` is the JSON body or a token's claims; `data` the bytes as they came; `text` the payload's JSON."""

    def __init__(
        self,
        source: EventSource,
        payload: dict[str, Any],
        headers: Headers,
        query: bytes,
        data: bytes,
        text: bytes,
        *,
        beside: Mapping[str, Any] | None = None,
    ) -> None:
        """`beside`: values of headers and query that events of one list share; of each its own took up to 3 GB."""
        self.source = source
        self.headers = headers
        self.query = query
        self.data = data
        self.text = text
        self.attempt = 1
        self.charge: object = None  # what it takes of a budget, given back with it
        self.span: Any = None  # of OpenTelemetry
        self.log_fields: str | None = None  # what each line of the log says of it
        self._payload = payload
        if beside is not None:
            self.__dict__.update(header_values=beside["headers"], query_values=beside["query"])
        self.type, self.id = source.identify_event(
            self._outer_scope(payload) if source.needs_headers else {"payload": payload}
        )
        self.key = self._key_of_event()

    def _key_of_event(self) -> str:
        """What tells this event from all others: its id, else its content.

        What was not signed takes no part in it, so that the same signed body is the same event whatever stands beside.
        """
        source = self.source
        prefix = f"{source.name}/{self.type}" if source.type_is_signed else f"{source.name}/"
        if self.id is not None and source.id_is_signed:
            kind = "i" if isinstance(self.id, int) else "s"
            key = f"{prefix}/{kind}{self.id}"
        elif not source.id_is_signed and not source.dedup_ignore and self.text is self.data:
            key = f"{prefix}/b{_hex_digest(self.data)}"
        else:
            rest = {name: value for name, value in self._payload.items() if name not in source.dedup_ignore}
            key = f"{prefix}/h{_hex_digest(json.dumps(rest, sort_keys=True, separators=(',', ':')).encode())}"
        return key if key.isascii() else key.encode("utf-8", "backslashreplace").decode()

    @lazy
    def payload(self) -> Any:
        """The payload with every number as it was sent."""
        return parse_exact(self.text)

    @lazy
    def time(self) -> Any:
        """When it happened, as it was sent, where its source says that."""
        payload = self._payload
        found = self.source.time_of(
            self._outer_scope(payload) if self.source.record_needs_headers else {"payload": payload}
        )
        return found if found is None or type(found) in (str, int) else self.scope["event_time"]

    @lazy
    def trace_headers(self) -> list[tuple[bytes, bytes]]:
        """The headers by which what is sent on continues a trace: the sender's, or those of the event's own span."""
        return [(name, value) for name, value in self.headers if name in TRACE_HEADERS]

    @lazy
    def query_values(self) -> dict[str, str]:
        return query_values(self.query)

    @lazy
    def header_values(self) -> dict[str, str]:
        return text_headers(self.headers)

    def _outer_scope(self, payload: Any) -> dict[str, Any]:
        return {"payload": payload, "headers": self.header_values, "query": self.query_values}

    def _scope_of_payload(self, payload: Any) -> dict[str, Any]:
        outer = self._outer_scope(payload)
        return {**outer, **self._members_of_record(outer, self.source.body_of(outer))}

    def _members_of_record(self, outer: dict[str, Any], body: Any) -> dict[str, Any]:
        """What every event has, whatever its envelope; `body` is what the source's definition finds."""
        return {
            "id": self.id,
            "event_type": self.type,
            "event_time": self.source.time_of(outer),
            "source": self.source.name,
            "body": self.source.unregistered_claims(outer["payload"]) if body is None else body,
        }

    @lazy
    def fast_scope(self) -> dict[str, Any]:
        """What conditions see: floats are Python's."""
        return self._scope_of_payload(self._payload)

    @lazy
    def scope(self) -> dict[str, Any]:
        """What placeholders see: every number as it was sent."""
        return self._scope_of_payload(self.payload)

    @lazy
    def record(self) -> dict[str, Any]:
        """What handlers get: one shape for every envelope, and whatever else the payload held beside its body."""
        payload, source = self.payload, self.source
        outer = self._outer_scope(payload) if source.record_needs_headers else {"payload": payload}
        body = source.body_of(outer)
        named = self._members_of_record(outer, body)
        if body is payload or body is None:
            return named
        for name, value in payload.items():
            if name not in named and value is not body and name not in source.registered:
                named[name] = value
        return named

    @lazy
    def record_text(self) -> str:
        return self._joined_record() or dump_json(self.record)

    @lazy
    def payload_text(self) -> str:
        """The payload in one line."""
        return dump_json(self.payload) if self._line_of_record is None else self._line_of_record.decode()

    @lazy
    def _line_of_record(self) -> bytes | None:
        return one_line(self.text, self._payload)

    def _joined_record(self) -> str | None:
        """To read and write thirty numbers takes as long as all else that is done with an event."""
        source, time = self.source, self.time
        if source.record_needs_headers or type(time) not in (str, int, type(None)) or self._line_of_record is None:
            return None
        named = Named(self.id, self.type, time, source.name)
        body = source.body_of({"payload": self._payload})
        return joined_record(named, self._line_of_record, self._payload, body, source.registered)


def query_values(query: bytes) -> dict[str, str]:
    if not query:
        return {}
    from urllib.parse import parse_qsl

    return dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))


def _hex_digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
