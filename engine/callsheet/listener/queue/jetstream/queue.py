"""The queue on a NATS server as listeners and workers use it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...ending import cancel_all
from ..port import DUPLICATE, Lease, PutResult, QueuedEvent, QueueFailed, TooLarge
from . import envelope
from .connection import QueueAccess, checked, connect, disconnect
from .names import QueueNames
from .progress import ProgressStore
from .pull import Pull
from .streams import prepare

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition
    from ...verify.event import Event

TIMEOUT = 5.0
DEPTH_EVERY = 2.0
# Seconds. A listener that says it is not ready may get no events, and only an event shows that there is room again.
FAILURE_LASTS = 5.0
MESSAGE_ID = "Nats-Msg-Id"
REASON, ATTEMPTS, SUCCEEDED = "Callsheet-Reason", "Callsheet-Attempts", "Callsheet-Succeeded"
# Bytes of a message that are left for headers, so that what was taken can be kept with its last error too.
HEADERS_RESERVE = 2048
_FIXED_HEADERS = 512  # those of a dead event without its error and its jobs


class JetStreamQueue:
    """`consumes` tells whether this process takes events, or only puts them."""

    def __init__(
        self, access: QueueAccess, definition: QueueDefinition, note: Callable[[str], None], *, consumes: bool
    ) -> None:
        self.names = QueueNames(access.address.stream, definition["subject"])
        self.renew_every = 1.0
        self._access = access
        self._definition = definition
        self._note = note
        self._consumes = consumes
        self._connection: Any = None
        self._pull: Pull | None = None
        self._failure: str | None = None
        self._failed_at = 0.0
        self._with_progress: set[int] = set()
        self._depth: Mapping[str, float] = {}
        self._depth_task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._connection = await connect(self._access, self._note)
        self._jetstream = self._connection.jetstream(timeout=TIMEOUT)
        self.renew_every = await prepare(self._jetstream, self.names, self._definition, self._note) / 3
        self._progress = ProgressStore(await checked(self._jetstream.key_value(self.names.state_bucket)))
        if self._consumes:
            self._pull = Pull(self._connection, self.names)
            await self._pull.open()
        self._depth_task = asyncio.create_task(self._poll_depth())

    @property
    def problem(self) -> str | None:
        if self._connection is None or not self._connection.is_connected:
            return "not connected"
        if time.monotonic() - self._failed_at > FAILURE_LASTS:
            self._failure = None
        return self._failure

    def put(self, event: Event, *, has_jobs: bool, run_here: bool) -> asyncio.Future[PutResult]:
        """Nobody keeps a place for what he puts: workers take it from the server."""
        del run_here
        return asyncio.ensure_future(self._publish(event) if has_jobs else _nothing_to_store())

    async def _publish(self, event: Event) -> PutResult:
        if not self._connection.is_connected:
            raise QueueFailed(f"not connected to {self._access.address}")
        subject = self.names.event_subject(envelope.id_digest(event.id))
        headers = {MESSAGE_ID: envelope.digest(event.key)}
        data = envelope.encode(event)
        self._check_size(len(data) + HEADERS_RESERVE)
        try:
            ack = await checked(self._jetstream.publish(subject, data, timeout=TIMEOUT, headers=headers))
        except QueueFailed as error:
            self._failure, self._failed_at = str(error), time.monotonic()
            raise
        self._failure = None
        return DUPLICATE if ack.duplicate else PutResult(stored=True)

    def _check_size(self, size: int) -> None:
        """The server ends the connection of whoever sends it more."""
        if size > self._connection.max_payload:
            raise TooLarge("the event is larger than the server takes")

    async def fetch(self, count: int) -> list[QueuedEvent]:
        messages = [] if self._pull is None else await self._pull.fetch(count)
        return [await self._queued_event(message) for message in messages]

    async def _queued_event(self, message: Any) -> QueuedEvent:
        metadata = message.metadata
        key, attempts = metadata.sequence.stream, metadata.num_delivered
        succeeded = await self._succeeded(key, message) if attempts > 1 else frozenset()
        lease = Lease(key, attempts, message)
        try:
            event = envelope.decode(message.data)
        except envelope.InvalidEnvelope:
            return QueuedEvent(lease, "", [], b"", message.data, message.data, frozenset())
        return QueuedEvent(lease, event.source, event.headers, event.query, event.data, event.text, succeeded)

    async def _succeeded(self, key: int, message: Any) -> frozenset[str]:
        """Its jobs that are noted as done; none where that cannot be read: then all of them run, at least once."""
        try:
            return frozenset((await self._progress.read(key, _event_of(message))).succeeded)
        except QueueFailed:
            return frozenset()

    async def extend(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            await checked(self._connection.publish(lease.token.reply, b"+WPI"))

    async def record_success(self, lease: Lease, job: str) -> bool:
        self._with_progress.add(lease.key)
        await self._progress.add(lease.key, _event_of(lease.token), succeeded=(job,), attempts=lease.attempts)
        return True

    async def complete(self, lease: Lease) -> bool:
        """Answered by the server, so that nobody runs it again."""
        await self._acknowledge(lease, b"+ACK")
        if lease.attempts > 1 or lease.key in self._with_progress:
            self._with_progress.discard(lease.key)
            with contextlib.suppress(QueueFailed):  # it expires
                await self._progress.forget(lease.key)
        return True

    async def retry(self, lease: Lease, delay: float, reason: str) -> bool:
        due = time.time() + delay
        changes = {"attempts": lease.attempts, "due": due, "error": reason}
        await self._progress.add(lease.key, _event_of(lease.token), **changes)
        self._with_progress.discard(lease.key)
        await self._acknowledge(lease, b"-NAK " + json.dumps({"delay": int(delay * 1e9)}).encode())
        return True

    async def give_up(self, lease: Lease, reason: str) -> bool:
        """Kept in the other stream before it leaves this one; its number is its message id, so it is kept once."""
        message = lease.token
        subject = self.names.dead_subject(message.subject.rpartition(".")[2], lease.key)
        self._check_size(len(message.data) + _FIXED_HEADERS)
        room = self._connection.max_payload - len(message.data) - _FIXED_HEADERS
        jobs = json.dumps(sorted(await self._succeeded(lease.key, message)))
        if len(jobs) > room // 2:
            jobs = "[]"
        headers = {
            MESSAGE_ID: f"{_event_of(message)}-{lease.key}", REASON: _shortened(reason, room - len(jobs)),
            ATTEMPTS: str(lease.attempts), SUCCEEDED: jobs,
        }  # fmt: skip
        await checked(self._jetstream.publish(subject, message.data, timeout=TIMEOUT, headers=headers))
        return await self.complete(lease)

    async def _acknowledge(self, lease: Lease, payload: bytes) -> None:
        await checked(self._connection.request(lease.token.reply, payload, timeout=TIMEOUT))

    async def release(self, leases: Sequence[Lease]) -> None:
        if self._pull is None:
            return
        for message in (*(lease.token for lease in leases), *self._pull.drain()):
            await checked(self._connection.publish(message.reply, b"-NAK"))
        await checked(self._connection.flush(timeout=TIMEOUT))

    def depth(self) -> Mapping[str, float]:
        """As it was a moment ago. Handled events leave the server and are not counted."""
        return self._depth

    async def _poll_depth(self) -> None:
        while True:
            with contextlib.suppress(QueueFailed):
                self._depth = await self._fetch_depth()
            await asyncio.sleep(DEPTH_EVERY)

    async def _fetch_depth(self) -> Mapping[str, float]:
        work = await checked(self._jetstream.consumer_info(self.names.stream, self.names.consumer))
        dead = await checked(self._jetstream.stream_info(self.names.dead_stream))
        return {
            "waiting": float(work.num_pending),
            "running": float(work.num_ack_pending),
            "dead": float(dead.state.messages),
        }

    async def close(self) -> None:
        if self._depth_task is not None:
            await cancel_all([self._depth_task])
        if self._connection is not None:
            await disconnect(self._connection)


def _event_of(message: Any) -> str:
    return str((message.headers or {}).get(MESSAGE_ID, ""))


def _shortened(reason: str, room: int) -> str:
    """As JSON, in which a letter can take six bytes."""
    while len(text := json.dumps(reason)) > room and reason:
        reason = reason[: len(reason) * 3 // 4]
    return text


async def _nothing_to_store() -> PutResult:
    return PutResult(stored=True)
