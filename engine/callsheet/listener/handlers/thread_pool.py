"""Work that runs in a thread: it has a time limit for whoever waits, but it cannot be stopped."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

from ..asyncio_helpers import done_within
from . import HandlerFailed, failure_of

KEPT = 7200.0  # seconds; attempts at one event are an hour apart at most
MOST = 10_000


class LateResults:
    """Results of runs that nobody waited for to their end, for the next attempt at the same."""

    def __init__(self) -> None:
        self._results: dict[str, tuple[asyncio.Future[Any], float]] = {}

    def keep_result(self, name: str, result: asyncio.Future[Any]) -> None:
        if not name:
            return
        self._results[name] = (result, time.monotonic())
        if len(self._results) > MOST:
            self._drop_oldest()

    def take_result(self, name: str) -> asyncio.Future[Any] | None:
        """The future of a run that has not ended, or ended a while ago."""
        result, since = self._results.pop(name, (None, 0.0))
        is_old = result is not None and result.done() and time.monotonic() - since > KEPT
        return None if is_old else result

    def _drop_oldest(self) -> None:
        oldest = next((name for name, (result, _) in self._results.items() if result.done()), None)
        if oldest is not None:
            del self._results[oldest]


# Seconds after which a thread without work ends.
IDLE_TIMEOUT = 10.0


class _Task(NamedTuple):
    function: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    result: asyncio.Future[Any]


class ThreadPool:
    """A slot stays taken until its work has ended, so that work which overran is not started over and over.

    Threads are used again: starting one takes longer than most of what is done in it. They are daemons, because a
    program that ends must not wait for one.
    """

    def __init__(self, max_running: int) -> None:
        self.max_running = max_running
        self.running = 0
        self._overdue: set[asyncio.Future[Any]] = set()
        self._late_results = LateResults()
        self._threads = 0
        self._waiting: SimpleQueue[_Task] = SimpleQueue()
        self._lock = threading.Lock()

    @property
    def overdue_runs(self) -> int:
        """Runs that nobody waits for any more, and that have not ended."""
        return len(self._overdue)

    async def run(self, function: Callable[[], Any], time_limit: float, name: str = "") -> Any:
        """The result of the function.

        `name` says what is done, and for which event. Where a run of this name took too long, its end is waited for and
        its result taken: it cannot be stopped, so a second one would do the same once more.
        """
        result = self._late_results.take_result(name)
        if result is None:
            if self.running >= self.max_running:
                raise HandlerFailed(f"no free place: earlier runs have not ended ({self.running})")
            result = self.submit_call(function)
        self._overdue.discard(result)
        if not await done_within(result, time_limit):
            self._overdue.add(result)
            self._late_results.keep_result(name, result)
            raise HandlerFailed(f"no result after {time_limit:g} s")
        return result.result()

    def submit_call(self, function: Callable[[], Any]) -> asyncio.Future[Any]:
        """Its result, or the `HandlerFailed` that stands for what it raised."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Any] = loop.create_future()
        self.running += 1
        with self._lock:
            self._waiting.put(_Task(function, loop, result))
            is_new = self._threads < self.running  # else one of them has nothing to do
            self._threads += is_new
        if is_new:
            threading.Thread(target=self._run_tasks, daemon=True).start()
        return result

    def _run_tasks(self) -> None:
        while True:
            try:
                self._execute_task(self._waiting.get(timeout=IDLE_TIMEOUT))
            except Empty:
                with self._lock:
                    if self._waiting.empty():
                        self._threads -= 1
                        return

    def _execute_task(self, run: _Task) -> None:
        try:
            value, error = run.function(), None
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
            value, error = None, raised.with_traceback(None)  # which would hold this frame
        with contextlib.suppress(RuntimeError):  # the program has ended meanwhile
            run.loop.call_soon_threadsafe(self._finish_result, run.result, value, error)

    def _finish_result(self, result: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        self.running -= 1
        self._overdue.discard(result)
        if result.cancelled():
            return
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(failure_of(error))
            result.exception()
