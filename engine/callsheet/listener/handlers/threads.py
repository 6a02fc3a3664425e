"""Work that runs in a thread: it has a time limit for whoever waits, but it cannot be stopped."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from . import HandlerFailed, failure_of

# Seconds after which a thread without work ends.
IDLE = 10.0


class _Run(NamedTuple):
    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    result: asyncio.Future[Any]


class Threads:
    """A slot stays taken until its work has ended, so that work which overran is not started over and over.

    Threads are used again: starting one takes longer than most of what is done in it. They are daemons, because a
    program that ends must not wait for one.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0
        self._threads = 0
        self._waiting: SimpleQueue[_Run] = SimpleQueue()
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], Any], limit: float) -> Any:
        if self.running >= self.most:
            raise HandlerFailed(f"{self.running} earlier runs have not ended yet")
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Any] = loop.create_future()
        self._start(_Run(work, loop, result))
        done, _ = await asyncio.wait([result], timeout=limit)
        if not done:
            raise HandlerFailed(f"no result after {limit:g} s")
        return result.result()

    def _start(self, run: _Run) -> None:
        self.running += 1
        with self._lock:
            self._waiting.put(run)
            if self._threads >= self.running:  # one of them has nothing to do
                return
            self._threads += 1
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                self._work(self._waiting.get(timeout=IDLE))
            except Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._threads -= 1
                        return

    def _work(self, run: _Run) -> None:
        try:
            value, error = run.work(), None
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
            value, error = None, raised
        with contextlib.suppress(RuntimeError):  # the program has ended meanwhile
            run.loop.call_soon_threadsafe(self._ended, run.result, value, error)

    def _ended(self, result: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        self.running -= 1
        if result.cancelled():
            return
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(failure_of(error))
            result.exception()
