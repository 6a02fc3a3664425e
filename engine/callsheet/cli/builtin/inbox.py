"""`webhook inbox list|show|replay|dead|purge`."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ...commands.context import Context
from ...errors import CallsheetError, NotFound, UsageError
from ...jsontext import parse
from ...listener.inbox import store

VIEW = "inbox"


@contextlib.contextmanager
def _opened(context: Context, values: dict[str, Any]) -> Iterator[sqlite3.Connection]:
    prefix = context.definition["prefix"]
    path = values.get("inbox") or context.environ.get(f"{prefix}_INBOX")
    if not path:
        raise UsageError("which inbox?", hint=f"give --inbox FILE, or set {prefix}_INBOX")
    connection = store.connect(path, must_exist=True)
    try:
        yield connection
    except sqlite3.Error as error:
        raise CallsheetError(f"inbox {path}: {error}") from None
    finally:
        connection.close()


def list_events(context: Context, values: dict[str, Any]) -> None:
    _list(context, values, values.get("state"))


def dead(context: Context, values: dict[str, Any]) -> None:
    _list(context, values, "dead")


def _list(context: Context, values: dict[str, Any], state: str | None) -> None:
    with _opened(context, values) as connection:
        rows = store.listed(connection, state, values["max"])
    _show(context, rows)


def _show(context: Context, rows: list[dict[str, Any]]) -> None:
    context.output(context.catalog.get("view", VIEW)).items([_worded(row) for row in rows])


def _worded(row: dict[str, Any]) -> dict[str, Any]:
    times = {name: _moment(row[name]) for name in ("received", "due", "finished")}
    if row["state"] != "waiting":
        times["due"] = None
    return {**row, **times}


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _found(connection: sqlite3.Connection, word: str) -> list[dict[str, Any]]:
    found = store.find(connection, word)
    if not found:
        raise NotFound(f"no event {word!r} in the inbox", hint="webhook inbox list shows keys and ids")
    return found


def show(context: Context, values: dict[str, Any]) -> None:
    with _opened(context, values) as connection:
        for row in _found(connection, values["id"]):
            context.output().one({**_worded(row), "payload": parse(row["payload"])})


def replay(context: Context, values: dict[str, Any]) -> None:
    with _opened(context, values) as connection:
        keys = [row["key"] for word in values["id"] for row in _found(connection, word)]
        connection.execute("BEGIN IMMEDIATE")
        store.replay(connection, keys, time.time())
        connection.execute("COMMIT")
        rows = store.listed_keys(connection, dict.fromkeys(keys))
    for row in rows:
        if row["state"] == "running":
            context.note(f"{row['key']} runs just now and was left alone")
    _show(context, rows)


def purge(context: Context, values: dict[str, Any]) -> None:
    with _opened(context, values) as connection:
        context.confirm(f"Delete {values['state']} events that arrived more than {values['older']:g} s ago?")
        connection.execute("BEGIN IMMEDIATE")
        count = store.purge(connection, values["state"], time.time() - values["older"])
        connection.execute("COMMIT")
    context.note(f"{count} events deleted")
