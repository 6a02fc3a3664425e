"""What a worker does with a queue that fails, hangs, or gives its events to others."""

from __future__ import annotations

import asyncio
import io
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.listener.byte_budget import ByteBudget
from callsheet.listener.dispatcher import Runner
from callsheet.listener.handlers import Ended, HandlerFailed
from callsheet.listener.handlers.concurrency_limits import ConcurrencyLimit
from callsheet.listener.handlers.target import HandlerTarget, RetrySchedule
from callsheet.listener.queue import queue_worker as worker_module
from callsheet.listener.queue.queue_port import DONE, FailedRun, Lease, PutResult, Queue, QueuedEvent, QueueFailed
from callsheet.listener.queue.queue_worker import Intake, Worker
from callsheet.listener.routes import Job, RoutingTable
from callsheet.listener.telemetry.log import LineWriter, Log
from callsheet.listener.verify.event import Event
from callsheet.listener.verify.source import Source
from support.waiting import all_turns, reach

SOURCE = Source("lms", {"title": "x", "path": "/x", "type": "payload.type", "id": "payload.id"}, [], None)


def event(id: str) -> Event:
    data = b'{"type": "t", "id": "%s"}' % id.encode()
    return Event(SOURCE, {"type": "t", "id": id}, [], b"", data, data)


class Memory:
    """A queue in memory. Each change first fails as many times as `failures` says next."""

    renew_every = 60.0
    problem: str | None = None

    def __init__(self, failures: Sequence[int] = ()) -> None:
        self._failures = list(failures)
        self.changes: list[tuple[str, int]] = []
        self.held = asyncio.Event()
        self.held.set()

    async def open(self) -> None: ...

    async def _put(self) -> PutResult:
        await self.held.wait()
        return PutResult(stored=True, lease=Lease(1, 1))

    def put_event(self, event: Event, *, has_jobs: bool, run_here: bool) -> asyncio.Future[PutResult]:
        return asyncio.ensure_future(self._put())

    async def fetch_events(self, count: int) -> list[QueuedEvent]:
        await asyncio.sleep(60)
        return []

    async def extend_leases(self, leases: Sequence[Lease]) -> None: ...

    def _change(self, word: str, lease: Lease) -> bool:
        if self._failures and self._failures[0] > 0:
            self._failures[0] -= 1
            raise QueueFailed("disk is full")
        self._failures = self._failures[1:]
        self.changes.append((word, lease.key))
        return True

    async def record_success(self, lease: Lease, job: str) -> bool:
        return self._change(f"mark {job}", lease)

    async def complete_event(self, lease: Lease) -> bool:
        return self._change("done", lease)

    async def retry_later(self, lease: Lease, delay: float, run: FailedRun) -> bool:
        return self._change(f"retry: {run.reason}", lease)

    async def give_up(self, lease: Lease, run: FailedRun) -> bool:
        return self._change(f"dead: {run.reason}", lease)

    async def release_leases(self, leases: Sequence[Lease]) -> None:
        self.changes += [("left", lease.key) for lease in leases]

    def events_by_state(self) -> Mapping[str, float]:
        return {}

    async def close(self) -> None: ...


class Noted:
    """A handler that notes its runs, and fails where it is told to."""

    concurrency_limits = ()

    def __init__(self, error: BaseException | None = None, *, needs_task: bool = True) -> None:
        self.error = error
        self.needs_task = needs_task
        self.runs: Counter[str] = Counter()

    def start_without_task(self, event: Event, job: str, ended: Ended) -> None:
        self.runs[job] += 1
        if self.error is not None and not isinstance(self.error, HandlerFailed):
            raise self.error
        asyncio.get_running_loop().call_soon(ended, self.error)

    async def run(self, event: Event, job: str) -> None:
        self.runs[job] += 1
        if self.error is not None:
            raise self.error


def worker_of(queue: Queue) -> Worker:
    log = Log(LineWriter(io.StringIO()), None)
    runner = Runner(ConcurrencyLimit(8), None, lambda job, took, *, succeeded: None)
    return Worker(
        queue,
        runner,
        {"lms": SOURCE},
        lambda: RoutingTable({}, []),
        log,
        RetrySchedule(3, 1.0, 2.0),
        ByteBudget(1 << 30, 1),
    )


def job(id: str, handler: Noted) -> Job:
    return Job(id, cast("Any", handler), None, (), HandlerTarget({}))


async def until_idle(worker: Worker) -> None:
    await reach(lambda: worker.is_idle)
    worker.log.err.close()


