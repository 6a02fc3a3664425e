"""The queue in a file as listeners and workers use it. Several processes may share one file."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sqlite3
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ..port import DUPLICATE, Lease, Put, QueueFailed, Taken
from . import changes, schema
from .inspection import counts
from .writer import Writer

if TYPE_CHECKING:
    from ...verify.event import Event

T = TypeVar("T")
LEASE = 10.0
HEARTBEAT = 2.0
LONGEST_SLEEP = 2.0
PURGE_EVERY = 30
PURGE_MOST = 2000


class FileQueue:
    """`window` is how long a handled event is known as such, in seconds."""

    renew_every = HEARTBEAT

    def __init__(self, path: str, window: float, most_attempts: int, note: Callable[[str], None]) -> None:
        self._window = window
        self._note = note
        self._holder = changes.Holder(f"{os.getpid()}-{uuid.uuid4().hex[:12]}", LEASE, most_attempts)
        self._owner = self._holder.owner
        self._connection = schema.open_inbox(path)
        self._reader = schema.open_existing(path, write=False)
        self._reader.execute("PRAGMA busy_timeout = 0")  # it is read on the event loop
        self._depth: Mapping[str, float] = {}
        self._beats = 0
        self._writer: Writer | None = None
        self._woken = asyncio.Event()

    async def open(self) -> None:
        self._writer = Writer(self._connection)
        await self.extend(())

    @property
    def problem(self) -> str | None:
        return None if self._writer is None else self._writer.problem

    def _change(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        if self._writer is None:
            raise QueueFailed("not open")
        return self._writer.submit(work)

    def put(self, event: Event, *, wanted: bool, own: bool) -> asyncio.Future[Put]:
        state = ("running" if own else "waiting") if wanted else "done"
        row = changes.row(event, state, self._owner if state == "running" else None, time.time())
        kept = self._change(partial(self._add, row=row, state=state))
        if state == "waiting":
            kept.add_done_callback(lambda _: self.wake())
        return kept

    def _add(self, connection: sqlite3.Connection, row: changes.Row, state: str) -> Put:
        key = changes.add(connection, row)
        if key is None:
            return DUPLICATE
        return Put(stored=True, lease=Lease(key, 1) if state == "running" else None)

    def wake(self) -> None:
        """There may be something to take."""
        self._woken.set()

    async def take(self, count: int) -> list[Taken]:
        self._woken.clear()
        work = partial(changes.claim, count=count, owner=self._owner, now=time.time())
        taken, due = await self._change(work)
        if not taken:
            wait = LONGEST_SLEEP if due is None else min(LONGEST_SLEEP, max(0.01, due - time.time()))
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), wait)
        return taken

    async def extend(self, leases: Sequence[Lease]) -> None:
        """One row speaks for all that this process holds."""
        del leases
        freed = await self._change(partial(changes.stay_alive, holder=self._holder, now=time.time()))
        if freed:
            self._note(f"inbox: {freed} events of a process that ended are handled again")
            self.wake()
        self._beats += 1
        if self._beats % PURGE_EVERY == 0:
            await self._purge()

    async def _purge(self) -> None:
        before = time.time() - self._window
        work = partial(changes.purge, state="done", before=before, most=PURGE_MOST)
        while await self._change(work) == PURGE_MOST:  # in parts: senders come first
            pass

    async def mark(self, lease: Lease, job: str) -> bool:
        return await self._change(partial(changes.mark, lease=lease, owner=self._owner, job=job))

    async def done(self, lease: Lease) -> bool:
        return await self._change(partial(changes.finish, lease=lease, owner=self._owner, now=time.time()))

    async def retry(self, lease: Lease, delay: float, reason: str) -> bool:
        changed = await self._put_back(lease, time.time() + delay, reason)
        self.wake()
        return changed

    async def dead(self, lease: Lease, reason: str) -> bool:
        return await self._put_back(lease, None, reason)

    async def _put_back(self, lease: Lease, due: float | None, reason: str) -> bool:
        error = changes.storable(reason)
        return await self._change(partial(changes.put_back, lease=lease, owner=self._owner, due=due, error=error))

    async def leave(self, leases: Sequence[Lease]) -> None:
        del leases
        await self._change(partial(changes.leave, owner=self._owner, now=time.time()))

    def depth(self) -> Mapping[str, float]:
        with contextlib.suppress(sqlite3.Error):
            self._depth = counts(self._reader)
        return self._depth

    async def close(self) -> None:
        if self._writer is not None:
            await self._writer.close()
        else:
            self._connection.close()
        self._reader.close()
