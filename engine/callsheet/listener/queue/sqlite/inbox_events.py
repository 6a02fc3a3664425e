"""The events in an inbox file: what changes in the writer's transactions, and what the commands at the shell see."""

from __future__ import annotations

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from ....errors import CallsheetError
from ..queue_port import (
    ALL_OTHERS,
    DONE,
    NEW,
    STATES,
    FailedRun,
    Lease,
    QueuedEvent,
    TargetState,
    record_of_targets,
    storable_headers,
)
from . import inbox_file

if TYPE_CHECKING:
    from ...verify.event import Event

# What changes in an inbox file, one statement after another inside the writer's transactions.
#
# A process that holds an event has its `owner`, and each run of it a number: what was taken over meanwhile is left
# alone.

_HELD = "key = ? AND state = 'running' AND owner = ? AND attempts = ?"
_NEW = "identity, source, type, id, received, headers, query, data, text, state, attempts, due, finished, owner"
_ID, _STATE = 3, 9  # places in a row
_VALUES = f"({', '.join('?' for _ in _NEW.split(','))})"
# Events that one statement adds or completes: Python lets go of its lock in each statement, and a busy loop does not
# give it back at once. Each size costs the compiling of its statements, once.
_SIZES: Final = (32, 16, 8, 4, 2, 1)
_INSERT = {
    size: f"INSERT OR IGNORE INTO event ({_NEW}) VALUES {', '.join([_VALUES] * size)}"  # noqa: S608 - constants
    for size in _SIZES
}
_COMPLETE = {
    size: "UPDATE event SET state = 'done', finished = ?, owner = NULL, error = NULL"  # noqa: S608 - constants
    f" WHERE state = 'running' AND owner = ? AND attempts = ? AND key IN ({', '.join('?' * size)})"
    for size in _SIZES
}
_FORGET_TARGETS = {
    size: f"DELETE FROM target WHERE key IN ({', '.join('?' * size)})"  # noqa: S608 - constants
    for size in _SIZES
}
Row = tuple[Any, ...]
T = TypeVar("T")


