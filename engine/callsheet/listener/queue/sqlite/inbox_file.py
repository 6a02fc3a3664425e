"""What an inbox file consists of, how one is recognised without touching it, and whether it is still that file."""

from __future__ import annotations

import contextlib
import errno
import os
import sqlite3
import stat
import struct
import time
from collections.abc import Callable
from typing import NamedTuple
from urllib.parse import quote

from ....errors import CallsheetError, UsageError

# What an inbox file consists of, and how one is recognised without touching it.

VERSION = 6
BUSY_WAIT = 3.0
_DIGEST_LENGTH = 32  # of an identity that is made of an event's content, as `verify/event.py` makes it
_TABLES = {
    "event": "key identity source type id received headers query data text state attempts due finished error owner",
    "owner": "id alive_until",
}
_CREATE = (
    """CREATE TABLE event (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  identity TEXT NOT NULL,
  source TEXT NOT NULL, type TEXT NOT NULL, id TEXT NOT NULL,
  received REAL NOT NULL, headers BLOB NOT NULL, query BLOB NOT NULL, data BLOB NOT NULL, text BLOB,
  state TEXT NOT NULL, attempts INTEGER NOT NULL, due REAL NOT NULL, finished REAL, error TEXT, owner TEXT
)""",
    "CREATE INDEX event_due ON event (due) WHERE state = 'waiting'",
    "CREATE INDEX event_finished ON event (finished) WHERE state = 'done'",
    "CREATE TABLE succeeded (key INTEGER NOT NULL, job TEXT NOT NULL, PRIMARY KEY (key, job)) WITHOUT ROWID",
    "CREATE TABLE owner (id TEXT PRIMARY KEY, alive_until REAL NOT NULL) WITHOUT ROWID",
)
# What every version before the present one gets, and a new file. An event is known by its id and its identity, which
# one index holds, because ids are random: each index over them costs a page of the file for every event. An identity
# that is a digest of the content says nothing of the id, so these are known by themselves; that some other identity
# ends alike does no harm. A file of an earlier version keeps an index of its own over identities.
_CREATE_IDENTITY = (
    "DROP INDEX IF EXISTS event_id",
    "CREATE UNIQUE INDEX event_id ON event (id, identity)",
    f"""CREATE UNIQUE INDEX event_digest ON event (identity)
WHERE substr(identity, {-_DIGEST_LENGTH - 2}, 2) IN ('/b', '/h')""",
)
# Events are listed by state, and counted without being looked at: a million of them cost as much as one. Each state has
# an index of its own, so that most changes touch one of them. Running events are few, and counted by theirs; whoever
# adds events or completes running ones counts them, once for all of a commit.
_CREATE_BY_STATE = (
    "DROP INDEX IF EXISTS event_owner",
    "DROP INDEX IF EXISTS event_state",
    *(f"DROP INDEX IF EXISTS event_{state}" for state in ("waiting", "running", "dead")),
    "CREATE INDEX event_waiting ON event (key) WHERE state = 'waiting'",
    "CREATE INDEX event_running ON event (owner) WHERE state = 'running'",
    "CREATE INDEX event_dead ON event (received) WHERE state = 'dead'",
    "DROP TABLE IF EXISTS tally",
    "CREATE TABLE tally (state TEXT PRIMARY KEY, events INTEGER NOT NULL) WITHOUT ROWID",
    "INSERT INTO tally VALUES ('waiting', 0), ('done', 0), ('dead', 0)",
    "UPDATE tally SET events = (SELECT count(*) FROM event WHERE event.state = tally.state)",
    *(f"DROP TRIGGER IF EXISTS {name}" for name in ("event_added", "event_moved", "event_removed")),
    """CREATE TRIGGER event_moved AFTER UPDATE OF state ON event
WHEN old.state <> new.state AND (old.state <> 'running' OR new.state <> 'done') BEGIN
  UPDATE tally SET events = events - 1 WHERE state = old.state;
  UPDATE tally SET events = events + 1 WHERE state = new.state;
END""",
    """CREATE TRIGGER event_removed AFTER DELETE ON event BEGIN
  UPDATE tally SET events = events - 1 WHERE state = old.state;
END""",
)
# What is known of an event that did not go through at once, target by target. First that was who succeeded.
_CREATE_TARGETS = (
    "ALTER TABLE succeeded RENAME TO target",
    "ALTER TABLE target ADD COLUMN state TEXT NOT NULL DEFAULT 'done'",
    "ALTER TABLE target ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE target ADD COLUMN due REAL NOT NULL DEFAULT 0",
    "ALTER TABLE target ADD COLUMN error TEXT",
    "CREATE INDEX target_job ON target (job, key)",
)
# The targets that listeners with this inbox have, for whoever names one at the shell.
_CREATE_NAMES = (
    "DROP TRIGGER IF EXISTS event_added",
    "CREATE TABLE target_name (job TEXT PRIMARY KEY) WITHOUT ROWID",
)
_WITH_TARGETS, _WITH_NAMES = 5, 6
# The statements by which a file of an earlier version becomes one of each version.
_STEPS = (
    (_WITH_TARGETS, (*_CREATE_IDENTITY, *_CREATE_BY_STATE, *_CREATE_TARGETS)),
    (_WITH_NAMES, _CREATE_NAMES),
)


