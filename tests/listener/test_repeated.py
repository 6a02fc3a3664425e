"""What is asked for again and again is done once at a time."""

from __future__ import annotations

import asyncio

from callsheet.listener.asyncio_helpers import Repeated


def test_what_is_asked_for_meanwhile_is_done_once_more() -> None:
    async def scenario() -> list[str]:
        seen: list[str] = []
        state = ["old"]
        going_on = asyncio.Event()

        async def read() -> None:
            found = state[0]
            seen.append(f"reads {found}")
            await going_on.wait()
            seen.append(f"has {found}")

        repeated = Repeated(read)
        repeated.ask_once_more()
        await asyncio.sleep(0)
        state[0] = "new"
        for _ in range(5):
            repeated.ask_once_more()
            await asyncio.sleep(0)
        going_on.set()
        await asyncio.gather(*repeated.tasks)
        repeated.ask_once_more()
        await asyncio.gather(*repeated.tasks)
        assert not repeated.tasks
        return seen

    assert asyncio.run(scenario()) == ["reads old", "has old", *["reads new", "has new"] * 2]


def test_what_fails_can_be_asked_for_again() -> None:
    async def scenario() -> int:
        count = 0

        async def fail() -> None:
            nonlocal count
            count += 1
            raise OSError

        repeated = Repeated(fail)
        for _ in range(2):
            repeated.ask_once_more()
            await asyncio.gather(*repeated.tasks, return_exceptions=True)
        return count

    assert asyncio.run(scenario()) == 2
