"""Programs that are to be started at about the same time are started one right after the other.

A new program takes the caches of the processor for itself. What is done between two starts takes several times as long
as the same work for many events before the first and after the last of them. So while more programs run than there are
cores, and one more would only take turns with them, starts wait a moment for others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeVar
from weakref import WeakKeyDictionary

from ..cores import usable_cores
from .process_start import Started

T = TypeVar("T")
# In one turn of the loop, which serves nobody else meanwhile.
MAX_STARTS = 16
MAX_DELAY = 0.005


class _Start(NamedTuple):
    start: Callable[[], Started]
    on_started: Callable[[Started], None]
    done: asyncio.Future[None]


class StartQueue:
    """The starts of one loop, to which it holds no reference but while one waits."""

    def __init__(self, cores: int) -> None:
        self.cores = cores
        self.running = 0
        self._waiting: list[_Start] = []
        self._next: asyncio.Handle | None = None

    def add(self, start: Callable[[], Started], on_started: Callable[[Started], None]) -> asyncio.Future[None]:
        """Calls `start` soon, and `on_started` with its result, whoever waits by then; tell `on_exit` of its end.

        Where the future was cancelled before, nothing is called. It has the exception of either call.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._waiting.append(_Start(start, on_started, done))
        if self._next is None and self.running > self.cores:
            self._next = loop.call_later(MAX_DELAY, self._run)
        elif self._next is None or len(self._waiting) == MAX_STARTS:
            self._run_soon(loop)
        return done

    def on_exit(self) -> None:
        self.running -= 1
        if self.running == self.cores and self._waiting:
            self._run_soon(asyncio.get_running_loop())

    def _run_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._next is not None:
            self._next.cancel()
        self._next = loop.call_soon(self._run)

    def _run(self) -> None:
        self._next = None
        starts, self._waiting = self._waiting[:MAX_STARTS], self._waiting[MAX_STARTS:]
        if self._waiting:
            self._run_soon(asyncio.get_running_loop())
        for each, started in [(each, _attempt(each, each.start)) for each in starts if not each.done.done()]:
            if started is not None:
                self._tell(each, started)

    def _tell(self, each: _Start, started: Started) -> None:
        _attempt(each, lambda: each.on_started(started))
        if not each.done.done():
            self.running += 1
            each.done.set_result(None)


def _attempt(each: _Start, call: Callable[[], T]) -> T | None:
    """What goes wrong is raised where it is waited for."""
    try:
        return call()
    except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
        each.done.set_exception(error)
        return None


_QUEUES: WeakKeyDictionary[asyncio.AbstractEventLoop, StartQueue] = WeakKeyDictionary()


def start_queue(loop: asyncio.AbstractEventLoop) -> StartQueue:
    """That of all programs of this loop."""
    queue = _QUEUES.get(loop)
    if queue is None:
        queue = _QUEUES[loop] = StartQueue(usable_cores())
    return queue