class Unwritable(CallsheetError):
    """The disk is full or fails, which may pass."""


_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO) if hasattr(errno, "EDQUOT") else (errno.ENOSPC,)


def open_inbox(path: str) -> sqlite3.Connection:
    """For writing; made where it does not exist.

    Raises `UsageError` for what is no inbox, and leaves it alone; `Unwritable` where the disk takes nothing now.
    """
    try:
        check_is_inbox(path, allow_new=True)
        if not os.path.exists(path):
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
        return _connect_to_file(path, "rw", _prepare_tables)
    except OSError as error:
        raise (Unwritable if error.errno in _NO_SPACE else CallsheetError)(
            f"inbox {path}: {error.strerror or error}"
        ) from None


def open_existing(path: str, *, write: bool) -> sqlite3.Connection:
    """Raises `UsageError` where there is no inbox; changes nothing of a file that is none."""
    try:
        check_is_inbox(path, allow_new=False)
    except OSError as error:
        raise CallsheetError(f"inbox {path}: {error.strerror or error}") from None
    return _connect_to_file(path, *(("rw", _prepare_tables) if write else ("ro", _show_targets)))


def _show_targets(connection: sqlite3.Connection) -> None:
    """A file of an earlier version is read as it is."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < _WITH_TARGETS:
        connection.execute(
            "CREATE TEMP VIEW target AS"
            " SELECT key, job, 'done' AS state, 0 AS attempts, 0.0 AS due, NULL AS error FROM succeeded"
        )
    if version < _WITH_NAMES:
        connection.execute("CREATE TEMP VIEW target_name AS SELECT job FROM target")


def open_reader(path: str) -> sqlite3.Connection:
    """A second connection to an open inbox, which is not looked at again.

    A process that closes any file loses its locks on it. Without these, the next program that is done with the inbox
    deletes the log under this one.
    """
    return _connect_to_file(path, "ro", lambda _: None)


def check_is_inbox(path: str, *, allow_new: bool) -> None:
    """Judge a file by what it holds, through a connection that can neither write to it nor make files beside it."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        if allow_new:
            return
        raise UsageError(f"no inbox at {path}", hint="name the file that `webhook listen --inbox` was given") from None
    if not stat.S_ISREG(mode):
        raise UsageError(f"inbox {path}: {'is a directory' if stat.S_ISDIR(mode) else 'is not a file'}")
    with open(path, "rb") as file:
        magic = file.read(16)
    if not magic and allow_new:
        return
    if magic != b"SQLite format 3\0":
        raise UsageError(f"{path} is not an inbox: {'it is empty' if not magic else 'it is not a database'}")
    # The log beside the file may hold all of a young inbox; it is only read where there is one.
    parameters = "mode=ro" if _size_of_file(f"{path}-wal") else "immutable=1"
    try:
        with contextlib.closing(
            sqlite3.connect(_sqlite_uri(path, parameters), uri=True, timeout=BUSY_WAIT)
        ) as connection:
            _check_tables(connection, path, allow_new=allow_new)
    except (sqlite3.Error, ValueError) as error:
        raise _explained_error(path, error) from None


def _explained_error(path: str, error: Exception) -> CallsheetError:
    is_disk = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
    return (Unwritable if is_disk else UsageError)(f"inbox {path}: {error}")


def _size_of_file(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _sqlite_uri(path: str, parameters: str) -> str:
    full = os.path.abspath(path).replace(os.sep, "/")
    return f"file:{quote(full if full.startswith('/') else f'/{full}')}?{parameters}"


def _check_tables(connection: sqlite3.Connection, path: str, *, allow_new: bool) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    objects = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if not objects and not version and allow_new:
        return
    for table, columns in _TABLES.items():
        existing = {name for _, name, *_ in connection.execute(f"PRAGMA table_info({table})")}
        if not existing >= set(columns.split()):
            raise UsageError(f"{path} is a database, but not an inbox")
    if not 1 <= version <= VERSION:
        raise UsageError(f"inbox {path}: it was written by another version of this program ({version})")


def _connect_to_file(path: str, mode: str, prepare: Callable[[sqlite3.Connection], None]) -> sqlite3.Connection:
    connection = sqlite3.connect(
        _sqlite_uri(path, f"mode={mode}"), uri=True, timeout=BUSY_WAIT, isolation_level=None, check_same_thread=False
    )
    try:
        prepare(connection)
    except (sqlite3.Error, ValueError) as error:
        connection.close()
        raise _explained_error(path, error) from None
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare_tables(connection: sqlite3.Connection) -> None:
    """Tables first, the write-ahead log afterwards: so the file itself always says that it is an inbox."""
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA temp_store = MEMORY")  # what a statement for many rows would note beside the file
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != VERSION:
        _bring_up_to_date(connection)
    _enable_wal(connection)


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < VERSION:  # else another process was faster
        steps = (statement for step, statements in _STEPS if version < step for statement in statements)
        for statement in (*(() if version else _CREATE), *steps):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
    connection.execute("COMMIT")


def _enable_wal(connection: sqlite3.Connection) -> None:
    """Several processes may start at once, and SQLite does not wait for its turn to change this."""
    deadline = time.monotonic() + BUSY_WAIT
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)
        else:
            return


