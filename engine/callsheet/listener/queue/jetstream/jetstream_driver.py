"""The kind of queue as the rest of the program chooses it, and what the commands at the shell see of it."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ....errors import CallsheetError, NotFound
from ..queue_port import ALL_OTHERS, NEW, QueueFailed, record_of_targets
from . import queued_messages
from .jetstream_queue import ATTEMPTS, REASON, TARGETS, JetStreamQueue, targets_in_headers
from .nats_connection import (
    QueueAccess,
    QueueNames,
    checked_reply,
    connect_to_server,
    credentials_of,
    disconnect_from_server,
    parse_queue,
    tls_context,
)
from .nats_streams import read_guarantees, stream_info
from .queued_messages import MESSAGE_ID, Progress, ProgressStore, event_of

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition
    from ..queue_port import Guarantees, Inspection, Queue, QueueEnvironment

# What the commands at the shell see of a queue on a NATS server.
#
# An event has one key for its life: its sequence number in the stream, which its subject still names when it is dead.

T = TypeVar("T")
_FIRST_WINDOW = 256
_AT_ONCE = 16
_MOST_OF_TARGETS = 100_000  # events that are looked through for those of one target
_DETAILS = ("succeeded", "targets", "known", "headers", "payload", "message")


class JetStreamInspection:
    """Looks at single messages by their numbers: a stream that is worked on can be read in no other way."""

    def __init__(self, access: QueueAccess, definition: QueueDefinition, note: Callable[[str], None]) -> None:
        self._names = QueueNames(access.address.stream, definition["subject"])
        self._runner = asyncio.Runner()
        try:
            self._connection = self._runner.run(connect_to_server(access, note))
            self._jetstream = self._connection.jetstream()
            self._run_in_loop(self._open_connection())
        except BaseException:
            self.close()
            raise

    _connection: Any = None

    def _run_in_loop(self, coroutine: Coroutine[Any, Any, T]) -> T:
        try:
            return self._runner.run(coroutine)
        except (QueueFailed, ValueError) as failed:  # others may have put anything there
            raise CallsheetError(f"queue {self._names.stream}: {failed}") from None

    async def _open_connection(self) -> None:
        if await stream_info(self._jetstream, self._names.stream) is None:
            raise NotFound(f"no queue {self._names.stream} on the server", hint="`webhook listen --queue` makes it")
        self._progress = ProgressStore(await checked_reply(self._jetstream.key_value(self._names.state_bucket)))

    def list_events(self, state: str | None, limit: int, target: str | None = None) -> list[dict[str, Any]]:
        if target is None:
            records = self._run_in_loop(self._list_events(state, limit))
        else:
            records = self._run_in_loop(self._list_events(None, _MOST_OF_TARGETS))
            found = ((record, record["known"].get(target)) for record in records)
            records = [{**record, **known._asdict()} for record, known in found if known is not None]
            records = [record for record in records if state in (None, record["state"])][:limit]
        return [_without_members(_DETAILS, record) for record in records]

    def count_by_state(self) -> Mapping[str, float]:
        return self._run_in_loop(self._count_by_state())

    async def _count_by_state(self) -> Mapping[str, float]:
        consumer = await checked_reply(self._jetstream.consumer_info(self._names.stream, self._names.consumer))
        dead = await stream_info(self._jetstream, self._names.dead_stream)
        return {
            "waiting": consumer.num_pending,
            "running": consumer.num_ack_pending,
            "dead": dead.state.messages if dead is not None else 0,
        }

    async def _list_events(self, state: str | None, limit: int) -> list[dict[str, Any]]:
        records: list[dict[str, Any]] = []
        if state in (None, "waiting", "running"):
            records += [record async for record in self._list_live(state, limit)]
        if state in (None, "dead"):
            newest = self._newest_first(self._names.dead_stream, self._names.dead_subject("*", "*"))
            records += [_dead_record(message) async for message in _first_messages(newest, limit)]
        return sorted(records, key=lambda record: -record["key"])[:limit]

    async def _list_live(self, state: str | None, limit: int) -> AsyncIterator[dict[str, Any]]:
        consumer = await checked_reply(self._jetstream.consumer_info(self._names.stream, self._names.consumer))
        count = 0
        async for message in self._newest_first(self._names.stream, self._names.event_subject("*")):
            record = await self._live_record(message, consumer)
            if record is not None and state in (None, record["state"]):
                yield record
                count += 1
                if count == limit:
                    return

    async def _live_record(self, message: Any, consumer: Any) -> dict[str, Any] | None:
        """Nothing for what was handled: a server that was killed may have kept it, and gives it to nobody any more."""
        if message.seq <= _handled_up_to(consumer):
            return None
        if message.seq > consumer.delivered.stream_seq:
            record = _record_of_message(message, message.seq, state="waiting")
            return {**record, "due": record["received"]}
        progress = await self._progress.read_progress(message.seq, event_of(message))
        waits = progress.due is not None and progress.due > time.time()
        return _record_of_message(message, message.seq, state="waiting" if waits else "running", progress=progress)

    async def _newest_first(self, stream: str, subject: str) -> AsyncIterator[Any]:
        """From the end, in windows that grow: most numbers below it belong to events that were handled long ago."""
        info = await checked_reply(self._jetstream.stream_info(stream))
        high, width = info.state.last_seq, _FIRST_WINDOW
        numbers = high - info.state.first_seq + 1
        parts = _AT_ONCE if info.state.messages * _AT_ONCE > numbers else 1
        while high >= info.state.first_seq and high > 0:
            low = max(info.state.first_seq, high - width + 1)
            window = await self._read_window(stream, subject, low, high, parts)
            for message in reversed(window):
                yield message
            high, width = low - 1, width * 4 if len(window) < _FIRST_WINDOW // 4 else width

    async def _read_window(self, stream: str, subject: str, low: int, high: int, parts: int) -> list[Any]:
        """Where events are close together several are asked for at a time: no call gives more than one."""
        step = -(-(high - low + 1) // parts)
        starts = range(low, high + 1, step)
        collected = [self._collect_messages(stream, subject, start, min(high, start + step - 1)) for start in starts]
        return [message for part in await asyncio.gather(*collected) for message in part]

    async def _collect_messages(self, stream: str, subject: str, low: int, high: int) -> list[Any]:
        return [message async for message in self._iterate_messages(stream, subject, low, high)]

    async def _iterate_messages(self, stream: str, subject: str, low: int, high: int) -> AsyncIterator[Any]:
        while low <= high:
            message = await self._next_message(stream, subject, low)
            if message is None or message.seq > high:
                return
            yield message
            low = message.seq + 1

    async def _next_message(self, stream: str, subject: str, low: int) -> Any | None:
        from nats.js.errors import NotFoundError

        try:
            return await checked_reply(
                self._jetstream.get_msg(stream, seq=low, subject=subject, next=True), NotFoundError
            )
        except NotFoundError:
            return None

    def find_events(self, word: str) -> list[dict[str, Any]]:
        found = self._run_in_loop(self._find_events(word))
        return [_without_members(("message", "known"), record) for record in found]

    async def _find_events(self, word: str) -> list[dict[str, Any]]:
        texts = [json.dumps(word), *([word] if _is_number(word) else [])]
        records = [record for text in texts for record in await self._events_with_id(queued_messages.digest_word(text))]
        return records if records or not _is_number(word) else await self._by_key(int(word[:18]))

    async def _by_key(self, key: int) -> list[dict[str, Any]]:
        alive = await self._next_message(self._names.stream, self._names.event_subject("*"), key)
        if alive is not None and alive.seq == key:
            consumer = await checked_reply(self._jetstream.consumer_info(self._names.stream, self._names.consumer))
            if (record := await self._live_record(alive, consumer)) is not None:
                return [record]
        dead = await self._next_message(self._names.dead_stream, self._names.dead_subject("*", key), 1)
        return [] if dead is None else [_dead_record(dead)]

    async def _events_with_id(self, id: str) -> list[dict[str, Any]]:
        consumer = await checked_reply(self._jetstream.consumer_info(self._names.stream, self._names.consumer))
        end = 2**62
        alive = self._iterate_messages(self._names.stream, self._names.event_subject(id), 1, end)
        dead = self._iterate_messages(self._names.dead_stream, self._names.dead_subject(id, "*"), 1, end)
        live = [await self._live_record(message, consumer) async for message in alive]
        return [*filter(None, live), *[_dead_record(message) async for message in dead]]

    def target_names(self) -> Collection[str]:
        records = self._run_in_loop(self._list_events(None, _MOST_OF_TARGETS))
        return {name for record in records for name in record["known"]} - {ALL_OTHERS}

    def replay_events(self, keys: Iterable[int], target: str | None = None) -> list[dict[str, Any]]:
        replayed = self._run_in_loop(self._replay_events(list(dict.fromkeys(keys)), target))
        return [_without_members(_DETAILS, record) for record in replayed]

    async def _replay_events(self, keys: list[int], target: str | None) -> list[dict[str, Any]]:
        """Put again as a new message, then taken from where it was: in between it is there twice, never not at all."""
        records = []
        for record in [record for key in keys for record in await self._by_key(key)]:
            if record["state"] == "running":
                records.append(record)
                continue
            message = record["message"]
            subject = self._names.event_subject(message.subject.split(".")[-2 if record["state"] == "dead" else -1])
            replayed = queued_messages.digest_word(f"{record['state']}-{record['key']}-{event_of(message)}")
            headers = {MESSAGE_ID: f"replay-{replayed}"}  # as long as before, however often it is replayed
            if target is not None:
                headers[TARGETS] = json.dumps({**record["known"], target: NEW})
            ack = await checked_reply(self._jetstream.publish(subject, message.data, headers=headers))
            stream = self._names.dead_stream if record["state"] == "dead" else self._names.stream
            await checked_reply(self._jetstream.delete_msg(stream, message.seq))
            changes = {"key": ack.seq, "state": "waiting", "attempts": 0, "due": time.time(), "error": None}
            records.append({**record, **changes})
        return records

    def purge_events(self, state: str, before: float) -> int:
        """Handled events leave the stream by themselves: only dead ones are kept."""
        return self._run_in_loop(self._purge_dead(before)) if state == "dead" else 0

    async def _purge_dead(self, before: float) -> int:
        subject, count, low = self._names.dead_subject("*", "*"), 0, 1
        while (message := await self._next_message(self._names.dead_stream, subject, low)) is not None:
            low = message.seq + 1
            if _dead_record(message)["received"] < before:
                await checked_reply(self._jetstream.delete_msg(self._names.dead_stream, message.seq))
                count += 1
        return count

    def close(self) -> None:
        if self._connection is not None:
            self._runner.run(disconnect_from_server(self._connection))
        self._runner.close()


async def _first_messages(messages: AsyncIterator[Any], limit: int) -> AsyncIterator[Any]:
    count = 0
    async for message in messages:
        yield message
        count += 1
        if count == limit:  # looking for one more may take another window
            return


def _handled_up_to(consumer: Any) -> int:
    """The number up to which all events were acknowledged. With a bound on deliveries it passes others too."""
    floor = consumer.ack_floor
    return 0 if floor is None or (consumer.config.max_deliver or -1) > 0 else int(floor.stream_seq)


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit()


def _dead_record(message: Any) -> dict[str, Any]:
    headers = message.headers or {}
    progress = Progress(
        "", targets_in_headers(message), int(headers.get(ATTEMPTS, 0)),
        error=json.loads(headers.get(REASON, "null")),
    )  # fmt: skip
    return _record_of_message(message, int(message.subject.rpartition(".")[2]), state="dead", progress=progress)


def _record_of_message(message: Any, key: int, *, state: str, progress: Progress | None = None) -> dict[str, Any]:
    progress = progress or Progress("")
    try:
        event = queued_messages.decode_event(message.data)
    except queued_messages.InvalidEnvelope as error:
        moment = message.time.timestamp()
        event = queued_messages.Envelope("", "", None, moment, [], b"", message.data, b"null")
        progress = progress._replace(error=progress.error or str(error))
    return {
        "key": key,
        "source": event.source,
        "type": event.type,
        "id": event.id,
        "state": state,
        "attempts": max(progress.attempts, 1 if state == "running" else 0),
        "received": event.received,
        "due": progress.due,
        "finished": None,
        "error": progress.error,
        "known": progress.targets,
        **record_of_targets(progress.targets),
        "headers": sorted({name.decode("latin-1") for name, _ in event.headers}),
        "payload": event.text,
        "message": message,
    }


def _without_members(names: tuple[str, ...], record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


# The kind of queue as the rest of the program chooses it.

Note = Callable[[str], None]


class JetStream:
    """Addresses of a stream: `nats://HOST:PORT/STREAM`. Credentials and certificates are read here."""

    def __init__(self, url: str, definition: QueueDefinition, environment: QueueEnvironment) -> None:
        address = parse_queue(url, definition["schemes"], environment.prefix)
        credentials, tls = credentials_of(definition, environment), tls_context(definition, address.scheme)
        self._definition = definition
        self._access = QueueAccess(address, credentials, tls, definition["connect_timeout"])

    def open_queue(self, note: Note, *, consumes: bool) -> Queue:
        return JetStreamQueue(self._access, self._definition, note, consumes=consumes)

    def open_inspection(self, note: Note) -> Inspection:
        return JetStreamInspection(self._access, self._definition, note)

    def read_guarantees(self, note: Note) -> Guarantees:
        return read_guarantees(self._access, self._definition, note)
