"""Running what is to be done with an event: all its handlers at once, within the caps."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from time import perf_counter
from typing import TYPE_CHECKING, Any, Protocol

from ..handlers import HandlerFailed, failure_of
from ..handlers.circuit import CircuitOpen
from ..handlers.limits import ConcurrencyLimit, KeyedLock, Saturated, acquire_immediately

if TYPE_CHECKING:
    from ..handlers.reply import MadeReply
    from ..routing.route import Job
    from ..verify.event import Event


class HandlerObserver(Protocol):
    def __call__(self, job: str, duration: float, *, succeeded: bool) -> None: ...


class TasklessRun:
    """A run whose handler calls back when it has ended. A task costs more than writing a line.

    `ended` gets what failed, or nothing, once.
    """

    __slots__ = ("_ended", "_event", "_job", "_limits", "_observe", "_started")

    def __init__(
        self,
        event: Event,
        job: Job,
        limits: Sequence[ConcurrencyLimit],
        observe: HandlerObserver,
        ended: Callable[[HandlerFailed | None], None],
    ) -> None:
        self._event = event
        self._job = job
        self._limits = limits
        self._observe = observe
        self._ended = ended
        self._started = perf_counter()

    def begin(self, *, may_wait: bool) -> bool:
        """At once, or when there is a place. False where it may not wait, or would have to for several places."""
        if acquire_immediately(self._limits):
            self._start()
        elif may_wait and len(self._limits) == 1:
            self._limits[0].call_when_free(self._start)
        else:
            return False
        return True

    def _start(self) -> None:
        try:
            self._job.handler.begin(self._event, self._job.id, self._end)
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            self._end(failure_of(error))

    def _end(self, failure: HandlerFailed | None) -> None:
        for limit in self._limits:
            limit.release()
        self._observe(self._job.id, perf_counter() - self._started, succeeded=failure is None)
        self._ended(failure)


def forget_frames(error: BaseException | None) -> None:
    """A future that an error came by is held by the error's frames, and so is the event, until a collector finds it."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


OnSuccess = Callable[[str], Awaitable[None]]
# What stands around each run, for whoever shows runs: the event, the job and the result, which then says how it ended.
WatchRun = Callable[["Event", str, "RunResult"], AbstractContextManager[None]]


class RunResult:
    """`failed` says why, job by job; `saturated` that some found no place. `replies` are in the order of the jobs."""

    __slots__ = ("failed", "replies", "saturated", "succeeded")

    def __init__(self, failed: Mapping[str, str] | None = None) -> None:
        self.succeeded: set[str] = set()
        self.failed = dict(failed or {})
        self.replies: dict[str, MadeReply] = {}
        self.saturated = False


class Runner:
    """`max_wait` is the longest time for a turn, in seconds; absent, a run waits as long as it takes."""

    def __init__(
        self,
        concurrency: ConcurrencyLimit,
        max_wait: float | None,
        observe: HandlerObserver,
        watch_run: WatchRun | None = None,
    ) -> None:
        self.concurrency = concurrency
        self.watch_run = watch_run
        self.max_wait = max_wait
        self._waiting_tasks = 0
        self._observe = observe
        self._ordered = KeyedLock()

    @property
    def waiting(self) -> int:
        """Runs that wait for their turn: for a place of all, of their route or handler, or in their order."""
        return self._waiting_tasks + self.concurrency.waiting_calls

    async def run(self, event: Event, jobs: Sequence[Job], on_success: OnSuccess | None = None) -> RunResult:
        """`on_success` is told of each job that succeeded, before the others have ended."""
        result = RunResult()
        run = self._run_job if self.watch_run is None else self._watch_job
        if len(jobs) == 1:
            await run(event, jobs[0], result, on_success)
        elif jobs:
            await asyncio.gather(*(run(event, job, result, on_success) for job in jobs))
            result.replies = {job.id: result.replies[job.id] for job in jobs if job.id in result.replies}
        return result

    def begin(self, event: Event, job: Job, ended: Callable[[HandlerFailed | None], None]) -> bool:
        """The same as `run` of one job, without a task. False where it needs one; else `ended` is told how it ended."""
        if job.order or job.reply or job.circuit or job.handler.needs_task or self.watch_run is not None:
            return False
        run = TasklessRun(event, job, (*job.concurrency_limits, self.concurrency), self._observe, ended)
        return run.begin(may_wait=self.max_wait is None)

    async def _watch_job(self, event: Event, job: Job, result: RunResult, on_success: OnSuccess | None) -> None:
        assert self.watch_run is not None  # noqa: S101 - else nobody watches
        with self.watch_run(event, job.id, result):
            await self._run_job(event, job, result, on_success)

    async def _run_job(self, event: Event, job: Job, result: RunResult, on_success: OnSuccess | None) -> None:
        started = perf_counter()
        try:
            await self._run_and_reply(event, job, result)
            if on_success is not None:
                await on_success(job.id)
        except Saturated:
            result.saturated = True
            result.failed[job.id] = "no free slot"
        except CircuitOpen as failure:
            forget_frames(failure)
            result.saturated = True
            result.failed[job.id] = str(failure)
        except HandlerFailed as failure:
            forget_frames(failure)
            result.failed[job.id] = str(failure)
            self._observe(job.id, perf_counter() - started, succeeded=False)
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            forget_frames(error)
            result.failed[job.id] = f"{type(error).__name__}: {error}"
            self._observe(job.id, perf_counter() - started, succeeded=False)
        else:
            result.succeeded.add(job.id)
            self._observe(job.id, perf_counter() - started, succeeded=True)

    async def _run_and_reply(self, event: Event, job: Job, result: RunResult) -> None:
        """An answer that refuses is a failure: a repetition runs it again."""
        given = await self._run_handler(event, job)
        if job.reply is not None:
            reply = result.replies[job.id] = job.reply.make(event, given)
            if not reply.accepts:
                raise HandlerFailed(f"replied {reply.status}")

    async def _run_handler(self, event: Event, job: Job) -> Any:
        if job.circuit is not None:
            job.circuit.check()  # before a place is waited for
        limits = (*job.concurrency_limits, self.concurrency)
        if job.order is None and acquire_immediately(limits):
            try:
                return await self._run_in_place(event, job)
            finally:
                for concurrency in limits:
                    concurrency.release()
        async with AsyncExitStack() as slots:
            self._waiting_tasks += 1
            try:
                async with asyncio.timeout(self.max_wait):
                    await self._acquire_slots(event, job, slots)
            except TimeoutError:
                raise Saturated from None
            finally:
                self._waiting_tasks -= 1
            return await self._run_in_place(event, job)

    async def _run_in_place(self, event: Event, job: Job) -> Any:
        if job.circuit is None:
            return await job.handler.run(event, job.id)
        with job.circuit.watch():
            return await job.handler.run(event, job.id)

    async def _acquire_slots(self, event: Event, job: Job, slots: AsyncExitStack) -> None:
        if job.order is not None and (value := job.order(event.fast_scope)) is not None:
            await slots.enter_async_context(self._ordered.hold((job.id, repr(value))))
        for limit in (*job.concurrency_limits, self.concurrency):
            await limit.acquire()
            slots.callback(limit.release)
