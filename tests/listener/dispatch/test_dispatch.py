"""Events while their sender waits: what runs, what runs again, and what is said."""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pytest

from callsheet.listener import dispatcher as module
from callsheet.listener.dispatcher import (
    ACCEPTED,
    DUPLICATE,
    DispatchVerdict,
    Runner,
    RunResult,
    SynchronousDispatcher,
    failure_response,
)
from callsheet.listener.event_table import GENERATIONS, RUNNING, EventTable, TableBusy, WorkerCounts, create_memory
from callsheet.listener.handlers import HandlerFailed
from callsheet.listener.handlers.concurrency_limits import ConcurrencyLimit
from callsheet.listener.handlers.target import HandlerTarget
from support.waiting import PATIENCE, all_turns


def event(key: str = "k", **scope: Any) -> Any:
    return SimpleNamespace(key=key, fast_scope=scope)


class Handler:
    """Fails with what comes next in `outcomes`, and succeeds when they are used up."""

    needs_task = True

    def __init__(self, *outcomes: BaseException | None, wait: float = 0.0) -> None:
        self.outcomes, self.wait = list(outcomes), wait
        self.started = self.most = self.running = 0

    async def run(self, event: Any, job: str) -> None:
        self.started += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await asyncio.sleep(self.wait)
            outcome = self.outcomes.pop(0) if self.outcomes else None
            if outcome is not None:
                raise outcome
        finally:
            self.running -= 1


class CallsBack(Handler):
    """One that needs no task."""

    needs_task = False

    def start_without_task(self, event: Any, job: str, ended: Callable[[Any], None]) -> None:
        self.started += 1
        outcome = self.outcomes.pop(0) if self.outcomes else None
        asyncio.get_running_loop().call_later(0.01, ended, outcome)


def job(id: str, handler: Handler, *limits: ConcurrencyLimit, order: Callable[[Any], Any] | None = None) -> Any:
    return SimpleNamespace(
        id=id, handler=handler, order=order, reply=None, target=HandlerTarget({}), concurrency_limits=limits
    )


class Seen:
    def __init__(self) -> None:
        self.runs: list[tuple[str, bool]] = []

    def __call__(self, job: str, duration: float, *, succeeded: bool) -> None:
        assert 0 <= duration < 20
        self.runs.append((job, succeeded))


def runner(places: int = 64, max_wait: float | None = 5.0, queue: int | None = None) -> tuple[Runner, Seen]:
    seen = Seen()
    return Runner(ConcurrencyLimit(places, queue), max_wait, seen), seen


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, PATIENCE))


def test_all_run_at_once_and_each_counts_for_itself() -> None:
    here, seen = runner()
    told: list[str] = []

    async def note(id: str) -> None:
        told.append(id)

    good, bad, broken = Handler(wait=0.01), Handler(HandlerFailed("no")), Handler(KeyError("x"))
    jobs = [job("r/1", good), job("r/2", bad), job("r/3", broken)]
    result = run(here.run(event(), jobs, note))
    assert result.succeeded == {"r/1"}
    assert result.failed == {"r/2": "no", "r/3": "KeyError: 'x'"}
    assert (result.saturated, told) == (False, ["r/1"])
    assert sorted(seen.runs) == [("r/1", True), ("r/2", False), ("r/3", False)]
    assert here.concurrency.running == 0
    assert run(here.run(event(), [])).failed == {}


def test_a_success_that_cannot_be_noted_is_none() -> None:
    here, seen = runner()

    async def note(_: str) -> None:
        raise HandlerFailed("the disk is full")

    result = run(here.run(event(), [job("r/1", Handler())], note))
    assert (result.succeeded, result.failed, seen.runs) == (set(), {"r/1": "the disk is full"}, [("r/1", False)])


def test_who_finds_no_place_in_time_is_told() -> None:
    here, seen = runner(places=1, max_wait=0.05)
    slow, quick = Handler(wait=0.3), Handler()

    async def both() -> list[RunResult]:
        return await asyncio.gather(here.run(event(), [job("a", slow)]), here.run(event(), [job("b", quick)]))

    first, second = run(both())
    assert (first.succeeded, second.saturated, second.failed) == ({"a"}, True, {"b": "no free slot"})
    assert (quick.started, seen.runs, here.concurrency.running) == (0, [("a", True)], 0)