@pytest.mark.slow
@settings(max_examples=15)
@given(failures=st.lists(st.integers(0, 2), max_size=3), fails=st.booleans())
def test_whatever_cannot_be_written_is_written_later_and_nothing_runs_twice(failures: list[int], fails: bool) -> None:
    good, other = Noted(), Noted(HandlerFailed("no") if fails else None)

    async def play() -> list[tuple[str, int]]:
        queue = Memory(failures)
        worker = worker_of(queue)
        worker.run_event(Lease(1, 1), event("1"), [job("r/1", good), job("r/2", other)])
        await until_idle(worker)
        return queue.changes

    changes = asyncio.run(play())
    expected = [("mark r/1", 1), ("retry: r/2: no", 1)] if fails else [("mark r/1", 1), ("mark r/2", 1), ("done", 1)]
    assert sorted(changes) == sorted(expected)
    assert changes[-1] == expected[-1]
    assert (good.runs, other.runs) == ({"r/1": 1}, {"r/2": 1})


@pytest.mark.slow
@settings(max_examples=20)
@given(
    failures=st.lists(st.integers(0, 2), max_size=2),
    error=st.sampled_from([None, HandlerFailed("no"), ValueError("no")]),
    needs_task=st.booleans(),
)
def test_a_single_job_is_noted_once_with_or_without_a_task(
    failures: list[int], error: Exception | None, needs_task: bool
) -> None:
    handler = Noted(error, needs_task=needs_task)

    async def play() -> tuple[list[tuple[str, int]], int]:
        queue = Memory(failures)
        worker = worker_of(queue)
        worker.run_event(Lease(1, 1), event("1"), [job("r/1", handler)])
        assert not worker.is_idle
        await until_idle(worker)
        return queue.changes, worker.runner.concurrency.running

    said = {None: "done", HandlerFailed: "retry: r/1: no", ValueError: "retry: r/1: ValueError: no"}
    assert asyncio.run(play()) == ([(said[type(error) if error else None], 1)], 0)
    assert handler.runs == {"r/1": 1}


def test_runs_without_a_task_wait_for_a_place_one_after_the_other() -> None:
    class Held(Noted):
        def start_without_task(self, event: Event, job: str, ended: Ended) -> None:
            self.runs[job] += 1
            waiting.append(ended)

    waiting: list[Ended] = []

    async def play() -> None:
        queue, handler = Memory(), Held(needs_task=False)
        worker = worker_of(queue)
        limit = worker.runner.concurrency.limit
        for number in range(limit + 2):
            worker.run_event(Lease(number, 1), event(str(number)), [job("r/1", handler)])
        assert (len(waiting), worker.runner.waiting_runs) == (limit, 2)
        for ended in waiting[:2]:
            ended(None)
        await reach(lambda: len(waiting) == limit + 2)
        for ended in waiting[2:]:
            ended(None)
        await until_idle(worker)
        assert (len(queue.changes), worker.runner.concurrency.running) == (limit + 2, 0)

    asyncio.run(play())


def test_what_ends_without_a_task_after_the_end_is_left_to_others() -> None:
    class Slow(Noted):
        def start_without_task(self, event: Event, job: str, ended: Ended) -> None:
            waiting.append(ended)

    waiting: list[Ended] = []

    async def play() -> None:
        queue = Memory()
        worker = worker_of(queue)
        worker.run_event(Lease(1, 1), event("1"), [job("r/1", Slow(needs_task=False))])
        await worker.shutdown()
        waiting[0](None)
        await all_turns()
        worker.log.err.close()
        assert queue.changes == [("left", 1)]

    asyncio.run(play())


def test_one_that_another_process_took_over_meanwhile_is_told_of() -> None:
    class Taken(Memory):
        async def complete_event(self, lease: Lease) -> bool:
            await super().complete_event(lease)
            return False

    async def play() -> str:
        queue, said = Taken(), io.StringIO()
        worker = worker_of(queue)
        worker.log.err.close()
        worker.log.err = LineWriter(said)
        worker.run_event(Lease(1, 1), event("1"), [job("r/1", Noted(needs_task=False))])
        await until_idle(worker)
        return said.getvalue()

    assert "inbox: event 1 was taken over by another process" in asyncio.run(play())


def test_a_handler_that_cancels_itself_has_failed() -> None:
    async def play() -> None:
        queue = Memory()
        worker = worker_of(queue)
        worker.run_event(Lease(1, 1), event("1"), [job("r/1", Noted(asyncio.CancelledError()))])
        await until_idle(worker)
        ((word, key),) = queue.changes
        assert (word.partition(":")[0], key) == ("retry", 1)

    asyncio.run(play())


def test_an_event_that_was_delivered_too_often_is_given_up_without_a_run() -> None:
    async def play() -> None:
        queue = Memory()
        worker = worker_of(queue)
        worker._run_queued(queued(1, 4))
        await until_idle(worker)
        assert queue.changes == [("dead: the process that handled it ended", 1)]

    asyncio.run(play())


