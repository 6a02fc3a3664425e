"""How many may run at the same time, how many may wait for that, and how long."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager


class Saturated(Exception):
    """No place to run in, and none to wait in."""


class ConcurrencyLimit:
    """`max_waiting` is the number that may wait; nothing bounds it when it is absent."""

    def __init__(self, limit: int, max_waiting: int | None = None) -> None:
        self.limit = limit
        self.max_waiting = max_waiting
        self.running = 0
        self.waiting_calls = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def has_room(self) -> bool:
        """A place that nobody waits for."""
        return self.running < self.limit and not self._waiting

    async def acquire_place(self) -> None:
        """Raises `Saturated` at once where the queue is full."""
        if self.has_room:
            self.running += 1
            return
        if self.max_waiting is not None and len(self._waiting) >= self.max_waiting:
            raise Saturated
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release_place()
            else:
                self._waiting.remove(future)
            raise

    def call_when_free(self, start: Callable[[], None]) -> None:
        """`start` gets the next place that nobody who came before waits for."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        self.waiting_calls += 1

        def call(_: object) -> None:
            self.waiting_calls -= 1
            start()

        future.add_done_callback(call)

    def release_place(self) -> None:
        while self._waiting:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                return
        self.running -= 1


def acquire_immediately(limits: Sequence[ConcurrencyLimit]) -> bool:
    """Acquire all of them if none has to be waited for."""
    for limit in limits:
        if not limit.has_room:
            return False
    for limit in limits:
        limit.running += 1
    return True


class KeyedLock:
    """One at a time for each key, in the order of arrival."""

    def __init__(self) -> None:
        self._limits: dict[Hashable, ConcurrencyLimit] = {}

    @asynccontextmanager
    async def hold_key(self, key: Hashable) -> AsyncIterator[None]:
        concurrency = self._limits.setdefault(key, ConcurrencyLimit(1))
        await concurrency.acquire_place()
        try:
            yield
        finally:
            concurrency.release_place()
            if not concurrency.running:
                self._limits.pop(key, None)
