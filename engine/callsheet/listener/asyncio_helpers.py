"""What asyncio has no ready part for: one timer for many, ending tasks in bounded time, work done once at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, Protocol, TypeVar

F = TypeVar("F")


def as_future(work: Awaitable[F]) -> asyncio.Future[F]:
    """`asyncio.ensure_future`, which takes its time to find out that there is nothing to do."""
    return work if isinstance(work, asyncio.Future) else asyncio.ensure_future(work)


# One timer for many that wait, all for the same time: a timer for each costs more than most of what they wait for.


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


# Ending tasks that run beside the server, in bounded time.
#
# One request to cancel is not enough: what a task waits for may arrive at that moment, and a library that takes it
# loses the request (`asyncio.wait_for` did up to Python 3.11). Such a task would go on for ever.

ASK_AGAIN = 1.0  # seconds; what a task does when it is cancelled takes less
PATIENCE = 5.0  # seconds for what ignores every request


async def cancel_all(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Until they have ended, or ignored it for too long. What they raise is of no interest any more."""
    given = list(tasks)
    end = asyncio.get_running_loop().time() + PATIENCE
    remaining = {task for task in given if not task.done()}
    while remaining and asyncio.get_running_loop().time() < end:
        for task in remaining:
            task.cancel()
        _, remaining = await asyncio.wait(remaining, timeout=ASK_AGAIN)
    for task in given:
        if task.done() and not task.cancelled():
            task.exception()  # else the loop reports that nobody asked


async def done_within(future: asyncio.Future[Any], time_limit: float) -> bool:
    """Whether it is done after at most so many seconds. `asyncio.wait` does this for several, at a higher cost."""
    if future.done():
        return True
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def wake(_: object = None) -> None:
        if not waiter.done():
            waiter.set_result(None)

    future.add_done_callback(wake)
    timer = loop.call_later(time_limit, wake)
    try:
        await waiter
    finally:
        timer.cancel()
        future.remove_done_callback(wake)
    return future.done()


async def ended_in_time(work: Awaitable[None], seconds: float) -> bool:
    """Whether `work` ended in time. It is left behind where it did not; what it raises is raised."""
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    for each in done:
        each.result()
    return bool(done)


# Something that can be asked for at any moment, and is done once at a time.


class Repeated:
    """What is asked for while it is done is done once more after that, however often it was asked.

    Two at the same time could end in the wrong order: of files that are read, the older ones would stay.
    """

    def __init__(self, do: Callable[[], Awaitable[None]]) -> None:
        self._do = do
        self._is_asked = False
        self.tasks: set[asyncio.Task[None]] = set()  # one at most

    def ask_once_more(self) -> None:
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