def test_what_could_not_be_written_is_tried_once_more_at_the_end() -> None:
    async def play() -> None:
        queue = Memory([100])
        worker = worker_of(queue)
        worker.run_event(Lease(1, 1), event("1"), [job("r/1", Noted())])
        await reach(lambda: worker.cannot_save)
        queue._failures = []
        await worker.shutdown()
        worker.log.err.close()
        assert queue.changes == [("done", 1), ("left", 1)]

    asyncio.run(play())


def test_a_sender_is_answered_while_the_disk_hangs_and_its_event_runs_when_it_was_kept() -> None:
    async def play() -> None:
        queue = Memory()
        queue.held.clear()
        worker, handler = worker_of(queue), Noted()
        verdict = await Intake(queue, worker, 0.01).dispatch(event("1"), [job("r/1", handler)])
        assert (verdict.status, verdict.outcome) == (503, "inbox_failed")
        queue.held.set()
        await reach(lambda: queue.changes)
        await until_idle(worker)
        assert (queue.changes, handler.runs) == ([("done", 1)], {"r/1": 1})

    asyncio.run(play())


def test_a_run_whose_result_is_being_saved_takes_no_place_up_to_a_bound() -> None:
    class Stuck(Memory):
        async def complete_event(self, lease: Lease) -> bool:
            await self.held.wait()
            return await super().complete_event(lease)

    async def play() -> list[int]:
        queue, handler = Stuck(), Noted()
        worker = worker_of(queue)
        queue.held.clear()
        limit = worker.runner.concurrency.limit
        free = []
        for number in range(1, 5 * limit):
            worker.run_event(Lease(number, 1), event(str(number)), [job("a", handler)])
            if number % limit == 0:
                await reach(lambda wanted=number: sum(handler.runs.values()) == wanted)
                await asyncio.sleep(0)
                free.append(worker.free_slots)
        queue.held.set()
        await until_idle(worker)
        return free

    with pytest.MonkeyPatch.context() as patched:
        for quick, expected in ((0.0, [8, 8, 8, 0]), (100.0, [24, 16, 8, 0])):
            patched.setattr(worker_module, "_QUICK", quick)
            assert asyncio.run(play()) == expected


def test_a_place_that_becomes_free_is_filled_again() -> None:
    """With all places taken nothing is fetched; the first that is free again is asked for."""

    class Full(Memory):
        def __init__(self) -> None:
            super().__init__()
            self.asked: list[int] = []

        async def fetch_events(self, count: int) -> list[QueuedEvent]:
            self.asked.append(count)
            await asyncio.sleep(0)
            return []

    async def work() -> None:
        queue = Full()
        worker = worker_of(queue)
        held = asyncio.Event()
        for number in range(8):
            worker._create_task(Lease(number, 1), held.wait())  # type: ignore[arg-type]  # any run
        await worker.start()
        await all_turns()
        assert queue.asked == []
        held.set()
        await reach(lambda: queue.asked)
        assert queue.asked[-1] <= 8
        await reach(lambda: 8 in queue.asked)
        await worker.shutdown()
        worker.log.err.close()

    asyncio.run(work())


class Queued(Memory):
    """Gives the events that it holds, each once."""

    def __init__(self, *events: QueuedEvent) -> None:
        super().__init__()
        self.events = list(events)

    async def fetch_events(self, count: int) -> list[QueuedEvent]:
        await asyncio.sleep(0)
        taken, self.events = self.events[:count], self.events[count:]
        return taken


def queued(key: int, attempts: int = 1, source: str = "lms", text: bytes = b'{"type": "t", "id": "1"}') -> QueuedEvent:
    return QueuedEvent(Lease(key, attempts), source, [], b"", text, text, time.time(), {"r/0": DONE})


def worked(queue: Queued, *handlers: Noted) -> list[str]:
    """The lines about what was fetched, when all of it is settled."""
    written = io.StringIO()

    async def play() -> None:
        worker = worker_of(queue)
        worker.log.err.close()
        worker.log.err = LineWriter(written)
        jobs = [job(f"r/{number}", handler) for number, handler in enumerate(handlers)]
        worker.routing_table = lambda: cast(
            "Any", SimpleNamespace(plan_of_event=lambda _: None, jobs_for_event=lambda *_: jobs)
        )
        count = len(queue.events)
        await worker.start()
        await reach(lambda: sum(not change.startswith("mark") for change, _ in queue.changes) == count)
        await reach(lambda: worker.is_idle)
        await worker.shutdown()
        worker.log.err.close()

    asyncio.run(play())
    return [line.partition(" ")[2].partition(" duration")[0] for line in written.getvalue().splitlines()]


