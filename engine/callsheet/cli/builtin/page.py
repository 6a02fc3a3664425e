"""`webhook inbox ui`, and the page of `webhook listen --ui`."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from ... import paths
from ...commands.context import Context, ParameterValues
from ...commands.without_site import check_change
from ...durations import parse_typed_duration
from ...errors import NotFound, UsageError
from ...files import make_private_directory, write_atomically
from ...jsontext import parse_json
from ...listener.page.app import PageApp, PageContent
from ...listener.page.serve import PageServer
from ...listener.queue.port import STATES
from ...listener.server.bind import bind, parse_address
from ..signals import begin_serving
from .inbox import MOST, open_inspection, worded

if TYPE_CHECKING:
    from ...listener.queue.port import Inspection
    from ...listener.recent.deliveries import RecentDeliveries

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
            "counts": {state: count for state, count in self._inbox.counts().items() if state in STATES},
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
        return [worded(row) for row in self._inbox.list_events(state, _SHOWN)]

    def show(self, key: str, id: str) -> dict[str, Any]:
        """By its key; an id may be that of several events, and look like the key of another."""
        found = [*self._inbox.find(id), *self._inbox.find(key)] if id else self._inbox.find(key)
        row = next((row for row in found if str(row["key"]) == key), None)
        if row is None:
            raise NotFound(f"no event {key!r} in the inbox: it was deleted meanwhile")
        return {**worded(row), "payload": parse_json(row["payload"])}

    def replay(self, keys: Any) -> list[dict[str, Any]]:
        if not isinstance(keys, list) or not 0 < len(keys) <= MOST or any(type(key) is not int for key in keys):
            raise UsageError("no events: expected a list of their keys, which are numbers")
        check_change(self._context, "write", "inbox replay")
        with contextlib.closing(open_inspection(self._context, self._values, write=True)) as inbox:
            return [worded(row) for row in inbox.replay(keys)]

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
            return inbox.purge(state, before)

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
    listening = bind(parse_address(f"127.0.0.1:{port}", "--port"), "--port")[0]
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
