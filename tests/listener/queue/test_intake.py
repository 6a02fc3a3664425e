"""Events into a queue: what the sender is told, and who runs what was kept."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.dispatcher import ACCEPTED, DUPLICATE, DispatchVerdict
from callsheet.listener.queue import queue_port as port
from callsheet.listener.queue.queue_port import Lease, PutResult, QueueFailed, TooLarge
from callsheet.listener.queue.queue_worker import Intake

EVENT: Any = SimpleNamespace(key="k")
LEASE = Lease(7, 1)


class Queue:
    """Answers each put with what comes next; None: not yet."""

    def __init__(self, *results: PutResult | Exception | None) -> None:
        self.results = list(results)
        self.puts: list[tuple[bool, bool]] = []
        self.futures: list[asyncio.Future[PutResult]] = []

    def put_event(self, event: Any, *, has_jobs: bool, run_here: bool) -> asyncio.Future[PutResult]:
        assert event is EVENT
        self.puts.append((has_jobs, run_here))
        future: asyncio.Future[PutResult] = asyncio.get_running_loop().create_future()
        self.futures.append(future)
        result = self.results.pop(0)
        if isinstance(result, Exception):
            future.set_exception(result)
        elif result is not None:
            future.set_result(result)
        return future


class Worker:
    def __init__(self, free_slots: int) -> None:
        self.free_slots = free_slots
        self.runs: list[tuple[Lease, list[Any]]] = []

    def run_event(self, lease: Lease, event: Any, jobs: list[Any]) -> None:
        assert event is EVENT
        self.runs.append((lease, jobs))


def handled(queue: Queue, worker: Worker | None, *jobs: list[Any], timeout: float = 5.0) -> list[DispatchVerdict]:
    """The verdicts on deliveries that come at the same time, each with its jobs."""
    intake = Intake(queue, worker, timeout)  # type: ignore[arg-type]  # as much of both as it uses

    async def work() -> list[DispatchVerdict]:
        found = await asyncio.gather(*(intake.dispatch(EVENT, each) for each in jobs))
        await asyncio.sleep(0)
        return found

    return asyncio.run(work())


def test_what_is_kept_for_a_free_place_here_is_run_here() -> None:
    queue, worker = Queue(PutResult(stored=True, lease=LEASE)), Worker(1)
    assert handled(queue, worker, ["job"]) == [ACCEPTED]
    assert (queue.puts, worker.runs) == ([(True, True)], [(LEASE, ["job"])])


def test_no_more_is_kept_for_here_than_there_are_places() -> None:
    stored = PutResult(stored=True)
    queue, worker = Queue(PutResult(stored=True, lease=LEASE), stored, stored), Worker(1)
    assert handled(queue, worker, ["a"], ["b"], []) == [ACCEPTED] * 3
    assert queue.puts == [(True, True), (True, False), (False, False)]
    assert worker.runs == [(LEASE, ["a"])]


@pytest.mark.parametrize("jobs", [[], ["job"]])
def test_without_a_worker_there_is_always_something_to_do_for_others(jobs: list[Any]) -> None:
    queue = Queue(PutResult(stored=True))
    assert handled(queue, None, jobs) == [ACCEPTED]
    assert queue.puts == [(True, False)]


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (port.DUPLICATE, DUPLICATE),
        (QueueFailed("full"), DispatchVerdict(503, "inbox_failed", "full")),
        (TooLarge("larger than 1 MiB"), DispatchVerdict(413, "too_large", "larger than 1 MiB")),
    ],
)
def test_what_is_not_kept_is_said_and_not_run(result: Any, verdict: DispatchVerdict) -> None:
    queue, worker = Queue(result, PutResult(stored=True, lease=LEASE)), Worker(1)
    assert handled(queue, worker, ["a"]) == [verdict]
    assert worker.runs == []


def test_what_failed_takes_no_place() -> None:
    queue, worker = Queue(QueueFailed("full"), PutResult(stored=True, lease=LEASE)), Worker(1)
    intake = Intake(queue, worker, 5.0)  # type: ignore[arg-type]  # as above

    async def work() -> None:
        for _ in range(2):
            await intake.dispatch(EVENT, ["job"])
            await asyncio.sleep(0)

    asyncio.run(work())
    assert queue.puts == [(True, True)] * 2
    assert worker.runs == [(LEASE, ["job"])]


@pytest.mark.parametrize("late", [PutResult(stored=True, lease=LEASE), QueueFailed("full")])
def test_a_sender_does_not_wait_for_ever_and_what_is_kept_afterwards_is_run(late: Any) -> None:
    queue, worker = Queue(None), Worker(1)
    intake = Intake(queue, worker, 0.01)  # type: ignore[arg-type]  # as above

    async def work() -> DispatchVerdict:
        verdict = await intake.dispatch(EVENT, ["job"])
        if isinstance(late, Exception):
            queue.futures[0].set_exception(late)
        else:
            queue.futures[0].set_result(late)
        await asyncio.sleep(0)
        return verdict

    assert asyncio.run(work()) == DispatchVerdict(503, "inbox_failed", "not kept within 0.01 s")
    assert worker.runs == ([] if isinstance(late, Exception) else [(LEASE, ["job"])])


def test_a_queue_that_ends_or_breaks_before_it_answers_leaves_nobody_waiting() -> None:
    queue, worker = Queue(None, RuntimeError("not foreseen"), PutResult(stored=True, lease=LEASE)), Worker(1)
    intake = Intake(queue, worker, 5.0)  # type: ignore[arg-type]  # as above

    async def work() -> list[Any]:
        tasks = [intake.dispatch(EVENT, ["job"]) for _ in range(2)]
        await asyncio.sleep(0)
        queue.futures[0].cancel()
        return [*await asyncio.gather(*tasks, return_exceptions=True), await intake.dispatch(EVENT, ["job"])]

    interrupted, broken, kept = asyncio.run(work())
    assert interrupted == DispatchVerdict(503, "inbox_failed", "interrupted")
    assert str(broken) == "not foreseen"
    assert kept == ACCEPTED
    assert queue.puts == [(True, True), (True, False), (True, True)]
    assert worker.runs == [(LEASE, ["job"])]
