"""Genuine events into a queue, and out of it: taken, run, noted, and tried again later where a handler failed."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from ..asyncio_helpers import Deadlines, as_future, cancel_all
from ..dispatcher import ACCEPTED, DUPLICATE, DispatchVerdict, Runner, RunResult
from ..verify.event import Event
from ..verify.payload import Rejected, parse_payload
from .queue_port import (
    ALL_OTHERS,
    DONE,
    NEW,
    FailedRun,
    Lease,
    PutResult,
    Queue,
    QueuedEvent,
    QueueFailed,
    TargetState,
    TooLarge,
    Unstorable,
    joined_errors,
)

if TYPE_CHECKING:
    from ..byte_budget import ByteBudget
    from ..handlers import HandlerFailed
    from ..handlers.target import RetrySchedule
    from ..routes import Job, RoutingTable
    from ..telemetry.log import Log
    from ..verify.source import Source

# Genuine events into a queue: the sender is answered when its event is kept.


class Intake:
    """`timeout` is the longest wait for the queue, in seconds. Without a worker, others handle what is kept."""

    def __init__(self, queue: Queue, worker: Worker | None, timeout: float) -> None:
        self.queue = queue
        self.worker = worker
        self._pending = 0
        self._deadlines = Deadlines(timeout, self._on_timeout)

    def dispatch(self, event: Event, jobs: Sequence[Job]) -> asyncio.Future[DispatchVerdict]:
        """What is kept after the sender was told that it is not is run all the same; a repetition is a duplicate."""
        loop = asyncio.get_running_loop()
        verdict: asyncio.Future[DispatchVerdict] = loop.create_future()
        run_here = self.worker is not None and bool(jobs) and self.worker.free_slots > self._pending
        try:
            put = self.queue.put_event(event, has_jobs=bool(jobs) or self.worker is None, run_here=run_here)
        except QueueFailed as failed:
            verdict.set_result(_refusal_of_failure(failed))
            return verdict
        self._pending += run_here
        put.add_done_callback(partial(self._on_put, event, jobs if run_here else None, verdict))
        self._deadlines.add(verdict, loop)
        return verdict

    def _on_put(
        self,
        event: Event,
        jobs: Sequence[Job] | None,
        verdict: asyncio.Future[DispatchVerdict],
        put: asyncio.Future[PutResult],
    ) -> None:
        """One callback for both that wait: whoever runs the event, and its sender. `jobs` are those to run here."""
        self._pending -= jobs is not None
        error = QueueFailed("interrupted") if put.cancelled() else put.exception()
        if error is None and jobs is not None and self.worker is not None and (lease := put.result().lease) is not None:
            self.worker.run_event(lease, event, jobs)
        if verdict.done():
            return
        if error is None:
            verdict.set_result(ACCEPTED if put.result().stored else DUPLICATE)
        elif isinstance(error, QueueFailed):
            verdict.set_result(_refusal_of_failure(error))
        else:
            verdict.set_exception(error)

    def _on_timeout(self, verdict: asyncio.Future[DispatchVerdict]) -> None:
        detail = f"not kept within {self._deadlines.time_limit:g} s"
        verdict.set_result(DispatchVerdict(503, "inbox_failed", detail))


def _refusal_of_failure(failed: QueueFailed) -> DispatchVerdict:
    status, outcome = (413, "too_large") if isinstance(failed, TooLarge) else (503, "inbox_failed")
    return DispatchVerdict(status, outcome, str(failed))


# Handling events from a queue: taken, run, noted, and tried again later where a handler failed.

_MOST: Final = 4  # for each place for a handler
_QUICK: Final = 0.02
_WEIGHT: Final = 1 / 16


class LeasedEvents:
    """`places` is how many handlers run at a time; `leases` are by what runs them; `saving` counts those that ended.

    Where runs end quickly, more events are held than there are places. They wait here for a moment, and need not be
    read from the queue again. Where runs take their time, others may have a place sooner.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self.leases: dict[Hashable, Lease] = {}
        self.saving = 0
        self._usual_duration: float | None = None

    @property
    def free_places(self) -> int:
        """An event whose end is being saved takes no place, up to a bound."""
        most = _MOST * self.places
        is_quick = self._usual_duration is not None and self._usual_duration < _QUICK
        return max(0, (most if is_quick else min(self.places + self.saving, most)) - len(self.leases))

    def note_duration(self, seconds: float) -> None:
        """Of a run, with what it waited for its place."""
        usual = seconds if self._usual_duration is None else self._usual_duration
        self._usual_duration = usual + (seconds - usual) * _WEIGHT


