"""Whichever worker receives an event runs it, and no other one does meanwhile or later."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.dispatch.dedup import Deduplicator
from callsheet.listener.dispatch.grants import INTERRUPTED, Grant, LocalGrants
from callsheet.listener.dispatch.runner import RunResult
from callsheet.listener.dispatch.synchronous import SynchronousDispatcher
from callsheet.listener.dispatch.verdict import DUPLICATE, DispatchVerdict
from callsheet.listener.workers import shared_grants
from callsheet.listener.workers.channel import Unreachable
from callsheet.listener.workers.event_table import EventTable, Generations, TableBusy, create_memory
from callsheet.listener.workers.shared_grants import SharedGrants
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no workers there")

FAILED = DispatchVerdict(500, "failed", "r/2: no")
KEY = "lms/t/1"


class Wire:
    """The channel of worker `index` to all others, who are gone where that is said."""

    def __init__(self, index: int, team: Team) -> None:
        self.index, self.team = index, team

    async def request(self, index: int, message: dict[str, Any]) -> Any:
        self.team.asked += 1
        if index in self.team.gone:
            raise Unreachable("gone")
        assert message.pop("kind") == shared_grants.ACQUIRE_MESSAGE
        answer = self.team.workers[index].lend(self.index, **json.loads(json.dumps(message)))
        return json.loads(json.dumps(await answer if isinstance(answer, Awaitable) else answer))

    def tell(self, index: int, message: dict[str, Any]) -> None:
        assert message.pop("kind") == shared_grants.SETTLE_MESSAGE
        if index not in self.team.gone:
            self.team.workers[index].give_back(self.index, **json.loads(json.dumps(message)))


class Team:
    def __init__(self, descriptor: int, count: int) -> None:
        self.descriptor = descriptor
        self.generations = Generations(descriptor)
        self.gone: set[int] = set()
        self.asked = 0
        self.tables: list[EventTable] = []
        self.workers = [self._start(number) for number in range(count)]

    def _start(self, number: int) -> SharedGrants:
        table = EventTable(self.descriptor, number, self.generations.of(number), 100, 100.0)
        self.tables.append(table)
        return SharedGrants(LocalGrants(Deduplicator(100, 100.0)), Wire(number, self), table, 100)

    def kill(self, number: int) -> None:
        """Without that the supervisor knows it."""
        self.gone.add(number)
        for other, worker in enumerate(self.workers):
            if other not in self.gone:
                worker.on_disconnected(number)

    def start_again(self, number: int) -> None:
        self.generations.end(number)
        self.workers[number] = self._start(number)
        self.gone.discard(number)

    def close(self) -> None:
        for each in (*self.tables, self.generations):
            each.close()


@contextlib.contextmanager
def team(folder: Path, count: int = 2) -> Iterator[Team]:
    descriptor = create_memory(str(folder))
    made = Team(descriptor, count)
    try:
        yield made
    finally:
        made.close()
        os.close(descriptor)


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, PATIENCE))


def loop_with(sleep: Callable[[float], Awaitable[None]]) -> SimpleNamespace:
    return SimpleNamespace(sleep=sleep, get_running_loop=asyncio.get_running_loop)


def test_whoever_receives_an_event_runs_it_without_asking_and_all_know_that_it_is_done(tmp_path: Path) -> None:
    async def work(first: SharedGrants, second: SharedGrants) -> None:
        for number, (runs, other) in enumerate(((first, second), (second, first))):
            key = f"{KEY}{number}"
            assert await runs.acquire(key) == Grant(frozenset())
            runs.settle(key, {"r/1"}, None)
            assert [await each.acquire(key) for each in (other, runs)] == [DUPLICATE, DUPLICATE]
            assert [each.is_done(key) for each in (runs, other)] == [True, True]

    with team(tmp_path) as made:
        run(work(*made.workers))
        assert made.asked == 0


@pytest.mark.parametrize("next_at", [0, 1])
def test_what_succeeded_does_not_run_again_wherever_the_next_delivery_arrives(next_at: int, tmp_path: Path) -> None:
    async def work(workers: list[SharedGrants]) -> None:
        await workers[0].acquire(KEY)
        workers[0].settle(KEY, {"r/1"}, FAILED)
        grant = await workers[next_at].acquire(KEY)
        assert isinstance(grant, Grant)
        assert grant.succeeded == {"r/1"}
        assert workers[0].lends == (next_at == 1)
        workers[next_at].settle(KEY, {"r/2"}, FAILED)
        for each in workers:
            grant = await each.acquire(KEY)
            assert isinstance(grant, Grant)
            assert grant.succeeded == {"r/1", "r/2"}
            each.settle(KEY, set(), FAILED)
        assert not any(each.lends for each in workers)
        await workers[1].acquire(KEY)
        workers[1].settle(KEY, {"r/3"}, None)
        assert [await each.acquire(KEY) for each in workers] == [DUPLICATE, DUPLICATE]

    with team(tmp_path) as made:
        run(work(made.workers))


def test_what_nobody_knows_is_granted_at_once_and_nothing_else(tmp_path: Path) -> None:
    async def work(first: SharedGrants, second: SharedGrants) -> None:
        for moment in (KEY, KEY + "x"):
            assert first.try_acquire_new(moment) == Grant(frozenset())
            assert [each.try_acquire_new(moment) for each in (first, second)] == [None, None], "it is under way"
        waiting = asyncio.ensure_future(second.acquire(KEY))
        await asyncio.sleep(0)
        first.settle(KEY, {"r/1"}, FAILED)
        assert [each.try_acquire_new(KEY) for each in (first, second)] == [None, None], "some of it succeeded"
        assert (await waiting) in (FAILED, Grant(frozenset({"r/1"})))
        first.settle(KEY + "x", {"r/1"}, None)
        assert [each.try_acquire_new(KEY + "x") for each in (first, second)] == [None, None], "it is done"

    with team(tmp_path) as made:
        run(work(*made.workers))


def test_an_event_of_which_nothing_succeeded_is_anybodys(tmp_path: Path) -> None:
    async def work(first: SharedGrants, second: SharedGrants) -> None:
        await first.acquire(KEY)
        first.settle(KEY, set(), FAILED)
        assert await second.acquire(KEY) == Grant(frozenset())
        meanwhile = asyncio.ensure_future(first.acquire(KEY))
        await asyncio.sleep(0)
        second.settle(KEY, set(), None)
        assert await meanwhile == DUPLICATE

    with team(tmp_path) as made:
        run(work(*made.workers))


@pytest.mark.parametrize("failed", [None, FAILED, DispatchVerdict(500, "failed", "half a pair: \ud800")])
@pytest.mark.parametrize("is_lent", [False, True])
def test_a_delivery_meanwhile_gets_the_verdict_of_the_first(
    failed: DispatchVerdict | None, is_lent: bool, tmp_path: Path
) -> None:
    async def work(workers: list[SharedGrants]) -> None:
        if is_lent:
            await workers[2].acquire(KEY)
            workers[2].settle(KEY, {"r/1"}, FAILED)
        await workers[0].acquire(KEY)
        second = [asyncio.ensure_future(each.acquire(KEY)) for each in workers]
        for _ in range(4):
            await asyncio.sleep(0)
        assert not any(each.done() for each in second)
        workers[0].settle(KEY, set(), failed)
        for verdict in await asyncio.gather(*second):
            assert isinstance(verdict, DispatchVerdict)
            assert verdict[:2] == (DUPLICATE if failed is None else failed)[:2]

    with team(tmp_path, 3) as made:
        run(work(made.workers))


def test_a_worker_that_no_longer_has_an_event_says_so(tmp_path: Path) -> None:
    """The event failed at the first worker, and the second one took it before a question reached the first."""

    async def work(first: SharedGrants, second: SharedGrants, third: SharedGrants) -> None:
        await second.acquire(KEY)
        assert first.lend(2, KEY) == [1]
        second.settle(KEY, set(), None)
        assert first.lend(2, KEY) == [200, "duplicate", ""]
        assert await third.acquire(KEY) == DUPLICATE

    with team(tmp_path, 3) as made:
        run(work(*made.workers))


def test_an_event_of_a_worker_that_died_is_free_once_its_supervisor_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def work(made: Team) -> None:
        async def sleep(seconds: float) -> None:
            slept.append(seconds)
            if len(slept) == 2:
                made.generations.end(0)

        monkeypatch.setattr(shared_grants, "asyncio", loop_with(sleep))
        await made.workers[0].acquire(KEY)
        made.kill(0)
        assert await made.workers[1].acquire(KEY) == Grant(frozenset())
        made.start_again(0)
        meanwhile = asyncio.ensure_future(made.workers[0].acquire(KEY))
        await asyncio.sleep(0)
        made.workers[1].settle(KEY, set(), None)
        assert await meanwhile == DUPLICATE

    with team(tmp_path) as made:
        run(work(made))
    assert slept == [0.1, 0.4]


def test_a_worker_that_cannot_be_reached_is_not_waited_for_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def work(made: Team) -> None:
        await made.workers[0].acquire(KEY)
        made.kill(0)
        monkeypatch.setattr(shared_grants, "asyncio", loop_with(sleep))
        assert await made.workers[1].acquire(KEY) == (503, "saturated", "another worker has the event: gone")

    with team(tmp_path) as made:
        run(work(made))
    assert slept == [0.1, 0.4, 1.0]


def test_what_a_worker_did_for_one_that_died_meanwhile_is_done(tmp_path: Path) -> None:
    async def work(made: Team) -> None:
        await made.workers[0].acquire(KEY)
        made.workers[0].settle(KEY, {"r/1"}, FAILED)
        assert isinstance(await made.workers[1].acquire(KEY), Grant)
        made.kill(0)
        made.start_again(0)
        made.workers[1].settle(KEY, {"r/2"}, None)
        assert [await each.acquire(KEY) for each in made.workers] == [DUPLICATE, DUPLICATE]

    with team(tmp_path) as made:
        run(work(made))


def test_of_failures_only_the_last_are_remembered(tmp_path: Path) -> None:
    async def work(first: SharedGrants) -> None:
        for number in range(101):
            await first.acquire(str(number))
            first.settle(str(number), {"r/1"}, FAILED)
        assert await first.acquire("0") == Grant(frozenset())
        assert await first.acquire("1") == Grant(frozenset({"r/1"}))

    with team(tmp_path, 1) as made:
        run(work(*made.workers))


def test_what_was_lent_to_a_worker_that_died_may_be_granted_again(tmp_path: Path) -> None:
    async def work(made: Team) -> None:
        first, second, third = made.workers
        await first.acquire(KEY)
        first.settle(KEY, {"r/1"}, FAILED)
        await second.acquire(KEY)
        waiting = asyncio.ensure_future(third.acquire(KEY))
        await asyncio.sleep(0)
        first.on_disconnected(2)  # it holds nothing of this one
        assert first.lends
        made.kill(1)
        assert await waiting == INTERRUPTED
        assert not first.lends
        grant = await third.acquire(KEY)
        assert isinstance(grant, Grant)
        assert grant.succeeded == {"r/1"}
        first.give_back(1, KEY, ["r/2"], None)  # too late: the grant is another's
        assert not first.is_done(KEY)
        third.settle(KEY, {"r/2"}, None)
        assert first.is_done(KEY)

    with team(tmp_path, 3) as made:
        run(work(made))


def test_a_worker_that_runs_an_event_of_one_that_died_does_not_run_it_twice_at_once(tmp_path: Path) -> None:
    async def work(made: Team) -> None:
        first, second = made.workers
        await first.acquire(KEY)
        first.settle(KEY, {"r/1"}, FAILED)
        assert isinstance(await second.acquire(KEY), Grant)
        made.kill(0)
        made.start_again(0)
        waiting = asyncio.ensure_future(second.acquire(KEY))
        await asyncio.sleep(0)
        assert not waiting.done()
        second.settle(KEY, {"r/2"}, None)
        assert await waiting == DUPLICATE

    with team(tmp_path) as made:
        run(work(made))


def test_a_table_that_is_busy_is_asked_again_and_not_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    busy_until = [1001.0]

    async def sleep(seconds: float) -> None:
        now[0] += seconds

    async def work(made: Team) -> None:
        claim = made.tables[0].claim

        def busy(key: str, at: float) -> int | None:
            if now[0] < busy_until[0]:
                raise TableBusy("locked")
            return claim(key, at)

        monkeypatch.setattr(made.tables[0], "claim", busy)
        monkeypatch.setattr(shared_grants, "asyncio", loop_with(sleep))
        monkeypatch.setattr(shared_grants, "monotonic", lambda: now[0])
        assert await made.workers[0].acquire(KEY) == Grant(frozenset())
        busy_until[0] = float("inf")
        assert await made.workers[0].acquire("other") == (
            503, "saturated", "the table of events is not free: locked")  # fmt: skip
        assert now[0] < 1003

    with team(tmp_path) as made:
        run(work(made))


def test_what_needs_no_handler_is_settled_where_it_arrives(tmp_path: Path) -> None:
    async def work(first: SharedGrants, second: SharedGrants) -> None:
        assert first.mark_done(KEY)
        assert [each.is_done(KEY) for each in (first, second)] == [True, False]
        assert first.lend(1, KEY) == [200, "duplicate", ""]  # it has got a handler since
        assert await second.acquire(KEY) == DUPLICATE

    with team(tmp_path) as made:
        run(work(*made.workers))


class LateWire(Wire):
    """What it tells arrives when the other has time, and before what is asked later."""

    def __init__(self, index: int, team: Team) -> None:
        super().__init__(index, team)
        self.told: list[tuple[int, dict[str, Any]]] = []

    def tell(self, index: int, message: dict[str, Any]) -> None:
        self.told.append((index, message))

    async def request(self, index: int, message: dict[str, Any]) -> Any:
        told, self.told = self.told, []
        for each in told:
            super().tell(*each)
        return None if message["kind"] == shared_grants.HEARD_MESSAGE else await super().request(index, message)


class Failing:
    """Runs one job, which fails."""

    async def run(self, event: Any, jobs: list[Any]) -> RunResult:
        return RunResult({"r/2": "no"})


def test_a_failure_is_answered_when_the_worker_that_lent_the_event_knows_it(tmp_path: Path) -> None:
    """A sender that tries again at once may arrive there, and would get the same failure without a run."""

    async def work(made: Team) -> None:
        first, second = made.workers
        second._channel = LateWire(1, made)
        await first.acquire(KEY)
        first.settle(KEY, {"r/1"}, FAILED)
        dispatcher = SynchronousDispatcher(second, Failing())  # type: ignore[arg-type]
        jobs = [SimpleNamespace(id="r/1"), SimpleNamespace(id="r/2")]
        assert await dispatcher.handle(SimpleNamespace(key=KEY), jobs) == FAILED  # type: ignore[arg-type]
        assert not first.lends
        grant = await first.acquire(KEY)
        assert isinstance(grant, Grant)
        assert grant.succeeded == {"r/1"}

    with team(tmp_path) as made:
        run(work(made))


def test_a_failure_is_answered_where_the_worker_that_lent_the_event_is_gone(tmp_path: Path) -> None:
    async def work(made: Team) -> None:
        first, second = made.workers
        await first.acquire(KEY)
        first.settle(KEY, {"r/1"}, FAILED)

        class Killing(Failing):
            async def run(self, event: Any, jobs: list[Any]) -> RunResult:
                made.kill(0)
                return await super().run(event, jobs)

        dispatcher = SynchronousDispatcher(second, Killing())  # type: ignore[arg-type]
        assert await dispatcher.handle(SimpleNamespace(key=KEY), [SimpleNamespace(id="r/2")]) == FAILED  # type: ignore[arg-type, list-item]

    with team(tmp_path) as made:
        run(work(made))
