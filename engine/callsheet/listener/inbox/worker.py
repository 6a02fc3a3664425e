"""Handling events from the inbox: claimed, run, marked, and tried again later where a handler failed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..dispatch.verdict import ACCEPTED, DUPLICATE, Verdict, failure
from ..verify.event import Event
from ..verify.payload import parse_payload
from ..verify.rejection import Rejected
from . import store
from .inbox import Inbox, InboxFailed

if TYPE_CHECKING:
    from ..dispatch.runner import Outcome, Runner
    from ..routing.route import Job, RoutingTable
    from ..telemetry.log import Log
    from ..verify.source import Source
    from .store import Stored

LEASE = 10.0
HEARTBEAT = 2.0
LONGEST_SLEEP = 2.0
PURGE_EVERY = 30
PURGE_MOST = 2000


class Backoff(NamedTuple):
    """Attempts before an event is given up, and seconds between them: doubling up to a bound, with jitter."""

    attempts: int
    first: float
    most: float

    def delay(self, attempts: int) -> float:
        return min(self.most, self.first * 2.0 ** min(attempts - 1, 60)) * random.uniform(0.5, 1.0)  # noqa: S311


class Worker:
    """Takes events for the inbox, and handles those in it. Several processes may share one file."""

    def __init__(
        self,
        inbox: Inbox,
        runner: Runner,
        sources: Mapping[str, Source],
        plans: Callable[[], RoutingTable],
        log: Log,
        backoff: Backoff,
    ) -> None:
        self.inbox = inbox
        self.runner = runner
        self.sources = sources
        self.plans = plans
        self.log = log
        self.backoff = backoff
        self.owner = f"{os.getpid()}-{uuid.uuid4().hex[:12]}"
        self._runs: set[asyncio.Task[None]] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._wake = asyncio.Event()
        self._stopping = False

    @property
    def idle(self) -> bool:
        return not self._runs

    @property
    def free(self) -> int:
        return 0 if self._stopping else max(0, self.runner.concurrency.limit - len(self._runs))

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> Verdict | None:
        """Nothing: the disk is always waited for."""
        del event, jobs
        return None

    async def handle(self, event: Event, jobs: Sequence[Job]) -> Verdict:
        """Returns when the event is on the disk; it is handled afterwards."""
        state = ("running" if self.free else "waiting") if jobs else "done"
        owner = self.owner if state == "running" else None
        try:
            key = await self.inbox.change(partial(store.add, event=event, state=state, owner=owner, now=time.time()))
        except InboxFailed as failed:
            return Verdict(503, "inbox_failed", str(failed))
        if key is None:
            return DUPLICATE
        if state == "running":
            self._start(self._handle(key, event, jobs, frozenset()))
        elif state == "waiting":
            self._wake.set()
        return ACCEPTED

    async def start(self) -> None:
        await self._beat()
        self._loops = [asyncio.create_task(self._claim_for_ever()), asyncio.create_task(self._beat_for_ever())]

    async def _beat(self) -> None:
        now = time.time()
        work = partial(
            store.stay_alive, owner=self.owner, now=now, lease=LEASE, most_attempts=self.backoff.attempts
        )  # fmt: skip
        if freed := await self.inbox.change(work):
            self.log.note(f"inbox: {freed} events of a process that ended are handled again")
            self._wake.set()

    async def _beat_for_ever(self) -> None:
        beats = 0
        while True:
            await asyncio.sleep(HEARTBEAT)
            beats += 1
            with contextlib.suppress(InboxFailed):
                await self._beat()
                if beats % PURGE_EVERY == 0:
                    before = time.time() - self.inbox.window
                    await self.inbox.change(partial(store.purge, state="done", before=before, most=PURGE_MOST))

    async def _claim_for_ever(self) -> None:
        while True:
            self._wake.clear()
            wait = LONGEST_SLEEP
            if self.free:
                try:
                    wait = await self._claim()
                except InboxFailed as failed:
                    self.log.note(f"inbox: {failed}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), wait)

    async def _claim(self) -> float:
        """Start what is due; returns seconds until there may be more."""
        now, count = time.time(), self.free
        claimed = await self.inbox.change(partial(store.claim, count=count, owner=self.owner, now=now))
        for stored in claimed:
            self._start(self._resume(stored))
        if len(claimed) == count:
            return LONGEST_SLEEP  # woken when a run ends
        due = await self.inbox.change(store.next_due)
        return LONGEST_SLEEP if due is None else min(LONGEST_SLEEP, max(0.01, due - time.time()))

    def _start(self, work: asyncio._CoroutineLike[None]) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(work)
        self._runs.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._runs.discard(task)
        self._wake.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.note(f"inbox: {type(error).__name__}: {error}")

    async def _resume(self, stored: Stored) -> None:
        source = self.sources.get(stored.source)
        try:
            event = Event(
                _served(source, stored.source),
                parse_payload(stored.text),
                stored.headers,
                stored.query,
                stored.data,
                stored.text,
            )
        except Rejected as refused:
            await self._put_back(stored.key, stored.attempts, refused.detail)
            return
        event.attempt = stored.attempts
        plans = self.plans()
        await self._handle(stored.key, event, plans.jobs(plans.plan(event), event), stored.succeeded)

    async def _handle(self, key: int, event: Event, jobs: Sequence[Job], succeeded: frozenset[str]) -> None:
        started = time.perf_counter()

        async def mark(job: str) -> None:
            await self.inbox.change(partial(store.mark, key=key, job=job))

        missing = [job for job in jobs if job.id not in succeeded]
        outcome = await self.runner.run(event, missing, mark if len(jobs) > 1 else None)
        if not outcome.failed:
            await self.inbox.change(partial(store.finish, key=key, owner=self.owner, now=time.time()))
            self.log.delivery(200, "handled", "inbox", event, time.perf_counter() - started)
            return
        await self._failed(key, event, outcome, time.perf_counter() - started)

    async def _failed(self, key: int, event: Event, outcome: Outcome, took: float) -> None:
        detail = failure(outcome).detail
        dead = await self._put_back(key, event.attempt, detail)
        self.log.delivery(500, "given_up" if dead else "failed", "inbox", event, took, detail)

    async def _put_back(self, key: int, attempts: int, detail: str) -> bool:
        due = time.time() + self.backoff.delay(attempts) if attempts < self.backoff.attempts else None
        await self.inbox.change(partial(store.put_back, key=key, owner=self.owner, due=due, error=detail[:2000]))
        self._wake.set()
        return due is None

    def stop_taking(self) -> None:
        self._stopping = True
        for loop in self._loops[:1]:
            loop.cancel()

    async def end(self) -> None:
        """Stop what still runs, and give all back that is not done."""
        self.stop_taking()
        for task in (*self._loops, *self._runs):
            task.cancel()
        await asyncio.gather(*self._loops, *self._runs, return_exceptions=True)
        with contextlib.suppress(InboxFailed):
            await self.inbox.change(partial(store.leave, owner=self.owner, now=time.time()))


def _served(source: Source | None, name: str) -> Source:
    if source is None:
        raise Rejected(500, "source", f"source {name!r} is not received here")
    return source
