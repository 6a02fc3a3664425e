"""Something that can be asked for at any moment, and is done once at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


class Repeated:
    """What is asked for while it is done is done once more after that, however often it was asked.

    Two at the same time could end in the wrong order: of files that are read, the older ones would stay.
    """

    def __init__(self, do: Callable[[], Awaitable[None]]) -> None:
        self._do = do
        self._is_asked = False
        self.tasks: set[asyncio.Task[None]] = set()  # one at most

    def ask(self) -> None:
        """From inside a running loop."""
        self._is_asked = True
        if not self.tasks:
            task = asyncio.get_running_loop().create_task(self._do_as_asked())
            self.tasks.add(task)

    async def _do_as_asked(self) -> None:
        try:
            while self._is_asked:
                self._is_asked = False
                await self._do()
        finally:
            self.tasks.clear()
