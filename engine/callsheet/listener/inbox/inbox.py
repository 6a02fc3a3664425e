"""The inbox as the server uses it: many small changes, one commit for all that came while the last one was written."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from . import store

T = TypeVar("T")


class InboxFailed(Exception):
    """A change could not be written."""


class _Change(NamedTuple):
    work: Callable[[sqlite3.Connection], Any]
    done: asyncio.Future[Any]


class Inbox:
    """`problem` is set while nothing can be written. All changes are made by one thread, in order."""

    def __init__(self, path: str, window: float) -> None:
        self.window = window
        self.problem: str | None = None
        self._connection = store.connect(path)
        self._reader = store.connect(path)
        self._changes: deque[_Change] = deque()
        self._wake = threading.Event()
        self._closing = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = threading.Thread(target=self._work, name="inbox", daemon=True)
        self._thread.start()

    async def change(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Returns when the change is on the disk. Raises `InboxFailed`."""
        self._loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = self._loop.create_future()
        self._changes.append(_Change(work, done))
        self._wake.set()
        return await done

    def counts(self) -> dict[str, float]:
        return store.counts(self._reader)

    def _work(self) -> None:
        while not self._closing or self._changes:
            self._wake.wait()
            self._wake.clear()
            batch = []
            while self._changes:
                batch.append(self._changes.popleft())
            if batch:
                self._write(batch)

    def _write(self, batch: list[_Change]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            results = [change.work(self._connection) for change in batch]
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - whoever waits for the batch must learn of it
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            self.problem = f"{type(error).__name__}: {error}"
            self._tell(batch, [InboxFailed(str(error))] * len(batch))
        else:
            self.problem = None
            self._tell(batch, results)

    def _tell(self, batch: list[_Change], results: list[Any]) -> None:
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_resolve, batch, results)

    def close(self) -> None:
        self._closing = True
        self._wake.set()
        self._thread.join()
        self._connection.close()
        self._reader.close()


def _resolve(batch: list[_Change], results: list[Any]) -> None:
    for change, result in zip(batch, results, strict=True):
        if change.done.done():
            continue
        if isinstance(result, InboxFailed):
            change.done.set_exception(result)
        else:
            change.done.set_result(result)