def test_what_is_fetched_runs_but_for_what_succeeded_before() -> None:
    queue, before, good = Queued(queued(1), queued(2, 3)), Noted(), Noted()
    lines = worked(queue, before, good)
    assert (before.runs, good.runs) == ({}, {"r/1": 2})
    assert sorted(queue.changes) == [("done", 1), ("done", 2), ("mark r/1", 1), ("mark r/1", 2)]
    assert lines == ["200 handled source=lms type=t id=1 client=inbox"] * 2


def test_the_last_attempt_that_fails_is_given_up() -> None:
    queue = Queued(queued(1, 2), queued(2, 3))
    lines = worked(queue, Noted(), Noted(HandlerFailed("no")))
    assert queue.changes == [("retry: r/1: no", 1), ("dead: r/1: no", 2)]
    assert [line.partition(" source")[0] for line in lines] == ["500 failed", "500 given_up"]


def test_what_cannot_be_read_fails_and_keeps_no_other_waiting() -> None:
    queue = Queued(queued(1, source="gone"), queued(2, text=b"[1]"), queued(3, 3, text=b"x"), queued(4))
    lines = worked(queue, Noted())
    told = {key: change for change, key in queue.changes}
    assert told[1] == "retry: source 'gone' is not one of this listener's sources"
    assert (told[2].partition(":")[0], told[3].partition(":")[0], told[4]) == ("retry", "dead", "done")
    logged = {line.partition(": ")[2].partition(":")[0] for line in lines if line.startswith("inbox: ")}
    assert logged == {"event 1 not handled", "event 2 not handled", "event 3 given up"}


def test_a_disk_that_is_full_is_told_once_until_something_can_be_written() -> None:
    """To take nothing from a queue changes nothing, so it says nothing of the disk."""

    async def play() -> None:
        queue = Memory()
        turns = [QueueFailed("disk is full"), "disk is full", QueueFailed("disk is full"), None]

        async def fetch_events(count: int) -> list[QueuedEvent]:
            turn = turns.pop(0) if turns else worker.stop_fetching()
            if isinstance(turn, QueueFailed):
                raise turn
            queue.problem = turn
            return []

        queue.fetch_events = fetch_events  # type: ignore[method-assign]
        worker = worker_of(queue)
        notes: list[str] = []
        worker.log.write_note = notes.append  # type: ignore[method-assign]
        await worker._fetch_forever()
        assert notes == ["inbox: disk is full", "inbox: writable again"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_module, "_MAX_RETRY_DELAY", 0.0)
        asyncio.run(play())


def test_what_runs_at_the_end_is_cut_off_and_left_to_others() -> None:
    """It has not failed, so nothing is written about it but that it is given back."""
    begun = asyncio.Event()

    class Long(Noted):
        async def run(self, event: Event, job: str) -> None:
            begun.set()
            await asyncio.sleep(60)

    async def play() -> None:
        queue = Memory()
        worker = worker_of(queue)
        worker.run_event(Lease(7, 1), event("1"), [job("r/1", Long())])
        await begun.wait()
        await worker.shutdown()
        worker.log.err.close()
        assert queue.changes == [("left", 7)]

    asyncio.run(play())


def test_leases_of_what_runs_are_renewed_also_after_a_failure() -> None:
    class Renewed(Memory):
        renew_every = 0.001

        def __init__(self) -> None:
            super().__init__()
            self.renewed: list[list[int]] = []

        async def extend_leases(self, leases: Sequence[Lease]) -> None:
            self.renewed.append([lease.key for lease in leases])
            if len(self.renewed) == 1:
                raise QueueFailed("disk is full")

    async def play() -> None:
        queue = Renewed()
        worker = worker_of(queue)
        held = asyncio.Event()
        for number in (1, 2):
            worker._create_task(Lease(number, 1), held.wait())  # type: ignore[arg-type]  # any run
        await worker.start()
        await reach(lambda: len(queue.renewed) > 1)
        assert queue.renewed[:2] == [[1, 2]] * 2
        held.set()
        await reach(lambda: queue.renewed[-1] == [])
        await worker.shutdown()
        worker.log.err.close()

    asyncio.run(play())


def test_what_cannot_be_saved_at_the_end_keeps_nothing_else_from_being_given_back() -> None:
    class Stuck(Memory):
        async def complete_event(self, lease: Lease) -> bool:
            if lease.key == 1:
                raise QueueFailed("disk is full")
            return await super().complete_event(lease)

    async def play() -> None:
        queue = Stuck()
        worker = worker_of(queue)
        worker.run_event(Lease(1, 1), event("1"), [job("r/1", Noted())])
        await reach(lambda: worker.cannot_save)
        worker._create_task(Lease(2, 1), asyncio.Event().wait())  # type: ignore[arg-type]  # any run
        await worker.shutdown()
        worker.log.err.close()
        assert ("left", 2) in queue.changes

    asyncio.run(play())
