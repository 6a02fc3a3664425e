"""`webhook inbox list|show|replay|dead|purge`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ...commands.context import Context, ParameterValues
from ...commands.without_site import check_change
from ...durations import in_words
from ...errors import NotFound, UsageError, counted
from ...jsontext import parse_json
from ...output.render import renderer
from .auth import refuse_empty

if TYPE_CHECKING:
    from ...listener.queue.port import Inspection

VIEW = "inbox"
MOST = 100_000  # events that are looked through
FOLLOWED = 1000  # the newest events, whose changes are told
_PAUSE = 0.5  # seconds between two looks


@contextlib.contextmanager
def _opened(context: Context, values: ParameterValues, *, write: bool = False) -> Iterator[Inspection]:
    with contextlib.closing(open_inspection(context, values, write=write)) as inbox:
        yield inbox


def open_inspection(context: Context, values: ParameterValues, *, write: bool) -> Inspection:
    """What an option names comes before what a variable names, and a file before a queue."""
    from ...listener.queue.kinds import select_queue
    from ...listener.queue.sqlite.inspection import FileInspection

    refuse_empty(values, "inbox", "queue")
    prefix, environ = context.definition["prefix"], context.environ
    path, url = values.get("inbox"), values.get("queue")
    if path and url:
        raise UsageError("--inbox and --queue: give one of them")
    if not path and not url:
        path, url = environ.get(f"{prefix}_INBOX"), environ.get(f"{prefix}_QUEUE")
    if path:
        return FileInspection(path, write=write)
    if url:
        return select_queue(url, context.catalog, environ).inspection(context.note)
    raise UsageError("no inbox was given", hint=f"give --inbox FILE or --queue URL, or set {prefix}_INBOX")


def list_events(context: Context, values: ParameterValues) -> None:
    _list(context, values, values.get("state"))


def dead(context: Context, values: ParameterValues) -> None:
    _list(context, values, "dead")


def _list(context: Context, values: ParameterValues, state: str | None) -> None:
    if values["max"] < 1:
        raise UsageError(f"--max expects a number of at least 1, not {values['max']}")
    format = renderer(context.output_format)
    if values.get("follow") and not (format.streams or format.for_readers):
        raise UsageError(f"--follow cannot be used with -o {context.output_format}: use -o ndjson")
    with _opened(context, values) as inbox:
        if values.get("follow"):
            _follow(context, inbox, values, state)
        else:
            _show(context, _chosen(inbox, values.get("type"), state, values["max"]))


def _chosen(inbox: Inspection, pattern: str | None, state: str | None, most: int) -> list[dict[str, Any]]:
    rows = inbox.list_events(state, most if pattern is None else MOST)
    return [row for row in rows if pattern is None or fnmatchcase(row["type"], pattern)][:most]


def _follow(context: Context, inbox: Inspection, values: ParameterValues, state: str | None) -> None:
    """Oldest first, and then whatever arrives or changes its state, until somebody ends it."""
    states: dict[Any, str] = {}
    most = values["max"]
    while True:
        rows = _chosen(inbox, values.get("type"), state, most)
        news = [row for row in reversed(rows) if states.get(row["key"]) != row["state"]]
        if news:
            states |= {row["key"]: row["state"] for row in news}
            _show(context, news)
            context.options["no-headers"] = True
        most = max(values["max"], FOLLOWED)
        time.sleep(_PAUSE)


def _show(context: Context, rows: list[dict[str, Any]]) -> None:
    context.output(context.catalog.get("view", VIEW)).items([worded(row) for row in rows])


def worded(row: dict[str, Any]) -> dict[str, Any]:
    times = {name: _moment(row[name]) for name in ("received", "due", "finished")}
    if row["state"] != "waiting":
        times["due"] = None
    return {**row, **times}


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _found(inbox: Inspection, word: str) -> list[dict[str, Any]]:
    found = inbox.find(word)
    if not found:
        raise NotFound(f"no event {word!r} in the inbox", hint="see `{program} webhook inbox list`")
    return found


def show(context: Context, values: ParameterValues) -> None:
    with _opened(context, values) as inbox:
        for row in _found(inbox, values["id"]):
            context.output().one({**worded(row), "payload": parse_json(row["payload"])})


def replay(context: Context, values: ParameterValues) -> None:
    state = values.get("state")
    if bool(state) == bool(values["id"]):
        raise UsageError("no events: pass their ids, or --state for all in that state")
    check_change(context, "write", "inbox replay")
    with _opened(context, values, write=True) as inbox:
        listed = inbox.list_events(state, MOST) if state else []
        rows = inbox.replay(
            [row["key"] for row in (*listed, *(row for word in values["id"] for row in _found(inbox, word)))]
        )
    for row in rows:
        if row["state"] == "running":
            context.note(f"{row['key']} runs just now and was left alone")
    _show(context, rows)


def purge(context: Context, values: ParameterValues) -> None:
    check_change(context, "destroy", "inbox purge")
    with _opened(context, values, write=True) as inbox:
        since = "were done" if values["state"] == "done" else "arrived"
        context.confirm(f"Delete {values['state']} events that {since} more than {in_words(values['older'])} ago?")
        count = inbox.purge(values["state"], time.time() - values["older"])
    context.note(f"{counted(count, 'event')} deleted")
