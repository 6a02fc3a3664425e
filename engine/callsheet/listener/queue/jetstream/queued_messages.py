"""Events as messages on the server, which of them this process has, and what is known of those that failed."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ...newest_only import NewestOnly
from ..queue_port import QueueFailed, TargetState, storable_headers
from .nats_connection import checked_reply

if TYPE_CHECKING:
    from ...verify.event import Event

# One event as a message: a line of JSON that says what it is, then the bytes as they came and what they say.

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


def encode_event(event: Event) -> bytes:
    same, headers = event.text is event.data, storable_headers(event.headers)
    head = {
        "v": VERSION, "source": event.source.name, "type": event.type, "id": event.id, "received": time.time(),
        "headers": [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers],
        "query": event.query.decode("latin-1"), "size": len(event.data), "same": same,
    }  # fmt: skip
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + event.data + (b"" if same else event.text)


def decode_event(message: bytes) -> Envelope:
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


def digest_word(text: str) -> str:
    """A word of a subject or message id for any text: ids hold dots, spaces and line ends."""
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=16).hexdigest()


def id_digest(id: str | int | None) -> str:
    return digest_word(json.dumps(id))


# The events that this process has, so that none of them is run a second time where the server sends it again.

MESSAGE_ID = "Nats-Msg-Id"
_REMEMBERED = 20_000  # events that ended here


class ReceivedMessages:
    """By the event's key. Where the server sent an event again, the newest of its messages is kept."""

    def __init__(self) -> None:
        self._messages: dict[int, Any] = {}
        self._waiting: set[int] = set()  # that nobody runs yet
        self._ended: NewestOnly[int, str] = NewestOnly(_REMEMBERED)

    def add_message(self, message: Any) -> bool:
        """False where it is here already."""
        key = message.metadata.sequence.stream
        held = self._messages.get(key)
        self._messages[key] = message
        if held is not None and event_of(held) == event_of(message):
            return False
        self._waiting.add(key)
        return True

    def has_ended(self, message: Any) -> bool:
        """Whether it was handled here, and the server knew that once."""
        return self._ended.get(message.metadata.sequence.stream) == event_of(message)

    def newest_delivery(self, key: int, message: Any) -> Any:
        held = self._messages.get(key)
        return held if held is not None and event_of(held) == event_of(message) else message

    def hand_over(self, key: int) -> None:
        """To whoever runs it."""
        self._waiting.discard(key)

    def drop_event(self, key: int) -> None:
        self._messages.pop(key, None)
        self._waiting.discard(key)

    def end_event(self, key: int, message: Any) -> None:
        self.drop_event(key)
        self._ended[key] = event_of(message)

    def keep_only(self, keys: Iterable[int]) -> None:
        """All others that were handed over are let go."""
        kept = self._waiting.union(keys)
        for key in [key for key in self._messages if key not in kept]:
            del self._messages[key]

    def held_messages(self) -> list[Any]:
        return list(self._messages.values())

    def waiting_messages(self) -> list[Any]:
        return [self._messages[key] for key in self._waiting]


def event_of(message: Any) -> str:
    """Which event it is: numbers begin again where a stream is made anew."""
    return str((message.headers or {}).get(MESSAGE_ID, ""))


# What is known of an event that did not go through at once: its targets, the last error, when it is due.

_MAX_TRIES = 20


class Progress(NamedTuple):
    """`event` tells which event a sequence number means: numbers begin again where a stream is made anew.

    `deliveries` are those of the server when this was written, `attempts` the ones of them that count.
    """

    event: str
    targets: Mapping[str, TargetState] = MappingProxyType({})
    attempts: int = 0
    due: float | None = None
    error: str | None = None
    deliveries: int = 0


def decode_targets(given: Mapping[str, Sequence[Any]]) -> dict[str, TargetState]:
    return {job: TargetState(*state) for job, state in given.items()}


class ProgressStore:
    """Kept in a bucket by the event's sequence number. Two processes that write at once both keep what they know."""

    def __init__(self, bucket: Any) -> None:
        self._bucket = bucket

    async def read_progress(self, sequence: int, event: str) -> Progress:
        return (await self._read_message(sequence, event))[0]

    async def _read_message(self, sequence: int, event: str) -> tuple[Progress, int | None]:
        from nats.js.errors import KeyNotFoundError

        try:
            entry = await checked_reply(self._bucket.get(str(sequence)), KeyNotFoundError)
        except KeyNotFoundError:
            return Progress(event), None
        try:
            progress = Progress(**json.loads(entry.value))
            progress = progress._replace(targets=decode_targets(progress.targets))
        except (ValueError, TypeError, AttributeError):  # others may have put anything there
            progress = Progress(event)
        return progress if progress.event == event else Progress(event), entry.revision

    async def add_progress(self, sequence: int, event: str, **changes: Any) -> None:
        """`targets` are joined with what is there, all else replaces it. Raises `QueueFailed`."""
        from nats.js.errors import KeyWrongLastSequenceError

        for _ in range(_MAX_TRIES):
            current, revision = await self._read_message(sequence, event)
            targets = {**current.targets, **changes.get("targets", {})}
            text = json.dumps(current._replace(**{**changes, "targets": targets})._asdict()).encode()
            try:
                if revision is None:
                    await checked_reply(self._bucket.create(str(sequence), text), KeyWrongLastSequenceError)
                else:
                    await checked_reply(
                        self._bucket.update(str(sequence), text, last=revision), KeyWrongLastSequenceError
                    )
            except KeyWrongLastSequenceError:
                continue
            return
        raise QueueFailed("another process keeps writing about the same event")

    async def forget_progress(self, sequence: int) -> None:
        await checked_reply(self._bucket.purge(str(sequence)))
