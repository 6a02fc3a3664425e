"""Questions in SQL to a mirror, which can change nothing."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

from ...errors import UsageError, did_you_mean
from ...files import quoted_for_uri

_ALLOWED = frozenset({sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE})
_PRAGMAS = frozenset({"table_info", "table_list", "data_version"})  # what the full-text index asks, and people
_REFUSED = frozenset({"load_extension", "edit", "readfile", "writefile", "fts3_tokenizer"})

_COLUMNS = "SELECT DISTINCT c.name FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.sql LIKE 'CREATE TABLE%'"
_LARGEST = 16 << 20  # bytes of one value of a query that has limits
_STEPS = 100_000  # of SQLite's own machine, after which a signal is heard: a query may have no end


@contextmanager
def run_query(
    path: str, query: str, *, most_seconds: float | None = None
) -> Iterator[tuple[list[str], Iterator[dict[str, Any]]]]:
    """The names of the columns, and the rows, of one query.

    Raises `UsageError` for what is no query, would do more than read, or takes longer than it may.
    """
    end = time.monotonic() + most_seconds if most_seconds is not None else math.inf
    if not os.path.isfile(path):
        raise UsageError(f"{path}: no such file", hint="`{program} mirror FILE` makes one")
    if not query.strip():
        raise UsageError("the query is empty")
    address = f"file:{quoted_for_uri(os.path.abspath(path))}?mode=ro"
    tables: list[str] = []
    columns: set[str] = set()
    with closing(sqlite3.connect(address, uri=True)) as connection:
        connection.text_factory = _decode_text
        connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        if most_seconds is not None:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST)
        try:
            connection.execute("PRAGMA query_only = ON")
            tables += [
                name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
            ]
            for name in {"search"} & {*tables} | {"json_each('[]')", "json_tree('[]')"}:
                # Before questions are watched: what sets such a table up asks for more than they may.
                connection.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchall()  # noqa: S608 - three fixed names
            columns = {name for (name,) in connection.execute(_COLUMNS)}
            connection.set_authorizer(_authorize_action)
            cursor = connection.execute(query)
            names = _distinct_names([each[0] for each in cursor.description or ()])
            yield names, (dict(zip(names, map(_shown_value, row), strict=True)) for row in cursor)
        except sqlite3.Warning:
            raise UsageError("one query at a time") from None
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
                if time.monotonic() <= end:
                    raise KeyboardInterrupt from None
                hint = "ask for less: a condition, or a limit within a recursive table"
                raise UsageError(f"the query was stopped after {most_seconds:g} s", hint=hint) from None
            raise UsageError(f"{path}: {_message_in_words(str(error), tables, columns)}") from None


def _authorize_action(
    action: int, first: str | None, second: str | None, _database: str | None, _inner: str | None
) -> int:
    if action == sqlite3.SQLITE_PRAGMA:
        return sqlite3.SQLITE_OK if first in _PRAGMAS else sqlite3.SQLITE_DENY
    if action == sqlite3.SQLITE_FUNCTION and second in _REFUSED:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def _message_in_words(message: str, tables: Iterable[str], columns: Iterable[str]) -> str:
    if message in ("not authorized", "attempt to write a readonly database"):
        return "only questions are answered here: a query begins with SELECT or WITH"
    if message == "You can only execute one statement at a time.":
        return "one query at a time"
    if message.startswith("no such table: "):
        return f"{message}{did_you_mean(message.rpartition(' ')[2], tables)}"
    if message.startswith("no such column: "):
        return f"{message}{did_you_mean(message.rpartition(' ')[2].rpartition('.')[2], columns)}"
    return message


def _distinct_names(found: list[str]) -> list[str]:
    """Two columns of one name would be one in an object."""
    names: list[str] = []
    for name in found:
        each, count = name, 1
        while each in names:
            each = f"{name}_{(count := count + 1)}"
        names.append(each)
    return names


def _shown_value(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no word for it
    return _decode_text(value) if isinstance(value, bytes) else value


def _decode_text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
