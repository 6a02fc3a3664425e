"""The one thread that writes to an inbox file: many small changes, one commit for all that came while it wrote."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..port import QueueFailed, Unstorable

T = TypeVar("T")
# A batch that failed is tried in parts for this long; what is left then fails with it.
APART = 2.0
_LAST_BATCH = 5.0


class _Change(NamedTuple):
    work: Callable[[sqlite3.Connection], Any]
    done: asyncio.Future[Any]


class Writer:
    """`problem` is set while nothing can be written. Changes are made in order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.problem: str | None = None
        self._connection = connection
        self._changes: deque[_Change] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._work, name="inbox", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], T]) -> asyncio.Future[T]:
        """Done when the change is on the disk, or with `QueueFailed`. Nobody has to wait for it."""
        done: asyncio.Future[T] = self._loop.create_future()
        self._changes.append(_Change(work, done))
        if not self._wake.is_set():  # it is cleared before the changes are looked at, so none is missed
            self._wake.set()
        return done

    def _work(self) -> None:
        while not self._closing or self._changes:
            self._wake.wait()
            self._wake.clear()
            batch = []
            while self._changes:
                batch.append(self._changes.popleft())
            if batch:
                self._tell(batch, self._write(batch, time.monotonic() + APART))

    def _write(self, batch: list[_Change], until: float) -> list[Any]:
        """Results and failures in the order of the changes. What cannot be written fails alone."""
        if time.monotonic() > until:
            return [QueueFailed("not written in time")] * len(batch)
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except Exception as error:  # noqa: BLE001 - locked, or no disk: no part of it can be written either
            return [self._failure(error)] * len(batch)
        try:
            results = [change.work(self._connection) for change in batch]
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whoever waits for the batch must learn of it
            self._roll_back()
            if len(batch) == 1:
                return [self._failure(error)] * len(batch)
            half = len(batch) // 2
            return self._write(batch[:half], until) + self._write(batch[half:], until)
        self.problem = None
        return results

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            self.problem = f"{type(error).__name__}: {error}"

    def _failure(self, error: Exception) -> QueueFailed:
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, _OF_THE_CHANGE):
            self.problem = f"{type(error).__name__}: {error}"
            return QueueFailed(str(error))
        return Unstorable(f"{type(error).__name__}: {error}")

    def _tell(self, batch: list[_Change], results: list[Any]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_resolve, batch, results)

    async def close(self) -> None:
        """A disk that hangs does not keep the process from ending."""
        self._closing = True
        self._wake.set()
        await asyncio.to_thread(self._thread.join, _LAST_BATCH)
        if not self._thread.is_alive():
            self._connection.close()


_OF_THE_CHANGE = (sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.IntegrityError)


def _resolve(batch: list[_Change], results: list[Any]) -> None:
    for change, result in zip(batch, results, strict=True):
        if change.done.done():
            continue
        if isinstance(result, QueueFailed):
            change.done.set_exception(result)
        else:
            change.done.set_result(result)
