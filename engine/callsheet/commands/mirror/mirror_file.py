"""The file of a mirror, and the tables that it has for each resource."""

# ruff: noqa: S608 - the names of tables and columns are made of letters, digits and underscores (`ResourceTable`)

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import CallsheetError, UsageError
from ...files import PRIVATE, refuse_irregular
from ...jsontext import dump_json, parse_json
from ...language.desugar import plural_of
from ...language.parameters import to_identifier
from ...output.columns import from_definition

if TYPE_CHECKING:
    from ...language.shape.commands import ViewDefinition
    from ...language.shape.resources import ResourceDefinition
    from ..resources import Thing, Things


# The tables of a mirror: one for each resource, with what is known of its things and the untouched JSON.


KEPT = ("name", "text", "data", "changed_at", "read_at", "gone_at")
FILE = "file"
_WORD = re.compile(r"[\W_]+")
_TIMES = frozenset({"age", "date", "time"})  # formats of columns
_ZONE = re.compile(r"(?<=\d)([+-]\d\d)(\d\d)$")
_LARGEST = 2**63


class MirrorRow(NamedTuple):
    """One thing as a table has it: `values` by column."""

    id: str
    values: dict[str, Any]


class ResourceTable:
    """The table of one resource. Its columns follow from the definition, so that a changed one changes the table."""

    def __init__(self, things: Things, view: ViewDefinition | None, text: Callable[[Thing], str | None]) -> None:
        self.things, self.name = things, table_name(things.resource)
        self.parents = {id: f"{column_name(id)}_id" for id in things.parent_resources}
        self._text = text
        self._view = {name: value for name, value in columns_of_view(view) if name not in self._fixed_columns}

    @property
    def _fixed_columns(self) -> set[str]:
        return {"rowid", "id", *self.parents.values(), *self.kept_columns}

    @property
    def column_names(self) -> list[str]:
        return ["id", *self.parents.values(), *self._view, *self.kept_columns]

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """With where the bytes of a file are."""
        return (*KEPT, FILE) if "content" in self.things.definition else KEPT

    @property
    def key_columns(self) -> list[str]:
        """A thing that is read by its id alone has one of its own; another one has it below its parent."""
        definition = self.things.definition
        reading = dump_json(definition.get("read", {}).get("args", {}))
        own = "read" in definition and not any(f"{{{to_identifier(id)}}}" in reading for id in self.parents)
        if not self.parents or (own and "inside" not in definition.get("list", {})):
            return ["id"]
        return [next(iter(self.parents.values())), "id"]

    def create_sql(self) -> str:
        """The statements that make the table, one a line."""
        parents = {column: table_name(id) for id, column in self.parents.items()}
        lines = ["id TEXT NOT NULL"]
        lines += [
            f'"{column}" TEXT{" REFERENCES " + quoted_name(table) if self.things.resource != table else ""}'
            for column, table in parents.items()
        ]
        lines += [f'"{column}"' for column in self._view]
        lines += [f"{column} TEXT" for column in self.kept_columns]
        lines.append(f"PRIMARY KEY ({', '.join(quoted_name(column) for column in self.key_columns)})")
        indexed = ["read_at", *[column for column in list(self.parents.values())[:1] if column not in self.key_columns]]
        made = [f'CREATE TABLE "{self.name}" ({", ".join(lines)})']
        made += [f'CREATE INDEX "{self.name} by {each}" ON "{self.name}" ("{each}")' for each in indexed]
        return "\n".join(made)

    def indexed_words(self, values: Mapping[str, Any]) -> str:
        """What a list shows of the thing, for the full-text index."""
        return " ".join(found for name in self._view if isinstance(found := values.get(name), str))

    def mirror_row(self, thing: Thing, parents: Mapping[str, str], read_at: str) -> MirrorRow:
        things = self.things
        found = things.parents_of(thing, parents)
        changed = things.changed_of(thing)
        values = {column: found.get(id) for id, column in self.parents.items()}
        values |= {name: sql_value(value(thing)) for name, value in self._view.items()}
        values |= {
            "name": things.name_of(thing),
            "text": self._text(thing),
            "data": dump_json(thing),
            "changed_at": changed.isoformat() if changed else None,
            "read_at": read_at,
            "gone_at": None,
        }
        return MirrorRow(
            storable_text(things.id_of(thing)),
            {column: storable_text(each) if isinstance(each, str) else each for column, each in values.items()},
        )


