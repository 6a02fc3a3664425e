"""Doing several things at once while their results are taken in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

from ...collector import give_memory_back

Job = TypeVar("Job")
Result = TypeVar("Result")
_MANY = 3  # threads: fewer keep little, and a short list need not load what calls the C library
_POLL = 0.2  # a wait without a limit cannot be interrupted on Windows


def in_order(
    function: Callable[[Job], Result], jobs: Iterable[Job], workers: int, *, gently: bool = False
) -> Generator[Result]:
    """`function(job)` of each job in turn, at most twice as many begun as there are workers.

    `gently` begins two, and one more for each result that was taken: for jobs that may turn out to be needless.
    The threads are daemons: leaving early, by Ctrl-C for one, waits for none of them.
    """
    queue: SimpleQueue[tuple[Future[Result], Job] | None] = SimpleQueue()
    started: deque[Future[Result]] = deque()
    most, taken, threads = 2 * workers, 0, 0
    try:
        for job in jobs:
            future: Future[Result] = Future()
            started.append(future)
            if threads < workers:
                threads += 1
                if threads == _MANY:
                    give_memory_back()
                threading.Thread(target=_run_jobs, args=(function, queue), daemon=True).start()
            queue.put((future, job))
            while len(started) >= (min(most, 2 + taken) if gently else most):
                taken += 1
                yield _result_of(started.popleft())
        while started:
            yield _result_of(started.popleft())
    finally:
        for future in started:
            future.cancel()
        for _ in range(threads):
            queue.put(None)


def _run_jobs(function: Callable[[Job], Result], queue: SimpleQueue[tuple[Future[Result], Job] | None]) -> None:
    while (entry := queue.get()) is not None:
        future, job = entry
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(function(job))
        except BaseException as error:  # noqa: BLE001 - a person's function must not end the process that serves the next event
            future.set_exception(error)


def _result_of(future: Future[Result]) -> Result:
    while True:
        try:
            return future.result(timeout=_POLL)
        except TimeoutError:
            if future.done():  # the work itself timed out
                raise