def test_whoever_waits_for_a_turn_is_counted_whatever_takes_the_place() -> None:
    async def play() -> None:
        here, _ = runner()
        handler, one = Handler(wait=60), ConcurrencyLimit(1)
        capped, ordered = job("r/1", handler, one), job("r/2", handler, order=lambda scope: scope["user"])
        runs = [asyncio.create_task(here.run(event(user=7), [each])) for each in (capped, capped, ordered, ordered)]
        for _ in range(50):
            await asyncio.sleep(0)
        assert (handler.running, here.waiting_runs) == (2, 2)
        for each in runs:
            each.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        assert here.waiting_runs == 0

    run(play())


def test_without_a_bound_a_turn_is_waited_for() -> None:
    here, _ = runner(places=1, max_wait=None)
    handler = Handler(wait=0.02)

    async def several() -> list[RunResult]:
        return await asyncio.gather(*(here.run(event(), [job("a", handler)]) for _ in range(4)))

    assert [result.succeeded for result in run(several())] == [{"a"}] * 4
    assert (handler.most, handler.started) == (1, 4)


def test_a_cap_of_a_job_and_the_whole_ones_hold_together() -> None:
    here, _ = runner(places=3)
    capped, free, own = Handler(wait=0.02), Handler(wait=0.02), ConcurrencyLimit(1)

    async def several() -> None:
        jobs = [job("a", capped, own), job("b", free)]
        await asyncio.gather(*(here.run(event(), jobs) for _ in range(3)))

    run(several())
    assert (capped.most, capped.started, free.started) == (1, 3, 3)
    assert free.most >= 2
    assert (own.running, here.concurrency.running) == (0, 0)


def test_one_value_keeps_its_order_and_others_do_not_wait() -> None:
    here, _ = runner()
    handler = Handler(wait=0.02)
    ordered = job("a", handler, order=lambda scope: scope.get("user"))

    async def several(*users: Any) -> int:
        handler.most = 0
        await asyncio.gather(*(here.run(event(user=user), [ordered]) for user in users))
        return handler.most

    assert run(several("x", "x", "x")) == 1
    assert run(several("x", "y", 1, "1")) == 4
    assert run(several(None, None)) == 2, "without a value there is no order"


FAILED_THERE = DispatchVerdict(500, "failed", "another delivery of this event was under way")


async def until_free(is_free: Callable[[], bool]) -> None:
    while not is_free():  # noqa: ASYNC110 - nothing tells of it
        await asyncio.sleep(0)


MakeDispatchers = Callable[..., list[SynchronousDispatcher]]


@pytest.fixture
def dispatchers() -> Iterator[MakeDispatchers]:
    """Of the workers of one listener; where there are no workers, the same one again."""
    descriptors: list[int] = []

    def make(count: int = 2) -> list[SynchronousDispatcher]:
        if sys.platform == "win32":
            return [dispatcher()] * count
        descriptors.append(create_memory(tempfile.gettempdir()))
        tables = [EventTable(100, 100.0, descriptors[-1], number) for number in range(count)]
        return [SynchronousDispatcher(table, runner()[0]) for table in tables]

    yield make
    for each in descriptors:
        os.close(each)


def dispatcher() -> SynchronousDispatcher:
    return SynchronousDispatcher(EventTable(100, 100.0), runner()[0])


def verdict_of(here: SynchronousDispatcher, jobs: list[Any], key: str = "k") -> DispatchVerdict:
    """Of a delivery that comes alone."""

    async def wait() -> DispatchVerdict:
        verdict = here.dispatch(event(key), jobs)
        return verdict if isinstance(verdict, DispatchVerdict) else await verdict

    return cast("DispatchVerdict", run(wait()))