def storable_text(text: str) -> str:
    """SQLite has no half of a surrogate pair."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def column_name(name: str) -> str:
    """What others call something, with letters, digits and underscores alone."""
    return _WORD.sub("_", name.casefold()).strip("_") or "_"


def table_name(resource: str) -> str:
    """`issue-type` → `issue_types`, `priority` → `priorities`."""
    name = column_name(resource)
    if re.search("[^aeiou]y$", name):
        return f"{name[:-1]}ies"
    return f"{name}es" if re.search("(?:s|x|ch|sh)$", name) else f"{name}s"


def view_name(resource: str) -> str:
    """`issue-type` → `issue_type`; the names of the mirror's own tables are taken."""
    name = column_name(resource)
    return f"{name}_" if name == "search" or name.startswith("mirror_") else name


def view_sql(view: str, table: str, columns: Sequence[str], parents: Mapping[str, str]) -> str:
    """`parents` are the columns with the id of another thing → the table of that."""
    names = {
        column.removesuffix("_id"): f"(SELECT name FROM {quoted_name(parent)} p WHERE p.id = t.{quoted_name(column)})"
        for column, parent in parents.items()
    }
    listed = [quoted_name(column) for column in columns if column != "gone_at" and column not in names]
    listed += [f"{value} AS {quoted_name(name)}" for name, value in names.items()]
    select = f"SELECT {', '.join(listed)} FROM {quoted_name(table)} t WHERE gone_at IS NULL"
    return f"CREATE VIEW {quoted_name(view)} AS {select}"


def columns_of_view(view: ViewDefinition | None) -> Iterator[tuple[str, Callable[[Any], Any]]]:
    """Their names in a table, and what each is of a thing."""
    for definition in view["columns"] if view else ():
        column = from_definition(definition)
        is_time = definition.get("format") in _TIMES
        yield column_name(column.name), _readable_time(column.value) if is_time else column.value


