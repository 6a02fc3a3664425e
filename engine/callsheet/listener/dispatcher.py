"""Running handlers, and answering the sender."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack
from functools import partial
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from .event_table import DONE, FAILED, RUNNING, SATURATED, EventEntry, EventTable, TableBusy
from .handlers import HandlerFailed, failure_of
from .handlers.concurrency_limits import ConcurrencyLimit, KeyedLock, Saturated, acquire_immediately
from .handlers.target import PATIENCE, TargetBusy

if TYPE_CHECKING:
    from .handlers.event_content import MadeReply
    from .routes import Job
    from .verify.event import Event

# What a sender is told of its delivery.


class DispatchVerdict(NamedTuple):
    """`reply` is an answer that a route made."""

    status: int
    outcome: str
    detail: str = ""
    reply: MadeReply | None = None


ACCEPTED = DispatchVerdict(200, "accepted")
DUPLICATE = DispatchVerdict(200, "duplicate")
INTERRUPTED = DispatchVerdict(500, "failed", "interrupted")


def verdict_of(result: RunResult) -> DispatchVerdict:
    """With the answer of the first route that made one; one that refuses counts only where nothing else failed."""
    if result.failed:
        return failure_response(result)
    reply = next(iter(result.replies.values()), None)
    return ACCEPTED if reply is None else ACCEPTED._replace(status=reply.status, reply=reply)


def failure_response(result: RunResult) -> DispatchVerdict:
    detail = "; ".join(f"{job}: {text}" for job, text in result.failed.items())
    if result.failed.keys() <= result.replies.keys():
        reply = next(reply for job, reply in result.replies.items() if job in result.failed)
        return DispatchVerdict(reply.status, "failed", detail, reply)
    return DispatchVerdict(503, "saturated", detail) if result.saturated else DispatchVerdict(500, "failed", detail)


# Running what is to be done with an event: all its handlers at once, within the caps.


# Of a job's name and the seconds that it took; `succeeded` by its name.
HandlerObserver = Callable[..., None]


def forget_frames(error: BaseException | None) -> None:
    """A future that an error came by is held by the error's frames, and so is the event, until a collector finds it."""
    while error is not None:
        error.__traceback__ = None
        error = error.__context__


OnSuccess = Callable[[str], Awaitable[None]]
# What stands around each run, for whoever shows runs: the event, the job and the result, which then says how it ended.
WatchRun = Callable[["Event", str, "RunResult"], AbstractContextManager[None]]


class RunResult:
    """`failed` says why, job by job; `saturated` that some found no place. `replies` are in the order of the jobs.

    `busy` are those of the failed ones that were not tried, and the seconds until they may be.
    """

    __slots__ = ("busy", "failed", "replies", "saturated", "succeeded")

    def __init__(self, failed: Mapping[str, str] | None = None) -> None:
        self.succeeded: set[str] = set()
        self.failed = dict(failed or {})
        self.busy: dict[str, float] = {}
        self.replies: dict[str, MadeReply] = {}
        self.saturated = False


class Runner:
    """`max_wait` is the longest time for a turn, in seconds. Absent, a run whose target has no place is put off."""

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
    def waiting_runs(self) -> int:
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

    def start_without_task(self, event: Event, job: Job, ended: Callable[[HandlerFailed | None], None]) -> bool:
        """The same as `run` of one job, without a task, which costs more than writing a line.

        False where it needs one, or would have to wait for several places. Else `ended` is told once how it ended.
        """
        if job.order or job.reply or job.handler.needs_task or job.target.needs_watching or self.watch_run is not None:
            return False
        limits, started = (*job.concurrency_limits, self.concurrency), perf_counter()

        def end(failure: HandlerFailed | None) -> None:
            for limit in limits:
                limit.release_place(job.id)
            self._observe(job.id, perf_counter() - started, succeeded=failure is None)
            ended(failure)

        def start() -> None:
            try:
                job.handler.start_without_task(event, job.id, end)
            except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
                end(failure_of(error))

        if acquire_immediately(limits, job.id):
            start()
        elif self.max_wait is None and len(limits) == 1:
            limits[0].call_when_free(start, job.id)
        else:
            return False
        return True

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
        except TargetBusy as failure:
            forget_frames(failure)
            result.saturated = True
            result.failed[job.id], result.busy[job.id] = str(failure), failure.delay
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
            reply = result.replies[job.id] = job.reply.make_reply(event, given)
            if not reply.accepts_event:
                raise HandlerFailed(f"replied {reply.status}")

    async def _run_handler(self, event: Event, job: Job) -> Any:
        target, limits = job.target, (*job.concurrency_limits, self.concurrency)
        if target.circuit is not None:
            target.circuit.check_closed()  # before a place is waited for
        if job.order is None and target.rate is None and acquire_immediately(limits, job.id):
            try:
                return await self._run_in_place(event, job)
            finally:
                for concurrency in limits:
                    concurrency.release_place(job.id)
        is_put_off = self.max_wait is None and job.order is None
        longest = target.patience if is_put_off else self.max_wait
        if is_put_off and target.rate is not None and target.rate.seconds_left > PATIENCE:
            raise target.busy()
        async with AsyncExitStack() as slots:
            self._waiting_tasks += 1
            try:
                async with asyncio.timeout(longest):
                    await self._acquire_slots(event, job, slots)
            except TimeoutError:
                raise target.busy() if is_put_off else Saturated from None
            finally:
                self._waiting_tasks -= 1
            return await self._run_in_place(event, job)

    async def _run_in_place(self, event: Event, job: Job) -> Any:
        with job.target.watch_run():
            return await job.handler.run(event, job.id)

    async def _acquire_slots(self, event: Event, job: Job, slots: AsyncExitStack) -> None:
        if job.order is not None and (value := job.order(event.fast_scope)) is not None:
            await slots.enter_async_context(self._ordered.hold_key((job.id, repr(value))))
        if job.target.rate is not None:
            await job.target.rate.take_turn()
        for limit in (*job.concurrency_limits, self.concurrency):
            await limit.acquire_place(job.id)
            slots.callback(limit.release_place, job.id)


