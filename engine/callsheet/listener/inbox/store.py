"""The inbox file: one SQLite database in WAL mode. What is committed is on the disk."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import CallsheetError, UsageError

if TYPE_CHECKING:
    from ..verify.event import Event

VERSION = 1
BUSY_WAIT = 10.0
SCHEMA = """
CREATE TABLE event (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  identity TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
  received REAL NOT NULL, headers BLOB NOT NULL, query BLOB NOT NULL, data BLOB NOT NULL, text BLOB,
  state TEXT NOT NULL, attempts INTEGER NOT NULL, due REAL NOT NULL, finished REAL, error TEXT, owner TEXT
);
CREATE INDEX event_due ON event (due) WHERE state = 'waiting';
CREATE INDEX event_owner ON event (owner) WHERE state = 'running';
CREATE INDEX event_finished ON event (finished) WHERE state = 'done';
CREATE INDEX event_id ON event (id);
CREATE TABLE succeeded (key INTEGER NOT NULL, job TEXT NOT NULL, PRIMARY KEY (key, job)) WITHOUT ROWID;
CREATE TABLE owner (id TEXT PRIMARY KEY, alive_until REAL NOT NULL) WITHOUT ROWID;
"""
# Never kept: they are the sender's credentials for this listener, and no handler needs them.
_NOT_KEPT = (b"authorization", b"cookie")
# Statements are put together from the constants of this file only; every value is bound.
_LISTED = "key, source, type, id, state, attempts, received, due, finished, error"
_SELECT = f"SELECT {_LISTED}, coalesce(text, data), headers FROM event WHERE "  # noqa: S608


class Stored(NamedTuple):
    """One event as it lies in the file, and the jobs of it that succeeded."""

    key: int
    source: str
    headers: list[tuple[bytes, bytes]]
    query: bytes
    data: bytes
    text: bytes
    attempts: int
    succeeded: frozenset[str]


def connect(path: str, *, must_exist: bool = False) -> sqlite3.Connection:
    """Raises `UsageError` for a file that is no inbox, `CallsheetError` where it cannot be had."""
    if must_exist and not os.path.isfile(path):
        raise UsageError(f"no inbox at {path}", hint="name the file that `webhook listen --inbox` was given")
    try:
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(path, timeout=BUSY_WAIT, isolation_level=None, check_same_thread=False)
    except OSError as error:
        raise CallsheetError(f"inbox {path}: {error.strerror}") from None
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        _prepare(connection, path)
    except sqlite3.DatabaseError as error:
        connection.close()
        raise UsageError(f"inbox {path}: {error}") from None
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, path: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == 0:
        if connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone():
            raise UsageError(f"{path} is a database, but no inbox")
        for statement in SCHEMA.split(";")[:-1]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    elif version != VERSION:
        raise UsageError(f"inbox {path}: of another version of this program ({version})")
    connection.execute("COMMIT")


def add(connection: sqlite3.Connection, event: Event, state: str, owner: str | None, now: float) -> int | None:
    """The key of a new event; nothing when it is there already."""
    row = (
        event.key, event.source.name, event.type, json.dumps(event.id), now, _pack(event.headers), event.query,
        event.data, None if event.text is event.data else event.text,
        state, 1 if state == "running" else 0, now, now if state == "done" else None, owner,
    )  # fmt: skip
    cursor = connection.execute(
        "INSERT OR IGNORE INTO event (identity, source, type, id, received, headers, query, data, text,"
        " state, attempts, due, finished, owner) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row,
    )
    return cursor.lastrowid if cursor.rowcount else None


def _pack(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"\n".join(name + b":" + value for name, value in headers if name not in _NOT_KEPT)


def _unpack(packed: bytes) -> list[tuple[bytes, bytes]]:
    return [(name, value) for line in packed.split(b"\n") for name, _, value in [line.partition(b":")] if name]


def claim(connection: sqlite3.Connection, count: int, owner: str, now: float) -> list[Stored]:
    """Take events that are due; no other process gets them while this one is alive."""
    rows = connection.execute(
        "UPDATE event SET state = 'running', owner = ?, attempts = attempts + 1 WHERE key IN"
        " (SELECT key FROM event WHERE state = 'waiting' AND due <= ? ORDER BY due, key LIMIT ?)"
        " RETURNING key, source, headers, query, data, text, attempts",
        (owner, now, count),
    ).fetchall()
    return [_stored(connection, row) for row in sorted(rows)]


def _stored(connection: sqlite3.Connection, row: Sequence[Any]) -> Stored:
    key, source, headers, query, data, text, attempts = row
    jobs = connection.execute("SELECT job FROM succeeded WHERE key = ?", (key,)).fetchall()
    succeeded = frozenset(job for (job,) in jobs)
    return Stored(key, source, _unpack(headers), query, data, data if text is None else text, attempts, succeeded)


def mark(connection: sqlite3.Connection, key: int, job: str) -> None:
    connection.execute("INSERT OR IGNORE INTO succeeded (key, job) VALUES (?, ?)", (key, job))


def finish(connection: sqlite3.Connection, key: int, owner: str, now: float) -> None:
    connection.execute(
        "UPDATE event SET state = 'done', finished = ?, owner = NULL, error = NULL WHERE key = ? AND owner = ?",
        (now, key, owner),
    )
    connection.execute("DELETE FROM succeeded WHERE key = ?", (key,))


def put_back(
    connection: sqlite3.Connection, key: int, owner: str, due: float | None, error: str | None, *, tried: bool = True
) -> None:
    """For a later attempt, or for good where `due` is absent. What was not tried does not count as an attempt."""
    connection.execute(
        "UPDATE event SET state = ?, due = coalesce(?, due), error = coalesce(?, error), owner = NULL,"
        " attempts = attempts - ? WHERE key = ? AND owner = ?",
        ("dead" if due is None else "waiting", due, error, 0 if tried else 1, key, owner),
    )


def stay_alive(connection: sqlite3.Connection, owner: str, now: float, lease: float, most_attempts: int) -> int:
    """Say that this process lives, and free what processes held that do not; returns how many."""
    connection.execute("INSERT OR REPLACE INTO owner (id, alive_until) VALUES (?, ?)", (owner, now + lease))
    connection.execute("DELETE FROM owner WHERE alive_until < ?", (now,))
    freed = connection.execute(
        "UPDATE event SET state = CASE WHEN attempts >= ? THEN 'dead' ELSE 'waiting' END, owner = NULL, due = ?,"
        " error = 'the process that handled it ended'"
        " WHERE state = 'running' AND owner NOT IN (SELECT id FROM owner)",
        (most_attempts, now),
    )
    return freed.rowcount


def leave(connection: sqlite3.Connection, owner: str, now: float) -> None:
    """Give back at once what this process still holds."""
    connection.execute(
        "UPDATE event SET state = 'waiting', owner = NULL, due = ? WHERE state = 'running' AND owner = ?", (now, owner)
    )
    connection.execute("DELETE FROM owner WHERE id = ?", (owner,))


def next_due(connection: sqlite3.Connection) -> float | None:
    (due,) = connection.execute("SELECT min(due) FROM event WHERE state = 'waiting'").fetchone()
    return None if due is None else float(due)


def counts(connection: sqlite3.Connection) -> dict[str, float]:
    found = dict.fromkeys(("waiting", "running", "done", "dead"), 0.0)
    found.update(connection.execute("SELECT state, count(*) FROM event GROUP BY state").fetchall())
    return found


def purge(connection: sqlite3.Connection, state: str, before: float, most: int = -1) -> int:
    """Delete events in a final state that arrived before a time; returns how many."""
    sql = _PURGED[state]
    connection.execute(f"DELETE FROM succeeded WHERE key IN ({sql})", (before, most))  # noqa: S608
    return connection.execute(f"DELETE FROM event WHERE key IN ({sql})", (before, most)).rowcount  # noqa: S608


_PURGED = {
    "done": "SELECT key FROM event WHERE state = 'done' AND finished < ? LIMIT ?",
    "dead": "SELECT key FROM event WHERE state = 'dead' AND received < ? LIMIT ?",
}


def listed(connection: sqlite3.Connection, state: str | None, most: int) -> list[dict[str, Any]]:
    """Newest first."""
    rows = connection.execute(f"{_SELECT} state = coalesce(?, state) ORDER BY key DESC LIMIT ?", (state, most))
    return [_record(row) for row in rows]


def listed_keys(connection: sqlite3.Connection, keys: Iterable[int]) -> list[dict[str, Any]]:
    return [_record(row) for key in keys for row in connection.execute(f"{_SELECT} key = ?", (key,))]


def find(connection: sqlite3.Connection, word: str) -> list[dict[str, Any]]:
    """The events with an id, or else the one with a key; with their payload and the jobs that succeeded."""
    rows = connection.execute(f"{_SELECT} id = ? OR id = ?", (json.dumps(word), word)).fetchall()
    if not rows and word.isascii() and word.isdigit():
        rows = connection.execute(f"{_SELECT} key = ?", (int(word[:18]),)).fetchall()
    found = []
    for row in rows:
        jobs = connection.execute("SELECT job FROM succeeded WHERE key = ? ORDER BY job", (row[0],)).fetchall()
        names = sorted({name.decode("latin-1") for name, _ in _unpack(row[-1])})
        found.append({**_record(row), "succeeded": [job for (job,) in jobs], "headers": names, "payload": row[-2]})
    return found


def _record(row: Sequence[Any]) -> dict[str, Any]:
    record = dict(zip(_LISTED.split(", "), row, strict=False))
    return {**record, "id": json.loads(record["id"])}


def replay(connection: sqlite3.Connection, keys: Iterable[int], now: float) -> None:
    """From the beginning: every job, the full number of attempts. What runs just now is left alone."""
    for key in keys:
        connection.execute("DELETE FROM succeeded WHERE key = ?", (key,))
        connection.execute(
            "UPDATE event SET state = 'waiting', attempts = 0, due = ?, finished = NULL, error = NULL"
            " WHERE key = ? AND state <> 'running'",
            (now, key),
        )