def _readable_time(value: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A zone as SQLite's functions read it: trackers write +0000, they want +00:00."""

    def found(thing: Any) -> Any:
        time = value(thing)
        return _ZONE.sub(r"\1:\2", time) if isinstance(time, str) else time

    return found


def resource_called(word: str, resources: Mapping[str, ResourceDefinition]) -> str:
    """The resource that a person means by its id or by its plural: `issue`, `issues`; else the word itself."""
    plurals = {name: id for id, definition in resources.items() for name in (plural_of(id, definition), table_name(id))}
    return word if word in resources else plurals.get(word, word)


def sql_value(value: Any) -> Any:
    """A number stays one; what SQL has no word for is JSON."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value if -_LARGEST <= value < _LARGEST else str(value)
    return value if value is None or isinstance(value, str | float) else dump_json(value)


def quoted_name(name: str) -> str:
    return f'"{name}"'


# The file of a mirror: its tables, what was read of which resource, and a full-text index.


_FORMAT = 2
_APPLICATION = 0x63616C6C  # "call": what tells the file of a mirror from other SQLite files
_SCHEMA = """
CREATE TABLE mirror_site (site TEXT NOT NULL, program TEXT NOT NULL);
CREATE TABLE mirror_resource (number INTEGER PRIMARY KEY, resource TEXT UNIQUE, name TEXT, schema TEXT);
CREATE TABLE mirror_part (resource TEXT, part TEXT, cursor TEXT, state TEXT, compared_at TEXT,
  PRIMARY KEY (resource, part)) WITHOUT ROWID;
CREATE VIRTUAL TABLE search USING fts5(resource UNINDEXED, id UNINDEXED, name, words, text, tokenize = 'unicode61');
"""
# What other stores have to be told: which file it is, and what is not in it any more.
_SINCE_2 = """
ALTER TABLE mirror_site ADD COLUMN id TEXT;
UPDATE mirror_site SET id = lower(hex(randomblob(16)));
CREATE TABLE mirror_pruned (table_name TEXT, key TEXT, at TEXT)
"""
_INDEXES = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL"
WHOLE = ""  # the part of what is not read under a parent
QUERY = "query"  # the part whose state is the query that a resource was narrowed by first
_TIME = "[0-9][0-9][0-9][0-9]-[0-1][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]*"
_ROWS_OF_ONE = 1 << 40  # rows of the index that belong to one resource


class MirrorFile:
    """An open mirror; everything that is written in one `transaction` is there, or none of it."""

    def __init__(self, path: str, program: str, site: str) -> None:
        """Raises `UsageError` for a file that is not a mirror, or that of another site."""
        self.path = path
        if os.path.isdir(path):
            raise UsageError(f"{path} is a directory", hint="name a file")
        with _faults_in_words(path):
            self._is_new = not os.path.exists(path)
            if not self._is_new:
                refuse_irregular(path)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT, PRIVATE))
            self._status = os.stat(path)
            self._connection = sqlite3.connect(path, isolation_level=None, timeout=30)
        try:
            with _faults_in_words(path):
                self._open_database(program, site)
        except BaseException:
            self._connection.close()
            raise

    def _open_database(self, program: str, site: str) -> None:
        with self.transaction():  # of two runs that make the same file, one finds it made
            application, version, objects = (
                self._connection.execute(sql).fetchone()[0]
                for sql in ("PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema")
            )
            if not application and not objects:
                for statement in _SCHEMA.split(";\n"):
                    self._connection.execute(statement)
                self._connection.execute("INSERT INTO mirror_site VALUES (?, ?)", (site, program))
                self._connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                version = 1
            elif application != _APPLICATION:
                raise UsageError(f"{self.path} is not a mirror", hint="name a new file, or one that this command made")
            elif version > _FORMAT:
                raise UsageError(f"{self.path} was made by a newer version of {program}")
            if version < _FORMAT:
                for statement in _SINCE_2.split(";\n"):
                    self._connection.execute(statement)
                self._connection.execute(f"PRAGMA user_version = {_FORMAT}")
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        # What refers to a table that is made anew goes on to do so.
        self._connection.execute("PRAGMA legacy_alter_table = ON")
        known = self._connection.execute("SELECT site FROM mirror_site").fetchone()
        if known is not None and known[0] != site:
            raise UsageError(f"{self.path} mirrors {known[0]}, not {site}", hint="take a file of its own for each site")

    def close(self) -> None:
        """Leaves one file, unless somebody reads it now: then two others stay beside it, as SQLite needs them.

        One that this run made and put nothing into goes.
        """
        is_empty = False
        with closing(self._connection), suppress(sqlite3.Error):
            self._connection.execute("PRAGMA journal_mode = DELETE")
            is_empty = self._is_new and self._one_row("SELECT 1 FROM mirror_part") is None
        if is_empty:
            with suppress(OSError):
                os.remove(self.path)

    def check_still_there(self) -> None:
        """Raise `CallsheetError` where the file was removed or replaced meanwhile: what was written went with it."""
        try:
            is_same = os.path.samestat(os.stat(self.path), self._status)
        except OSError:
            is_same = False
        if not is_same:
            raise CallsheetError(f"{self.path} was removed while it was written", hint="run the same command again")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with _faults_in_words(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk has ended it already
                    self._connection.execute("ROLLBACK")
                raise

    def add_table(self, table: ResourceTable) -> None:
        """Make the table, or make it anew out of the JSON that is kept where its definition has changed."""
        schema = table.create_sql()
        with self.transaction():
            known = self._one_row("SELECT schema FROM mirror_resource WHERE resource = ?", table.things.resource)
            if known == (schema,):
                return
            if known is None:
                self._make_schema(schema)
                values = (table.things.resource, table.name, schema)
                self._connection.execute(
                    "INSERT INTO mirror_resource (resource, name, schema) VALUES (?, ?, ?)", values
                )
                return
            old = f"{table.name} before"
            self._connection.execute(f'ALTER TABLE "{table.name}" RENAME TO "{old}"')
            for (name,) in self._connection.execute(_INDEXES, (old,)).fetchall():
                self._connection.execute(f'DROP INDEX "{name}"')
            self._make_schema(schema)
            sql = "UPDATE mirror_resource SET schema = ? WHERE resource = ?"
            self._connection.execute(sql, (schema, table.things.resource))
            self._forget_texts(table)
            columns = {row[1] for row in self._connection.execute(f'PRAGMA table_info("{old}")')}
            parents = {id: column for id, column in table.parents.items() if column in columns}
            file = FILE if FILE in columns and FILE in table.kept_columns else "NULL"
            listed = ", ".join(["data", "read_at", "gone_at", file, *(f'"{name}"' for name in parents.values())])
            for data, read_at, gone_at, place, *ids in self._connection.execute(f'SELECT {listed} FROM "{old}"'):
                under = {id: found for id, found in zip(parents, ids, strict=True) if found is not None}
                row = table.mirror_row(parse_json(data), under, read_at)
                row.values.update({"gone_at": gone_at, FILE: place})
                self._put_row(table, row.id, row.values)
            self._connection.execute(f'DROP TABLE "{old}"')

    def _make_schema(self, schema: str) -> None:
        for statement in schema.splitlines():
            self._connection.execute(statement)

    def make_views(self) -> None:
        """For each table what is there now, with the names of what each thing belongs to, called like one thing."""
        listed = "SELECT resource, name FROM mirror_resource"
        tables = {name: resource for resource, name in self._connection.execute(listed)}
        with self.transaction():
            for table, resource in tables.items():
                above = self._connection.execute(f"PRAGMA foreign_key_list({quoted_name(table)})").fetchall()
                names = {column: parent for _, _, parent, column, *_ in above if self.key_of_table(parent) == ["id"]}
                view = view_name(resource)
                sql = view_sql(view, table, self.columns_of_table(table), names)
                if self._one_row("SELECT sql FROM sqlite_schema WHERE name = ?", view) != (sql,):
                    self._connection.execute(f"DROP VIEW IF EXISTS {quoted_name(view)}")
                    self._connection.execute(sql)

    def put_rows(self, table: ResourceTable, rows: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
        for id, values in rows:
            self._put_row(table, id, values)

    def _put_row(self, table: ResourceTable, id: str, values: Mapping[str, Any]) -> None:
        columns = table.column_names
        holes = ", ".join("?" * len(columns))
        changed = ", ".join(f'"{name}" = excluded."{name}"' for name in columns if name not in table.key_columns)
        key = ", ".join(f'"{name}"' for name in table.key_columns)
        listed = ", ".join(f'"{name}"' for name in columns)
        sql = f'INSERT INTO "{table.name}" ({listed}) VALUES ({holes})'
        said = [id if name == "id" else values.get(name) for name in columns]
        stored = f"{sql} ON CONFLICT ({key}) DO UPDATE SET {changed} RETURNING rowid"
        row = self._connection.execute(stored, said).fetchone()[0]
        place = self._first_row(table) + row
        self._connection.execute("DELETE FROM search WHERE rowid = ?", (place,))
        sql = "INSERT INTO search (rowid, resource, id, name, words, text) VALUES (?, ?, ?, ?, ?, ?)"
        words = values.get("name"), table.indexed_words(values), values.get("text")
        if any(words):
            self._connection.execute(sql, (place, table.things.resource, id, *words))

    def _first_row(self, table: ResourceTable) -> int:
        number = self._one_row("SELECT number FROM mirror_resource WHERE resource = ?", table.things.resource)
        return int(number[0] if number else 0) * _ROWS_OF_ONE

    def _forget_texts(self, table: ResourceTable) -> None:
        first = self._first_row(table)
        self._connection.execute("DELETE FROM search WHERE rowid >= ? AND rowid < ?", (first, first + _ROWS_OF_ONE))

    # Files

    def without_file(self, table: ResourceTable) -> list[tuple[int, str | None, str]]:
        """Row, first parent and JSON of what is there and has no bytes yet, or was changed since."""
        above = next((f'"{column}"' for column in table.parents.values()), "NULL")
        sql = f'SELECT rowid, {above}, data FROM "{table.name}" WHERE gone_at IS NULL AND {FILE} IS NULL'
        return self._connection.execute(sql).fetchall()

    def set_file(self, table: ResourceTable, row: int, path: str) -> None:
        self._connection.execute(f'UPDATE "{table.name}" SET {FILE} = ? WHERE rowid = ?', (path, row))

    # What other stores get

    @property
    def file_identity(self) -> str:
        """Another one for each file, also for one that is made anew under the same name."""
        return str((self._one_row("SELECT id FROM mirror_site") or ("",))[0])

    def table_statements(self) -> dict[str, str]:
        """Table → the statements that made it."""
        return dict(self._connection.execute("SELECT name, schema FROM mirror_resource ORDER BY number"))

    def columns_of_table(self, table: str) -> list[str]:
        return [row[1] for row in self._connection.execute(f"PRAGMA table_info({quoted_name(table)})")]

    def key_of_table(self, table: str) -> list[str]:
        """The columns that tell one row from all others, as `pruned_since` has their values."""
        found = [(row[5], row[1]) for row in self._connection.execute(f"PRAGMA table_info({quoted_name(table)})")]
        return [name for place, name in sorted(found) if place]

    def value_kinds(self, table: str, column: str) -> tuple[set[str], bool]:
        """SQLite's types of the values of a column, and whether each is a time."""
        name = quoted_name(column)
        sql = f"SELECT DISTINCT typeof({name}), {name} GLOB ? FROM {quoted_name(table)} WHERE {name} IS NOT NULL"
        found = self._connection.execute(sql, (_TIME,)).fetchall()
        return {kind for kind, _ in found}, bool(found) and all(is_time for _, is_time in found)

    def changed_since(self, table: str, since: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """What was written or found gone later than at a time; all where that is empty."""
        listed = ", ".join(map(quoted_name, columns))
        sql = f"SELECT {listed} FROM {quoted_name(table)} WHERE read_at > ? OR gone_at > ?"
        yield from self._connection.execute(sql, (since, since))

    def pruned_since(self, table: str, since: str) -> Iterator[list[Any]]:
        """The keys of what was deleted later than at a time and did not come back."""
        same = " AND ".join(
            f"{quoted_name(name)} IS p.key ->> {place}" for place, name in enumerate(self.key_of_table(table))
        )
        sql = (
            "SELECT DISTINCT p.key FROM mirror_pruned p WHERE p.table_name = ? AND p.at > ? "
            f"AND NOT EXISTS (SELECT 1 FROM {quoted_name(table)} WHERE {same})"
        )
        for (text,) in self._connection.execute(sql, (table, since)):
            yield parse_json(text)

    # What was read

    def part_cursor(self, resource: str, part: str) -> str | None:
        """The latest change that was read, as the service tells it."""
        row = self._one_row("SELECT cursor FROM mirror_part WHERE resource = ? AND part = ?", resource, part)
        return row[0] if row else None

    def part_state(self, resource: str, part: str) -> str | None:
        row = self._one_row("SELECT state FROM mirror_part WHERE resource = ? AND part = ?", resource, part)
        return row[0] if row else None

    def compared_at(self, resource: str, part: str) -> str | None:
        row = self._one_row("SELECT compared_at FROM mirror_part WHERE resource = ? AND part = ?", resource, part)
        return row[0] if row else None

    def note_part(self, resource: str, part: str, **said: str | None) -> None:
        names = ", ".join(said)
        changed = ", ".join(f"{name} = excluded.{name}" for name in said)
        self._connection.execute(
            f"INSERT INTO mirror_part (resource, part, {names}) VALUES (?, ?{', ?' * len(said)}) "
            f"ON CONFLICT DO UPDATE SET {changed}",
            (resource, part, *said.values()),
        )

    def read_rows(self, table: ResourceTable, part: str | None, *columns: str) -> Iterator[tuple[Any, ...]]:
        """Columns of the things that are there, below one parent or all."""
        names = ", ".join(f'"{name}"' for name in columns)
        where, values = self._below_part(table, part)
        sql = f'SELECT {names} FROM "{table.name}" WHERE gone_at IS NULL AND {where}'
        yield from self._connection.execute(sql, values)

    def written_since(
        self, table: ResourceTable, part: str | None, since: str, most: int
    ) -> Iterator[list[tuple[int, str, str]]]:
        """Row, id and JSON of the things that were new or different since a run, so many at once."""
        where, values = self._below_part(table, part)
        sql = f'SELECT DISTINCT read_at FROM "{table.name}" WHERE read_at >= ? ORDER BY 1'
        for (stamp,) in self._connection.execute(sql, (since,)).fetchall():
            sql = (
                f'SELECT rowid, id, data FROM "{table.name}" WHERE read_at = ? AND rowid > ? AND gone_at IS NULL '
                f"AND {where} ORDER BY rowid LIMIT {most}"
            )
            row = 0
            while batch := self._connection.execute(sql, (stamp, row, *values)).fetchall():
                yield batch
                row = batch[-1][0]

    def kept_json(self, table: ResourceTable, row: MirrorRow) -> tuple[str | None, str | None]:
        """The JSON that is kept of the same thing, None where it is new or was gone, and when that was written."""
        where = " AND ".join(f'"{name}" IS ?' for name in table.key_columns)
        values = [row.id if name == "id" else row.values.get(name) for name in table.key_columns]
        columns = "CASE WHEN gone_at IS NULL THEN data END, coalesce(gone_at, read_at)"
        sql = f'SELECT {columns} FROM "{table.name}" WHERE {where}'
        found: tuple[str | None, str | None] | None = self._connection.execute(sql, values).fetchone()
        return found or (None, None)

    def mark_orphans(self, table: ResourceTable, parent: ResourceTable, when: str, *, pruned: bool) -> int:
        """What belongs to a thing that is gone is gone with it. `pruned`: such things may be out of the file."""
        column = next(iter(table.parents.values()))
        gone = f'IN (SELECT id FROM "{parent.name}" WHERE gone_at IS NOT NULL)'
        if pruned:
            gone = f'NOT IN (SELECT id FROM "{parent.name}" WHERE gone_at IS NULL)'
        # Where it comes back, what stands in it or below it is read again.
        self._connection.execute(
            f"DELETE FROM mirror_part WHERE resource = ? AND part NOT IN (?, ?) AND part {gone}",
            (table.things.resource, WHOLE, QUERY),
        )
        sql = f'UPDATE "{table.name}" SET gone_at = ? WHERE gone_at IS NULL AND "{column}" {gone}'
        return self._connection.execute(sql, (when,)).rowcount

    # Which ids are there: kept beside the file, since a hundred thousand in memory would be most of what a run takes

    def forget_present(self) -> None:
        self._connection.execute("CREATE TEMP TABLE IF NOT EXISTS present (id TEXT PRIMARY KEY) WITHOUT ROWID")
        self._connection.execute("DELETE FROM present")

    def note_present(self, ids: Iterable[str]) -> None:
        self._connection.executemany("INSERT OR IGNORE INTO present VALUES (?)", ((id,) for id in ids))

    def unknown_present(self, table: ResourceTable, part: str | None) -> list[str]:
        """The ids that were noted and that the table does not have."""
        where, values = self._below_part(table, part)
        known = f'SELECT id FROM "{table.name}" WHERE gone_at IS NULL AND {where}'
        sql = f"SELECT id FROM present WHERE id NOT IN ({known}) ORDER BY id"
        return [id for (id,) in self._connection.execute(sql, values)]

    def mark_gone(self, table: ResourceTable, part: str | None, when: str) -> int:
        """Mark what was not noted as present; returns how many."""
        where, values = self._below_part(table, part)
        sql = (
            f'UPDATE "{table.name}" SET gone_at = ? WHERE gone_at IS NULL AND {where} '
            "AND id NOT IN (SELECT id FROM present)"
        )
        return self._connection.execute(sql, (when, *values)).rowcount

    def prune_deleted(self, table: ResourceTable, when: str) -> int:
        """Delete what is gone; returns how many."""
        first = self._first_row(table)
        key = ", ".join(quoted_name(column) for column in table.key_columns)
        self._connection.execute(
            f"INSERT INTO mirror_pruned SELECT ?, json_array({key}), ? FROM {quoted_name(table.name)} "
            "WHERE gone_at IS NOT NULL",
            (table.name, when),
        )
        self._connection.execute(
            f'DELETE FROM search WHERE rowid IN (SELECT ? + rowid FROM "{table.name}" WHERE gone_at IS NOT NULL)',
            (first,),
        )
        return self._connection.execute(f'DELETE FROM "{table.name}" WHERE gone_at IS NOT NULL').rowcount

    def _below_part(self, table: ResourceTable, part: str | None) -> tuple[str, Sequence[Any]]:
        if part is None or not table.parents:
            return "1", ()
        return f'"{next(iter(table.parents.values()))}" = ?', (part,)

    def _one_row(self, sql: str, *values: Any) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._connection.execute(sql, values).fetchone()
        return row


@contextmanager
def _faults_in_words(path: str) -> Iterator[None]:
    """A fault of the file in words."""
    try:
        yield
    except sqlite3.OperationalError as error:
        hint = (
            "another run writes it now: wait until it ends" if error.sqlite_errorcode == sqlite3.SQLITE_BUSY else None
        )
        raise CallsheetError(f"{path}: {error}", hint=hint) from None
    except sqlite3.DatabaseError as error:
        raise UsageError(
            f"{path} is not a mirror: {error}", hint="name a new file, or one that this command made"
        ) from None
    except BrokenPipeError:  # of whoever reads what changed, not of the file
        raise
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from None
