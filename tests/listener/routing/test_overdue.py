"""Runs that cannot be ended: counted, told once, and the end of a process that another takes over from."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener import route_set as overdue
from callsheet.listener.route_set import OverdueRuns
from support.waiting import PATIENCE


class World:
    """A listener's jobs, and what was noted of them."""

    def __init__(self, *names: str, is_worker: bool = False) -> None:
        self.handlers = {name: SimpleNamespace(overdue_runs=0, is_stuck=False) for name in names}
        self.jobs = [SimpleNamespace(id=name, handler=handler) for name, handler in self.handlers.items()]
        self.notes: list[str] = []
        self.restarts = 0
        # Jobs of two routes.
        routes = [SimpleNamespace(jobs=self.jobs[:1]), SimpleNamespace(jobs=self.jobs[1:])]
        rules: Any = SimpleNamespace(jobs=[job for route in routes for job in route.jobs])
        self.runs = OverdueRuns(lambda: rules, self.notes.append, self.restart if is_worker else None)

    def restart(self) -> None:
        self.restarts += 1


def test_they_are_counted_by_job() -> None:
    world = World("a/1", "b/1", "b/2")
    assert (world.runs.counts_by_job(), world.runs.stuck_jobs()) == ({}, set())
    world.handlers["b/2"].overdue_runs = 3
    world.handlers["b/2"].is_stuck = True
    world.handlers["a/1"].overdue_runs = 1
    assert world.runs.counts_by_job() == {"a/1": 1.0, "b/2": 3.0}
    assert world.runs.stuck_jobs() == {"b/2"}


def test_what_keeps_all_places_is_told_when_it_begins_and_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overdue, "INTERVAL", 0)
    world = World("b/1", "a/1")

    async def work() -> None:
        watching = asyncio.create_task(world.runs.watch_runs())
        for stuck in (True, True, False):
            for handler in world.handlers.values():
                handler.is_stuck = stuck
            for _ in range(4):
                await asyncio.sleep(0)
        assert not watching.done()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    asyncio.run(work())
    begins, ends = "runs that exceeded their time keep all its places: none is free", "has a free place again"
    assert world.notes == [f"a/1: {begins}", f"b/1: {begins}", f"a/1: {ends}", f"b/1: {ends}"]


def test_a_worker_whose_places_are_taken_ends_once_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overdue, "INTERVAL", 0)
    world = World("a/1", is_worker=True)
    world.handlers["a/1"].is_stuck = True
    asyncio.run(asyncio.wait_for(world.runs.watch_runs(), PATIENCE))
    assert world.notes[1:] == ["this process ends its work and is started again"]
    assert world.restarts == 1


def test_it_looks_no_more_often_than_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(interval: float) -> None:
        waited.append(interval)
        if len(waited) == 3:
            raise asyncio.CancelledError

    monkeypatch.setattr(overdue, "asyncio", SimpleNamespace(sleep=sleep))
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(World("a/1").runs.watch_runs())
    assert waited == [overdue.INTERVAL] * 3
