"""Each event has one owner among the workers, who decides which of them runs it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.dispatch.dedup import Deduplicator
from callsheet.listener.dispatch.grants import INTERRUPTED, Grant, LocalGrants
from callsheet.listener.dispatch.verdict import DUPLICATE, DispatchVerdict
from callsheet.listener.workers import ownership
from callsheet.listener.workers.channel import Unreachable
from callsheet.listener.workers.ownership import OwnedGrants

FAILED = DispatchVerdict(500, "failed", "r/2: no")


class Wire:
    """The channel of worker `index` to all others. As often as it is told, nobody is there."""

    def __init__(self, index: int, all_grants: list[OwnedGrants], failures: int = 0) -> None:
        self.index, self.all, self.failures = index, all_grants, failures
        self.asked = 0

    async def request(self, index: int, message: dict[str, Any]) -> Any:
        self.asked += 1
        if self.asked <= self.failures:
            raise Unreachable("gone")
        assert message.pop("kind") == ownership.ACQUIRE_MESSAGE
        answer = self.all[index].lend(self.index, **json.loads(json.dumps(message)))
        return json.loads(json.dumps(await answer if isinstance(answer, Awaitable) else answer))

    def tell(self, index: int, message: dict[str, Any]) -> None:
        assert message.pop("kind") == ownership.SETTLE_MESSAGE
        self.all[index].give_back(self.index, **json.loads(json.dumps(message)))


def team(count: int = 2, failures: int = 0) -> list[OwnedGrants]:
    found: list[OwnedGrants] = []
    for index in range(count):
        local = LocalGrants(Deduplicator(100, 100.0))
        found.append(OwnedGrants(local, Wire(index, found, failures), count))
    return found


def owned_by(owner: int, grants: OwnedGrants) -> str:
    return next(key for key in map(str, range(1000)) if grants.owner(key) == owner)


def run(work: Any) -> Any:
    return asyncio.run(asyncio.wait_for(work, 60))


def test_owners_are_the_same_everywhere_and_all_have_some() -> None:
    keys = [f"lms/t/s{number}\u00fc" for number in range(200)]
    found = [[each.owner(key) for key in keys] for each in team(4)]
    assert found[0] == found[1] == found[2] == found[3]
    assert set(found[0]) == {0, 1, 2, 3}


def test_whoever_receives_an_event_runs_it_once_and_all_know_that_it_is_done() -> None:
    async def work() -> None:
        workers = team()
        for owner in (0, 1):
            key = owned_by(owner, workers[0])
            assert await workers[0].acquire(key) == Grant(frozenset())
            assert [each.lends for each in workers] == [False, owner == 1]
            workers[0].settle(key, {"r/1"}, None)
            assert [await each.acquire(key) for each in workers] == [DUPLICATE, DUPLICATE]
            assert [each.is_done(key) for each in workers] == [owner == 0, owner == 1]
            assert not any(each.lends for each in workers)

    run(work())


@pytest.mark.parametrize("owner", [0, 1])
def test_what_succeeded_does_not_run_again_wherever_the_next_delivery_arrives(owner: int) -> None:
    async def work() -> None:
        workers = team()
        key = owned_by(owner, workers[0])
        await workers[0].acquire(key)
        workers[0].settle(key, {"r/1"}, FAILED)
        for each in workers:
            grant = await each.acquire(key)
            assert isinstance(grant, Grant)
            assert grant.succeeded == {"r/1"}
            each.settle(key, set(), FAILED)

    run(work())


@pytest.mark.parametrize("owner", [0, 1])
@pytest.mark.parametrize("failed", [None, FAILED, DispatchVerdict(500, "failed", "half a pair: \ud800")])
def test_a_delivery_meanwhile_gets_the_verdict_of_the_first(owner: int, failed: DispatchVerdict | None) -> None:
    async def work() -> None:
        workers = team()
        key = owned_by(owner, workers[0])
        await workers[0].acquire(key)
        second = [asyncio.ensure_future(each.acquire(key)) for each in workers]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not any(each.done() for each in second)
        workers[0].settle(key, set(), failed)
        for verdict in await asyncio.gather(*second):
            assert isinstance(verdict, DispatchVerdict)
            assert verdict[:2] == (DUPLICATE if failed is None else failed)[:2]

    run(work())


def test_an_event_of_a_worker_that_died_may_be_granted_again() -> None:
    async def work() -> None:
        workers = team(3)
        key, other = (owned_by(owner, workers[0]) for owner in (1, 0))
        await workers[0].acquire(key)
        await workers[2].acquire(other)
        waiting = asyncio.ensure_future(workers[2].acquire(key))
        await asyncio.sleep(0)
        workers[1].on_disconnected(2)  # it holds nothing of this one
        assert workers[1].lends
        workers[1].on_disconnected(0)
        assert await waiting == INTERRUPTED
        assert not workers[1].lends
        assert isinstance(await workers[2].acquire(key), Grant)
        workers[0].settle(key, {"r/1"}, None)  # too late: the grant is another's
        assert not workers[1].is_done(key)
        workers[2].settle(key, {"r/1"}, None)
        assert workers[1].is_done(key)

    run(work())


def test_what_is_lent_is_counted_for_each_that_asks() -> None:
    async def work() -> None:
        workers = team(2)
        keys = [key for key in map(str, range(50)) if workers[0].owner(key) == 1][:2]
        for key in keys:
            await workers[0].acquire(key)
        workers[0].settle(keys[0], set(), None)
        assert workers[1].lends
        workers[0].settle(keys[1], set(), None)
        assert not workers[1].lends

    run(work())


def test_what_needs_no_handler_is_settled_where_it_arrives() -> None:
    workers = team()
    key = owned_by(1, workers[0])
    workers[0].mark_done(key)
    assert [each.is_done(key) for each in workers] == [True, False]


@pytest.mark.parametrize(("failures", "granted"), [(0, True), (3, True), (4, False)])
def test_an_owner_that_is_gone_is_waited_for(failures: int, granted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(ownership, "asyncio", SimpleNamespace(sleep=sleep))
    workers = team(failures=failures)
    found = run(workers[0].acquire(owned_by(1, workers[0])))
    assert slept == [0.1, 0.4, 1.0][: min(failures, 3)]
    assert isinstance(found, Grant) if granted else found == (503, "saturated", "worker 1 cannot be reached: gone")
