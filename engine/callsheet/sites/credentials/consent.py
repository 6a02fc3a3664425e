"""The browser's part of a sign-in: open the page, wait for the browser to come back."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TextIO
from urllib.parse import urlsplit

from ...errors import CallsheetError, NotAllowed

PATIENCE = 300.0
_POLL = 0.2
_PAGE = (
    b"<!doctype html><title>Back to the terminal</title><p>You can close this window and go back to the terminal.</p>\n"
)


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    timeout = 10

    def do_GET(self) -> None:
        expected = self.server.expected
        if urlsplit(self.path).path != urlsplit(expected).path:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(_PAGE)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(_PAGE)
        self.server.returned = f"{expected}?{urlsplit(self.path).query}"

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the request line holds the code."""


class _Listener(ThreadingHTTPServer):
    """Waits on the loopback address of a redirect URL. Threads, because browsers open connections they never use."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"

    def __init__(self, redirect: str) -> None:
        self.expected = redirect
        self.returned: str | None = None
        parts = urlsplit(redirect)
        super().__init__((parts.hostname or "127.0.0.1", parts.port or 0), _Handler)
        self.timeout = _POLL


def returned_url(
    url: str, redirect: str, *, browser: bool, say: Callable[[str], None], typed: TextIO, patience: float = PATIENCE
) -> str:
    """Send a person to `url`, and give back the URL they return to.

    It arrives at the redirect URL on this machine or, without a browser here, is pasted on `typed`.
    """
    try:
        listener = _Listener(redirect)
    except OSError as error:
        if browser:
            reason = (error.strerror or str(error)).lower()
            raise CallsheetError(
                f"cannot wait for the browser at {redirect}: {reason}",
                hint="end the program that uses this port, or give --port with one that is registered for the app",
            ) from None
        listener = None
    with contextlib.closing(_Answers(listener, None if browser else typed)) as answers:
        if browser:
            # In a thread: a browser that runs in the terminal only returns when it is closed.
            threading.Thread(target=_open, args=(url,), daemon=True).start()
            say(f"your browser opens; if it does not, open this page:\n{url}")
        else:
            say(f"open this page in a browser:\n{url}\nthen wait here, or paste the address the browser was sent to:")
        return answers.wait(patience)


def _open(url: str) -> None:
    import webbrowser

    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(url)


class _Answers:
    """Whatever comes first: a request at the redirect URL or a pasted line."""

    def __init__(self, listener: _Listener | None, typed: TextIO | None) -> None:
        self._listener = listener
        self._lines: queue.Queue[str] = queue.Queue()
        if typed is not None:
            threading.Thread(target=self._read, args=(typed,), daemon=True).start()

    def _read(self, typed: TextIO) -> None:
        for line in _lines(typed):
            if "code=" in line or "error=" in line:
                self._lines.put(line.strip())
                return

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
