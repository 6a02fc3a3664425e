"""The screen of a program without a terminal: keys go in, what is shown comes out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot

from callsheet.commands.context import Context
from callsheet.screen.app import ProgramScreen
from support.waiting import PATIENCE

Work = Callable[["Mover"], Awaitable[None]]


class Mover:
    """A person at the screen."""

    def __init__(self, app: ProgramScreen, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    async def press(self, *keys: str) -> None:
        """Press keys, and wait until all that they started has ended, or asks something."""
        await self.pilot.press(*keys)
        await self.settle()

    async def type(self, text: str, *keys: str) -> None:
        await self.press(*("space" if each == " " else each for each in text), *keys)

    async def settle(self) -> None:
        for _ in range(3):  # what ended may have started something else
            await self.pilot.pause()
            await self.until(lambda: self.app.is_asking or not any(each.is_running for each in self.app.workers))
        await self.pilot.pause()

    async def until(self, is_so: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not is_so():  # noqa: ASYNC110 - what happens on a screen sets no event
                await asyncio.sleep(0.01)

    def shown(self) -> str:
        """All text on the screen, line by line."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    def told(self) -> str:
        return "\n".join(each.message for each in self.app._notifications)

    def segments(self) -> list[Any]:
        return [segment for strip in self.app.screen._compositor.render_strips() for segment in strip]


def move(
    context: Context, words: list[str], work: Work, *, size: tuple[int, int] = (100, 30), every: float = 0
) -> None:
    """Show the screen, and let `work` press keys on it."""

    async def run() -> None:
        app = ProgramScreen(context, words, every=every)
        async with app.run_test(size=size, notifications=True) as pilot:
            mover = Mover(app, pilot)
            try:
                await mover.settle()
                await work(mover)
            finally:
                app.end_calls()

    asyncio.run(run())
