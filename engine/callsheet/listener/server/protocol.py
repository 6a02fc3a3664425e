"""The server's HTTP protocol with the limits a public address needs: uvicorn's own, and a watch on every phase.

Clocks are looked at by one sweep a second over all connections instead of by a timer for each request.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from httptools import parse_url
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from . import responses

if TYPE_CHECKING:
    import asyncio

    from uvicorn.config import Config
    from uvicorn.server import ServerState

HEADERS, BODY, WORKING, IDLE, LEAVING = range(5)
LINGER_TIME = 2.0


class Limits(NamedTuple):
    """Bytes and seconds, and what is told of requests that never become one, and of whole ones at once."""

    max_body: int
    max_header: int
    connections: int
    header_time: float
    body_time: float
    idle_time: float
    refused: Callable[[int, str, str], None]
    try_immediately: Callable[[dict[str, Any], bytes], responses.Answer | None]


_TOO_LARGE = responses.raw(413, b"Content Too Large")
_HEADERS_TOO_LARGE = responses.raw(431, b"Request Header Fields Too Large")
_TOO_SLOW = responses.raw(408, b"Request Timeout")
_BUSY = responses.raw(503, b"Service Unavailable")
_BAD = responses.raw(400, b"Bad Request")


class LimitedProtocol(HttpToolsProtocol):
    """`limits` is set on a subclass made for one server."""

    limits: Limits

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.now = self.loop.time
        self.phase = HEADERS
        self.since = self.now()
        self.taken = 0
        self.whole: bytes | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "too_many_connections", _BUSY)

    def data_received(self, data: bytes) -> None:
        if self.phase == LEAVING:
            return
        super().data_received(data)
        if self.phase == HEADERS:
            self.taken += len(data)
            if self.taken > self.limits.max_header:
                self._refuse(431, "headers_too_large", _HEADERS_TOO_LARGE)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._enter(HEADERS)

    def on_headers_complete(self) -> None:
        self._enter(BODY)
        for name, value in self.headers:
            if name == b"content-length" and _exceeds(value, self.limits.max_body):
                self._refuse(413, "body_too_large", _TOO_LARGE)
                return
        cycle = self.cycle
        free = (cycle is None or cycle.response_complete) and not self.expect_100_continue
        if free and self.parser.get_method() == b"POST" and self.parser.should_keep_alive():
            self.whole = b""
        else:
            self.whole = None
            super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        if self.phase == LEAVING:
            return
        self.taken += len(body)
        if self.taken > self.limits.max_body:
            self._refuse(413, "body_too_large", _TOO_LARGE)
        elif self.whole is None:
            super().on_body(body)
        else:
            self.whole = self.whole + body if self.whole else body

    def on_message_complete(self) -> None:
        if self.phase == LEAVING:
            return
        whole, self.whole = self.whole, None
        if whole is not None:
            if self._answer_at_once(whole):
                return
            super().on_headers_complete()
            super().on_body(whole)
        super().on_message_complete()
        self._enter(IDLE if self.cycle.response_complete else WORKING)

    def _answer_at_once(self, whole: bytes) -> bool:
        """The short way for what needs no waiting: no task, one write. uvicorn's way is taken by all else."""
        url = parse_url(self.url)
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]
        scope["path"] = url.path.decode("ascii")
        scope["query_string"] = url.query or b""
        answer = self.limits.try_immediately(scope, whole)
        if answer is None:
            return False
        date = self.server_state.default_headers[0]
        self.transport.write(b"%sdate: %s\r\n%s" % (answer.head, date[1], answer.tail))
        self._enter(IDLE)
        return True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._unset_keepalive_if_required()
        if self.phase == WORKING:
            self._enter(IDLE)

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "not_http", _BAD)

    def _enter(self, phase: int) -> None:
        self.phase = phase
        self.since = self.now()
        self.taken = 0

    def _refuse(self, status: int, word: str, response: bytes) -> None:
        """Answer at once, then swallow for a moment what is still coming: closing right away would lose the answer."""
        self.limits.refused(status, word, self.client[0] if self.client else "unix")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(response)
        self._enter(LEAVING)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def sweep(self, now: float) -> None:
        """Part with a sender that takes too long."""
        spent = now - self.since
        if self.phase == LEAVING:
            if spent > LINGER_TIME:
                self.transport.abort()
        elif self.phase == HEADERS and spent > self.limits.header_time:
            self._refuse(408, "headers_too_slow", _TOO_SLOW)
        elif self.phase == BODY and spent > self.limits.body_time:
            self._refuse(408, "body_too_slow", _TOO_SLOW)
        elif self.phase == IDLE and spent > self.limits.idle_time:
            self.transport.close()


def _exceeds(value: bytes, limit: int) -> bool:
    return value.isdigit() and (len(value) > 18 or int(value) > limit)
