"""What the commands at the shell see of a queue on a NATS server.

An event has one key for its life: its sequence number in the stream, which its subject still names when it is dead.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ....errors import CallsheetError, NotFound
from ..port import QueueFailed
from . import envelope
from .address import QueueAddress
from .connection import asked, connect, disconnect
from .names import Names
from .progress import Progress, ProgressBook
from .queue import ATTEMPTS, MESSAGE_ID, REASON
from .streams import look_up

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition

T = TypeVar("T")
_FIRST_WINDOW = 256
_LONG = ("succeeded", "headers", "payload", "message")


class JetStreamInspection:
    """Looks at single messages by their numbers: a stream that is worked on can be read in no other way."""

    def __init__(self, address: QueueAddress, definition: QueueDefinition, note: Callable[[str], None]) -> None:
        self._names = Names(address.stream, definition["subject"])
        self._runner = asyncio.Runner()
        try:
            self._connection = self._runner.run(connect(address, definition, note))
            self._jetstream = self._connection.jetstream()
            self._run(self._open())
        except BaseException:
            self.close()
            raise

    _connection: Any = None

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        try:
            return self._runner.run(work)
        except (QueueFailed, ValueError) as failed:  # others may have put anything there
            raise CallsheetError(f"queue {self._names.stream}: {failed}") from None

    async def _open(self) -> None:
        if await look_up(self._jetstream, self._names.stream) is None:
            raise NotFound(f"no queue {self._names.stream} on the server", hint="`webhook listen --queue` makes it")
        self._progress = ProgressBook(await asked(self._jetstream.key_value(self._names.state)))

    def listed(self, state: str | None, most: int) -> list[dict[str, Any]]:
        return [_without(_LONG, record) for record in self._run(self._listed(state, most))]

    async def _listed(self, state: str | None, most: int) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        if state in (None, "waiting", "running"):
            found += [record async for record in self._alive(state, most)]
        if state in (None, "dead"):
            newest = self._newest(self._names.dead, self._names.given_up("*", "*"))
            found += [_dead(message) async for message in _first(newest, most)]
        return sorted(found, key=lambda record: -record["key"])[:most]

    async def _alive(self, state: str | None, most: int) -> AsyncIterator[dict[str, Any]]:
        work = await asked(self._jetstream.consumer_info(self._names.stream, self._names.consumer))
        count = 0
        async for message in self._newest(self._names.stream, self._names.event("*")):
            record = await self._live(message, work.delivered.stream_seq)
            if state in (None, record["state"]):
                yield record
                count += 1
                if count == most:
                    return

    async def _live(self, message: Any, delivered: int) -> dict[str, Any]:
        if message.seq > delivered:
            return _record(message, message.seq, state="waiting")
        known = await self._progress.read(message.seq, _event_of(message))
        waits = known.due is not None and known.due > time.time()
        return _record(message, message.seq, state="waiting" if waits else "running", known=known)

    async def _newest(self, stream: str, subject: str) -> AsyncIterator[Any]:
        """From the end, in windows that grow: most numbers below it belong to events that were handled long ago."""
        info = await asked(self._jetstream.stream_info(stream))
        high, width = info.state.last_seq, _FIRST_WINDOW
        while high >= info.state.first_seq and high > 0:
            low = max(info.state.first_seq, high - width + 1)
            window = [message async for message in self._from(stream, subject, low, high)]
            for message in reversed(window):
                yield message
            high, width = low - 1, width * 4 if len(window) < _FIRST_WINDOW // 4 else width

    async def _from(self, stream: str, subject: str, low: int, high: int) -> AsyncIterator[Any]:
        while low <= high:
            message = await self._next(stream, subject, low)
            if message is None or message.seq > high:
                return
            yield message
            low = message.seq + 1

    async def _next(self, stream: str, subject: str, low: int) -> Any | None:
        from nats.js.errors import NotFoundError

        try:
            return await asked(self._jetstream.get_msg(stream, seq=low, subject=subject, next=True), NotFoundError)
        except NotFoundError:
            return None

    def find(self, word: str) -> list[dict[str, Any]]:
        return [_without(("message",), record) for record in self._run(self._find(word))]

    async def _find(self, word: str) -> list[dict[str, Any]]:
        texts = [json.dumps(word), *([word] if _is_number(word) else [])]
        found = [record for text in texts for record in await self._matching(envelope.digest(text))]
        return found if found or not _is_number(word) else await self._by_key(int(word[:18]))

    async def _by_key(self, key: int) -> list[dict[str, Any]]:
        alive = await self._next(self._names.stream, self._names.event("*"), key)
        if alive is not None and alive.seq == key:
            work = await asked(self._jetstream.consumer_info(self._names.stream, self._names.consumer))
            return [await self._live(alive, work.delivered.stream_seq)]
        dead = await self._next(self._names.dead, self._names.given_up("*", key), 1)
        return [] if dead is None else [_dead(dead)]

    async def _matching(self, id: str) -> list[dict[str, Any]]:
        work = await asked(self._jetstream.consumer_info(self._names.stream, self._names.consumer))
        every = 2**62
        alive = self._from(self._names.stream, self._names.event(id), 1, every)
        dead = self._from(self._names.dead, self._names.given_up(id, "*"), 1, every)
        return [
            *[await self._live(message, work.delivered.stream_seq) async for message in alive],
            *[_dead(message) async for message in dead],
        ]

    def replay(self, keys: Iterable[int]) -> list[dict[str, Any]]:
        return [_without(_LONG, record) for record in self._run(self._replay(list(dict.fromkeys(keys))))]

    async def _replay(self, keys: list[int]) -> list[dict[str, Any]]:
        """Put again as a new message, then taken from where it was: in between it is there twice, never not at all."""
        records = []
        for record in [record for key in keys for record in await self._by_key(key)]:
            if record["state"] == "running":
                records.append(record)
                continue
            message = record["message"]
            subject = self._names.event(message.subject.split(".")[-2 if record["state"] == "dead" else -1])
            headers = {MESSAGE_ID: f"replay-{record['state']}-{record['key']}-{_event_of(message)}"}
            kept = await asked(self._jetstream.publish(subject, message.data, headers=headers))
            stream = self._names.dead if record["state"] == "dead" else self._names.stream
            await asked(self._jetstream.delete_msg(stream, message.seq))
            fresh = {"key": kept.seq, "state": "waiting", "attempts": 0, "due": None, "error": None}
            records.append({**record, **fresh})
        return records

    def purge(self, state: str, before: float) -> int:
        """Handled events leave the stream by themselves: only dead ones are kept."""
        return self._run(self._purge(before)) if state == "dead" else 0

    async def _purge(self, before: float) -> int:
        subject, count, low = self._names.given_up("*", "*"), 0, 1
        while (message := await self._next(self._names.dead, subject, low)) is not None:
            low = message.seq + 1
            if _dead(message)["received"] < before:
                await asked(self._jetstream.delete_msg(self._names.dead, message.seq))
                count += 1
        return count

    def close(self) -> None:
        if self._connection is not None:
            self._runner.run(disconnect(self._connection))
        self._runner.close()


async def _first(messages: AsyncIterator[Any], most: int) -> AsyncIterator[Any]:
    count = 0
    async for message in messages:
        if count == most:
            return
        yield message
        count += 1


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _event_of(message: Any) -> str:
    return str((message.headers or {}).get(MESSAGE_ID, ""))


def _dead(message: Any) -> dict[str, Any]:
    headers = message.headers or {}
    known = Progress("", attempts=int(headers.get(ATTEMPTS, 0)), error=json.loads(headers.get(REASON, "null")))
    return _record(message, int(message.subject.rpartition(".")[2]), state="dead", known=known)


def _record(message: Any, key: int, *, state: str, known: Progress | None = None) -> dict[str, Any]:
    known = known or Progress("")
    try:
        event = envelope.unseal(message.data)
    except envelope.NoEvent as error:
        moment = message.time.timestamp()
        event = envelope.Envelope("", "", None, moment, [], b"", message.data, b"null")
        known = known._replace(error=known.error or str(error))
    return {
        "key": key,
        "source": event.source,
        "type": event.type,
        "id": event.id,
        "state": state,
        "attempts": max(known.attempts, 1 if state == "running" else 0),
        "received": event.received,
        "due": known.due,
        "finished": None,
        "error": known.error,
        "succeeded": sorted(known.succeeded),
        "headers": sorted({name.decode("latin-1") for name, _ in event.headers}),
        "payload": event.text,
        "message": message,
    }


def _without(names: tuple[str, ...], record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}
