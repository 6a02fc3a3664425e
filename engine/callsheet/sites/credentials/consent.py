"""The browser's part of a sign-in: open the page, wait for the browser to come back."""

from __future__ import annotations

import contextlib
import hmac
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TextIO
from urllib.parse import parse_qs, urlsplit

from ...errors import CallsheetError, NotAllowed

PATIENCE = 300.0
_POLL = 0.2
_PAGE = (
    b"<!doctype html><title>Back to the terminal</title><p>You can close this window and go back to the terminal.</p>\n"
)


_STRAY = (
    b"<!doctype html><title>Not this sign-in</title><p>This answer does not belong to the sign-in that is waiting at "
    b"the terminal. Open the page that is named there.</p>\n"
)


def matches_state(url: str, state: str) -> bool:
    """Whether a URL that came back holds the state of this sign-in; any page can send a browser to it with another."""
    try:
        states = parse_qs(urlsplit(url).query).get("state", [])
    except ValueError:
        return False
    return len(states) == 1 and hmac.compare_digest(states[0].encode("utf-8", "replace"), state.encode())


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    timeout = 10

    def do_GET(self) -> None:
        """Anything but the answer to this sign-in is turned away, and the wait goes on."""
        expected = self.server.expected
        path, _, query = self.path.partition("?")
        if path != urlsplit(expected).path:
            self.send_error(404)
            return
        returned = f"{expected}?{query}"
        own = matches_state(returned, self.server.state)
        page = _PAGE if own else _STRAY
        self.send_response(200 if own else 400)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(page)
        if own:
            self.server.returned = returned

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the request line holds the code."""


class _Listener(ThreadingHTTPServer):
    """Waits on the loopback address of a redirect URL. Threads, because browsers open connections they never use."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"

    def __init__(self, redirect: str, state: str) -> None:
        self.expected = redirect
        self.state = state
        self.returned: str | None = None
        parts = urlsplit(redirect)
        super().__init__((parts.hostname or "127.0.0.1", parts.port or 0), _Handler)
        self.timeout = _POLL


def returned_url(
    url: str,
    redirect: str,
    state: str,
    *,
    browser: bool,
    say: Callable[[str], None],
    typed: TextIO,
    patience: float = PATIENCE,
) -> str:
    """Send a person to `url`, and give back the URL they return to: one that holds `state`.

    It arrives at the redirect URL on this machine or, without a browser here, is pasted on `typed`.
    """
    try:
        listener = _Listener(redirect, state)
    except OSError as error:
        if browser:
            reason = (error.strerror or str(error)).lower()
            raise CallsheetError(
                f"cannot wait for the browser at {redirect}: {reason}",
                hint="stop the program that uses this port, or choose another registered port with --port",
            ) from None
        listener = None
    with contextlib.closing(_FirstAnswer(listener, None if browser else typed, state, say)) as answers:
        if browser:
            # In a thread: a browser that runs in the terminal only returns when it is closed.
            threading.Thread(target=_open, args=(url,), daemon=True).start()
            say(f"opening your browser; if nothing happens, open this page:\n{url}")
        else:
            say(f"open this page in a browser:\n{url}\nthen wait here, or paste the address the browser was sent to:")
        return answers.wait(patience)


def _open(url: str) -> None:
    import webbrowser

    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(url)


class _FirstAnswer:
    """Whatever comes first: a request at the redirect URL or a pasted line."""

    def __init__(
        self, listener: _Listener | None, typed: TextIO | None, state: str, say: Callable[[str], None]
    ) -> None:
        self._listener = listener
        self._state = state
        self._say = say
        self._lines: queue.Queue[str] = queue.Queue()
        if typed is not None:
            threading.Thread(target=self._read, args=(typed,), daemon=True).start()

    def _read(self, typed: TextIO) -> None:
        for line in _lines(typed):
            if "code=" not in line and "error=" not in line:
                continue
            if matches_state(line.strip(), self._state):
                self._lines.put(line.strip())
                return
            self._say("that address does not belong to this sign-in; paste the one that the page above led to:")

    def wait(self, patience: float) -> str:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                return self._lines.get(timeout=0 if self._listener else _POLL)
            if self._listener:
                self._listener.handle_request()
                if self._listener.returned:
                    return self._listener.returned
        raise NotAllowed(f"nobody signed in within {patience:.0f} seconds", hint="start the sign-in again")

    def close(self) -> None:
        if self._listener:
            self._listener.server_close()


def _lines(typed: TextIO) -> Iterator[str]:
    """Lines of a stream. Read below Python's buffers: a thread that waits in one would block the end of the program."""
    try:
        descriptor = typed.fileno()
    except (OSError, ValueError):
        yield from typed
        return
    rest = b""
    while chunk := os.read(descriptor, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)
    yield rest.decode("utf-8", "replace")
