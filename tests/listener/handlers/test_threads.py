"""Work in threads: used again, bounded in number, never waited for longer than was allowed."""

from __future__ import annotations

import asyncio
import threading

import pytest

from callsheet.listener.handlers import HandlerFailed, threads
from callsheet.listener.handlers.threads import ThreadPool
from support.listening import until


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
        at_once.wait(30)
        go.wait(30)
        return "late"

    async def work() -> None:
        runs = [asyncio.create_task(made.run(held, 0.05)) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.to_thread(at_once.wait, 30)  # all three run at the same time
        for run in runs:
            with pytest.raises(HandlerFailed, match="no result after"):
                await run
        with pytest.raises(HandlerFailed, match="3 earlier runs have not ended yet"):
            await made.run(lambda: None, 30)
        go.set()
        while made.running:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)
        assert await made.run(lambda: "again", 30) == "again"
        with pytest.raises(HandlerFailed, match="ZeroDivisionError"):
            await made.run(lambda: 1 / 0, 30)

    asyncio.run(work())
