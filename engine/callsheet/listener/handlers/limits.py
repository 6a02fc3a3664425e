"""How many may run at the same time, how many may wait for that, and how long."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Hashable
from contextlib import asynccontextmanager


class Saturated(Exception):
    """No place to run in, and none to wait in."""


class ConcurrencyLimit:
    """`queue` is the number that may wait; nothing bounds it when it is absent."""

    def __init__(self, limit: int, queue: int | None = None) -> None:
        self.limit = limit
        self.queue = queue
        self.running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def enter(self) -> None:
        """Raises `Saturated` at once where the queue is full."""
        if self.running < self.limit and not self._waiting:
            self.running += 1
            return
        if self.queue is not None and len(self._waiting) >= self.queue:
            raise Saturated
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()
            else:
                self._waiting.remove(turn)
            raise

    def leave(self) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self.running -= 1


class Turns:
    """One at a time for each key, in the order of arrival."""

    def __init__(self) -> None:
        self._limits: dict[Hashable, ConcurrencyLimit] = {}

    @asynccontextmanager
    async def turn(self, key: Hashable) -> AsyncIterator[None]:
        concurrency = self._limits.setdefault(key, ConcurrencyLimit(1))
        await concurrency.enter()
        try:
            yield
        finally:
            concurrency.leave()
            if not concurrency.running:
                self._limits.pop(key, None)
