"""A scripted local HTTP(S) server on a real socket.

    with serve([exchange("GET", "/items", query=["page=1"], json={"items": []})]) as server:
        ...  # server.url is its address
    assert server.requests[0].headers["accept"] == "application/json"

Exchanges are answered in any order, each once unless `repeat` says otherwise; where several fit a request, the first
unused one answers. A request that fits none gets a 599 and fails the test when the block ends, as does an exchange
that was never asked for. `load_exchanges` reads the same from the tables of a TOML case.
"""

from __future__ import annotations

import contextlib
import json as json_module
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from support.canary import PRESENTED, SITES, holding

ABSENT: Any = object()


@dataclass
class Received:
    """A request as it came; header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def path(self) -> str:
        """As it was sent, percent-encoding and all."""
        return self.target.partition("?")[0]

    @property
    def query(self) -> list[str]:
        pairs = parse_qsl(urlsplit(self.target).query, keep_blank_values=True)
        return sorted(f"{name}={value}" for name, value in pairs)

    def json(self) -> Any:
        return json_module.loads(self.body)


@dataclass
class Expected:
    """What a request must be. None leaves a part unchecked; `headers` must be there, `forbidden` must not."""

    method: str
    path: str
    query: list[str] | None = None
    headers: dict[str, str] = field(default_factory=dict)
    forbidden: list[str] = field(default_factory=list)
    json: Any = ABSENT
    text: str | None = None
    body: bytes | None = None
    body_has: list[str] = field(default_factory=list)

    def differences(self, request: Received) -> list[str]:
        found: list[str] = []
        found += [f"no {part!r} in the body" for part in self.body_has if part.encode() not in request.body]
        for what, wanted, got in (("method", self.method, request.method), ("path", self.path, request.path)):
            if wanted != got:
                found.append(f"{what}: expected {wanted!r}, got {got!r}")
        if self.query is not None and sorted(self.query) != request.query:
            found.append(f"query: expected {sorted(self.query)}, got {request.query}")
        found += self._header_differences(request) + self._body_differences(request)
        return found

    def _header_differences(self, request: Received) -> list[str]:
        wrong = [
            f"header {name}: expected {value!r}, got {request.headers.get(name.lower())!r}"
            for name, value in self.headers.items()
            if request.headers.get(name.lower()) != value
        ]
        return wrong + [
            f"header {name}: must not be sent" for name in self.forbidden if name.lower() in request.headers
        ]

    def _body_differences(self, request: Received) -> list[str]:
        found: list[str] = []
        if self.json is not ABSENT:
            try:
                got = request.json()
            except ValueError:
                got = request.body
            if got != self.json:
                found.append(f"body: expected {self.json!r}, got {got!r}")
        wanted = self.text.encode() if self.text is not None else self.body
        if wanted is not None and wanted != request.body:
            found.append(f"body: expected {wanted!r}, got {request.body!r}")
        return found


@dataclass
class Scripted:
    """What is answered. `cut` closes the connection after so many bytes of the body, 0 before any answer."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay: float = 0.0
    cut: int | None = None
    chunks: Callable[[], Iterable[bytes]] | None = None


@dataclass
class Exchange:
    request: Expected
    response: Scripted
    repeat: int | None = 1  # None: any number of times, none included
    used: int = 0

    @property
    def free(self) -> bool:
        return self.repeat is None or self.used < self.repeat

    @property
    def owed(self) -> bool:
        return self.repeat is not None and self.used < self.repeat


def reply(
    status: int = 200,
    *,
    json: Any = ABSENT,
    text: str | None = None,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    delay: float = 0.0,
    cut: int | None = None,
    chunks: Callable[[], Iterable[bytes]] | None = None,
) -> Scripted:
    """An answer with one of `json`, `text`, `body` or `chunks`; the media type follows unless `headers` has one."""
    media = "application/octet-stream"
    if json is not ABSENT:
        body, media = json_module.dumps(json, ensure_ascii=False).encode(), "application/json"
    elif text is not None:
        body, media = text.encode(), "text/plain;charset=utf-8"
    given = dict(headers or {})
    if (body or chunks) and "content-type" not in {name.lower() for name in given}:
        given["Content-Type"] = media
    return Scripted(status, given, body, delay, cut, chunks)


def exchange(
    method: str, path: str, response: Scripted | None = None, repeat: int | None = 1, **expected: Any
) -> Exchange:
    """`exchange("GET", "/a", reply(json=[]), query=["x=1"])`; keywords are the fields of `Expected`."""
    return Exchange(Expected(method, path, **expected), response or reply(), repeat)


def load_exchanges(tables: Iterable[Mapping[str, Any]]) -> list[Exchange]:
    """Exchanges out of `[[case.exchange]]` tables: `request`, `response` and `repeat`."""
    found: list[Exchange] = []
    for table in tables:
        wanted = dict(table["request"])
        answer = dict(table.get("response", {}))
        if "body" in answer:
            answer["body"] = answer["body"].encode("latin-1")
        found.append(Exchange(Expected(**wanted), reply(**answer), table.get("repeat", 1)))
    return found


