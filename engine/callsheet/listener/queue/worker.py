"""Handling events from a queue: taken, run, noted, and tried again later where a handler failed."""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..dispatch.verdict import failure
from ..verify.event import Event
from ..verify.payload import parse_payload
from ..verify.rejection import Rejected
from .port import Lease, Queue, QueueFailed, Taken, Unstorable

if TYPE_CHECKING:
    from ..dispatch.runner import Outcome, Runner
    from ..routing.route import Job, RoutingTable
    from ..telemetry.log import Log
    from ..verify.source import Source

LONGEST_REASON = 2000
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0
Change = Callable[[], Awaitable[bool]]


class Backoff(NamedTuple):
    """Attempts before an event is given up, and seconds between them: doubling up to a bound, with jitter."""

    attempts: int
    first: float
    most: float

    def delay(self, attempts: int) -> float:
        return min(self.most, self.first * 2.0 ** min(attempts - 1, 60)) * random.uniform(0.5, 1.0)  # noqa: S311


class Worker:
    """A success or failure that the queue cannot take now is kept here and tried again until it can."""

    def __init__(
        self,
        queue: Queue,
        runner: Runner,
        sources: Mapping[str, Source],
        plans: Callable[[], RoutingTable],
        log: Log,
        backoff: Backoff,
    ) -> None:
        self.queue = queue
        self.runner = runner
        self.sources = sources
        self.plans = plans
        self.log = log
        self.backoff = backoff
        self._runs: dict[asyncio.Task[None], Lease] = {}
        self._unwritten: set[Change] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._place = asyncio.Event()
        self._stopping = self._ending = False
        self._trouble: str | None = None

    @property
    def idle(self) -> bool:
        return not self._runs

    @property
    def free(self) -> int:
        return 0 if self._stopping else max(0, self.runner.concurrency.limit - len(self._runs))

    async def begin(self) -> None:
        """The queue is open."""
        self._loops = [asyncio.create_task(self._take_for_ever()), asyncio.create_task(self._renew_for_ever())]

    def start(self, lease: Lease, event: Event, jobs: Sequence[Job], succeeded: frozenset[str] = frozenset()) -> None:
        """Run what is to be done with an event that is held already."""
        missing = [job for job in jobs if job.id not in succeeded]
        self._start(lease, self._handle(lease, event, missing, several=len(jobs) > 1))

    def _start(self, lease: Lease, work: asyncio._CoroutineLike[None]) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._runs[task] = lease
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        del self._runs[task]
        self._place.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.note(f"inbox: {type(error).__name__}: {error}")

    async def _take_for_ever(self) -> None:
        while not self._stopping:
            self._place.clear()
            if not self.free:
                await self._place.wait()
                continue
            try:
                for taken in await self.queue.take(self.free):
                    self._resume(taken)
            except QueueFailed as failed:
                self._tell(str(failed))
                await asyncio.sleep(_LONGEST_PAUSE)
            else:
                self._tell(None)

    async def _renew_for_ever(self) -> None:
        while True:
            await asyncio.sleep(self.queue.renew_every)
            with contextlib.suppress(QueueFailed):
                await self.queue.extend(list(self._runs.values()))

    def _tell(self, trouble: str | None) -> None:
        """Once, when it begins, and once when it ends."""
        if trouble != self._trouble:
            self.log.note(f"inbox: {trouble or 'can be written again'}")
        self._trouble = trouble

    def _resume(self, taken: Taken) -> None:
        lease = taken.lease
        if lease.attempts > self.backoff.attempts:
            self._start(lease, self._give_up(lease, "the process that handled it ended"))
            return
        try:
            event = self._event(taken)
            plans = self.plans()
            jobs = plans.jobs(plans.plan(event), event)
        except Rejected as refused:
            self._start(lease, self._put_back(lease, refused.detail))
        except Exception as error:  # noqa: BLE001 - one odd event must not keep the others waiting
            self._start(lease, self._put_back(lease, f"{type(error).__name__}: {error}"))
        else:
            self.start(lease, event, jobs, taken.succeeded)

    def _event(self, taken: Taken) -> Event:
        source = self.sources.get(taken.source)
        if source is None:
            raise Rejected(500, "source", f"source {taken.source!r} is not received here")
        event = Event(source, parse_payload(taken.text), taken.headers, taken.query, taken.data, taken.text)
        event.attempt = taken.lease.attempts
        return event

    async def _handle(self, lease: Lease, event: Event, jobs: Sequence[Job], *, several: bool) -> None:
        started = time.perf_counter()

        async def mark(job: str) -> None:
            await self._write(lease, partial(self.queue.mark, lease, job))

        try:
            outcome = await self.runner.run(event, jobs, mark if several else None)
        except asyncio.CancelledError:
            if self._ending:
                raise
            await self._put_back(lease, "cancelled")  # by a handler: nobody else does
            return
        if not outcome.failed:
            if await self._write(lease, partial(self.queue.done, lease)):
                self.log.delivery(200, "handled", "inbox", event, time.perf_counter() - started)
            return
        await self._failed(lease, event, outcome, time.perf_counter() - started)

    async def _failed(self, lease: Lease, event: Event, outcome: Outcome, took: float) -> None:
        detail = failure(outcome).detail
        dead = lease.attempts >= self.backoff.attempts
        await self._put_back(lease, detail)
        self.log.delivery(500, "given_up" if dead else "failed", "inbox", event, took, detail)

    async def _put_back(self, lease: Lease, detail: str) -> None:
        if lease.attempts >= self.backoff.attempts:
            await self._give_up(lease, detail)
            return
        delay = self.backoff.delay(lease.attempts)
        await self._write(lease, partial(self.queue.retry, lease, delay, detail[:LONGEST_REASON]))

    async def _give_up(self, lease: Lease, detail: str) -> None:
        await self._write(lease, partial(self.queue.dead, lease, detail[:LONGEST_REASON]))

    async def _write(self, lease: Lease, change: Change) -> bool:
        """Tried until the queue has it: an event whose end is not written would run once more."""
        pause = _FIRST_PAUSE
        while True:
            try:
                held = await change()
            except Unstorable:
                raise
            except QueueFailed as failed:
                self._unwritten.add(change)
                self._tell(str(failed))
                await asyncio.sleep(pause)
                pause = min(_LONGEST_PAUSE, 2 * pause)
            else:
                self._unwritten.discard(change)
                if not held:
                    self.log.note(f"inbox: event {lease.key} was taken over by another process meanwhile")
                return held

    def stop_taking(self) -> None:
        self._stopping = True
        self._place.set()

    async def end(self) -> None:
        """Stop what still runs, note what ended, and give all else back."""
        self.stop_taking()
        self._ending = True
        leases = list(self._runs.values())
        tasks = (*self._loops, *self._runs)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(QueueFailed):
            for change in self._unwritten:
                await change()
            await self.queue.leave(leases)
