"""Running what is to be done with an event: all its handlers at once, within the caps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from ..handlers import HandlerFailed
from ..handlers.limits import ConcurrencyLimit, Saturated, Turns

if TYPE_CHECKING:
    from ..routing.route import Job
    from ..verify.event import Event

OnSuccess = Callable[[str], Awaitable[None]]


class Timed(Protocol):
    def __call__(self, job: str, took: float, *, succeeded: bool) -> None: ...


class Outcome:
    """`failed` says why, job by job; `saturated` that some found no place."""

    __slots__ = ("failed", "saturated", "succeeded")

    def __init__(self) -> None:
        self.succeeded: set[str] = set()
        self.failed: dict[str, str] = {}
        self.saturated = False


class Runner:
    """`wait` is the longest time for a turn, in seconds; absent, a run waits as long as it takes."""

    def __init__(self, concurrency: ConcurrencyLimit, wait: float | None, timed: Timed) -> None:
        self.concurrency = concurrency
        self.wait = wait
        self._timed = timed
        self._turns = Turns()

    async def run(self, event: Event, jobs: Sequence[Job], mark: OnSuccess | None = None) -> Outcome:
        """`mark` is told of each job that succeeded, before the others have ended."""
        outcome = Outcome()
        if len(jobs) == 1:
            await self._try(event, jobs[0], outcome, mark)
        elif jobs:
            await asyncio.gather(*(self._try(event, job, outcome, mark) for job in jobs))
        return outcome

    async def _try(self, event: Event, job: Job, outcome: Outcome, mark: OnSuccess | None) -> None:
        started = perf_counter()
        try:
            await self._take_turn(event, job)
            if mark is not None:
                await mark(job.id)
        except Saturated:
            outcome.saturated = True
            outcome.failed[job.id] = "no free place"
        except HandlerFailed as failure:
            outcome.failed[job.id] = str(failure)
            self._timed(job.id, perf_counter() - started, succeeded=False)
        except Exception as error:  # noqa: BLE001 - one broken handler must not take the others down
            outcome.failed[job.id] = f"{type(error).__name__}: {error}"
            self._timed(job.id, perf_counter() - started, succeeded=False)
        else:
            outcome.succeeded.add(job.id)
            self._timed(job.id, perf_counter() - started, succeeded=True)

    async def _take_turn(self, event: Event, job: Job) -> None:
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(self.wait):
                    await self._enter(event, job, held)
            except TimeoutError:
                raise Saturated from None
            await job.handler.run(event, job.id)

    async def _enter(self, event: Event, job: Job, held: AsyncExitStack) -> None:
        if job.order is not None and (value := job.order(event.fast_scope)) is not None:
            await held.enter_async_context(self._turns.turn((job.id, repr(value))))
        for concurrency in (*job.concurrency_limits, self.concurrency):
            await concurrency.enter()
            held.callback(concurrency.leave)
