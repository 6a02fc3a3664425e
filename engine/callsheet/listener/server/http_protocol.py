"""The server's HTTP protocol with the limits a public address needs: uvicorn's own, and a watch on every phase.

Clocks are looked at by one sweep a second over all connections instead of by a timer for each request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.parse import unquote

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, HttpRequestParser, parse_url
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from ..byte_budget import ByteBudget, Charge
from . import responses
from .responses import Response

if TYPE_CHECKING:
    import asyncio

    from uvicorn.config import Config
    from uvicorn.server import ServerState

# Requests that come before earlier ones are answered: no more of them are read than can be answered.
#
# One read may hold ten thousand small requests, and each takes a hundred times its size until it is answered.

# More than most deliveries. What the requests in one piece take counts for each connection.
PIECE = 4096
_NOTHING = memoryview(b"")


class _Flow(FlowControl):
    """Uvicorn would go on reading after each answer, also where more requests wait for theirs."""

    def __init__(self, transport: asyncio.Transport, is_held: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._is_held = is_held

    def resume_reading(self) -> None:
        if not self._is_held():
            super().resume_reading()


class PiecewiseProtocol(HttpToolsProtocol):
    """`read_piece` gets what came as long as no answer waits for being given or taken.

    It says whether a request ended in its piece. Then other connections get their turn.
    """

    unread = _NOTHING  # what came too early
    read_at = 0.0
    full_since: float | None = None  # when the sender stopped taking answers
    _turn: asyncio.Handle | None = None

    def read_piece(self, piece: bytes | memoryview) -> bool:
        raise NotImplementedError

    def promised_bytes(self) -> int:
        """How many of the bytes that come next can be no request, because they belong to one that has begun."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        super().connection_made(transport)
        self.flow = _Flow(transport, self.is_held)

    def is_held(self) -> bool:
        """Whether this side keeps the sender from saying more."""
        return bool(self.pipeline or self.unread or self.flow.write_paused)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is left to answer."""
        self.drop_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if len(data) > PIECE or self.is_held():
            self.unread = memoryview(bytes(self.unread) + data if self.unread else data)
            self._read_on()
        else:
            self.read_at = self.loop.time()
            self.read_piece(data)

    def _read_on(self) -> None:
        self._turn = None
        self.read_at = self.loop.time()
        while self.unread and not self.pipeline and not self.flow.write_paused:
            size = max(PIECE, self.promised_bytes())
            piece, self.unread = self.unread[:size], self.unread[size:]
            if self.read_piece(piece) and self.unread:
                self.read_more()
                break
        if self.transport.is_closing():
            self.unread = _NOTHING
        elif self.unread:
            self.flow.pause_reading()
        else:
            self.flow.resume_reading()

    def read_more(self) -> None:
        """An answer was given or taken: go on with what came meanwhile, in turn with other connections."""
        if self.unread:
            self._turn = self._turn or self.loop.call_soon(self._read_on)
        else:
            self.flow.resume_reading()

    def drop_unread(self) -> None:
        self.unread = _NOTHING

    def pause_writing(self) -> None:
        """Who does not read answers gets no more of them."""
        super().pause_writing()
        self.full_since = self.loop.time()
        self.flow.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.full_since = None
        self.read_more()


class _Message:
    """uvicorn tells its requests of new parts of a body; these have all of theirs."""

    def set(self) -> None:
        """Nobody waits."""


class DeferredResponse:
    """An answer that has to be waited for: one write, where uvicorn's way takes messages through queues.

    It stands where uvicorn has its request, with what uvicorn and the protocol look at.
    """

    __slots__ = ("_exchange", "disconnected", "keep_alive", "response_complete", "response_started")
    message_event = _Message()
    more_body = False
    waiting_for_100_continue = False

    def __init__(self, exchange: LimitedProtocol) -> None:
        """`exchange` is the connection that the request came by."""
        self._exchange = exchange
        self.disconnected = False  # the sender went away
        self.keep_alive = True
        self.response_started = self.response_complete = False

    def deliver_response(self, response: Response) -> None:
        self.response_started = self.response_complete = True
        exchange = self._exchange
        if not self.disconnected and not exchange.transport.is_closing():  # the one is told a moment after the other
            is_last = response.closes or not self.keep_alive
            exchange.write_response(response, is_last=is_last)
            if is_last:
                exchange.transport.close()
        exchange.on_response_complete()


_OFFER = (b"upgrade", b"http2-settings")


def without_upgrade(method: bytes, url: bytes, version: str, headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """The head of a request without its offer to speak another protocol (`Upgrade: h2c` of curl and Java's client).

    Nothing for a method that wants a tunnel and is no request to answer (RFC 9110, 9.3.6).
    """
    if method == b"CONNECT":
        return None
    kept = [(name, _without_offer(value) if name == b"connection" else value) for name, value in headers]
    lines = b"".join(b"%s: %s\r\n" % line for line in kept if line[0] not in _OFFER and line != (b"connection", b""))
    return b"%s %s HTTP/%s\r\n%s\r\n" % (method, url, version.encode(), lines)


def _without_offer(value: bytes) -> bytes:
    words = [word.strip() for word in value.split(b",")]
    return b", ".join(word for word in words if word.lower() not in _OFFER)


def path_and_query(target: bytes) -> tuple[str, bytes]:
    """The path without escapes, and the query as it came. Raises httptools' error for what is no target."""
    parsed = parse_url(target)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.query or b""


class Limits(NamedTuple):
    """Bytes and seconds, and what is told of requests that never become one, and what answers whole ones.

    Beyond `connections` one takes the place of another that waits for its sender, or is answered 503 where none does;
    beyond `spare` more it is closed.
    """

    max_body: int
    max_header: int
    connections: int
    spare: int
    header_timeout: float
    body_timeout: float
    idle_timeout: float
    on_refused: Callable[[int, str, str], None]
    respond: Callable[[dict[str, Any], bytes, Callable[[responses.Response], None]], responses.Response | None]
    budget: ByteBudget


HEADERS, BODY, RESPONDING, IDLE, CLOSING = range(5)
LINGER_TIMEOUT = 2.0
LATE_AFTER = 1.0
# Chunks of one byte need five bytes around each.
_FRAMING = 8


class LimitedProtocol(PiecewiseProtocol):
    """`limits` and `handshakes` are set on a subclass made for one server.

    Those are the connections that have not begun yet, with what is done about it.
    """

    limits: Limits
    handshakes: dict[LimitedProtocol, asyncio.Task[None]]

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
        self.phase_start = self.read_at = self.now()
        self.phase_bytes = 0  # bytes of this phase: of the headers so far, or of the body
        self.framed_bytes = 0  # bytes that came after the headers, of which `phase_bytes` are the body
        self.trailers = 0
        self.body_length = 0  # as it was announced
        self.chunk_size = 0  # size of the piece that is being read
        self.is_single_message = True  # whether all of that piece may belong to one message
        self.buffered_body: bytes | bytearray | None = None
        self.charge: Charge | None = None  # for the body that is read
        self.active_cycle: RequestResponseCycle | None = None
        self.last_url: tuple[bytes, str, bytes] = (b"", "", b"")  # with its path and its query

    def connection_lost(self, exc: Exception | None) -> None:
        self.buffered_body = self.charge = None
        super().connection_lost(exc)

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        super().connection_made(transport)
        self.handshakes.pop(self, None)
        excess = len(self.connections) + len(self.handshakes) - self.limits.connections
        if excess > 0 and not self.take_place():
            self.refuse_request(503, "too_many_connections", responses.LAST_BUSY)
        if excess > self.limits.spare:  # no descriptor is left for waiting until the answer has been read
            transport.close()

    def take_place(self) -> bool:
        """That of the connection whose sender has said nothing, or not all, for longest. False where there is none."""
        now = self.now()
        all_ = cast("Iterable[LimitedProtocol]", (*self.connections, *self.handshakes))
        waiting = (each for each in all_ if each is not self and (each.is_waiting() or each.is_late(now)))
        oldest = min(waiting, key=lambda each: each.phase_start, default=None)
        if oldest is not None:
            oldest.give_place()
        return oldest is not None

    def is_waiting(self) -> bool:
        """For a request, and not for this side."""
        began = self.transport is not None
        return self.phase in (HEADERS, IDLE) and not (began and (self.is_held() or self.transport.is_closing()))

    def give_place(self) -> None:
        handshake = self.handshakes.pop(self, None)
        if handshake is not None:
            handshake.cancel()
            return
        if self.phase != IDLE:
            self.refuse_request(503, "too_many_connections", responses.LAST_BUSY)
        self.close_idle()

    def close_idle(self) -> None:
        is_unread = self.transport.get_write_buffer_size()  # closing would wait for a sender that reads nothing
        (self.transport.abort if is_unread else self.transport.close)()

    def read_piece(self, piece: bytes | memoryview) -> bool:
        if self.phase == CLOSING:
            return False
        self.chunk_size, self.is_single_message = len(piece), True
        try:
            self.parser.feed_data(piece)
        except HttpParserUpgrade as upgrade:
            self._ignore_upgrades(memoryview(piece)[upgrade.args[0] :])
        except HttpParserError as error:
            self._refuse_broken(error)
        if self.phase <= BODY:
            self._check_sizes(len(piece))
        return not self.is_single_message

    def promised_bytes(self) -> int:
        return self.body_length - self.phase_bytes if self.phase == BODY else 0

    def _check_sizes(self, size: int) -> None:
        """What no callback tells of: headers that are not complete, and all that surrounds a body in chunks."""
        if self.phase == HEADERS:
            self.phase_bytes = self.phase_bytes + size if self.is_single_message else self._header_size()
            if self.phase_bytes > self.limits.max_header:
                self.refuse_request(431, "headers_too_large", responses.LAST_HEADERS_TOO_LARGE)
        elif self.phase == BODY:
            self.framed_bytes += size
            if self.framed_bytes > self.limits.max_header + self.phase_bytes * (1 + _FRAMING):
                self.refuse_request(431, "framing_too_large", responses.LAST_HEADERS_TOO_LARGE)

    def _header_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) + 4 for name, value in self.headers)

    def _ignore_upgrades(self, rest: memoryview) -> None:
        """The sender would rather speak another protocol; it is answered in this one, as RFC 9110 (7.8) allows.

        The parser has let go of the message at its headers. So a new one reads these again, without the offer. What
        follows may make the next offer, thousands of them in one piece.
        """
        while self.phase != CLOSING:
            head = without_upgrade(self.parser.get_method(), self.url, self.parser.get_http_version(), self.headers)
            if head is None:
                self._refuse_garbage()
                return
            self.parser = HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
            try:
                self.parser.feed_data(head)
                self.parser.feed_data(rest)
                break
            except HttpParserUpgrade as upgrade:
                rest = rest[upgrade.args[0] :]
            except HttpParserError as error:
                self._refuse_broken(error)

    def _refuse_broken(self, error: HttpParserError) -> None:
        """The parser wraps what the methods below raise. Whatever that is, it is no fault of the sender."""
        if not isinstance(error, HttpParserCallbackError) or not isinstance(error.__context__, MemoryError):
            self._refuse_garbage()
        elif self.phase != CLOSING:
            self.refuse_request(503, "out_of_memory", responses.LAST_BUSY)

    def _refuse_garbage(self) -> None:
        if self.phase != CLOSING:
            self.refuse_request(400, "not_http", responses.LAST_BAD)

    def on_message_begin(self) -> None:
        """As uvicorn does it, but for its scope: only a request that goes its way needs one."""
        self.url = b""
        self.headers = []
        self.expect_100_continue = False
        if self.phase != CLOSING:
            self._enter_phase(HEADERS, self.read_at)

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.phase == HEADERS:
            self.headers.append((name.lower(), value.rstrip(b" \t")))  # they are not part of it (RFC 9110, 5.5)
            return
        self.trailers += len(name) + len(value) + 4  # they say nothing that counts here, and cost no more than headers
        if self.trailers > self.limits.max_header and self.phase != CLOSING:
            self.refuse_request(431, "trailers_too_large", responses.LAST_HEADERS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        if self.phase == CLOSING or self.parser.should_upgrade():
            return
        if self.chunk_size > self.limits.max_header and self._header_size() > self.limits.max_header:
            self.refuse_request(431, "headers_too_large", responses.LAST_HEADERS_TOO_LARGE)
            return
        self._enter_phase(BODY, self.read_at)
        self.framed_bytes, self.trailers = -self.chunk_size, 0  # what came with the headers is small enough
        self.body_length = 0
        for name, value in self.headers:
            if name == b"content-length":
                if _exceeds_limit(value, self.limits.max_body):
                    self.refuse_request(413, "body_too_large", responses.LAST_TOO_LARGE)
                    return
                self.body_length = int(value)
                if not self._charge_body(self.body_length):
                    return
            if name == b"expect" and value.lower() == b"100-continue":
                self.expect_100_continue = True
        cycle = self.cycle
        free = (cycle is None or cycle.response_complete) and not self.expect_100_continue
        if free and self.parser.get_method() == b"POST" and self.parser.should_keep_alive():
            self.buffered_body = b""
        else:
            self.buffered_body = None
            self._make_scope()
            self.charge = self.charge or self.limits.budget.new_charge()
            cast("dict[str, Any]", self.scope)["charge"] = self.charge
            super().on_headers_complete()

    def _charge_body(self, length: int) -> bool:
        """Whether so much more of a body may be read; else it is refused."""
        if self.charge is None:
            self.charge = self.limits.budget.new_charge()
        if self.charge.charge_body(length) or self._take_room(length):
            return True
        self.refuse_request(503, "too_many_bytes", responses.LAST_BUSY)
        return False

    def _take_room(self, length: int) -> bool:
        """Of bodies that were announced and do not come, the oldest first: whoever says a length keeps no one out."""
        late = [each for each in cast("set[LimitedProtocol]", self.connections) if each.is_late(self.read_at)]
        for each in sorted(late, key=lambda each: each.phase_start):
            each.refuse_request(503, "too_many_bytes", responses.LAST_BUSY)
            if self.charge is None or self.charge.charge_body(length):
                return True
        return False

    def is_late(self, now: float) -> bool:
        """Whether its body would take longer than it may if it came as it came until now."""
        elapsed = now - self.phase_start
        if self.phase != BODY or elapsed < LATE_AFTER or self.is_held():
            return False
        return self.phase_bytes * self.limits.body_timeout < self.body_length * elapsed

    def _make_scope(self) -> None:
        """Uvicorn's, which it makes at the beginning of a message."""
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers  # the scope holds that list

    def on_body(self, body: bytes) -> None:
        if self.phase == CLOSING:
            return
        self.phase_bytes += len(body)
        if self.phase_bytes > self.limits.max_body:
            self.refuse_request(413, "body_too_large", responses.LAST_TOO_LARGE)
        elif not self.body_length and not self._charge_body(
            len(body)
        ):  # in chunks, of which no one knows how many come
            return
        elif self.buffered_body is None:
            super().on_body(body)
        elif not self.buffered_body:
            self.buffered_body = body
        elif self.phase_bytes == self.body_length:  # the end, as it was announced
            self.buffered_body = b"".join((self.buffered_body, body))
        else:
            if isinstance(self.buffered_body, bytes):
                self.buffered_body = bytearray(self.buffered_body)
            self.buffered_body += body

    def on_message_complete(self) -> None:
        if self.phase != BODY:  # it was refused, or is to be read again without its upgrade
            return
        self.is_single_message = False
        body, self.buffered_body = self.buffered_body, None
        charge, self.charge = self.charge, None
        if body is not None:
            self._respond_at_once(body if type(body) is bytes else bytes(body), charge)
            return
        super().on_message_complete()
        self._enter_phase(IDLE if self.cycle.response_complete else RESPONDING, self.read_at)

    def _respond_at_once(self, body: bytes, charge: Charge | None) -> None:
        """The short way for a whole POST: what needs no waiting is one call and one write."""
        if self.url != self.last_url[0]:  # most senders ask for one again and again
            self.last_url = (self.url, *path_and_query(self.url))
        _, path, query = self.last_url
        scope = {
            "method": "POST", "path": path, "query_string": query, "headers": self.headers, "client": self.client,
            "charge": charge,
        }  # fmt: skip
        deferred = DeferredResponse(self)
        response = self.limits.respond(scope, body, deferred.deliver_response)
        if response is not None:
            self.write_response(response)
            self._enter_phase(IDLE, self.read_at)
            return
        self.cycle = self.active_cycle = cast("RequestResponseCycle", deferred)
        self._enter_phase(RESPONDING, self.read_at)

    def write_response(self, response: responses.Response, *, is_last: bool = False) -> None:
        date = self.server_state.default_headers[0][1]
        self.transport.write(response.with_close(date) if is_last else response.with_date(date))

    def on_response_complete(self) -> None:
        """As uvicorn does it, without a timer for each request."""
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        self.read_more()
        if self.phase == RESPONDING and not self._is_responding:
            self._enter_phase(IDLE, self.now())

    @property
    def _is_responding(self) -> bool:
        return self.active_cycle is not None and not self.active_cycle.response_complete

    def eof_received(self) -> bool | None:  # type: ignore[override]  # uvicorn's always says None
        """A sender that has said all may still be waiting for its answers; after the last one the connection ends."""
        if not self._is_responding or self.phase == BODY or self.scheme == "https":  # TLS has no half of a connection
            return None
        self.cycle.keep_alive = False
        return True

    def _enter_phase(self, phase: int, start: float) -> None:
        self.phase = phase
        self.phase_start = start
        self.phase_bytes = 0

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self.active_cycle = cycle
        super()._start_asgi_task(cycle, app)

    def refuse_request(self, status: int, word: str, response: bytes) -> None:
        """Answer at once, then swallow for a moment what is still coming: closing right away would lose the answer."""
        self.limits.on_refused(status, word, self.client[0] if self.client else "unix")
        earlier, own = self._unfinished_cycles()
        self._enter_phase(CLOSING, self.now())
        self.buffered_body = self.charge = None
        self.pipeline.clear()
        self.drop_unread()
        if self.transport.is_closing():  # it takes no answer any more
            return
        if earlier is not None:  # the answer it waits for comes first, and is the last
            earlier.keep_alive = False
            self.phase_start += self.limits.idle_timeout
            return
        if own is None or not own.response_started:
            self.transport.write(response)
        if own is not None:
            own.waiting_for_100_continue = False  # it would be written behind the end of what is sent
            own.disconnected = True
            own.message_event.set()
            cast("dict[str, Any]", self.scope).pop("charge", None)
        self.flow.resume_reading()
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _unfinished_cycles(self) -> tuple[RequestResponseCycle | None, RequestResponseCycle | None]:
        """The request that is being answered: an earlier one, or the one that is being read."""
        running = self.active_cycle
        if running is None or running.response_complete:
            return None, None
        is_own = running is self.cycle and running.more_body
        return (None, running) if is_own else (running, None)

    def close_if_slow(self, now: float) -> None:
        """Part with a sender that takes too long."""
        elapsed = now - self.phase_start
        if self.phase == CLOSING:
            if elapsed > LINGER_TIMEOUT:
                self.transport.abort()
        elif self.full_since is not None and now - self.full_since > self.limits.idle_timeout:
            self.transport.abort()
        elif self.phase <= BODY and self.is_held():
            self.phase_start = now  # it waits for this side
        elif self.phase == HEADERS and elapsed > self.limits.header_timeout:
            self.refuse_request(408, "headers_too_slow", responses.LAST_TOO_SLOW)
        elif self.phase == BODY and elapsed > self.limits.body_timeout:
            self.refuse_request(408, "body_too_slow", responses.LAST_TOO_SLOW)
        elif self.phase == IDLE and elapsed > self.limits.idle_timeout:
            self.close_idle()


def _exceeds_limit(value: bytes, limit: int) -> bool:
    return value.isdigit() and (len(value) > 18 or int(value) > limit)
