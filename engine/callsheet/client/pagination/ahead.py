"""Doing several things at once while their results are taken in order."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")
_POLL = 0.2  # a wait without a limit cannot be interrupted on Windows


def in_order(work: Callable[[Job], Result], jobs: Iterable[Job], workers: int) -> Generator[Result]:
    """`work(job)` of each job in turn, at most twice as many begun as there are workers.

    The threads are daemons: leaving early, by Ctrl-C for one, waits for none of them.
    """
    todo: SimpleQueue[tuple[Future[Result], Job] | None] = SimpleQueue()
    begun: deque[Future[Result]] = deque()
    for _ in range(workers):
        threading.Thread(target=_serve, args=(work, todo), daemon=True).start()
    try:
        for job in jobs:
            future: Future[Result] = Future()
            begun.append(future)
            todo.put((future, job))
            if len(begun) >= 2 * workers:
                yield _result(begun.popleft())
        while begun:
            yield _result(begun.popleft())
    finally:
        for future in begun:
            future.cancel()
        for _ in range(workers):
            todo.put(None)


def _serve(work: Callable[[Job], Result], todo: SimpleQueue[tuple[Future[Result], Job] | None]) -> None:
    while (entry := todo.get()) is not None:
        future, job = entry
        if not future.set_running_or_notify_cancel():
            continue
        try:
            future.set_result(work(job))
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is taken
            future.set_exception(error)


def _result(future: Future[Result]) -> Result:
    while True:
        try:
            return future.result(timeout=_POLL)
        except TimeoutError:
            if future.done():  # the work itself timed out
                raise
