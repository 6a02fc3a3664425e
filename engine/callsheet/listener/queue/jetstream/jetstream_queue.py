"""The queue on a NATS server as listeners and workers use it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any

from ....errors import CallsheetError
from ...asyncio_helpers import cancel_all
from ..queue_port import DONE, DUPLICATE, FailedRun, Lease, PutResult, QueuedEvent, QueueFailed, TargetState, TooLarge
from . import queued_messages
from .nats_connection import QueueAccess, QueueNames, checked_reply, connect_to_server, disconnect_from_server
from .nats_streams import HEADERS_RESERVE, missing_on_server, prepare_streams
from .queued_messages import MESSAGE_ID, Progress, ProgressStore, ReceivedMessages, decode_targets, event_of

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition
    from ...verify.event import Event

# Messages taken from the server as places are free: one request at a time, answered message by message.

EXPIRES = 1.0
_GRACE = 1.0
# A server that hangs answers when it goes on. Asked again and again, it would send more than there are places.
_ASK_AGAIN = 10.0
_ENDED = ("404", "408")  # the request has expired, or there was nothing


class MessageFetcher:
    """Never asks for more than there are places, so that other processes get the rest.

    `admit` is asked of each message whether it is to be kept. `on_silence` is told for how many seconds the server did
    not answer where it should have.
    """

    def __init__(
        self, connection: Any, names: QueueNames, admit: Callable[[Any], bool], on_silence: Callable[[float], None]
    ) -> None:
        self._connection = connection
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{names.stream}.{names.consumer}"
        self._inbox: str = connection.new_inbox()
        self._admit = admit
        self._on_silence = on_silence
        self._ready: deque[Any] = deque()
        self._arrived = asyncio.Event()
        self._expected = 0
        self._asked_at = 0.0
        self._heard_at: float | None = None  # or asked, where nothing was asked before
        self._reconnects = 0
        self._refusal: str | None = None

    async def open(self) -> None:
        await checked_reply(self._connection.subscribe(self._inbox, cb=self._receive_message))

    async def _receive_message(self, message: Any) -> None:
        now = monotonic()
        if self._heard_at is not None and now - self._heard_at > EXPIRES + _GRACE:
            self._on_silence(now - self._heard_at)
        if not message.reply:  # no event: the request has ended
            self._expected = 0
            headers = message.headers or {}
            if headers.get("Status") not in _ENDED:
                self._refusal = headers.get("Description") or "the consumer is gone"
        else:
            self._expected = max(0, self._expected - 1)
            if self._admit(message):
                self._ready.append(message)
        self._heard_at = now if self._expected else None
        self._arrived.set()

    async def fetch_messages(self, count: int) -> list[Any]:
        """At most `count` messages; waits a second for the first. Raises `QueueFailed` where nobody gives any."""
        if not self._ready:
            self._arrived.clear()
            await self._ask_for_messages(count)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EXPIRES + _GRACE):
                    await self._arrived.wait()
        if not self._ready and self._refusal is not None:
            refusal, self._refusal = self._refusal, None
            raise QueueFailed(f"the server gives no events: {refusal}")
        return [self._ready.popleft() for _ in range(min(count, len(self._ready)))]

    async def _ask_for_messages(self, count: int) -> None:
        now = monotonic()
        reconnects = self._connection.stats["reconnects"]
        if self._expected and reconnects == self._reconnects and now - self._asked_at < _ASK_AGAIN:
            return
        request = {"batch": count, "expires": int(EXPIRES * 1e9)}
        self._expected, self._asked_at, self._reconnects = count, now, reconnects
        self._heard_at = self._heard_at or now
        await checked_reply(self._connection.publish(self._subject, json.dumps(request).encode(), self._inbox))


TIMEOUT = 5.0
DEPTH_EVERY = 2.0
# Seconds. A listener that says it is not ready may get no events, and only an event shows that there is room again.
FAILURE_LASTS = 5.0
REASON, ATTEMPTS, TARGETS = "Callsheet-Reason", "Callsheet-Attempts", "Callsheet-Targets"
_FIXED_HEADERS = 512  # those of a dead event without its error and its targets


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
        self._fetcher: MessageFetcher | None = None
        self._failure: str | None = None
        self._failed_at = 0.0
        self._with_progress: set[int] = set()
        self._depth: Mapping[str, float] = {}
        self._watch_task: asyncio.Task[None] | None = None
        self._received = ReceivedMessages()
        self._sending: set[asyncio.Task[None]] = set()
        self._unusable: str | None = None
        self._distrusts_until = 0.0

    async def open(self) -> None:
        self._connection = await connect_to_server(self._access, self._note)
        self._jetstream = self._connection.jetstream(timeout=TIMEOUT)
        self.renew_every = await prepare_streams(self._jetstream, self.names, self._definition, self._note) / 3
        self._progress = ProgressStore(await checked_reply(self._jetstream.key_value(self.names.state_bucket)))
        if self._consumes:
            self._fetcher = MessageFetcher(self._connection, self.names, self._admit_message, self._on_silence)
            await self._fetcher.open()
        self._watch_task = asyncio.create_task(self._watch_connection())

    @property
    def problem(self) -> str | None:
        if self._connection is None or not self._connection.is_connected:
            return "not connected"
        if self._unusable is not None:
            return self._unusable
        if time.monotonic() - self._failed_at > FAILURE_LASTS:
            self._failure = None
        return self._failure

    def put_event(self, event: Event, *, has_jobs: bool, run_here: bool) -> asyncio.Future[PutResult]:
        """Nobody keeps a place for what he puts: workers take it from the server."""
        del run_here
        return asyncio.ensure_future(self._publish_event(event) if has_jobs else _nothing_to_store())

    async def _publish_event(self, event: Event) -> PutResult:
        self._check_connected()
        if self._unusable is not None:
            raise QueueFailed(self._unusable)
        subject = self.names.event_subject(queued_messages.id_digest(event.id))
        headers = {MESSAGE_ID: queued_messages.digest_word(event.key)}
        data = queued_messages.encode_event(event)
        self._check_size(len(data) + HEADERS_RESERVE)
        try:
            ack = await checked_reply(self._jetstream.publish(subject, data, timeout=TIMEOUT, headers=headers))
        except QueueFailed as error:
            self._failure, self._failed_at = str(error), time.monotonic()
            raise
        self._failure = None
        return DUPLICATE if ack.duplicate else PutResult(stored=True)

    def _check_connected(self) -> None:
        """What is sent without a connection would wait for one, and be sent as often as somebody tried."""
        if not self._connection.is_connected:
            raise QueueFailed(f"not connected to {self._access.address}")

    def _check_size(self, size: int) -> None:
        """The server ends the connection of whoever sends it more."""
        if size > self._connection.max_payload:
            raise TooLarge("the event is larger than the server takes")

    def _admit_message(self, message: Any) -> bool:
        """False for what is here already: the server sends it again where it heard of it too late, or forgot it."""
        if self._received.has_ended(message):
            self._send_soon(message, b"+ACK")
            return False
        if self._received.add_message(message):
            return True
        self._send_soon(message, b"+WPI")
        return False

    def _send_soon(self, message: Any, payload: bytes) -> None:
        task = asyncio.ensure_future(self._connection.publish(message.reply, payload))
        self._sending.add(task)
        task.add_done_callback(self._on_sent)

    def _on_sent(self, task: asyncio.Task[None]) -> None:
        """Where it was not sent, the server sends the event once more."""
        self._sending.discard(task)
        if not task.cancelled():
            task.exception()

    def _on_silence(self, duration: float) -> None:
        """Others could not renew what they run either. They get the time to do so before it is taken over."""
        if duration > 1.5 * self.renew_every:
            self._distrusts_until = time.monotonic() + self.renew_every

    async def fetch_events(self, count: int) -> list[QueuedEvent]:
        try:
            self._check_connected()
            messages = [] if self._fetcher is None else await self._fetcher.fetch_messages(count)
        except QueueFailed as error:
            self._failure, self._failed_at = str(error), time.monotonic()
            raise
        repeated = [message for message in messages if message.metadata.num_delivered > 1]
        known = dict(zip(map(id, repeated), await asyncio.gather(*map(self._read_progress, repeated)), strict=True))
        return [
            self._queued_event(message, known.get(id(message)))
            for message in messages
            if not self._is_left_to_others(message, known.get(id(message)))
        ]

    async def _read_progress(self, message: Any) -> Progress:
        """Nothing where it cannot be read: then all of its jobs run, at least once."""
        event = event_of(message)
        try:
            return await self._progress.read_progress(message.metadata.sequence.stream, event)
        except QueueFailed:
            return Progress(event)

    def _is_left_to_others(self, message: Any, progress: Progress | None) -> bool:
        """Given back for a while, which whoever runs it makes longer by renewing it."""
        if progress is None or time.monotonic() > self._distrusts_until:
            return False
        if progress.due is not None and progress.deliveries >= message.metadata.num_delivered - 1:
            return False  # it failed, and nobody runs it
        self._received.drop_event(message.metadata.sequence.stream)
        self._send_soon(message, _negative_acknowledgement(2 * self.renew_every))
        return True

    def _queued_event(self, message: Any, progress: Progress | None) -> QueuedEvent:
        metadata = message.metadata
        key = metadata.sequence.stream
        self._received.hand_over(key)
        known = progress or Progress("")
        lease = Lease(key, known.attempts + metadata.num_delivered - known.deliveries, message)
        try:
            event = queued_messages.decode_event(message.data)
            replayed = targets_in_headers(message)
        except (queued_messages.InvalidEnvelope, ValueError, TypeError, AttributeError):
            return QueuedEvent(lease, "", [], b"", message.data, message.data, time.time(), {})
        targets = {**replayed, **known.targets}
        return QueuedEvent(
            lease, event.source, event.headers, event.query, event.data, event.text, event.received, targets
        )

    async def extend_leases(self, leases: Sequence[Lease]) -> None:
        self._received.keep_only(lease.key for lease in leases)
        for message in self._received.held_messages():
            await checked_reply(self._connection.publish(message.reply, b"+WPI"))

    async def record_success(self, lease: Lease, job: str) -> bool:
        self._check_connected()
        self._with_progress.add(lease.key)
        await self._progress.add_progress(
            lease.key, event_of(lease.token), targets={job: DONE}, **_attempts_of(lease), due=None
        )
        return True

    async def complete_event(self, lease: Lease) -> bool:
        """Answered by the server, so that nobody runs it again."""
        await self._acknowledge_message(lease, b"+ACK")
        self._received.end_event(lease.key, lease.token)
        if lease.token.metadata.num_delivered > 1 or lease.key in self._with_progress:
            self._with_progress.discard(lease.key)
            with contextlib.suppress(QueueFailed):  # it expires
                await self._progress.forget_progress(lease.key)
        return True

    async def retry_later(self, lease: Lease, delay: float, run: FailedRun) -> bool:
        self._check_connected()
        due = time.time() + delay
        changes = {**_attempts_of(lease), "attempts": run.attempts, "due": due, "error": run.reason}
        await self._progress.add_progress(lease.key, event_of(lease.token), targets=run.targets, **changes)
        self._with_progress.discard(lease.key)
        message = self._received.newest_delivery(lease.key, lease.token)
        self._received.drop_event(lease.key)  # it may come back before the answer does
        await self._acknowledge_message(lease._replace(token=message), _negative_acknowledgement(delay))
        return True

    async def give_up(self, lease: Lease, run: FailedRun) -> bool:
        """Kept in the other stream before it leaves this one; its number is its message id, so it is kept once."""
        self._check_connected()
        message = lease.token
        subject = self.names.dead_subject(message.subject.rpartition(".")[2], lease.key)
        self._check_size(len(message.data) + _FIXED_HEADERS)
        room = self._connection.max_payload - len(message.data) - _FIXED_HEADERS
        targets = json.dumps({**targets_in_headers(message), **await self._read_targets(lease), **run.targets})
        if len(targets) > room // 2:
            targets = "{}"
        headers = {
            MESSAGE_ID: f"{event_of(message)}-{lease.key}", REASON: _shortened_reason(run.reason, room - len(targets)),
            ATTEMPTS: str(run.attempts), TARGETS: targets,
        }  # fmt: skip
        await checked_reply(self._jetstream.publish(subject, message.data, timeout=TIMEOUT, headers=headers))
        return await self.complete_event(lease)

    async def _read_targets(self, lease: Lease) -> Mapping[str, TargetState]:
        with contextlib.suppress(QueueFailed):
            return (await self._progress.read_progress(lease.key, event_of(lease.token))).targets
        return {}

    async def _acknowledge_message(self, lease: Lease, payload: bytes) -> None:
        self._check_connected()
        reply = self._received.newest_delivery(lease.key, lease.token).reply
        await checked_reply(self._connection.request(reply, payload, timeout=TIMEOUT))

    async def release_leases(self, leases: Sequence[Lease]) -> None:
        if self._fetcher is None:
            return
        held = (self._received.newest_delivery(lease.key, lease.token) for lease in leases)
        for message in (*held, *self._received.waiting_messages()):
            await checked_reply(self._connection.publish(message.reply, b"-NAK"))
        await checked_reply(self._connection.flush(timeout=TIMEOUT))

    def events_by_state(self) -> Mapping[str, float]:
        """As it was a moment ago. Handled events leave the server and are not counted."""
        return self._depth

    async def _watch_connection(self) -> None:
        while True:
            with contextlib.suppress(QueueFailed):
                await self._look_at_stream()
            await asyncio.sleep(DEPTH_EVERY)

    async def _look_at_stream(self) -> None:
        from nats.js.errors import NotFoundError

        try:
            self._depth = await self._fetch_depth()
            await checked_reply(self._jetstream.stream_info(f"KV_{self.names.state_bucket}"), NotFoundError)
        except NotFoundError:
            await self._restore_queue()
        else:
            self._unusable = None

    async def _fetch_depth(self) -> Mapping[str, float]:
        from nats.js.errors import NotFoundError

        work = await checked_reply(self._jetstream.consumer_info(self.names.stream, self.names.consumer), NotFoundError)
        dead = await checked_reply(self._jetstream.stream_info(self.names.dead_stream), NotFoundError)
        return {
            "waiting": float(work.num_pending),
            "running": float(work.num_ack_pending),
            "dead": float(dead.state.messages),
        }

    async def _restore_queue(self) -> None:
        """As at a start."""
        gone = ", ".join(await missing_on_server(self._jetstream, self.names))
        try:
            self.renew_every = await prepare_streams(self._jetstream, self.names, self._definition, self._note) / 3
        except CallsheetError as error:
            before, self._unusable = self._unusable, error.message
            if before is None:
                self._note(error.message)
        else:
            self._unusable = None
            if gone:
                self._note(f"warning: queue {self.names.stream}: {gone} was deleted on the server; it is made again")

    async def close(self) -> None:
        if self._watch_task is not None:
            await cancel_all([self._watch_task])
        if self._connection is not None:
            await disconnect_from_server(self._connection)


def _attempts_of(lease: Lease) -> dict[str, int]:
    return {"attempts": lease.attempts, "deliveries": lease.token.metadata.num_delivered}


def targets_in_headers(message: Any) -> dict[str, TargetState]:
    """Those of an event that is dead, or that is run again for one of them."""
    return decode_targets(json.loads((message.headers or {}).get(TARGETS, "{}")))


def _negative_acknowledgement(delay: float) -> bytes:
    return b"-NAK " + json.dumps({"delay": int(delay * 1e9)}).encode()


def _shortened_reason(reason: str, room: int) -> str:
    """As JSON, in which a letter can take six bytes."""
    while len(text := json.dumps(reason)) > room and reason:
        reason = reason[: len(reason) * 3 // 4]
    return text


async def _nothing_to_store() -> PutResult:
    return PutResult(stored=True)
