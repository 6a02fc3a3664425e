"""How many events a worker takes, and what it says of a run that breaks."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from callsheet.listener.byte_budget import ByteBudget
from callsheet.listener.handlers.target import RetrySchedule
from callsheet.listener.queue.queue_port import Lease
from callsheet.listener.queue.queue_worker import Worker
from support.waiting import all_turns, reach


class Notes(list[str]):
    def write_note(self, text: str) -> None:
        self.append(text)


def worker(places: int, notes: Notes) -> Worker:
    runner: Any = SimpleNamespace(concurrency=SimpleNamespace(limit=places))
    queue: Any = SimpleNamespace(renew_every=0.01, extended=[])

    async def extend_leases(leases: Any) -> None:
        queue.extended.append(list(leases))

    queue.extend_leases = extend_leases
    return Worker(queue, runner, {}, lambda: None, notes, RetrySchedule(3, 1.0, 2.0), ByteBudget(1 << 30, 1))  # type: ignore[arg-type, return-value]


def test_places_are_taken_while_runs_go_on_and_none_when_it_stops() -> None:
    async def play() -> list[Any]:
        notes = Notes()
        here = worker(2, notes)
        end = asyncio.Event()

        async def run() -> None:
            await end.wait()

        found: list[Any] = [here.free_slots, here.is_idle]
        for number in range(3):
            here._create_task(Lease(number, 1), run())
            found.append(here.free_slots)
        end.set()
        await reach(lambda: here.is_idle)
        found += [here.free_slots, here.is_idle]
        here._stopping = True
        return [*found, here.free_slots, list(notes)]

    assert asyncio.run(play()) == [2, True, 1, 0, 0, 2, True, 0, []]


def test_a_run_that_breaks_is_told_and_one_that_is_cancelled_is_not() -> None:
    async def play() -> list[str]:
        notes = Notes()
        here = worker(2, notes)

        async def broken() -> None:
            raise KeyError("x")

        async def endless() -> None:
            await asyncio.sleep(60)

        here._create_task(Lease(1, 1), broken())
        here._create_task(Lease(2, 1), endless())
        await all_turns()
        for task in list(here._tasks):
            task.cancel()
        await reach(lambda: here.is_idle)
        return list(notes)

    assert asyncio.run(play()) == ["inbox: KeyError: 'x'"]
