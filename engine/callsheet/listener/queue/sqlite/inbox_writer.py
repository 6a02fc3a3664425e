"""The one thread that writes to an inbox file: many small changes, one commit for all that came while it wrote."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import attrgetter
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

from ..queue_port import QueueFailed, Unstorable
from .inbox_file import BUSY_WAIT

T = TypeVar("T")
# A batch that failed is tried in parts for this long; what is left then fails with it.
SPLIT_TIMEOUT = 2.0
_CLOSE_TIMEOUT = 5.0
# Seconds between two looks whether another process has done with writing. What SQLite waits grows to 100 ms, and a
# process that has just written is quicker.
_BUSY_DELAY = 0.001
# Seconds that a change which nobody waits for waits for another. Under load the next event comes much sooner, but not
# within the 5 ms that a round of thirty-two takes.
MAX_DELAY = 0.025
# Pages after which the log is moved, 1000 by default, and the bytes that it keeps on the disk.
_SHORT_LOG = ("PRAGMA wal_autocheckpoint = 100", "PRAGMA journal_size_limit = 500000")


class Damaged(QueueFailed):
    """The file is not what SQLite wrote."""


Operation = Callable[[sqlite3.Connection, Sequence[Any]], Sequence[Any]]


class _Change(NamedTuple):
    """`operation` gets the items of all changes of its kind that follow each other, and has a result for each."""

    operation: Operation
    item: Any
    future: asyncio.Future[Any]


def _make_each(connection: sqlite3.Connection, changes: Sequence[Callable[[sqlite3.Connection], Any]]) -> Sequence[Any]:
    return [change(connection) for change in changes]


class InboxWriter:
    """`problem` is set while nothing can be written. Changes are made in order."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.problem: str | None = None
        self._connection = connection
        self._changes: list[_Change] = []
        self._sending: asyncio.Handle | None = None
        self._is_urgent = self._is_full = False
        self._batches: SimpleQueue[list[_Change] | None] = SimpleQueue()
        self._loop = asyncio.get_running_loop()
        connection.execute("PRAGMA busy_timeout = 0")  # it is waited for here
        self._thread = threading.Thread(target=self._write_batches, name="inbox", daemon=True)
        self._thread.start()

    def submit_change(self, change: Callable[[sqlite3.Connection], T], *, is_urgent: bool = True) -> asyncio.Future[T]:
        """Done when the change is on the disk, or with `QueueFailed`. Nobody has to wait for it.

        One that is not urgent waits a moment for one that is, so that both share a commit.
        """
        return self.submit_one(_make_each, change, is_urgent=is_urgent)

    def submit_one(
        self,
        operation: Callable[[sqlite3.Connection, Sequence[Any]], Sequence[T]],
        item: Any,
        *,
        is_urgent: bool = True,
    ) -> asyncio.Future[T]:
        """The same for a change of which there are many: `operation` makes those that follow each other at once."""
        future: asyncio.Future[T] = self._loop.create_future()
        self._changes.append(_Change(operation, item, future))
        if self._sending is None and not is_urgent:
            self._sending = self._loop.call_later(MAX_DELAY, self._send_results)
        elif self._sending is None or (is_urgent and not self._is_urgent):
            self._send_soon()
        return future

    def _send_soon(self) -> None:
        """What else this turn of the loop brings goes into the same commit."""
        if self._sending is not None:
            self._sending.cancel()
        self._sending, self._is_urgent = self._loop.call_soon(self._send_results), True

    def _send_results(self) -> None:
        self._sending, self._is_urgent = None, False
        changes, self._changes = self._changes, []
        self._batches.put(changes)

    def _write_batches(self) -> None:
        while (batch := self._batches.get()) is not None:
            is_last = not self._extend_batch(batch)
            if batch:
                problem = self._begin_transaction()
                is_last = is_last or not self._extend_batch(batch)  # what came while another process was writing
                self._deliver_results(batch, [problem] * len(batch) if problem else self._write_changes(batch))
            if is_last:
                return

    def _extend_batch(self, batch: list[_Change]) -> bool:
        """Add what came meanwhile; whether more may come."""
        with contextlib.suppress(Empty):
            while (changes := self._batches.get_nowait()) is not None:
                batch += changes
            return False
        return True

    def _begin_transaction(self) -> QueueFailed | None:
        """Why nothing can be written: it is locked, or there is no disk."""
        if self._is_full:  # what was freed meanwhile is for the events first
            self._empty_log()
        patience = time.monotonic() + BUSY_WAIT
        while True:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
            except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
                if not _is_busy(error) or time.monotonic() > patience:
                    return self._classify_error(error)
                time.sleep(_BUSY_DELAY)
            else:
                return None

    def _write_changes(self, batch: list[_Change]) -> list[Any]:
        """Results and failures in the order of the changes, in the transaction that has begun."""
        return self._try_batch(batch, time.monotonic() + SPLIT_TIMEOUT)

    def _write_again(self, batch: list[_Change], deadline: float, *, was_emptied: bool = False) -> list[Any]:
        if time.monotonic() > deadline:
            return [QueueFailed("not written in time")] * len(batch)
        problem = self._begin_transaction()
        return [problem] * len(batch) if problem else self._try_batch(batch, deadline, was_emptied=was_emptied)

    def _try_batch(self, batch: list[_Change], deadline: float, *, was_emptied: bool = False) -> list[Any]:
        """What cannot be written fails alone.

        `was_emptied`: it was tried already, and the log emptied for it. That a second time would help is not likely.
        """
        changed_before = self._connection.total_changes
        try:
            results = self._make_changes(batch)
            self._connection.execute("COMMIT")
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            self._roll_back()
            self._is_full = _is_out_of_space(error)
            if self._is_full and not was_emptied and self._empty_log():
                return self._write_again(batch, deadline, was_emptied=True)
            if len(batch) == 1:
                return [self._classify_error(error)] * len(batch)
            half = len(batch) // 2
            return self._write_again(batch[:half], deadline) + self._write_again(batch[half:], deadline)
        if self._connection.total_changes > changed_before:  # to change nothing succeeds on a full disk too
            self.problem = None
        return results

    def _make_changes(self, batch: list[_Change]) -> list[Any]:
        results: list[Any] = []
        for operation, changes in groupby(batch, key=attrgetter("operation")):
            results += operation(self._connection, [change.item for change in changes])
        return results

    def _roll_back(self) -> None:
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error as error:
            self.problem = f"{type(error).__name__}: {error}"

    def _empty_log(self) -> bool:
        """Move all of the log to its place, so that it is written from its start again. Whether that was possible.

        On a small disk it is the log that takes what is left, and it would take whatever is freed too. From now on it
        stays short: that is slower.
        """
        try:
            for pragma in _SHORT_LOG:
                self._connection.execute(pragma)
            is_busy, frames, moved = self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.Error:
            return False
        is_empty = not is_busy and 0 <= frames <= moved
        self._is_full = not is_empty
        return is_empty and frames > 0

    def _classify_error(self, error: Exception) -> QueueFailed:
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, _DATA_ERRORS):
            self.problem = f"{type(error).__name__}: {error}"
            return (Damaged if _primary_code(error) in _DAMAGE else QueueFailed)(str(error))
        return Unstorable(f"{type(error).__name__}: {error}")

    def _deliver_results(self, batch: list[_Change], results: list[Any]) -> None:
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(_resolve_futures, batch, results)

    async def close(self) -> bool:
        """Whether the file is closed: a disk that hangs does not keep the process from ending."""
        self._send_results()
        self._batches.put(None)
        await asyncio.to_thread(self._thread.join, _CLOSE_TIMEOUT)
        if self._thread.is_alive():
            return False
        self._connection.close()
        return True


def _is_busy(error: Exception) -> bool:
    """Another process is writing."""
    return _primary_code(error) == sqlite3.SQLITE_BUSY


def _primary_code(error: Exception) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _is_out_of_space(error: Exception) -> bool:
    """A quota is a failed write to SQLite."""
    return getattr(error, "sqlite_errorcode", None) in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE)


_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DATA_ERRORS = (sqlite3.DataError, sqlite3.ProgrammingError, sqlite3.IntegrityError)


def _resolve_futures(batch: list[_Change], results: list[Any]) -> None:
    for change, result in zip(batch, results, strict=True):
        if change.future.done():
            continue
        if isinstance(result, QueueFailed):
            change.future.set_exception(result)
        else:
            change.future.set_result(result)