# Whether an inbox that is in use still holds what SQLite wrote: another program may overwrite or truncate it.
#
# SQLite does not look for that: it goes on writing, and what it wrote cannot be read any more after a restart. The
# layout of the three files is at https://www.sqlite.org/fileformat2.html and https://www.sqlite.org/walformat.html.

_HEADER = 100  # bytes
_WAL_HEADER, _FRAME_HEADER, _INDEX_HEADER = 32, 24, 48
_WAL_MAGIC = (0x377F0682, 0x377F0683)
_SAMPLES = 1000  # frames of the log that are looked at, so that a log of any length costs some milliseconds at most


class _Header(NamedTuple):
    """What never changes in a file, and the counters that never go back."""

    constant: bytes
    changes: int
    version: int
    page_size: int
    pages: int
    size: int


class Contents:
    """`path` is open. The files stay open here too: to close one takes the locks that SQLite has on it."""

    def __init__(self, path: str) -> None:
        self._names = (path, f"{path}-wal", f"{path}-shm")
        self._files = [os.open(name, os.O_RDONLY | getattr(os, "O_BINARY", 0)) for name in self._names]
        self._header = self._read_header()
        self._problem: str | None = None

    def problem(self) -> str | None:
        """To be asked inside a transaction that writes: nobody else adds to the log meanwhile. Damage lasts."""
        if self._problem is None:
            try:
                name = self._is_damaged()
            except OSError:  # a disk that fails is noticed by what is written
                return None
            if name is not None:
                self._problem = (
                    f"{name} was overwritten or truncated by another program: "
                    "stop the listener, restore the file and start it again"
                )
        return self._problem

    def _is_damaged(self) -> str | None:
        header = self._read_header()
        if not _is_continued_by(self._header, header):
            return self._names[0]
        self._header = header
        return None if self._log_is_whole() else self._names[1]

    def _read_header(self) -> _Header | None:
        data = self._read_at(0, 0, _HEADER)
        if len(data) < _HEADER:
            return None
        (page_size,) = struct.unpack_from(">H", data, 16)
        changes, pages = struct.unpack_from(">II", data, 24)
        (version,) = struct.unpack_from(">I", data, 60)
        size = os.fstat(self._files[0]).st_size
        return _Header(data[:24] + data[56:60], changes, version, 65536 if page_size == 1 else page_size, pages, size)

    def _log_is_whole(self) -> bool:
        """Every frame up to the last that counts bears the mark of the log as it is now."""
        index = self._read_at(2, 0, _INDEX_HEADER)
        if len(index) < _INDEX_HEADER:
            return True
        page_size, frames = struct.unpack_from("=HI", index, 14)
        mark = index[32:40]
        if not frames:
            return True
        header = self._read_at(1, 0, _WAL_HEADER)
        if len(header) < _WAL_HEADER or struct.unpack_from(">I", header)[0] not in _WAL_MAGIC or header[16:24] != mark:
            return False
        frame_size = _FRAME_HEADER + (65536 if page_size == 1 else page_size)
        looked_at = (*range(0, frames - 1, max(1, frames // _SAMPLES)), frames - 1)
        return all(self._read_at(1, _WAL_HEADER + frame * frame_size + 8, 8) == mark for frame in looked_at)

    def _read_at(self, file: int, position: int, size: int) -> bytes:
        os.lseek(self._files[file], position, os.SEEK_SET)
        return os.read(self._files[file], size)

    def close(self) -> None:
        """After SQLite has closed them."""
        for file in self._files:
            os.close(file)


def _is_continued_by(before: _Header | None, now: _Header | None) -> bool:
    """A file grows after its header says so, and shrinks (VACUUM) after its header says so."""
    if before is None or now is None:
        return before is None
    goes_back = now.changes < before.changes or now.version < before.version
    is_cut_off = now.size < min(before.size, now.pages * now.page_size)
    return now.constant == before.constant and not goes_back and not is_cut_off


# Whether an open inbox is still the file of that name, and whole: what is written to any other is lost.

_Identity = tuple[int, int]


class Whereabouts:
    """`path` is open, and so is the log beside it."""

    def __init__(self, path: str) -> None:
        self._found = {name: _identity_of_file(name) for name in (path, f"{path}-wal")}
        self._contents = Contents(path)

    def problem(self) -> str | None:
        """To be asked inside a transaction that writes."""
        for name, found in self._found.items():
            if _identity_of_file(name, found) != found:
                return f"{name} was moved, replaced or deleted: put it back, or start the listener again"
        return self._contents.problem()

    def close(self) -> None:
        """After SQLite has closed the file."""
        self._contents.close()


def _identity_of_file(path: str, otherwise: _Identity | None = None) -> _Identity | None:
    """Nothing where there is no file; `otherwise` where that cannot be seen now."""
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return otherwise
    return found.st_dev, found.st_ino