def _in_parts(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """One after the other, each of a size that there is a statement for."""
    start = 0
    for size in _SIZES:
        while len(items) - start >= size:
            yield items[start : start + size]
            start += size


class LeaseHolder(NamedTuple):
    """A process that works on the file: its name there, and how long its word holds (seconds).

    No retry is ever put off for longer than `longest`.
    """

    owner: str
    lease: float
    longest: float = 3600.0


def row_of_event(event: Event, state: str, owner: str | None, now: float) -> Row:
    """A new event as it is kept: nothing in it can be refused by the database."""
    return (
        event.key, event.source.name, storable_text(event.type), json.dumps(event.id), now,
        pack_headers(event.headers), event.query,
        event.data, None if event.text is event.data else event.text,
        state, 1 if state == "running" else 0, now, now if state == "done" else None, owner,
    )  # fmt: skip


def is_run_here(row: Row) -> bool:
    """Whether whoever adds it holds it."""
    return bool(row[_STATE] == "running")


def storable_text(text: str) -> str:
    """Half of a surrogate pair is a JSON text, but no UTF-8."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def pack_headers(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"\n".join([name + b":" + value for name, value in storable_headers(headers)])


def unpack_headers(packed: bytes) -> list[tuple[bytes, bytes]]:
    return [(name, value) for line in packed.split(b"\n") for name, _, value in [line.partition(b":")] if name]


def add_events(connection: sqlite3.Connection, rows: Sequence[Row]) -> list[int | None]:
    """The keys of new events; nothing for those that are there already."""
    keys = [key for part in _in_parts(rows) for key in _add_part(connection, part)]
    states = Counter(row[_STATE] for row, key in zip(rows, keys, strict=True) if key is not None)
    for state in states.keys() - {"running"}:
        connection.execute("UPDATE tally SET events = events + ? WHERE state = ?", (states[state], state))
    return keys


def _add_part(connection: sqlite3.Connection, rows: Sequence[Row]) -> Sequence[int | None]:
    cursor = connection.execute(_INSERT[len(rows)], tuple(chain.from_iterable(rows)))
    if cursor.rowcount == len(rows):  # all are new, and their keys follow each other
        last = cursor.lastrowid or 0
        return range(last - len(rows) + 1, last + 1)
    if not cursor.rowcount:
        return [None] * len(rows)
    return _keys_of_new(connection, rows, cursor.rowcount)


def _keys_of_new(connection: sqlite3.Connection, rows: Sequence[Row], count: int) -> Sequence[int | None]:
    """Of events that were just added, so many of them. The newest events are these."""
    added = connection.execute("SELECT identity, id, key FROM event ORDER BY key DESC LIMIT ?", (count,))
    keys = {(identity, id_): key for identity, id_, key in added}
    return [keys.pop((row[0], row[_ID]), None) for row in rows]


def claim_events(
    connection: sqlite3.Connection, count: int, owner: str, now: float
) -> tuple[list[QueuedEvent], float | None]:
    """Take events that are due, and say when the next one is where there are not enough.

    No other process gets them while this one is alive.
    """
    rows = connection.execute(
        "UPDATE event SET state = 'running', owner = ?, attempts = attempts + 1 WHERE key IN"
        " (SELECT key FROM event INDEXED BY event_due WHERE state = 'waiting' AND due <= ? ORDER BY due, key LIMIT ?)"
        " RETURNING key, attempts, source, headers, query, data, text, received",
        (owner, now, count),
    ).fetchall()
    due = None if len(rows) == count else next_due(connection)
    return [_queued_event(connection, row) for row in sorted(rows)], due


def _queued_event(connection: sqlite3.Connection, row: Sequence[Any]) -> QueuedEvent:
    key, attempts, source, headers, query, data, text, received = row
    payload, targets = data if text is None else text, _targets_of_event(connection, key)
    return QueuedEvent(Lease(key, attempts), source, unpack_headers(headers), query, data, payload, received, targets)


def _targets_of_event(connection: sqlite3.Connection, key: int) -> dict[str, TargetState]:
    rows = connection.execute("SELECT job, state, attempts, due, error FROM target WHERE key = ? ORDER BY job", (key,))
    return {job: TargetState(*state) for job, *state in rows}


def _write_targets(connection: sqlite3.Connection, key: int, targets: Mapping[str, TargetState]) -> None:
    connection.executemany(
        "INSERT OR REPLACE INTO target (key, job, state, attempts, due, error) VALUES (?, ?, ?, ?, ?, ?)",
        [(key, job, *state[:3], state.error and storable_text(state.error)) for job, state in targets.items()],
    )


def note_target_names(connection: sqlite3.Connection, names: Iterable[str]) -> None:
    connection.executemany("INSERT OR IGNORE INTO target_name (job) VALUES (?)", [(name,) for name in names])


def next_due(connection: sqlite3.Connection) -> float | None:
    (due,) = connection.execute("SELECT min(due) FROM event INDEXED BY event_due WHERE state = 'waiting'").fetchone()
    return None if due is None else float(due)


def record_success(connection: sqlite3.Connection, lease: Lease, owner: str, job: str) -> bool:
    lease_values = (lease.key, owner, lease.attempts)
    is_held = connection.execute(f"SELECT 1 FROM event WHERE {_HELD}", lease_values).fetchone()  # noqa: S608 - a constant
    if is_held is not None:
        _write_targets(connection, lease.key, {job: DONE})
    return is_held is not None


def complete_events(connection: sqlite3.Connection, leases: Sequence[Lease], owner: str, now: float) -> Sequence[bool]:
    """Which of these were held still."""
    held: list[bool] = []
    for attempts, same in groupby(leases, key=attrgetter("attempts")):
        for keys in _in_parts([lease.key for lease in same]):
            changed = connection.execute(_COMPLETE[len(keys)], (now, owner, attempts, *keys)).rowcount
            if 0 < changed < len(keys):
                held += _were_completed(connection, keys, now)
            else:
                held += [bool(changed)] * len(keys)
    completed = [lease.key for lease, was_held in zip(leases, held, strict=True) if was_held]
    for keys in _in_parts(completed):
        connection.execute(_FORGET_TARGETS[len(keys)], keys)
    connection.execute("UPDATE tally SET events = events + ? WHERE state = 'done'", (len(completed),))
    return held


def _were_completed(connection: sqlite3.Connection, keys: Sequence[int], now: float) -> Sequence[bool]:
    """The time tells: nobody else ends one of these at the same."""
    finished = connection.execute("SELECT key FROM event WHERE state = 'done' AND finished = ?", (now,))
    found = {key for (key,) in finished}
    return [key in found for key in keys]


def reschedule_event(
    connection: sqlite3.Connection, lease: Lease, owner: str, due: float | None, run: FailedRun
) -> bool:
    """For a later attempt, or for good where `due` is absent."""
    changed = connection.execute(
        f"UPDATE event SET state = ?, due = coalesce(?, due), error = ?, attempts = ?, owner = NULL WHERE {_HELD}",  # noqa: S608 - a constant
        (
            "dead" if due is None else "waiting", due, storable_text(run.reason), run.attempts,
            lease.key, owner, lease.attempts,
        ),
    )  # fmt: skip
    if changed.rowcount:
        _write_targets(connection, lease.key, run.targets)
    return bool(changed.rowcount)


def write_heartbeat(connection: sqlite3.Connection, holder: LeaseHolder, now: float, *, judges: bool = True) -> int:
    """Say that this process lives; one that `judges` frees what processes held that do not. Returns how many events.

    Times further ahead than any that are written were written before the clock was set back: nothing waits for them.
    """
    row = (holder.owner, now + holder.lease)
    connection.execute("INSERT OR REPLACE INTO owner (id, alive_until) VALUES (?, ?)", row)
    ahead = now + holder.lease + holder.longest
    connection.execute(
        "UPDATE event INDEXED BY event_due SET due = ? WHERE state = 'waiting' AND due > ?", (now, ahead)
    )
    if not judges:
        return 0
    connection.execute("DELETE FROM owner WHERE alive_until < ? OR alive_until > ?", (now, ahead))
    rescheduled = connection.execute(
        "UPDATE event INDEXED BY event_running"
        " SET state = 'waiting', owner = NULL, due = ?, error = 'the process that handled it ended'"
        " WHERE state = 'running' AND owner NOT IN (SELECT id FROM owner)",
        (now,),
    )
    return rescheduled.rowcount


def release_events(connection: sqlite3.Connection, owner: str, now: float) -> None:
    """Give back at once what this process still holds."""
    connection.execute(
        "UPDATE event INDEXED BY event_running SET state = 'waiting', owner = NULL, due = ?"
        " WHERE state = 'running' AND owner = ?",
        (now, owner),
    )
    connection.execute("DELETE FROM owner WHERE id = ?", (owner,))


def replay_events(connection: sqlite3.Connection, keys: Iterable[int], now: float, target: str | None = None) -> None:
    """From the beginning: every job or that of one target, all attempts. What runs just now is left alone."""
    for key in keys:
        found = connection.execute("SELECT state FROM event WHERE key = ?", (key,)).fetchone()
        changed = connection.execute(
            "UPDATE event SET state = 'waiting', attempts = 0, due = ?, finished = NULL, error = NULL"
            " WHERE key = ? AND state <> 'running'",
            (now, key),
        )
        if changed.rowcount and target is None:
            connection.execute("DELETE FROM target WHERE key = ?", (key,))
        elif changed.rowcount:
            others = {ALL_OTHERS: DONE} if found == ("done",) else {}
            _write_targets(connection, key, {**others, str(target): NEW})


_PURGED = {
    "done": "SELECT key FROM event INDEXED BY event_finished WHERE state = 'done' AND finished < ? LIMIT ?",
    "dead": "SELECT key FROM event INDEXED BY event_dead WHERE state = 'dead' AND received < ? LIMIT ?",
}


def purge_events(connection: sqlite3.Connection, state: str, before: float, limit: int = -1) -> int:
    """Delete events that were done, or that arrived and were given up, before a time; returns how many."""
    sql = _PURGED[state]
    connection.execute(f"DELETE FROM target WHERE key IN ({sql})", (before, limit))  # noqa: S608 - a constant
    return connection.execute(f"DELETE FROM event WHERE key IN ({sql})", (before, limit)).rowcount  # noqa: S608 - a constant


# What the commands at the shell see of an inbox file.

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
_LISTED_OF_TARGET = (
    "SELECT key, source, type, id, target.state, target.attempts, received, target.due, finished, target.error"
    " FROM target JOIN event USING (key) WHERE job = ? AND (? IS NULL OR target.state = ?) ORDER BY key DESC LIMIT ?"
)
_SELECT_FULL = f"SELECT {_COLUMNS}, coalesce(text, data), headers FROM event"  # noqa: S608 - constants


def count_by_state(connection: sqlite3.Connection) -> Mapping[str, float]:
    """Events by state."""
    by_state = dict(connection.execute("SELECT state, events FROM tally"))
    by_state["running"] = connection.execute("SELECT count(*) FROM event WHERE state = 'running'").fetchone()[0]
    return {state: float(by_state[state]) for state in STATES}


def list_events(
    connection: sqlite3.Connection, state: str | None, limit: int, target: str | None
) -> list[dict[str, Any]]:
    if target is None:
        return [_record_of_row(row) for row in connection.execute(_LISTED[state], (limit,))]
    return [_record_of_row(row) for row in connection.execute(_LISTED_OF_TARGET, (target, state, state, limit))]


def events_by_key(connection: sqlite3.Connection, keys: Iterable[int]) -> list[dict[str, Any]]:
    return [_record_of_row(row) for key in keys for row in connection.execute(f"{_SELECT} WHERE key = ?", (key,))]


def find_events(connection: sqlite3.Connection, word: str) -> list[dict[str, Any]]:
    rows = connection.execute(
        f"{_SELECT_FULL} WHERE id = ? OR id = ?", (json.dumps(word), storable_text(word))
    ).fetchall()
    if not rows and word.isascii() and word.isdigit():
        rows = connection.execute(f"{_SELECT_FULL} WHERE key = ?", (int(word[:18]),)).fetchall()
    records = []
    for row in rows:
        targets = record_of_targets(_targets_of_event(connection, row[0]))
        names = sorted({name.decode("latin-1") for name, _ in unpack_headers(row[-1])})
        records.append({**_record_of_row(row), **targets, "headers": names, "payload": row[-2]})
    return records


def _record_of_row(row: Sequence[Any]) -> dict[str, Any]:
    record = dict(zip(_COLUMNS.split(", "), row, strict=False))
    return {**record, "id": json.loads(record["id"])}


class FileInspection:
    """Reads without writing; whatever is wrong with the file is one clear error."""

    def __init__(self, path: str, *, write: bool) -> None:
        self._path = path
        self._connection = inbox_file.open_existing(path, write=write)

    def list_events(self, state: str | None, limit: int, target: str | None = None) -> list[dict[str, Any]]:
        return self._run_checked(lambda: list_events(self._connection, state, limit, target))

    def count_by_state(self) -> Mapping[str, float]:
        return self._run_checked(lambda: count_by_state(self._connection))

    def find_events(self, word: str) -> list[dict[str, Any]]:
        return self._run_checked(lambda: find_events(self._connection, word))

    def target_names(self) -> Collection[str]:
        sql = "SELECT job FROM target_name UNION SELECT job FROM target WHERE job <> ?"
        return self._run_checked(lambda: [name for (name,) in self._connection.execute(sql, (ALL_OTHERS,))])

    def replay_events(self, keys: Iterable[int], target: str | None = None) -> list[dict[str, Any]]:
        unique_keys = list(dict.fromkeys(keys))
        self._run_checked(
            lambda: self._in_transaction(lambda: replay_events(self._connection, unique_keys, time.time(), target))
        )
        return self._run_checked(lambda: events_by_key(self._connection, unique_keys))

    def purge_events(self, state: str, before: float) -> int:
        """A part at a time: whoever puts events into the file meanwhile waits for one part, not for all."""
        total = 0
        while True:
            purged = self._run_checked(
                lambda: self._in_transaction(lambda: purge_events(self._connection, state, before, PURGE_BATCH))
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

    def _run_checked(self, operation: Callable[[], T]) -> T:
        try:
            return operation()
        except (sqlite3.Error, ValueError, TypeError, AttributeError) as error:  # a damaged file holds anything
            raise CallsheetError(f"inbox {self._path}: {error}") from None

    def close(self) -> None:
        self._connection.close()
