"""`inbox`: the events that are kept, and the page that shows them."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ... import paths
from ...commands.context import Context, ParameterValues
from ...commands.without_site import check_change
from ...durations import in_words, parse_typed_duration
from ...errors import NotFound, UsageError, count_of, did_you_mean
from ...files import make_private_directory, write_atomically
from ...jsontext import parse_json
from ...listener.page.page_server import PageApp, PageContent, PageServer
from ...listener.queue.queue_port import STATES, select_queue
from ...listener.server.listening_sockets import bind_sockets, parse_address
from ...output.output_formats import renderer_of
from ..signals import begin_serving
from .auth import refuse_empty

if TYPE_CHECKING:
    from ...listener.queue.queue_port import Inspection
    from ...listener.recent_deliveries import RecentDeliveries


# `webhook inbox list|show|replay|dead|purge`.


VIEW = "inbox"
MOST = 100_000  # events that are looked through
FOLLOWED = 1000  # the newest events, whose changes are told
_PAUSE = 0.5  # seconds between two looks
_TARGETS_SHOWN = 20


@contextlib.contextmanager
def _opened_inbox(context: Context, values: ParameterValues, *, write: bool = False) -> Iterator[Inspection]:
    with contextlib.closing(open_inspection(context, values, write=write)) as inbox:
        yield inbox


def open_inspection(context: Context, values: ParameterValues, *, write: bool) -> Inspection:
    """What an option names comes before what a variable names, and a file before a queue."""
    from ...listener.queue.sqlite.inbox_events import FileInspection

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
        return select_queue(url, context.catalog, environ).open_inspection(context.note)
    raise UsageError("no inbox was given", hint=f"give --inbox FILE or --queue URL, or set {prefix}_INBOX")


def list_events(context: Context, values: ParameterValues) -> None:
    _list_in_state(context, values, values.get("state"))


def list_dead_events(context: Context, values: ParameterValues) -> None:
    _list_in_state(context, values, "dead")


def _list_in_state(context: Context, values: ParameterValues, state: str | None) -> None:
    if values["max"] < 1:
        raise UsageError(f"--max expects a number of at least 1, not {values['max']}")
    format = renderer_of(context.output_format)
    if values.get("follow") and not (format.streams or format.for_readers):
        raise UsageError(f"--follow cannot be used with -o {context.output_format}: use -o ndjson")
    with _opened_inbox(context, values) as inbox:
        _check_target(inbox, values)
        if values.get("follow"):
            _follow_events(context, inbox, values, state)
        else:
            rows = _choose_events(inbox, values, state, values["max"])
            if not rows and values.get("target"):
                context.note(
                    f"no event failed at {values['target']} or waits for it; `inbox show` lists an event's targets"
                )
            if not rows and values.get("type"):
                known = [event.get("type", name) for name, event in context.catalog.events.all().items()]
                context.note(f"no such event is of type {values['type']}{did_you_mean(values['type'], known)}")
            _show_rows(context, rows)


def _choose_events(inbox: Inspection, values: ParameterValues, state: str | None, most: int) -> list[dict[str, Any]]:
    pattern, target = values.get("type"), values.get("target")
    rows = inbox.list_events(state, most if pattern is None else MOST, target)
    return [row for row in rows if pattern is None or fnmatchcase(row["type"], pattern)][:most]


def _check_target(inbox: Inspection, values: ParameterValues) -> None:
    """Raises `UsageError` for one that no listener with this inbox has: a replay would do nothing."""
    target: str | None = values.get("target")
    if target is None:
        return
    if not all(target.partition("/")):
        raise UsageError(
            f"--target: {target!r} is not the name of a target", hint="expected ROUTE/HANDLER, such as grades/crm"
        )
    known = inbox.target_names()
    if target not in known:
        those = (
            f"its targets: {', '.join(sorted(known)[:_TARGETS_SHOWN])}" if known else "no listener has noted a target"
        )
        raise UsageError(f"--target: the inbox has no target {target!r}{did_you_mean(target, known)}", hint=those)


def _follow_events(context: Context, inbox: Inspection, values: ParameterValues, state: str | None) -> None:
    """Oldest first, and then whatever arrives or changes its state, until somebody ends it."""
    states: dict[Any, str] = {}
    most = values["max"]
    while True:
        rows = _choose_events(inbox, values, state, most)
        news = [row for row in reversed(rows) if states.get(row["key"]) != row["state"]]
        if news:
            states |= {row["key"]: row["state"] for row in news}
            _show_rows(context, news)
            context.options["no-headers"] = True
        most = max(values["max"], FOLLOWED)
        time.sleep(_PAUSE)


def _show_rows(context: Context, rows: list[dict[str, Any]]) -> None:
    context.output(context.catalog.views.get(VIEW)).print_items([row_in_words(row) for row in rows])


def row_in_words(row: dict[str, Any]) -> dict[str, Any]:
    times = {name: _moment_text(row[name]) for name in ("received", "due", "finished")}
    if row["state"] != "waiting":
        times["due"] = None
    targets = {"targets": [_target_in_words(each) for each in row["targets"]]} if "targets" in row else {}
    return {**row, **times, **targets}


def _target_in_words(target: dict[str, Any]) -> dict[str, Any]:
    return {**target, "due": _moment_text(target["due"]) if target["state"] == "waiting" else None}


def _moment_text(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")


def _find_events(inbox: Inspection, word: str) -> list[dict[str, Any]]:
    found = inbox.find_events(word)
    if not found:
        raise NotFound(f"no event {word!r} in the inbox", hint="see `{program} webhook inbox list`")
    return found


def show_event(context: Context, values: ParameterValues) -> None:
    with _opened_inbox(context, values) as inbox:
        for row in _find_events(inbox, values["id"]):
            context.output().print_one({**row_in_words(row), "payload": parse_json(row["payload"])})


def replay_events(context: Context, values: ParameterValues) -> None:
    state, target = values.get("state"), values.get("target")
    if bool(state) == bool(values["id"]):
        raise UsageError("no events: pass their ids, or --state for all in that state")
    check_change(context, "write", "inbox replay")
    with _opened_inbox(context, values, write=True) as inbox:
        _check_target(inbox, values)
        listed = inbox.list_events(state, MOST, target) if state else []
        found = [*listed, *(row for word in values["id"] for row in _find_events(inbox, word))]
        rows = inbox.replay_events([row["key"] for row in found], target)
    for row in rows:
        if row["state"] == "running":
            context.note(f"{row['key']} is running, and was left alone")
    _show_rows(context, rows)


def purge_events(context: Context, values: ParameterValues) -> None:
    check_change(context, "destroy", "inbox purge")
    with _opened_inbox(context, values, write=True) as inbox:
        since = "were done" if values["state"] == "done" else "arrived"
        context.confirm(f"Delete {values['state']} events that {since} more than {in_words(values['older'])} ago?")
        count = inbox.purge_events(values["state"], time.time() - values["older"])
    context.note(f"{count_of(count, 'event')} deleted")


# `webhook inbox ui`, and the page of `webhook listen --ui`.


_SHOWN = 500  # events of a list
_LAST_PORT = 65535
_FOLLOWED = 50  # the newest, whose changes are told
_MINUTE, _MINUTES = 60, 60


class InboxOnPage:
    """The events of an inbox or a queue; what changes them is judged by the policy, as the commands are."""

    def __init__(self, context: Context, values: ParameterValues) -> None:
        self._context = context
        self._values = values
        self._opened: Inspection | None = None

    @property
    def _inbox(self) -> Inspection:
        """Opened in the thread that uses it, and again where there was none."""
        if self._opened is None:
            self._opened = open_inspection(self._context, self._values, write=False)
        return self._opened

    def overview(self) -> dict[str, Any]:
        newest = self._inbox.list_events(None, _FOLLOWED)
        return {
            "counts": {state: count for state, count in self._inbox.count_by_state().items() if state in STATES},
            "newest": [[row["key"], row["state"], row["attempts"]] for row in newest],
            "minutes": self._minutes(),
        }

    def _minutes(self) -> list[dict[str, Any]]:
        """Of the last hour, by when events arrived and what they are now."""
        last = int(time.time() // _MINUTE)
        counts = Counter(
            (int(row["received"] // _MINUTE), row["state"]) for row in self._inbox.list_events(None, _SHOWN)
        )
        return [
            {"start": minute * _MINUTE, **{state: counts[minute, state] for state in STATES}}
            for minute in range(last - _MINUTES + 1, last + 1)
        ]

    def events(self, state: str | None) -> list[dict[str, Any]]:
        if state is not None and state not in STATES:
            raise UsageError(f"no state {state!r}", hint=f"expected {', '.join(STATES)}")
        return [row_in_words(row) for row in self._inbox.list_events(state, _SHOWN)]

    def show(self, key: str, id: str) -> dict[str, Any]:
        """By its key; an id may be that of several events, and look like the key of another."""
        found = [*self._inbox.find_events(id), *self._inbox.find_events(key)] if id else self._inbox.find_events(key)
        row = next((row for row in found if str(row["key"]) == key), None)
        if row is None:
            raise NotFound(f"no event {key!r} in the inbox: it was deleted meanwhile")
        return {**row_in_words(row), "payload": parse_json(row["payload"])}

    def replay(self, keys: Any) -> list[dict[str, Any]]:
        if not isinstance(keys, list) or not 0 < len(keys) <= MOST or any(type(key) is not int for key in keys):
            raise UsageError("no events: expected a list of their keys, which are numbers")
        check_change(self._context, "write", "inbox replay")
        with contextlib.closing(open_inspection(self._context, self._values, write=True)) as inbox:
            return [row_in_words(row) for row in inbox.replay_events(keys)]

    def purge(self, state: str, older: str) -> int:
        """The page has asked, and shows how many there are."""
        if state not in ("done", "dead"):
            raise UsageError(f"events that are {state} cannot be deleted", hint="expected done or dead")
        age = parse_typed_duration(older)
        if age is None:
            raise UsageError(f"{older!r} is not a time", hint="expected a number and ms, s, m, h or d, such as 7d")
        before = time.time() - age
        check_change(self._context, "destroy", "inbox purge")
        with contextlib.closing(open_inspection(self._context, self._values, write=True)) as inbox:
            return inbox.purge_events(state, before)

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None


def page_server(
    context: Context, recent: RecentDeliveries | None, kept: InboxOnPage | None, port: int = 0
) -> PageServer:
    """The page at a port of this machine.

    Its address holds the token. That is for a terminal; else it goes into a file that only this person can read, as
    what is printed may be kept in a log.
    """
    if not 0 <= port <= _LAST_PORT:
        raise UsageError(f"--port: {port} is not a port", hint=f"expected 1 to {_LAST_PORT}, or 0 for a free one")
    context.options["no-input"] = True  # a policy that wants a person to be asked is not answered by this terminal
    listening = bind_sockets(parse_address(f"127.0.0.1:{port}", "--port"), "--port")[0]
    token = secrets.token_urlsafe(32)
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    shown = f"http://{host}/#{token}"
    if not context.streams.err.isatty():
        directory = paths.state_directory(context.environ)
        make_private_directory(directory)
        file = os.path.join(directory, f"{context.program}-page.url")
        write_atomically(file, f"{shown}\n".encode())
        shown = f"http://{host}, whose address with its token is in {file}"
    content = PageContent(context.program, recent, kept, ThreadPoolExecutor(1, "page"))
    return PageServer(PageApp(content, token), listening, shown)


def inbox_ui(context: Context, values: ParameterValues) -> None:
    """Serve the page until somebody ends it."""
    kept = InboxOnPage(context, values)
    open_inspection(context, values, write=False).close()  # what is wrong with it is told now
    begin_serving()
    server = page_server(context, None, kept, values["port"])

    async def serving() -> None:
        await server.start()
        context.note(f"page: {server.address}")
        try:
            await asyncio.Event().wait()
        finally:
            await server.close()

    asyncio.run(serving())
