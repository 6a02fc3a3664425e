"""The queue in a file as listeners and workers use it. Several processes may share one file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ....errors import CallsheetError, UsageError, count_of
from ....files import PRIVATE
from ..queue_port import DUPLICATE, FailedRun, Lease, PutResult, QueuedEvent, QueueFailed
from . import inbox_events, inbox_file
from .inbox_events import count_by_state
from .inbox_file import Whereabouts
from .inbox_writer import Damaged, InboxWriter

if TYPE_CHECKING:
    from ...verify.event import Event

# Whether other processes handle the events of an inbox too: each has a lock of the system on a file beside it.

if sys.platform == "win32":

    def _lock_descriptor(descriptor: int, *, alone: bool) -> bool:  # noqa: ARG001 - there is no lock that several can have
        return True

else:
    import fcntl

    def _lock_descriptor(descriptor: int, *, alone: bool) -> bool:
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


class Sharing:
    """Of one inbox, until this process ends or `close` is called."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._alone = False
        self._descriptor: int | None = None

    def claim_file(self, *, alone: bool) -> None:
        """Beside others, or `alone` from now on. Raises `UsageError` where others are there, or one that is alone."""
        alone = self._alone = alone or self._alone
        try:
            descriptor = self._open_lock_file()
        except OSError as error:
            if alone:
                raise UsageError(f"inbox {self._path}: cannot lock it: {error.strerror}") from None
            return  # on a full disk; senders are told
        if _lock_descriptor(descriptor, alone=alone):
            return
        self._alone = False
        if alone and _lock_descriptor(descriptor, alone=False):  # a lock that is not changed may be lost
            problem = "a route has `order`, which holds in one process only, and another one uses the inbox"
        else:
            problem = "another process uses it alone, because a route there has `order`"
        raise UsageError(f"inbox {self._path}: {problem}", hint="stop the other one, or give each an inbox of its own")

    def _open_lock_file(self) -> int:
        if self._descriptor is None:
            self._descriptor = os.open(f"{self._path}-lock", os.O_RDWR | os.O_CREAT, PRIVATE)
        return self._descriptor

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


T = TypeVar("T")
LEASE = 10.0
HEARTBEAT = 2.0
LONGEST_SLEEP = 2.0
PURGE_EVERY = 30
PURGE_BATCH = 2000


def _add_events(connection: sqlite3.Connection, rows: Sequence[inbox_events.Row]) -> Sequence[PutResult]:
    return [
        DUPLICATE
        if key is None
        else PutResult(stored=True, lease=Lease(key, 1) if inbox_events.is_run_here(row) else None)
        for key, row in zip(inbox_events.add_events(connection, rows), rows, strict=True)
    ]


