"""The queue on a NATS server as listeners and workers use it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..port import DUPLICATE, Lease, Put, QueueFailed, Taken
from . import envelope
from .address import QueueAddress
from .connection import asked, connect, disconnect
from .names import Names
from .progress import ProgressBook
from .pull import Pull
from .streams import prepare

if TYPE_CHECKING:
    from ....language.shape.listener import QueueDefinition
    from ...verify.event import Event

ANSWER = 5.0
DEPTH_EVERY = 2.0
MESSAGE_ID = "Nats-Msg-Id"
REASON, ATTEMPTS = "Callsheet-Reason", "Callsheet-Attempts"


class JetStreamQueue:
    """`works` tells whether this process takes events, or only puts them."""

    def __init__(
        self, address: QueueAddress, definition: QueueDefinition, note: Callable[[str], None], *, works: bool
    ) -> None:
        self.names = Names(address.stream, definition["subject"])
        self.renew_every = 1.0
        self._address = address
        self._definition = definition
        self._note = note
        self._works = works
        self._connection: Any = None
        self._pull: Pull | None = None
        self._failure: str | None = None
        self._marked: set[int] = set()
        self._depth: Mapping[str, float] = {}
        self._watch: asyncio.Task[None] | None = None

    async def open(self) -> None:
        self._connection = await connect(self._address, self._definition, self._note)
        self._jetstream = self._connection.jetstream(timeout=ANSWER)
        self.renew_every = await prepare(self._jetstream, self.names, self._definition) / 3
        self._progress = ProgressBook(await asked(self._jetstream.key_value(self.names.state)))
        if self._works:
            self._pull = Pull(self._connection, self.names)
            await self._pull.open()
        self._watch = asyncio.create_task(self._look_for_ever())

    @property
    def problem(self) -> str | None:
        if self._connection is None or not self._connection.is_connected:
            return "not connected"
        return self._failure

    def put(self, event: Event, *, wanted: bool, own: bool) -> asyncio.Future[Put]:
        """Nobody keeps a place for what he puts: workers take it from the server."""
        del own
        return asyncio.ensure_future(self._put(event) if wanted else _nothing_to_keep())

    async def _put(self, event: Event) -> Put:
        if not self._connection.is_connected:
            raise QueueFailed(f"not connected to {self._address}")
        subject = self.names.event(envelope.id_digest(event.id))
        headers = {MESSAGE_ID: envelope.digest(event.key)}
        try:
            kept = await asked(self._jetstream.publish(subject, envelope.seal(event), timeout=ANSWER, headers=headers))
        except QueueFailed as failed:
            self._failure = str(failed)
            raise
        self._failure = None
        return DUPLICATE if kept.duplicate else Put(stored=True)

    async def take(self, count: int) -> list[Taken]:
        messages = [] if self._pull is None else await self._pull.take(count)
        return [await self._taken(message) for message in messages]

    async def _taken(self, message: Any) -> Taken:
        delivered = message.metadata
        key, attempts = delivered.sequence.stream, delivered.num_delivered
        succeeded: tuple[str, ...] = ()
        if attempts > 1:
            with contextlib.suppress(QueueFailed):  # then all of its jobs run: at least once
                succeeded = (await self._progress.read(key, _event_of(message))).succeeded
        lease = Lease(key, attempts, message)
        try:
            found = envelope.unseal(message.data)
        except envelope.NoEvent:
            return Taken(lease, "", [], b"", message.data, message.data, frozenset())
        return Taken(lease, found.source, found.headers, found.query, found.data, found.text, frozenset(succeeded))

    async def extend(self, leases: Sequence[Lease]) -> None:
        for lease in leases:
            await asked(self._connection.publish(lease.token.reply, b"+WPI"))

    async def mark(self, lease: Lease, job: str) -> bool:
        self._marked.add(lease.key)
        await self._progress.add(lease.key, _event_of(lease.token), succeeded=(job,), attempts=lease.attempts)
        return True

    async def done(self, lease: Lease) -> bool:
        """Answered by the server, so that nobody runs it again."""
        await self._answer(lease, b"+ACK")
        if lease.attempts > 1 or lease.key in self._marked:
            self._marked.discard(lease.key)
            with contextlib.suppress(QueueFailed):  # it expires
                await self._progress.forget(lease.key)
        return True

    async def retry(self, lease: Lease, delay: float, reason: str) -> bool:
        due = time.time() + delay
        news = {"attempts": lease.attempts, "due": due, "error": reason}
        await self._progress.add(lease.key, _event_of(lease.token), **news)
        self._marked.discard(lease.key)
        await self._answer(lease, b"-NAK " + json.dumps({"delay": int(delay * 1e9)}).encode())
        return True

    async def dead(self, lease: Lease, reason: str) -> bool:
        """Kept in the other stream before it leaves this one; its number is its message id, so it is kept once."""
        message = lease.token
        subject = self.names.given_up(message.subject.rpartition(".")[2], lease.key)
        headers = {
            MESSAGE_ID: f"{_event_of(message)}-{lease.key}", REASON: json.dumps(reason), ATTEMPTS: str(lease.attempts)
        }  # fmt: skip
        await asked(self._jetstream.publish(subject, message.data, timeout=ANSWER, headers=headers))
        return await self.done(lease)

    async def _answer(self, lease: Lease, word: bytes) -> None:
        await asked(self._connection.request(lease.token.reply, word, timeout=ANSWER))

    async def leave(self, leases: Sequence[Lease]) -> None:
        if self._pull is None:
            return
        for message in (*(lease.token for lease in leases), *self._pull.left()):
            await asked(self._connection.publish(message.reply, b"-NAK"))
        await asked(self._connection.flush(timeout=ANSWER))

    def depth(self) -> Mapping[str, float]:
        """As it was a moment ago. Handled events leave the server and are not counted."""
        return self._depth

    async def _look_for_ever(self) -> None:
        while True:
            with contextlib.suppress(QueueFailed):
                self._depth = await self._look()
            await asyncio.sleep(DEPTH_EVERY)

    async def _look(self) -> Mapping[str, float]:
        work = await asked(self._jetstream.consumer_info(self.names.stream, self.names.consumer))
        dead = await asked(self._jetstream.stream_info(self.names.dead))
        return {
            "waiting": float(work.num_pending),
            "running": float(work.num_ack_pending),
            "dead": float(dead.state.messages),
        }

    async def close(self) -> None:
        if self._watch is not None:
            self._watch.cancel()
            await asyncio.gather(self._watch, return_exceptions=True)
        if self._connection is not None:
            await disconnect(self._connection)


def _event_of(message: Any) -> str:
    return str((message.headers or {}).get(MESSAGE_ID, ""))


async def _nothing_to_keep() -> Put:
    return Put(stored=True)
