"""One timer for many that wait, all for the same time: a timer for each costs more than most of what they wait for."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any


class Deadlines:
    """`expire` is called with each future that is not done `time_limit` seconds after it was added."""

    def __init__(self, time_limit: float, expire: Callable[[asyncio.Future[Any]], None]) -> None:
        self.time_limit = time_limit
        self._expire = expire
        self._waiting: deque[tuple[float, asyncio.Future[Any]]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def add(self, future: asyncio.Future[Any]) -> None:
        waiting = self._waiting
        while waiting and waiting[0][1].done():  # most are done in the order in which they came
            waiting.popleft()
        loop = future.get_loop()
        deadline = loop.time() + self.time_limit
        waiting.append((deadline, future))
        if self._timer is None:
            self._timer = loop.call_at(deadline, self._check, loop)

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        waiting, now = self._waiting, loop.time()
        while waiting and (waiting[0][0] <= now or waiting[0][1].done()):
            _, future = waiting.popleft()
            if not future.done():
                self._expire(future)
        self._timer = loop.call_at(waiting[0][0], self._check, loop) if waiting else None
