"""Events while their sender waits: what runs, what runs again, and what is said."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.dispatch.dedup import Deduplicator
from callsheet.listener.dispatch.grants import Grant, LocalGrants
from callsheet.listener.dispatch.runner import Runner, RunResult
from callsheet.listener.dispatch.synchronous import SynchronousDispatcher
from callsheet.listener.dispatch.verdict import ACCEPTED, DUPLICATE, failure
from callsheet.listener.handlers import HandlerFailed
from callsheet.listener.handlers.limits import ConcurrencyLimit
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

    def begin(self, event: Any, job: str, ended: Callable[[Any], None]) -> None:
        self.started += 1
        outcome = self.outcomes.pop(0) if self.outcomes else None
        asyncio.get_running_loop().call_later(0.01, ended, outcome)


def job(id: str, handler: Handler, *limits: ConcurrencyLimit, order: Callable[[Any], Any] | None = None) -> Any:
    return SimpleNamespace(id=id, handler=handler, order=order, concurrency_limits=limits)


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
        assert (handler.running, here.waiting) == (2, 2)
        for each in runs:
            each.cancel()
        await asyncio.gather(*runs, return_exceptions=True)
        assert here.waiting == 0

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


def dispatcher(remember: int = 10, window: float = 100.0) -> SynchronousDispatcher:
    return SynchronousDispatcher(LocalGrants(Deduplicator(remember, window)), runner()[0])


def test_what_was_handled_is_a_duplicate_and_without_jobs_is_handled_at_once() -> None:
    here = dispatcher()
    assert here.try_immediately(event("a"), []) is ACCEPTED
    assert here.try_immediately(event("a"), []) is DUPLICATE
    handler = Handler()
    jobs = [job("r/1", handler)]
    assert here.try_immediately(event("b"), jobs) is None
    assert run(here.handle(event("b"), jobs)) == ACCEPTED
    assert here.try_immediately(event("b"), jobs) is DUPLICATE
    assert handler.started == 1


def test_a_retry_runs_what_failed_and_nothing_else() -> None:
    here = dispatcher()
    good, bad = Handler(), Handler(HandlerFailed("no"))
    jobs = [job("r/1", good), job("r/2", bad)]
    assert run(here.handle(event(), jobs)) == (500, "failed", "r/2: no")
    assert here.try_immediately(event(), jobs) is None
    assert run(here.handle(event(), jobs)) == ACCEPTED
    assert (good.started, bad.started) == (1, 2)


def test_one_handler_that_calls_back_needs_no_task() -> None:
    here = dispatcher()
    handler = CallsBack(HandlerFailed("no"))
    jobs = [job("r/1", handler)]

    async def play() -> list[Any]:
        first = here.begin(event(), jobs)
        assert first is not None
        assert here.begin(event(), jobs) is None, "it is under way"
        second = asyncio.create_task(here.handle(event(), jobs))
        again = await first, await second
        assert here.begin(event(), jobs) is None, "it failed before, so what succeeded of it must be looked up"
        return [*again, await here.handle(event(), [job("r/1", Handler())]), here.begin(event(), jobs)]

    failed = (500, "failed", "r/1: no")
    assert run(play()) == [failed, failed, ACCEPTED, None]
    assert handler.started == 1
    assert here.runner.concurrency.running == 0


def test_a_new_event_is_begun_and_done() -> None:
    here = dispatcher()
    handler = CallsBack()

    async def play() -> Any:
        begun = here.begin(event(), [job("r/1", handler)])
        assert begun is not None
        return await begun

    assert run(play()) == ACCEPTED
    assert here.try_immediately(event(), [job("r/1", handler)]) is DUPLICATE


def test_what_has_to_wait_is_not_begun() -> None:
    here, full = dispatcher(), ConcurrencyLimit(1)

    async def play() -> None:
        await full.acquire()
        quick = CallsBack()
        for jobs in (
            [job("r/1", Handler())],
            [job("r/1", quick), job("r/2", quick)],
            [job("r/1", quick, order=lambda scope: 1)],
            [job("r/1", quick, full)],
        ):
            assert here.begin(event(), jobs) is None
        assert isinstance(await here.grants.acquire(event().key), Grant), "nothing was taken"

    run(play())


@pytest.mark.parametrize("fails", [True, False])
def test_a_second_delivery_waits_for_the_first_and_gets_its_verdict(fails: bool) -> None:
    here = dispatcher()
    handler = Handler(*([HandlerFailed("no")] if fails else []), wait=0.05)

    async def twice() -> list[Any]:
        return await asyncio.gather(*(here.handle(event(), [job("r/1", handler)]) for _ in range(3)))

    failed = (500, "failed", "r/1: no")
    assert run(twice()) == ([failed] * 3 if fails else [ACCEPTED, DUPLICATE, DUPLICATE])
    assert handler.started == 1


def test_an_event_that_was_done_between_the_look_and_the_run_does_not_run_again() -> None:
    """The answer to a delivery that must wait is a task of its own: the first one may end before that begins."""
    here = dispatcher()
    handler = Handler()
    jobs = [job("r/1", handler)]
    assert here.try_immediately(event(), jobs) is None
    assert here.try_immediately(event(), jobs) is None
    assert run(here.handle(event(), jobs)) == ACCEPTED
    assert run(here.handle(event(), jobs)) == DUPLICATE
    assert handler.started == 1


def test_who_waits_is_told_when_the_first_is_cut_off() -> None:
    here = dispatcher()
    handler = Handler(wait=60)

    async def cut_off() -> Any:
        first = asyncio.create_task(here.handle(event(), [job("r/1", handler)]))
        await all_turns()
        second = asyncio.create_task(here.handle(event(), [job("r/1", handler)]))
        third = asyncio.create_task(here.handle(event(), [job("r/1", handler)]))
        await all_turns()
        third.cancel()  # a sender that leaves takes nobody along
        await all_turns()
        assert not first.done()
        first.cancel()
        return await second

    assert run(cut_off()) == (500, "failed", "interrupted")


def test_what_a_failure_says() -> None:
    result = RunResult()
    result.failed = {"r/2": "b", "r/1": "a"}
    assert failure(result).status == 500
    result.saturated = True
    assert failure(result)[:2] == (503, "saturated")


def test_what_is_remembered_is_bounded_in_number_and_time() -> None:
    seen = Deduplicator(2, 10.0)
    for moment, key in enumerate("aabc"):
        seen.mark_done(key, float(moment))
    assert [seen.is_done(key, 4.0) for key in "abc"] == [False, True, True]
    assert len(seen) == 2
    assert seen.is_done("b", 12.0), "until the window is over"
    assert not seen.is_done("b", 12.1)
    assert seen.is_done("c", 13.0)
    assert not seen.is_done("c", 13.5)
    assert len(seen) == 0


def test_failed_attempts_are_forgotten_oldest_first_but_never_one_under_way() -> None:
    async def fill() -> list[bool]:
        seen = Deduplicator(2, 10.0)
        under_way = seen.attempt("a")
        under_way.verdict = asyncio.get_running_loop().create_future()
        attempts = {key: seen.attempt(key) for key in "bcd"}
        assert seen.attempt("a") is under_way
        found = [seen.attempt(key) is attempts[key] for key in "d"]
        under_way.verdict.set_result(None)
        seen.mark_done("a", 0.0)
        return [*found, seen.attempt("a") is under_way]

    assert run(fill()) == [True, False]
