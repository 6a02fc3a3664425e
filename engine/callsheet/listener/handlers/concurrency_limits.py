"""How many may run at the same time, how many may wait for that, and how long."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Hashable, Sequence
from contextlib import asynccontextmanager, suppress


class Saturated(Exception):
    """No place to run in, and none to wait in."""


_SHARE = 3  # times the places that are left free


class ConcurrencyLimit:
    """`max_waiting` is the number that may wait; nothing bounds it when it is absent.

    Where it `is_shared`, a target gets a place as long as it has less than three times as many as are left free: one
    that is slow, or two, leave places to others. Those that wait get places target by target.
    """

    def __init__(self, limit: int, max_waiting: int | None = None, *, is_shared: bool = False) -> None:
        self.limit = limit
        self.max_waiting = max_waiting
        self.is_shared = is_shared
        self.running = 0
        self.waiting_calls = 0
        self._running_of: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    def has_room(self, target: str = "") -> bool:
        """A place that nobody waits for."""
        return self._has_place(target) and not (target in self._waiting if self.is_shared else self._waiting)

    def _has_place(self, target: str) -> bool:
        left = self.limit - self.running
        return left > 0 and not (self.is_shared and self._running_of[target] >= _SHARE * left)

    def take_place(self, target: str = "") -> None:
        self.running += 1
        if self.is_shared:
            self._running_of[target] += 1

    async def acquire_place(self, target: str = "") -> None:
        """Raises `Saturated` at once where the queue is full."""
        if self.has_room(target):
            self.take_place(target)
            return
        if self.max_waiting is not None and sum(map(len, self._waiting.values())) >= self.max_waiting:
            raise Saturated
        future = self._add_waiting(target)
        try:
            await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled():
                self.release_place(target)
            else:
                self._forget_waiting(target, future)
            raise

    def _forget_waiting(self, target: str, future: asyncio.Future[None]) -> None:
        waiting = self._waiting.get(target, deque())
        with suppress(ValueError):
            waiting.remove(future)
        if not waiting:
            self._waiting.pop(target, None)

    def _add_waiting(self, target: str) -> asyncio.Future[None]:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(target, deque()).append(future)
        return future

    def call_when_free(self, start: Callable[[], None], target: str = "") -> None:
        """`start` gets the next place that nobody who came before waits for."""
        self.waiting_calls += 1

        def call(_: object) -> None:
            self.waiting_calls -= 1
            start()

        self._add_waiting(target).add_done_callback(call)

    def release_place(self, target: str = "") -> None:
        self.running -= 1
        if self._running_of[target] > 0:
            self._running_of[target] -= 1
        for other in list(self._waiting):
            if self._has_place(other):
                self._give_place(other)

    def _give_place(self, target: str) -> None:
        """To the first that still waits. Then it is the turn of other targets."""
        waiting, is_given = self._waiting.pop(target), False
        while waiting and not is_given:
            future = waiting.popleft()
            if is_given := not future.done():
                self.take_place(target)
                future.set_result(None)
        if waiting:
            self._waiting[target] = waiting


def acquire_immediately(limits: Sequence[ConcurrencyLimit], target: str = "") -> bool:
    """Acquire all of them if none has to be waited for."""
    for limit in limits:
        if not limit.has_room(target):
            return False
    for limit in limits:
        limit.take_place(target)
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