def test_what_was_handled_is_a_duplicate_at_once_and_so_is_what_needs_no_handler(dispatchers: MakeDispatchers) -> None:
    for here, there in (dispatchers(), dispatchers()[::-1], [dispatcher()] * 2):
        assert here.dispatch(event("a"), []) is ACCEPTED
        assert there.dispatch(event("a"), []) is DUPLICATE
        handler = Handler()
        jobs = [job("r/1", handler)]
        assert verdict_of(here, jobs, "b") is ACCEPTED
        assert there.dispatch(event("b"), jobs) is DUPLICATE
        assert here.dispatch(event("b"), jobs) is DUPLICATE
        assert handler.started == 1


@pytest.mark.parametrize("next_at", [0, 1])
def test_a_retry_runs_what_failed_and_nothing_else_wherever_it_arrives(
    next_at: int, dispatchers: MakeDispatchers
) -> None:
    workers = dispatchers()
    good, bad = Handler(), Handler(HandlerFailed("no"), HandlerFailed("not yet"))
    late = Handler(HandlerFailed("no"))
    jobs = [job("r/1", good), job("r/2", bad), job("r/3", late)]
    assert verdict_of(workers[0], jobs) == DispatchVerdict(500, "failed", "r/2: no; r/3: no")
    assert verdict_of(workers[next_at], jobs) == DispatchVerdict(500, "failed", "r/2: not yet")
    assert verdict_of(workers[0], jobs) is ACCEPTED
    assert (good.started, bad.started, late.started) == (1, 3, 2)
    assert verdict_of(workers[next_at], jobs) is DUPLICATE


def test_no_id_of_an_event_says_that_a_handler_of_another_succeeded() -> None:
    here = dispatcher()
    good, bad = Handler(), Handler(HandlerFailed("no"))
    assert verdict_of(here, [], "r/1lms/t/7") is ACCEPTED
    assert verdict_of(here, [job("r/1", good), job("r/2", bad)], "lms/t/7")[0] == 500
    assert good.started == 1


@pytest.mark.parametrize("fails", [True, False])
def test_one_handler_that_calls_back_needs_no_task(fails: bool) -> None:
    here = dispatcher()
    handler = CallsBack(*([HandlerFailed("no")] if fails else []))
    jobs = [job("r/1", handler)]

    async def play() -> list[Any]:
        first = here.dispatch(event(), jobs)
        assert not isinstance(first, asyncio.Task)
        assert isinstance(first, asyncio.Future)
        second = here.dispatch(event(), jobs)
        assert isinstance(second, asyncio.Task), "it is under way"
        return [await first, await second]

    assert run(play()) == (
        [DispatchVerdict(500, "failed", "r/1: no"), FAILED_THERE] if fails else [ACCEPTED, DUPLICATE]
    )
    assert handler.started == 1
    assert here.runner.concurrency.running == 0
    assert verdict_of(here, [job("r/1", Handler())]) is (ACCEPTED if fails else DUPLICATE)


def test_an_answer_that_nobody_waits_for_any_more_ends_the_run_as_any_other() -> None:
    here = dispatcher()

    async def play() -> None:
        verdict = here.dispatch(event(), [job("r/1", CallsBack())])
        assert isinstance(verdict, asyncio.Future)
        verdict.cancel()
        await until_free(lambda: here.table.look_up("k", monotonic()).state != RUNNING)
        assert here.dispatch(event(), [job("r/1", Handler())]) is DUPLICATE

    run(play())


@pytest.mark.parametrize("fails", [True, False])
def test_a_second_delivery_waits_for_the_first_wherever_it_arrives(fails: bool, dispatchers: MakeDispatchers) -> None:
    workers = dispatchers(3)
    handler = Handler(*([HandlerFailed("no")] if fails else []), wait=0.05)

    async def at_all() -> list[Any]:
        jobs = [job("r/1", handler)]
        return await asyncio.gather(*(cast("Any", here.dispatch(event(), jobs)) for here in (*workers, workers[0])))

    failed = DispatchVerdict(500, "failed", "r/1: no")
    assert run(at_all()) == ([failed, *[FAILED_THERE] * 3] if fails else [ACCEPTED, *[DUPLICATE] * 3])
    assert handler.started == 1