class FileQueue:
    """`window` is how long a handled event is known as such, and `longest` the longest delay of a retry, in seconds."""

    renew_every = HEARTBEAT

    def __init__(
        self,
        path: str,
        window: float,
        note: Callable[[str], None],
        longest: Callable[[], float] = lambda: 3600.0,
        target_names: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self._window = window
        self._note = note
        self._owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._longest = longest
        self._target_names = target_names
        self._noted_names: set[str] = set()
        self._path = path
        self._whereabouts: Whereabouts | None = None
        self._misplaced: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._unopened: str | None = None  # why there is no connection yet
        with contextlib.suppress(inbox_file.Unwritable):
            self._open_file()
        self._depth: Mapping[str, float] = {}
        self._heartbeats = 0
        self._last_heartbeat: float | None = None
        self._trusts_until = 0.0
        self._writer: InboxWriter | None = None
        self._work_available = asyncio.Event()

    def _open_file(self) -> None:
        try:
            self._connection = inbox_file.open_inbox(self._path)
        except inbox_file.Unwritable as error:
            self._unopened = error.message.removeprefix("inbox ")
            raise
        self._reader = inbox_file.open_reader(self._path)
        self._reader.execute("PRAGMA busy_timeout = 0")  # it is read on the event loop
        self._unopened = None

    async def open(self) -> None:
        """What cannot be written now can be later: until then `problem` says why, and each `extend` tries again."""
        try:
            await self.extend_leases(())
        except Damaged as error:
            raise UsageError(f"inbox {self._path}: {error}") from None
        except QueueFailed:
            pass

    async def _open_writer(self) -> InboxWriter:
        if self._connection is None:
            try:
                await asyncio.to_thread(self._open_file)  # a disk may hang
            except CallsheetError as error:
                raise QueueFailed(self._unopened or error.message) from None
        assert self._connection is not None  # noqa: S101 - it was opened
        return InboxWriter(self._connection)

    @property
    def problem(self) -> str | None:
        return self._unopened or self._misplaced or (None if self._writer is None else self._writer.problem)

    @property
    def _usable_writer(self) -> InboxWriter:
        if self._writer is None:
            raise QueueFailed(self._unopened or "not open")
        return self._writer

    def _submit_change(self, operation: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        return self._usable_writer.submit_change(operation)

    def put_event(self, event: Event, *, has_jobs: bool, run_here: bool) -> asyncio.Future[PutResult]:
        if self._misplaced is not None:
            raise QueueFailed(self._misplaced)
        state = ("running" if run_here else "waiting") if has_jobs else "done"
        row = inbox_events.row_of_event(event, state, self._owner if state == "running" else None, time.time())
        future = self._usable_writer.submit_one(_add_events, row)
        if state == "waiting":
            future.add_done_callback(lambda _: self.wake_worker())
        return future

    def wake_worker(self) -> None:
        """There may be something to take."""
        self._work_available.set()

    async def fetch_events(self, count: int) -> list[QueuedEvent]:
        self._work_available.clear()
        operation = partial(inbox_events.claim_events, count=count, owner=self._owner, now=time.time())
        events, due = await self._submit_change(operation)
        if not events:
            wait = LONGEST_SLEEP if due is None else min(LONGEST_SLEEP, max(0.01, due - time.time()))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._work_available.wait()
        return events

    async def extend_leases(self, leases: Sequence[Lease]) -> None:
        """One row speaks for all that this process holds.

        Where that row could not be written for a while (a full disk, a computer that slept), the rows of others could
        not be either: they get the time to say that they live. They need it too where the clock was set back.
        """
        del leases
        if self._writer is None:
            self._writer = await self._open_writer()
        now = time.time()
        longest_gap = LEASE - 2 * self.renew_every
        if self._last_heartbeat is not None and not 0 <= now - self._last_heartbeat <= longest_gap:
            self._trusts_until = now + LEASE
        rescheduled = await self._submit_change(
            partial(self._write_heartbeat, now=now, judges=now >= self._trusts_until)
        )
        self._last_heartbeat = now
        self._whereabouts = self._whereabouts or Whereabouts(self._path)
        if rescheduled:
            self._note(f"inbox: {count_of(rescheduled, 'event')} of a process that ended: handled again")
            self.wake_worker()
        if new := set(self._target_names()) - self._noted_names:
            await self._submit_change(partial(inbox_events.note_target_names, names=new))
            self._noted_names |= new
        self._heartbeats += 1
        if self._heartbeats % PURGE_EVERY == 0:
            await self._purge_done()

    def _write_heartbeat(self, connection: sqlite3.Connection, now: float, *, judges: bool) -> int:
        """In the writer's thread, because a disk may hang."""
        before = self._misplaced
        self._misplaced = None if self._whereabouts is None else self._whereabouts.problem()
        if self._misplaced != before:
            self._note(f"inbox: {self._misplaced or 'it is back'}")
        holder = inbox_events.LeaseHolder(self._owner, LEASE, self._longest())
        return inbox_events.write_heartbeat(connection, holder, now, judges=judges)

    async def _purge_done(self) -> None:
        before = time.time() - self._window
        operation = partial(inbox_events.purge_events, state="done", before=before, limit=PURGE_BATCH)
        while await self._submit_change(operation) == PURGE_BATCH:  # in parts: senders come first
            pass

    def record_success(self, lease: Lease, job: str) -> asyncio.Future[bool]:
        return self._submit_change(partial(inbox_events.record_success, lease=lease, owner=self._owner, job=job))

    def complete_event(self, lease: Lease) -> asyncio.Future[bool]:
        return self._usable_writer.submit_one(self._complete_events, lease, is_urgent=False)

    def _complete_events(self, connection: sqlite3.Connection, leases: Sequence[Lease]) -> Sequence[bool]:
        return inbox_events.complete_events(connection, leases, self._owner, time.time())

    async def retry_later(self, lease: Lease, delay: float, run: FailedRun) -> bool:
        changed = await self._reschedule_event(lease, time.time() + delay, run)
        self.wake_worker()
        return changed

    async def give_up(self, lease: Lease, run: FailedRun) -> bool:
        return await self._reschedule_event(lease, None, run)

    async def _reschedule_event(self, lease: Lease, due: float | None, run: FailedRun) -> bool:
        changed = partial(inbox_events.reschedule_event, lease=lease, owner=self._owner, due=due, run=run)
        return await self._submit_change(changed)

    async def release_leases(self, leases: Sequence[Lease]) -> None:
        del leases
        await self._submit_change(partial(inbox_events.release_events, owner=self._owner, now=time.time()))

    def events_by_state(self) -> Mapping[str, float]:
        if self._reader is not None:
            with contextlib.suppress(sqlite3.Error):
                self._depth = count_by_state(self._reader)
        return self._depth

    async def close(self) -> None:
        for connection in (self._reader, self._connection if self._writer is None else None):
            if connection is not None:
                connection.close()
        if self._writer is not None and await self._writer.close() and self._whereabouts is not None:
            self._whereabouts.close()
