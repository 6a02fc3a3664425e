"""One timer for many that wait, all for the same time: a timer for each costs more than most of what they wait for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar


class Awaited(Protocol):
    """What is waited for, as a future is."""

    def done(self) -> bool: ...


P = TypeVar("P", bound=Awaited)


class Deadlines(Generic[P]):
    """`expire` is called with each that is not done `time_limit` seconds after it was added."""

    def __init__(self, time_limit: float, expire: Callable[[P], None]) -> None:
        self.time_limit = time_limit
        self._expire = expire
        self._waiting: deque[tuple[float, P]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, pending: P, loop: asyncio.AbstractEventLoop) -> None:
        waiting = self._waiting
        while waiting and waiting[0][1].done():  # most are done in the order in which they came
            waiting.popleft()
        deadline = loop.time() + self.time_limit
        waiting.append((deadline, pending))
        if self._timer is None:
            self._timer = loop.call_at(deadline, self._check, loop)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, now = self._waiting, loop.time()
        while waiting and (waiting[0][0] <= now or waiting[0][1].done()):
            _, pending = waiting.popleft()
            if not pending.done():
                self._expire(pending)
        self._timer = loop.call_at(waiting[0][0], self._check, loop) if waiting else None
