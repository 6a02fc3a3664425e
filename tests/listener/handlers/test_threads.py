"""Work in threads: used again, bounded in number, never waited for longer than was allowed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from callsheet.listener.handlers import HandlerFailed
from callsheet.listener.handlers import thread_pool as threads
from callsheet.listener.handlers.thread_pool import ThreadPool
from support.listening import until
from support.waiting import PATIENCE


def names(made: ThreadPool, runs: int) -> set[int]:
    """The threads that served some runs, one after another."""

    async def work() -> set[int]:
        return {await made.run(threading.get_ident, 30) for _ in range(runs)}

    return asyncio.run(work())


def test_a_thread_serves_many_runs_and_ends_when_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    made = ThreadPool(4)
    assert len(names(made, 20)) <= 2
    monkeypatch.setattr(threads, "IDLE_TIMEOUT", 0.01)
    idle = ThreadPool(4)
    names(idle, 3)
    until(lambda: idle._threads == 0, "the end of the threads")
    assert len(names(idle, 3)) >= 1


def test_a_run_that_overran_keeps_its_place() -> None:
    made, go, at_once = ThreadPool(3), threading.Event(), threading.Barrier(4)

    def held() -> str:
        at_once.wait(PATIENCE)
        go.wait(PATIENCE)
        return "late"

    async def work() -> None:
        runs = [asyncio.create_task(made.run(held, 0.05)) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.to_thread(at_once.wait, 30)  # all three run at the same time
        for run in runs:
            with pytest.raises(HandlerFailed, match="no result after"):
                await run
        with pytest.raises(HandlerFailed, match="earlier runs have not ended \\(3\\)"):
            await made.run(lambda: None, 30)
        go.set()
        while made.running:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        assert await made.run(lambda: "again", 30) == "again"
        with pytest.raises(HandlerFailed, match="ZeroDivisionError"):
            await made.run(lambda: 1 / 0, 30)

    asyncio.run(work())


def test_a_run_that_overran_is_waited_for_instead_of_being_started_again() -> None:
    made, go, begun = ThreadPool(3), threading.Event(), []

    def late() -> str:
        begun.append(1)
        assert go.wait(PATIENCE)
        return f"run {len(begun)}"

    async def work() -> None:
        for _ in range(2):
            with pytest.raises(HandlerFailed, match="no result after"):
                await made.run(late, 0.02, "job of event 1")
        assert (begun, made.running) == ([1], 1)
        go.set()
        assert await made.run(lambda: "of another event", 30, "job of event 2") == "of another event"
        assert await made.run(late, 30, "job of event 1") == "run 1"
        assert await made.run(late, 30, "job of event 1") == "run 2"

    asyncio.run(work())


def test_what_ended_late_is_not_kept_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "MOST", 2)

    async def work() -> None:
        kept = threads.LateResults()
        futures = [asyncio.get_running_loop().create_future() for _ in range(4)]
        for number, future in enumerate(futures):
            if number != 1:
                future.set_result(number)
            kept.keep_result(str(number), future)
        assert [kept.take_result(str(number)) for number in range(4)] == [None, futures[1], None, futures[3]]
        monkeypatch.setattr(threads, "KEPT", -1.0)
        kept.keep_result("old", futures[0])
        kept.keep_result("running", futures[1])
        assert (kept.take_result("old"), kept.take_result("running")) == (None, futures[1])

    asyncio.run(work())