class Server:
    """The script and what came; `url` is its address.

    No credential of a test must come, unless the server is `trusted`: it plays the site, which gets one in the header
    that it belongs in and nowhere else.
    """

    trusted = False

    def __init__(self, exchanges: Iterable[Exchange], context: ssl.SSLContext | None) -> None:
        self.exchanges = list(exchanges)
        self.requests: list[Received] = []
        self.unexpected: list[str] = []
        self.connections = 0
        self._lock = threading.Lock()
        self._http = _Listener(self)
        self._scheme = "https" if context else "http"
        if context:
            self._http.socket = context.wrap_socket(self._http.socket, server_side=True)

    @property
    def url(self) -> str:
        return f"{self._scheme}://localhost:{self._http.server_address[1]}"

    def answer(self, request: Received) -> Scripted:
        with self._lock:
            self.requests.append(request)
            nearest: list[str] | None = None
            for entry in self.exchanges:
                differences = entry.request.differences(request)
                if not differences and entry.free:
                    entry.used += 1
                    return entry.response
                differences = differences or ["it was answered as often as the script says"]
                if nearest is None or len(differences) < len(nearest):
                    nearest = differences
            problem = f"unexpected {request.method} {request.target}: {'; '.join(nearest or ['nothing is scripted'])}"
            self.unexpected.append(problem)
            return reply(599, text=problem)

    def verify(self) -> None:
        """Fail when a request came that is not in the script, or one of the script did not come."""
        owed = [
            f"never asked: {e.request.method} {e.request.path} {e.request.query or ''}"
            for e in self.exchanges
            if e.owed
        ]
        problems = self.unexpected + owed
        assert not problems, "\n".join(problems)

    def nothing_leaked(self) -> None:
        """Fail when a stranger was sent a credential, or the site one where none belongs."""
        for request in self.requests:
            for part in holding(request.method, request.target, request.headers, request.body):
                assert self.belongs(part, request), f"{part} of {request.method} {request.target} holds a secret"

    def belongs(self, part: str, request: Received) -> bool:
        """Whether a credential may stand there."""
        return (self.trusted or self.url in SITES) and part in PRESENTED

    def start(self) -> None:
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Listener(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, owner: Server) -> None:
        self.owner = owner
        super().__init__(("localhost", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Listener
    disable_nagle_algorithm = True

    def setup(self) -> None:
        super().setup()
        self.server.owner.connections += 1

    def handle_one_request(self) -> None:
        self.raw_requestline = self.rfile.readline(65537)
        if not self.raw_requestline:
            self.close_connection = True
        elif self.parse_request():
            headers = {name.lower(): value for name, value in self.headers.items()}
            received = Received(self.command, self.path, headers, self._read_body(headers))
            self._write(self.server.owner.answer(received))

    def _read_body(self, headers: Mapping[str, str]) -> bytes:
        if headers.get("transfer-encoding") != "chunked":
            return self.rfile.read(int(headers.get("content-length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _write(self, response: Scripted) -> None:
        time.sleep(response.delay)
        if response.cut == 0 and not response.headers.get("Content-Length"):
            self.close_connection = True
            return
        self._write_head(response)
        if self.command == "HEAD":
            return
        if response.chunks is not None:
            for chunk in response.chunks():
                self.wfile.write(chunk)
            self.close_connection = "content-length" not in {name.lower() for name in response.headers}
        else:
            self.wfile.write(response.body if response.cut is None else response.body[: response.cut])
        self.wfile.flush()
        self.close_connection = self.close_connection or response.cut is not None

    def _write_head(self, response: Scripted) -> None:
        names = {name.lower() for name in response.headers}
        self.send_response_only(response.status)
        if "date" not in names:
            self.send_header("Date", self.date_time_string())
        for name, value in response.headers.items():
            self.send_header(name, value)
        if response.chunks is None and "content-length" not in names and response.status not in {204, 304}:
            self.send_header("Content-Length", str(len(response.body)))
        if response.chunks is not None and "content-length" not in names:
            self.send_header("Connection", "close")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Silent."""


@contextlib.contextmanager
def serve(
    exchanges: Iterable[Exchange] = (),
    *,
    context: ssl.SSLContext | None = None,
    verify: bool = True,
    trusted: bool = False,
) -> Iterator[Server]:
    """The server while the block runs; afterwards the script must have been followed (unless `verify` is false).

    `trusted`: it plays the site that the credentials of a test are for.
    """
    server = Server(exchanges, context)
    server.trusted = trusted
    server.start()
    try:
        yield server
    finally:
        server.stop()
    server.nothing_leaked()
    if verify:
        server.verify()
