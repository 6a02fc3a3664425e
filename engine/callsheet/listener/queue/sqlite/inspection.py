"""What the commands at the shell see of an inbox file."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ....errors import CallsheetError
from . import changes, schema

T = TypeVar("T")
# Statements are put together from the constants of this file only; every value is bound.
_LISTED = "key, source, type, id, state, attempts, received, due, finished, error"
_SELECT = f"SELECT {_LISTED} FROM event"  # noqa: S608
_WHOLE = f"SELECT {_LISTED}, coalesce(text, data), headers FROM event"  # noqa: S608


def counts(connection: sqlite3.Connection) -> Mapping[str, float]:
    """Events by state."""
    return {state: float(events) for state, events in connection.execute("SELECT state, events FROM tally")}


def listed(connection: sqlite3.Connection, state: str | None, most: int) -> list[dict[str, Any]]:
    if state is None:
        rows = connection.execute(f"{_SELECT} ORDER BY key DESC LIMIT ?", (most,))
    else:
        rows = connection.execute(f"{_SELECT} WHERE state = ? ORDER BY key DESC LIMIT ?", (state, most))
    return [_record(row) for row in rows]


def listed_keys(connection: sqlite3.Connection, keys: Iterable[int]) -> list[dict[str, Any]]:
    return [_record(row) for key in keys for row in connection.execute(f"{_SELECT} WHERE key = ?", (key,))]


def find(connection: sqlite3.Connection, word: str) -> list[dict[str, Any]]:
    rows = connection.execute(f"{_WHOLE} WHERE id = ? OR id = ?", (json.dumps(word), changes.storable(word))).fetchall()
    if not rows and word.isascii() and word.isdigit():
        rows = connection.execute(f"{_WHOLE} WHERE key = ?", (int(word[:18]),)).fetchall()
    found = []
    for row in rows:
        jobs = connection.execute("SELECT job FROM succeeded WHERE key = ? ORDER BY job", (row[0],)).fetchall()
        names = sorted({name.decode("latin-1") for name, _ in changes.unpack(row[-1])})
        found.append({**_record(row), "succeeded": [job for (job,) in jobs], "headers": names, "payload": row[-2]})
    return found


def _record(row: Sequence[Any]) -> dict[str, Any]:
    record = dict(zip(_LISTED.split(", "), row, strict=False))
    return {**record, "id": json.loads(record["id"])}


class FileInspection:
    """Reads without writing; whatever is wrong with the file is one clear error."""

    def __init__(self, path: str, *, write: bool) -> None:
        self._path = path
        self._connection = schema.open_existing(path, write=write)

    def listed(self, state: str | None, most: int) -> list[dict[str, Any]]:
        return self._guarded(lambda: listed(self._connection, state, most))

    def find(self, word: str) -> list[dict[str, Any]]:
        return self._guarded(lambda: find(self._connection, word))

    def replay(self, keys: Iterable[int]) -> list[dict[str, Any]]:
        once = list(dict.fromkeys(keys))
        self._guarded(lambda: self._committed(lambda: changes.replay(self._connection, once, time.time())))
        return self._guarded(lambda: listed_keys(self._connection, once))

    def purge(self, state: str, before: float) -> int:
        return self._guarded(lambda: self._committed(lambda: changes.purge(self._connection, state, before)))

    def _committed(self, work: Callable[[], T]) -> T:
        self._connection.execute("BEGIN IMMEDIATE")
        result = work()
        self._connection.execute("COMMIT")
        return result

    def _guarded(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (sqlite3.Error, ValueError, TypeError, AttributeError) as error:  # a damaged file holds anything
            raise CallsheetError(f"inbox {self._path}: {error}") from None

    def close(self) -> None:
        self._connection.close()