# Handling events while their sender waits: the answer tells whether all handlers succeeded.

# Seconds between looks at an event that another delivery has: often at first, and then so that a thousand that wait
# take a few hundredths of a core.
FIRST_LOOK, LONGEST_LOOK = 0.002, 0.1
BUSY_DELAY, BUSY_TIMEOUT = 0.001, 1.5
_ELSEWHERE = "another delivery of this event was under way"
_FAILED_ELSEWHERE = DispatchVerdict(500, "failed", _ELSEWHERE)
_SATURATED_ELSEWHERE = DispatchVerdict(503, "saturated", _ELSEWHERE)


class SynchronousDispatcher:
    """One delivery of an event runs at a time, and none once it is done: the table says so, for all workers."""

    def __init__(self, table: EventTable, runner: Runner) -> None:
        self.table = table
        self.runner = runner

    def dispatch(self, event: Event, jobs: Sequence[Job]) -> DispatchVerdict | asyncio.Future[DispatchVerdict]:
        """The verdict, or what will have it where a handler or another delivery has to be waited for."""
        entry = self._try_claim(event.key, RUNNING if jobs else DONE)
        if entry is not None:
            if entry.state == DONE:
                return ACCEPTED if entry.slot else DUPLICATE
            if entry.slot and not entry.attempt and len(jobs) == 1:
                verdict: asyncio.Future[DispatchVerdict] = asyncio.get_running_loop().create_future()
                if self.runner.start_without_task(event, jobs[0], partial(self._on_ended, entry, jobs[0].id, verdict)):
                    return verdict
        return asyncio.ensure_future(self._run_or_wait(event, jobs, entry))

    def _try_claim(self, key: str, state: int = RUNNING) -> EventEntry | None:
        try:
            return self.table.claim_event(key, monotonic(), state)
        except TableBusy:
            return None

    def _on_ended(
        self, entry: EventEntry, job: str, verdict: asyncio.Future[DispatchVerdict], failed: HandlerFailed | None
    ) -> None:
        ended = ACCEPTED if failed is None else failure_response(RunResult({job: str(failed)}))
        self._release_event(entry, ended)
        if not verdict.done():
            verdict.set_result(ended)

    def _release_event(self, entry: EventEntry, verdict: DispatchVerdict) -> None:
        failed = SATURATED if verdict.outcome == _SATURATED_ELSEWHERE.outcome else FAILED
        self.table.release_event(entry, DONE if verdict.outcome == ACCEPTED.outcome else failed)

    async def _run_or_wait(self, event: Event, jobs: Sequence[Job], entry: EventEntry | None) -> DispatchVerdict:
        while entry is None or not entry.slot:
            if entry is None and (entry := await self._claim_when_not_busy(event.key)) is None:
                return DispatchVerdict(503, "saturated", "what is known of the event cannot be read")
            if entry.state == DONE:
                return DUPLICATE
            if not entry.slot:
                if (verdict := await self._verdict_of_other(event.key, entry)) is not None:
                    return verdict
                entry = self._try_claim(event.key)
        verdict = INTERRUPTED
        try:
            verdict = await self._run_missing(event, jobs, entry)
        finally:
            self._release_event(entry, verdict)
        return verdict

    async def _claim_when_not_busy(self, key: str, state: int = RUNNING) -> EventEntry | None:
        patience = monotonic() + BUSY_TIMEOUT
        while monotonic() < patience:
            await asyncio.sleep(BUSY_DELAY)
            if (entry := self._try_claim(key, state)) is not None:
                return entry
        return None

    async def _verdict_of_other(self, key: str, entry: EventEntry) -> DispatchVerdict | None:
        """What became of the attempt that another delivery makes; nothing where its process is gone."""
        delay = FIRST_LOOK
        found = entry
        while found.state == RUNNING and found.attempt == entry.attempt:
            await asyncio.sleep(delay)
            delay = min(1.5 * delay, LONGEST_LOOK)
            found = self.table.look_up(key, monotonic())
        ends = {DONE: DUPLICATE, SATURATED: _SATURATED_ELSEWHERE, FAILED: _FAILED_ELSEWHERE}
        return ends.get(found.state, _FAILED_ELSEWHERE if found.state == RUNNING else None)

    async def _run_missing(self, event: Event, jobs: Sequence[Job], entry: EventEntry) -> DispatchVerdict:
        """Run the jobs that have not succeeded in an earlier attempt. What succeeds of a failed one is noted."""
        if entry.attempt:
            now = monotonic()
            jobs = [job for job in jobs if self.table.look_up(_job_key(event, job.id), now).state != DONE]
        result = await self.runner.run(event, jobs)
        for job in result.succeeded if result.failed else ():
            await self._note_success(_job_key(event, job))
        return verdict_of(result)

    async def _note_success(self, key: str) -> None:
        if self._try_claim(key, DONE) is None:
            await self._claim_when_not_busy(key, DONE)


def _job_key(event: Event, job: str) -> str:
    """No event has such a key: theirs begin with the name of a source."""
    return f"\0{job}\0{event.key}"