MAX_REASON = 2000
_TIMER_SLACK = 0.02  # seconds that a queue may give an event too early
_MIN_RETRY_DELAY, _MAX_RETRY_DELAY = 0.05, 2.0
QueueChange = Callable[[], Awaitable[bool]]


class _Run:
    """One run of an event: what is to be done with it, when it was received, and what is known of its targets."""

    __slots__ = ("event", "jobs", "lease", "received", "started", "targets")

    def __init__(
        self, lease: Lease, event: Event, jobs: Sequence[Job], received: float, targets: Mapping[str, TargetState]
    ) -> None:
        self.lease = lease
        self.event = event
        self.jobs = jobs
        self.received = received
        self.targets = targets
        self.started = time.perf_counter()

    def target_state(self, job: str) -> TargetState:
        return self.targets.get(job) or self.targets.get(ALL_OTHERS, NEW)

    def due_jobs(self) -> Sequence[Job]:
        if not self.targets:
            return self.jobs
        now = time.time() + _TIMER_SLACK
        states = ((job, self.target_state(job.id)) for job in self.jobs)
        return [job for job, state in states if state.state == "waiting" and state.due <= now]


class Worker:
    """A success or failure that the queue cannot take now is kept here and tried again until it can."""

    def __init__(
        self,
        queue: Queue,
        runner: Runner,
        sources: Mapping[str, Source],
        routing_table: Callable[[], RoutingTable],
        log: Log,
        schedule: RetrySchedule,
        budget: ByteBudget,
    ) -> None:
        self.queue = queue
        self.runner = runner
        self.sources = sources
        self.routing_table = routing_table
        self.log = log
        self.schedule = schedule
        self.budget = budget
        self._leased = LeasedEvents(runner.concurrency.limit)
        self._tasks: set[asyncio.Task[None]] = set()
        self._unsaved: set[QueueChange] = set()
        self._loops: list[asyncio.Task[None]] = []
        self._slot_freed = asyncio.Event()
        self._stopping = self._shutting_down = False
        self._reported: str | None = None

    @property
    def is_idle(self) -> bool:
        return not self._leased.leases

    @property
    def cannot_save(self) -> bool:
        """Whether results are held here because the queue did not take them."""
        return bool(self._unsaved)

    @property
    def free_slots(self) -> int:
        """How many events may be taken."""
        return 0 if self._stopping else self._leased.free_places

    async def start(self) -> None:
        """The queue is open."""
        self._loops = [asyncio.create_task(self._fetch_forever()), asyncio.create_task(self._renew_forever())]

    def run_event(
        self,
        lease: Lease,
        event: Event,
        jobs: Sequence[Job],
        received: float | None = None,
        targets: Mapping[str, TargetState] = MappingProxyType({}),
    ) -> None:
        """Run what is to be done now with an event that is held already."""
        run = _Run(lease, event, jobs, time.time() if received is None else received, targets)
        due = run.due_jobs()
        if len(jobs) == len(due) == 1:
            self._leased.leases[run] = lease
            if self.runner.start_without_task(event, due[0], partial(self._on_ended, run, due[0].id)):
                return
            del self._leased.leases[run]
        self._create_task(lease, self._handle_event(run, due))

    def _on_ended(self, run: _Run, job: str, failure: HandlerFailed | None) -> None:
        """Its end is saved without a task too, where the queue takes it at once."""
        if self._shutting_down:
            return
        self._leased.note_duration(time.perf_counter() - run.started)
        if failure is not None:
            self._save_in_task(run, RunResult({job: str(failure)}))
            return
        self._leased.saving += 1
        self._slot_freed.set()
        saved = as_future(self.queue.complete_event(run.lease))
        saved.add_done_callback(partial(self._on_saved, run))

    def _on_saved(self, run: _Run, saved: asyncio.Future[bool]) -> None:
        self._leased.saving -= 1
        if saved.cancelled() or saved.exception() is not None or not saved.result():
            if not self._shutting_down:
                result = RunResult()
                result.succeeded.update(job.id for job in run.jobs)
                self._save_in_task(run, result)
            return
        del self._leased.leases[run]
        self._slot_freed.set()
        self.log.log_delivery(200, "handled", "inbox", run.event, time.perf_counter() - run.started)

    def _save_in_task(self, run: _Run, result: RunResult) -> None:
        del self._leased.leases[run]
        self._create_task(run.lease, self._save_result(run, result))

    def _create_task(self, lease: Lease, coroutine: asyncio._CoroutineLike[None]) -> None:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine)
        self._leased.leases[task] = lease
        self._tasks.add(task)
        task.add_done_callback(self._on_task_done)

    def _on_task_done(self, task: asyncio.Task[None]) -> None:
        del self._leased.leases[task]
        self._tasks.discard(task)
        self._slot_freed.set()
        if not task.cancelled() and (error := task.exception()) is not None:
            self.log.write_note(f"inbox: {type(error).__name__}: {error}")

    async def _fetch_forever(self) -> None:
        while not self._stopping:
            self._slot_freed.clear()
            room = min(self.free_slots, max(self.budget.events_that_fit, self.is_idle))
            if not room:
                await self._slot_freed.wait()
                continue
            try:
                for queued in await self.queue.fetch_events(room):
                    self._run_queued(queued)
            except QueueFailed as error:
                self._report_problem(str(error))
                await asyncio.sleep(_MAX_RETRY_DELAY)
            else:
                if self.queue.problem is None and not self._unsaved:
                    self._report_problem(None)

    async def _renew_forever(self) -> None:
        while True:
            await asyncio.sleep(self.queue.renew_every)
            with contextlib.suppress(QueueFailed):
                await self.queue.extend_leases(list(self._leased.leases.values()))

    def _report_problem(self, problem: str | None) -> None:
        """Once, when it begins, and once when it ends."""
        if problem != self._reported:
            self.log.write_note(f"inbox: {problem or 'writable again'}")
        self._reported = problem

    def _run_queued(self, queued: QueuedEvent) -> None:
        lease = queued.lease
        try:
            event = self._parse_event(queued)
            routing_table = self.routing_table()
            jobs = routing_table.jobs_for_event(routing_table.plan_of_event(event), event)
        except Rejected as refused:
            self._create_task(lease, self._refuse_event(lease, refused.detail))
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            self._create_task(lease, self._refuse_event(lease, f"{type(error).__name__}: {error}"))
        else:
            attempts = max((self._schedule_of(job).max_attempts for job in jobs), default=self.schedule.max_attempts)
            if lease.attempts > attempts:
                self._create_task(lease, self._refuse_event(lease, "the process that handled it ended"))
            else:
                self.run_event(lease, event, jobs, queued.received, queued.targets)

    def _schedule_of(self, job: Job) -> RetrySchedule:
        return self.schedule.changed_by(job.target.retry)

    def _parse_event(self, queued: QueuedEvent) -> Event:
        source = self.sources.get(queued.source)
        if source is None:
            raise Rejected(500, "source", f"source {queued.source!r} is not one of this listener's sources")
        event = Event(source, parse_payload(queued.text), queued.headers, queued.query, queued.data, queued.text)
        event.attempt = queued.lease.attempts
        event.charge = self.budget.charge_kept_event(event.data, event.text)
        return event

    async def _handle_event(self, run: _Run, due: Sequence[Job]) -> None:
        on_success = partial(self._record_success, run.lease) if len(run.jobs) > 1 else None
        try:
            result = await self.runner.run(run.event, due, on_success)
        except asyncio.CancelledError:
            if self._shutting_down:
                raise
            await self._retry_or_give_up(run.lease, "cancelled")  # by a handler: nobody else does
            return
        self._leased.note_duration(time.perf_counter() - run.started)
        await self._save_result(run, result)

    async def _record_success(self, lease: Lease, job: str) -> None:
        await self._save_change(lease, partial(self.queue.record_success, lease, job))

    async def _save_result(self, run: _Run, result: RunResult) -> None:
        """Each target goes on by its own schedule. The event waits for the first that is due and ends with the last."""
        duration = time.perf_counter() - run.started
        self._leased.saving += 1
        self._slot_freed.set()
        try:
            changed = {
                job.id: self._state_after_failure(run, job, result) for job in run.jobs if job.id in result.failed
            }
            known = {job.id: changed.get(job.id) or run.target_state(job.id) for job in run.jobs}
            known |= dict.fromkeys(result.succeeded, DONE)
            waiting = [each for each in known.values() if each.state == "waiting"]
            dead = any(each.state == "dead" for each in known.values())
            attempts = max((each.attempts for each in waiting or known.values()), default=0)
            failed = FailedRun(joined_errors(known)[:MAX_REASON], attempts, changed)
            if waiting:
                delay = max(0.0, min(each.due for each in waiting) - time.time())
                await self._save_change(run.lease, partial(self.queue.retry_later, run.lease, delay, failed))
            elif dead:
                await self._save_change(run.lease, partial(self.queue.give_up, run.lease, failed))
            elif await self._save_change(run.lease, partial(self.queue.complete_event, run.lease)):
                self.log.log_delivery(200, "handled", "inbox", run.event, duration)
            if result.failed.keys() > result.busy.keys() or (dead and not waiting):
                outcome = "failed" if waiting else "given_up"
                self.log.log_delivery(500, outcome, "inbox", run.event, duration, failed.reason)
        finally:
            self._leased.saving -= 1

    def _state_after_failure(self, run: _Run, job: Job, result: RunResult) -> TargetState:
        """One that was not tried, as its target had no place, has lost no attempt."""
        before, error, now = run.target_state(job.id), result.failed[job.id][:MAX_REASON], time.time()
        schedule, attempts, age = self._schedule_of(job), before.attempts, now - run.received
        delay: float | None
        if job.id in result.busy and age < schedule.give_up_after:
            delay = min(result.busy[job.id], schedule.backoff_max)
        else:
            is_counted_alone = job.id in run.targets and len(run.jobs) > 1
            attempts = attempts + 1 if is_counted_alone else max(attempts + 1, run.lease.attempts)
            delay = schedule.delay_after(attempts, age)
        if delay is None:
            return TargetState("dead", attempts, now, error)
        return TargetState("waiting", attempts, now + delay, error)

    async def _refuse_event(self, lease: Lease, detail: str) -> None:
        """An event that no handler gets: the log has no other line about it."""
        outcome = await self._retry_or_give_up(lease, detail)
        self.log.write_note(f"inbox: event {lease.key} {outcome}: {detail}")

    async def _retry_or_give_up(self, lease: Lease, detail: str) -> str:
        failed = FailedRun(detail[:MAX_REASON], lease.attempts)
        delay = self.schedule.delay_after(lease.attempts, 0.0)
        if delay is None:
            await self._save_change(lease, partial(self.queue.give_up, lease, failed))
            return "given up"
        await self._save_change(lease, partial(self.queue.retry_later, lease, delay, failed))
        return "not handled"

    async def _save_change(self, lease: Lease, change: QueueChange) -> bool:
        """Tried until the queue has it: an event whose end is not written would run once more."""
        delay = _MIN_RETRY_DELAY
        while True:
            try:
                is_ours = await change()
            except Unstorable:
                raise
            except QueueFailed as error:
                self._unsaved.add(change)
                self._report_problem(str(error))
                await asyncio.sleep(delay)
                delay = min(_MAX_RETRY_DELAY, 2 * delay)
            else:
                self._unsaved.discard(change)
                if not is_ours:
                    self.log.write_note(f"inbox: event {lease.key} was taken over by another process")
                return is_ours

    def stop_fetching(self) -> None:
        self._stopping = True
        self._slot_freed.set()

    async def shutdown(self) -> None:
        """Stop what still runs, note what ended, and give all else back."""
        self.stop_fetching()
        self._shutting_down = True
        leases = list(self._leased.leases.values())
        await cancel_all((*self._loops, *self._tasks))
        await asyncio.gather(*(change() for change in self._unsaved), return_exceptions=True)
        with contextlib.suppress(QueueFailed):
            await self.queue.release_leases(leases)
