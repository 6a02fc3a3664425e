"""What a simulated site holds: items by entity and id, in memory or in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from typing import Any
from urllib.parse import quote

import msgspec

from ..errors import UsageError

Item = dict[str, Any]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS item (
  entity TEXT NOT NULL, id TEXT NOT NULL, owner TEXT, data BLOB NOT NULL, position INTEGER PRIMARY KEY
);
CREATE UNIQUE INDEX IF NOT EXISTS item_id ON item (entity, id);
CREATE INDEX IF NOT EXISTS item_order ON item (entity, position);
CREATE INDEX IF NOT EXISTS item_owner ON item (entity, owner, position);
CREATE TABLE IF NOT EXISTS name (entity TEXT NOT NULL, name TEXT NOT NULL, id TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS name_name ON name (entity, name);
CREATE INDEX IF NOT EXISTS name_id ON name (entity, id);
CREATE TABLE IF NOT EXISTS counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS file (id TEXT PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""
_MARK = 0x53414E44  # in the header of the file: it belongs to a sandbox
_COLUMNS = {
    "item": "entity, id, owner, data, position",
    "name": "entity, name, id",
    "counter": "name, value",
    "file": "id, content",
    "meta": "name, value",
}
_BATCH = 200
_REQUEST, _TRIAL = "request", "trial"  # savepoints: the one may stand within the other
_ANOTHER = "restore a copy of it, or name another file"
StateError = sqlite3.Error  # the file cannot be read or written any more
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


def refuse_other_file(path: str) -> None:
    """Raises `UsageError` for what is there already and is not the file of a sandbox; nothing in it is changed."""
    if not path:
        raise UsageError("the name of the state file is empty", hint="name a file that does not exist yet")
    if not os.path.lexists(path):
        if not os.path.isdir(os.path.dirname(path) or "."):
            raise UsageError(f"{path}: the folder does not exist")
        return
    problem = f"{path} is not the file of a sandbox"
    hint = "name a file that does not exist yet"
    if not os.path.isfile(path) or os.path.getsize(path) == 0:
        raise UsageError(problem, hint=hint)
    try:
        with closing(sqlite3.connect(f"file:{quote(path)}?mode=ro", uri=True)) as connection:
            mark = connection.execute("PRAGMA application_id").fetchone()[0]
    except sqlite3.Error as error:
        raise UsageError(f"{problem}, or it is damaged: {error}", hint=hint) from None
    if mark != _MARK:
        raise UsageError(problem, hint=hint)


def _refuse_damaged_file(connection: sqlite3.Connection, path: str) -> None:
    """Raises `UsageError` where a request would fail half-way through what the file holds."""
    try:
        found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        if found != "ok":
            raise sqlite3.DatabaseError(found)
        for table, columns in _COLUMNS.items():
            connection.execute(f"SELECT {columns} FROM {table} LIMIT 1")  # noqa: S608  names of ours
        for entity, id, data in connection.execute("SELECT entity, id, data FROM item"):
            try:
                _decode(data)
            except (msgspec.DecodeError, TypeError) as error:
                raise sqlite3.DataError(f"{entity} {id}: {error}") from None
    except sqlite3.Error as error:
        raise UsageError(f"{path} is damaged: {' '.join(str(error).split())}", hint=_ANOTHER) from None


class State:
    """Items are plain tables with an `id`; `of` is the id of what one belongs to. One thread at a time."""

    def __init__(self, path: str | None = None) -> None:
        if path:
            refuse_other_file(path)
        self.changes = 0  # how often something was put, deleted or taken back
        self._path = path
        is_new = not path or not os.path.exists(path)
        with ExitStack() as undo:
            try:
                self._connection = sqlite3.connect(path or ":memory:", isolation_level=None)
                undo.callback(self.close)
                if not is_new:
                    _refuse_damaged_file(self._connection, str(path))
                if path:
                    self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
                self._connection.executescript(f"PRAGMA application_id = {_MARK}; {_SCHEMA}")
            except sqlite3.Error as error:
                raise UsageError(f"cannot open {path}: {error}", hint="name a file that you can write to") from None
            undo.pop_all()

    def close(self) -> None:
        self._connection.close()

    def describe_failure(self, error: StateError) -> str:
        """What a request is answered where the file failed."""
        return f"the sandbox cannot use its state file {self._path}: {error}; stop it, then {_ANOTHER}"

    def __enter__(self) -> None:
        """A request's changes happen together or not at all."""
        self._connection.execute(f"SAVEPOINT {_REQUEST}")

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._take_back(_REQUEST)
            return
        try:
            self._connection.execute(f"RELEASE {_REQUEST}")
        except sqlite3.Error:
            self._take_back(_REQUEST)
            raise

    @contextmanager
    def taken_back(self) -> Iterator[None]:
        """Whatever is changed in the block, by several requests, is as before at its end."""
        self._connection.execute(f"SAVEPOINT {_TRIAL}")
        try:
            yield
        finally:
            self._take_back(_TRIAL)

    def _take_back(self, savepoint: str) -> None:
        self.changes += 1
        if self._connection.in_transaction:  # some failures of the file have ended it already
            self._connection.execute(f"ROLLBACK TO {savepoint}")
            self._connection.execute(f"RELEASE {savepoint}")

    def put_item(self, entity: str, item: Item, names: Iterable[str] = ()) -> None:
        """Add an item, or put it in the place of the one with its id."""
        self.changes += 1
        row = (str(item["of"]) if item.get("of") is not None else None, _encode(item), entity, str(item["id"]))
        if not self._connection.execute(
            "UPDATE item SET owner = ?, data = ? WHERE entity = ? AND id = ?", row
        ).rowcount:
            self._connection.execute("INSERT INTO item (owner, data, entity, id) VALUES (?, ?, ?, ?)", row)
        self._connection.execute("DELETE FROM name WHERE entity = ? AND id = ?", (entity, str(item["id"])))
        rows = [(entity, name.casefold(), str(item["id"])) for name in names]
        self._connection.executemany("INSERT INTO name (entity, name, id) VALUES (?, ?, ?)", rows)

    def get(self, entity: str, id: str) -> Item | None:
        sql = "SELECT data FROM item WHERE entity = ? AND id = ?"
        row = self._connection.execute(sql, (entity, id)).fetchone()
        return _decode(row[0]) if row else None

    def item_named(self, entity: str, name: str) -> Item | None:
        """The item that is called so, in any letters: the oldest one of several."""
        sql = "SELECT id FROM name WHERE entity = ? AND name = ? ORDER BY rowid LIMIT 1"
        row = self._connection.execute(sql, (entity, name.casefold())).fetchone()
        return self.get(entity, row[0]) if row else None

    def delete_item(self, entity: str, id: str) -> None:
        self.changes += 1
        for table in ("item", "name"):
            self._connection.execute(f"DELETE FROM {table} WHERE entity = ? AND id = ?", (entity, id))  # noqa: S608  a name of ours

    def items(self, entity: str, owner: str | None = None) -> Iterator[Item]:
        """In the order in which they were made, some at a time: what is done between two of them is seen."""
        position = -1
        condition = "" if owner is None else " AND owner = ?"
        sql = f"SELECT position, data FROM item WHERE entity = ?{condition} AND position > ? ORDER BY position LIMIT ?"  # noqa: S608  a condition of ours
        given = (entity,) if owner is None else (entity, owner)
        while rows := self._connection.execute(sql, (*given, position, _BATCH)).fetchall():
            for _, data in rows:
                yield _decode(data)
            position = rows[-1][0]
            if len(rows) < _BATCH:
                return

    def next_number(self, counter: str, start: int = 1) -> int:
        """The next number of a counter."""
        sql = "INSERT INTO counter VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value"
        return int(self._connection.execute(sql, (counter, start)).fetchall()[0][0])

    def content(self) -> dict[tuple[str, str], bytes]:
        """All items by entity and id, as they are kept."""
        rows = self._connection.execute("SELECT entity, id, data FROM item")
        return {(entity, id): data for entity, id, data in rows}

    def put_file(self, id: str, content: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO file VALUES (?, ?)", (id, content))

    def file_content(self, id: str) -> bytes | None:
        row = self._connection.execute("SELECT content FROM file WHERE id = ?", (id,)).fetchone()
        return bytes(row[0]) if row else None

    def clear_items(self) -> None:
        self.changes += 1
        for table in ("item", "name", "counter", "file", "meta"):
            self._connection.execute(f"DELETE FROM {table}")  # noqa: S608  a name of ours

    def read_meta(self) -> Mapping[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM meta").fetchall())

    def set_meta(self, name: str, value: str) -> None:
        self._connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))