def test_a_delivery_that_waited_for_a_place_in_vain_says_so_to_those_that_wait_for_it() -> None:
    here = SynchronousDispatcher(EventTable(100, 100.0), runner(places=1, max_wait=0.02)[0])
    slow = Handler(wait=0.2)

    async def play() -> list[Any]:
        first = here.dispatch(event("a"), [job("r/1", slow)])
        await all_turns()
        waiting = [here.dispatch(event("b"), [job("r/1", slow)]) for _ in range(2)]
        return [await cast("Any", each) for each in (first, *waiting)]

    first, second, third = run(play())
    assert (first, second[:2], third[:2]) == (ACCEPTED, (503, "saturated"), (503, "saturated"))


def test_who_waits_is_told_when_the_first_is_cut_off() -> None:
    here = dispatcher()
    handler = Handler(wait=60)

    async def cut_off() -> Any:
        jobs = [job("r/1", handler)]
        first, second, third = (cast("Any", here.dispatch(event(), jobs)) for _ in range(3))
        await all_turns()
        third.cancel()
        await all_turns()
        assert not first.done()
        first.cancel()
        return await second

    assert run(cut_off()) == FAILED_THERE
    assert verdict_of(here, [job("r/1", Handler())]) is ACCEPTED


def test_the_next_attempt_may_begin_before_who_waited_looks_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FIRST_LOOK", 0.05)
    here = dispatcher()
    handler = Handler(HandlerFailed("no"), wait=0.01)

    async def play() -> list[Any]:
        jobs = [job("r/1", handler)]
        first, waiting = (cast("Any", here.dispatch(event(), jobs)) for _ in range(2))
        failed = await first
        handler.wait = 0.2
        again = cast("Any", here.dispatch(event(), jobs))
        return [failed[0], await waiting, await again]

    assert run(play()) == [500, FAILED_THERE, ACCEPTED]


@pytest.mark.skipif(sys.platform == "win32", reason="no workers there")
def test_an_event_of_a_worker_that_died_runs_at_another_once_its_supervisor_knows(dispatchers: MakeDispatchers) -> None:
    first, second = dispatchers()
    descriptor = first.table._descriptor
    assert descriptor is not None
    generations = WorkerCounts(descriptor, GENERATIONS)
    good = Handler()

    async def play() -> Any:
        jobs = [job("r/1", good), job("r/2", Handler(HandlerFailed("no")))]
        await cast("Any", first.dispatch(event(), jobs))
        first.table.claim_event("k", monotonic())  # and there it ends
        waiting = cast("Any", second.dispatch(event(), jobs))
        for _ in range(5):
            await asyncio.sleep(0.005)
        assert not waiting.done()
        generations.increase_count(0)
        return await waiting

    assert run(play()) is ACCEPTED
    generations.close()
    assert good.started == 1, "what it had noted is known"


def test_a_table_that_is_busy_is_asked_again_and_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BUSY_TIMEOUT", PATIENCE)
    here = dispatcher()
    claim, busy = here.table.claim_event, [True] * 3

    def is_busy_at_first(key: str, now: float, state: int) -> Any:
        if busy:
            busy.pop()
            raise TableBusy
        return claim(key, now, state)

    monkeypatch.setattr(here.table, "claim_event", is_busy_at_first)
    assert verdict_of(here, [job("r/1", Handler())]) is ACCEPTED
    busy.extend([True] * 3)
    assert verdict_of(here, [], "without") is ACCEPTED
    monkeypatch.setattr(module, "BUSY_TIMEOUT", 0.05)
    busy.extend([True] * 100_000)
    assert verdict_of(here, [], "other") == DispatchVerdict(
        503, "saturated", "what is known of the event cannot be read"
    )


def test_what_a_failure_says() -> None:
    result = RunResult()
    result.failed = {"r/2": "b", "r/1": "a"}
    assert failure_response(result).status == 500
    result.saturated = True
    assert failure_response(result)[:2] == (503, "saturated")
