"""What the commands at the shell see of an inbox file."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ....errors import CallsheetError
from ..port import STATES
from . import changes, schema

T = TypeVar("T")
PURGE_BATCH = 1000
# Seconds; SQLite lets whoever asks first go on, not whoever has waited longest.
PURGE_PAUSE = 0.02
# Statements are put together from the constants of this file only; every value is bound.
_COLUMNS = "key, source, type, id, state, attempts, received, due, finished, error"
_SELECT = f"SELECT {_COLUMNS} FROM event"  # noqa: S608 - constants
# An index of one state is only found by that state's own word, and what is newest is what that index says. Events that
# run are few: with the plus they are found by their index and sorted, instead of being looked for from the newest on.
_LISTED: dict[str | None, str] = {
    None: f"{_SELECT} ORDER BY key DESC LIMIT ?",
    "waiting": f"{_SELECT} WHERE state = 'waiting' ORDER BY key DESC LIMIT ?",
    "running": f"{_SELECT} WHERE state = 'running' ORDER BY +key DESC LIMIT ?",
    "done": f"{_SELECT} WHERE state = 'done' ORDER BY finished DESC, key DESC LIMIT ?",
    "dead": f"{_SELECT} WHERE state = 'dead' ORDER BY received DESC, key DESC LIMIT ?",
}
_SELECT_FULL = f"SELECT {_COLUMNS}, coalesce(text, data), headers FROM event"  # noqa: S608 - constants


def counts(connection: sqlite3.Connection) -> Mapping[str, float]:
    """Events by state."""
    by_state = dict(connection.execute("SELECT state, events FROM tally"))
    by_state["running"] = connection.execute("SELECT count(*) FROM event WHERE state = 'running'").fetchone()[0]
    return {state: float(by_state[state]) for state in STATES}


def list_events(connection: sqlite3.Connection, state: str | None, limit: int) -> list[dict[str, Any]]:
    return [_record(row) for row in connection.execute(_LISTED[state], (limit,))]


def events_by_key(connection: sqlite3.Connection, keys: Iterable[int]) -> list[dict[str, Any]]:
    return [_record(row) for key in keys for row in connection.execute(f"{_SELECT} WHERE key = ?", (key,))]


def find(connection: sqlite3.Connection, word: str) -> list[dict[str, Any]]:
    rows = connection.execute(
        f"{_SELECT_FULL} WHERE id = ? OR id = ?", (json.dumps(word), changes.storable(word))
    ).fetchall()
    if not rows and word.isascii() and word.isdigit():
        rows = connection.execute(f"{_SELECT_FULL} WHERE key = ?", (int(word[:18]),)).fetchall()
    records = []
    for row in rows:
        jobs = connection.execute("SELECT job FROM succeeded WHERE key = ? ORDER BY job", (row[0],)).fetchall()
        names = sorted({name.decode("latin-1") for name, _ in changes.unpack(row[-1])})
        records.append({**_record(row), "succeeded": [job for (job,) in jobs], "headers": names, "payload": row[-2]})
    return records


def _record(row: Sequence[Any]) -> dict[str, Any]:
    record = dict(zip(_COLUMNS.split(", "), row, strict=False))
    return {**record, "id": json.loads(record["id"])}


class FileInspection:
    """Reads without writing; whatever is wrong with the file is one clear error."""

    def __init__(self, path: str, *, write: bool) -> None:
        self._path = path
        self._connection = schema.open_existing(path, write=write)

    def list_events(self, state: str | None, limit: int) -> list[dict[str, Any]]:
        return self._checked(lambda: list_events(self._connection, state, limit))

    def counts(self) -> Mapping[str, float]:
        return self._checked(lambda: counts(self._connection))

    def find(self, word: str) -> list[dict[str, Any]]:
        return self._checked(lambda: find(self._connection, word))

    def replay(self, keys: Iterable[int]) -> list[dict[str, Any]]:
        unique_keys = list(dict.fromkeys(keys))
        self._checked(lambda: self._in_transaction(lambda: changes.replay(self._connection, unique_keys, time.time())))
        return self._checked(lambda: events_by_key(self._connection, unique_keys))

    def purge(self, state: str, before: float) -> int:
        """A part at a time: whoever puts events into the file meanwhile waits for one part, not for all."""
        total = 0
        while True:
            purged = self._checked(
                lambda: self._in_transaction(lambda: changes.purge(self._connection, state, before, PURGE_BATCH))
            )
            total += purged
            if purged < PURGE_BATCH:
                return total
            time.sleep(PURGE_PAUSE)

    def _in_transaction(self, operation: Callable[[], T]) -> T:
        self._connection.execute("BEGIN IMMEDIATE")
        result = operation()
        self._connection.execute("COMMIT")
        return result

    def _checked(self, operation: Callable[[], T]) -> T:
        try:
            return operation()
        except (sqlite3.Error, ValueError, TypeError, AttributeError) as error:  # a damaged file holds anything
            raise CallsheetError(f"inbox {self._path}: {error}") from None

    def close(self) -> None:
        self._connection.close()
