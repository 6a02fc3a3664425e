"""Starts of programs: one after the other, in order, and held back a moment where more run than there are cores."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, cast

import pytest

from callsheet.listener.handlers import process_start as start_queue
from callsheet.listener.handlers.process_start import MAX_STARTS, Started, StartQueue

NEVER = 3600.0


class Programs:
    """What was started and told, in order."""

    def __init__(self, cores: int = 1) -> None:
        self.queue = StartQueue(cores)
        self.seen: list[str] = []

    def add(self, name: str, *, fails: Exception | None = None) -> asyncio.Future[None]:
        def start() -> Started:
            self.seen.append(f"start {name}")
            if fails is not None:
                raise fails
            return cast("Started", name)

        return self.queue.add_start(start, lambda started: self.seen.append(f"told {started}"))


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


async def turns(count: int = 3) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


def test_starts_of_one_turn_come_right_after_each_other() -> None:
    async def work() -> None:
        programs = Programs()
        await asyncio.gather(programs.add("a"), programs.add("b"))
        assert programs.seen == ["start a", "start b", "told a", "told b"]
        assert programs.queue.running == 2

    run(work)


def test_one_that_fails_says_so_to_its_own_only() -> None:
    async def work() -> None:
        programs = Programs()
        broken = programs.add("a", fails=FileNotFoundError("a"))
        await programs.add("b")
        with pytest.raises(FileNotFoundError):
            await broken
        untold = programs.queue.add_start(lambda: cast("Started", "c"), lambda _: 1 / 0)  # type: ignore[arg-type]
        with pytest.raises(ZeroDivisionError):
            await untold
        assert programs.seen == ["start a", "start b", "told b"]
        assert programs.queue.running == 1

    run(work)


def test_what_nobody_waits_for_any_more_is_not_started() -> None:
    async def work() -> None:
        programs = Programs()
        programs.add("a").cancel()
        await programs.add("b")
        assert programs.seen == ["start b", "told b"]

    run(work)


def test_one_turn_of_the_loop_starts_no_more_than_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_queue, "MAX_DELAY", NEVER)

    async def work() -> None:
        programs = Programs(cores=1)
        waiting = [programs.add(str(number)) for number in range(MAX_STARTS + 1)]
        await asyncio.gather(*waiting)
        first = [f"{what} {number}" for what in ("start", "told") for number in range(MAX_STARTS)]
        assert programs.seen == [*first, f"start {MAX_STARTS}", f"told {MAX_STARTS}"]

    run(work)


def test_beyond_the_cores_they_wait_until_one_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_queue, "MAX_DELAY", NEVER)

    async def work() -> None:
        programs = Programs(cores=1)
        await asyncio.gather(programs.add("a"), programs.add("b"), programs.add("c"))
        held = programs.add("d")
        programs.queue.on_exit()
        await turns()
        assert not held.done()
        programs.queue.on_exit()
        await held
        assert programs.queue.running == 2

    run(work)


def test_beyond_the_cores_they_wait_until_there_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_queue, "MAX_DELAY", NEVER)

    async def work() -> None:
        programs = Programs(cores=0)
        await programs.add("first")
        held = [programs.add(str(number)) for number in range(MAX_STARTS - 1)]
        await turns()
        assert not any(each.done() for each in held)
        await asyncio.gather(*held, programs.add("last"))

    run(work)


def test_beyond_the_cores_they_wait_a_moment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_queue, "MAX_DELAY", 0.001)

    async def work() -> None:
        programs = Programs(cores=0)
        await programs.add("a")
        held = programs.add("b")
        await turns()
        assert not held.done()
        await held

    run(work)


def test_as_many_as_there_are_cores_start_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(start_queue, "MAX_DELAY", NEVER)

    async def work() -> None:
        programs = Programs(cores=2)
        for name in "abc":
            await programs.add(name)
        held = programs.add("d")
        await turns()
        assert (held.done(), programs.queue.running) == (False, 3)

    run(work)
