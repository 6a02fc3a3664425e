"""Bytes of a connection to answers, without a network: what is answered at once, what later, what is refused."""

from __future__ import annotations

import asyncio
import gc
import re
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from uvicorn.config import Config
from uvicorn.server import ServerState

from callsheet.listener.byte_budget import ByteBudget
from callsheet.listener.server import http_protocol as piecewise
from callsheet.listener.server import responses
from callsheet.listener.server.http_protocol import CLOSING, IDLE, RESPONDING, LimitedProtocol, Limits
from support.waiting import reach

MAX_BODY, MAX_HEADER = 40, 400


class Transport:
    """What was written, and whether the connection was ended."""

    def __init__(self) -> None:
        self.written = bytearray()
        self.closed = self.ended = self.reading = False

    def get_extra_info(self, _: str, default: Any = None) -> Any:
        return default

    def write(self, data: bytes) -> None:
        assert not self.closed
        self.written += data

    def close(self) -> None:
        self.closed = True

    def abort(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = True

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Connection:
    """One connection to an application that echoes. `waits` tells which bodies are answered later, by `release`."""

    def __init__(self, waits: Callable[[bytes], bool] = lambda _: False) -> None:
        self.seen: list[tuple[str, bytes, bytes, bytes]] = []
        self.refused: list[tuple[int, str]] = []
        self.refused_from: list[str] = []
        self.released = asyncio.Event()
        self.budget = ByteBudget(8 * MAX_BODY, MAX_BODY)
        self.transport = Transport()

        def see(scope: dict[str, Any], body: bytes) -> responses.Response:
            kind = dict(scope["headers"]).get(b"kind", b"")
            self.seen.append((scope["path"], scope["query_string"], kind, body))
            return responses.make_response(200, b"<" + body + b">")

        async def later(scope: dict[str, Any], body: bytes) -> responses.Response:
            await self.released.wait()
            return see(scope, body)

        def respond(
            scope: dict[str, Any], body: bytes, deliver: Callable[[responses.Response], None]
        ) -> responses.Response | None:
            if not waits(body):
                return see(scope, body)
            asyncio.ensure_future(later(scope, body)).add_done_callback(lambda done: deliver(done.result()))
            return None

        async def app(scope: dict[str, Any], receive: Callable[[], Awaitable[Any]], send: Any) -> None:
            body = b""
            while (message := await receive())["type"] == "http.request":
                body += message["body"]
                if not message["more_body"]:
                    break
            if message["type"] == "http.request":
                for part in await later(scope, body) if waits(body) else see(scope, body):
                    await send(part)

        config = Config(cast("Any", app), http=LimitedProtocol, ws="none", lifespan="off", log_config=None)
        config.loaded_app = app
        config.encoded_headers = []
        state = ServerState()
        state.default_headers = [(b"date", b"now")]
        limits = Limits(MAX_BODY, MAX_HEADER, 10, 2, 10.0, 15.0, 60.0, self.refuse, respond, self.budget)
        made = type("Protocol", (LimitedProtocol,), {"limits": limits, "handshakes": {}})
        self.protocol: LimitedProtocol = made(config, state, {})
        self.protocol.connection_made(cast("Any", self.transport))

    def refuse(self, status: int, why: str, sender: str) -> None:
        self.refused.append((status, why))
        self.refused_from.append(sender)

    @property
    def answers(self) -> list[tuple[int, bytes]]:
        """Status and body of each."""
        text, found = bytes(self.transport.written), []
        while text:
            head, _, rest = text.partition(b"\r\n\r\n")
            length = re.search(rb"content-length: (\d+)", head.lower())
            size = int(length[1]) if length else 0
            found.append((int(head.split(b" ")[1]), rest[:size]))
            text = rest[size:]
        return found


def run(work: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(60):
            await work()

    asyncio.run(bounded())


async def settled() -> None:
    for _ in range(8):
        await asyncio.sleep(0)


def post(body: bytes = b"x", *headers: str, path: str = "/webhook") -> bytes:
    lines = (f"POST {path} HTTP/1.1", "Host: h", f"Content-Length: {len(body)}", *headers)
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def in_chunks(body: bytes, size: int, *trailers: bytes) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    head = b"POST /webhook HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + framed + b"0\r\n" + b"".join(line + b"\r\n" for line in trailers) + b"\r\n"


@given(cuts=st.lists(st.integers(1, 400), max_size=12), waits=st.booleans())
@settings(max_examples=40)
def test_however_the_bytes_arrive_each_request_is_answered_in_order(cuts: list[int], waits: bool) -> None:
    requests = (
        post(b"one", "Kind: a", path="/webhook?q=1%20"), post(b""), in_chunks(b"three", 2, b"Kind: trailer"),
        post(b"four", "Expect: 100-continue"), b"GET /health HTTP/1.1\r\nHost: h\r\n\r\n", post(b"six", path="/a%20b"),
    )  # fmt: skip
    sent = b"".join(requests)

    async def work() -> None:
        connection = Connection(waits=lambda body: waits and body in (b"one", b"three", b"six"))
        connection.released.set()
        places = sorted({0, *(cut for cut in cuts if cut < len(sent)), len(sent)})
        for start, end in pairwise(places):
            connection.protocol.data_received(sent[start:end])
            await settled()
        await settled()
        answered = [answer for answer in connection.answers if answer[0] != 100]
        assert answered == [(200, b"<%s>" % body) for body in (b"one", b"", b"three", b"four", b"", b"six")]
        assert connection.seen[0] == ("/webhook", b"q=1%20", b"a", b"one")
        assert connection.seen[2] == ("/webhook", b"", b"", b"three"), "a trailer is no header"
        assert connection.seen[-1][0] == "/a b"
        assert (connection.refused, connection.protocol.phase) == ([], IDLE)
        assert not connection.transport.closed

    run(work)


@pytest.mark.parametrize(
    ("sent", "status", "why"),
    [
        (post(b"x" * (MAX_BODY + 1)), 413, "body_too_large"),
        (in_chunks(b"x" * (MAX_BODY + 1), 7), 413, "body_too_large"),
        (post(b"x", "A: " + "y" * MAX_HEADER), 431, "headers_too_large"),
        (b"POST /" + b"y" * MAX_HEADER, 431, "headers_too_large"),
        (in_chunks(b"x", 1, b"A: " + b"y" * MAX_HEADER), 431, "trailers_too_large framing_too_large"),
        (b"hello\r\n\r\n", 400, "not_http"),
        (post(b"x", "Content-Length: 2"), 400, "not_http"),
    ],
)
@pytest.mark.parametrize("size", [1, 10_000])
def test_what_is_too_large_or_no_http_is_refused_and_the_connection_ends(
    size: int, sent: bytes, status: int, why: str
) -> None:
    async def work() -> None:
        connection = Connection()
        for start in range(0, len(sent), size):
            connection.protocol.data_received(sent[start : start + size])
        connection.protocol.data_received(post(b"too late"))
        await settled()
        assert [(status, word) for word in why.split() if connection.refused == [(status, word)]], connection.refused
        assert [answer[0] for answer in connection.answers] == [status]
        assert (connection.transport.ended, connection.protocol.phase) == (True, CLOSING)
        assert connection.seen == []

    run(work)


@pytest.mark.parametrize("body", [MAX_BODY, MAX_BODY - 1])
def test_what_is_just_small_enough_is_taken(body: int) -> None:
    async def work() -> None:
        connection = Connection()
        request = post(b"x" * body)
        head = len(request) - body
        connection.protocol.data_received(post(b"x" * body, "A: " + "y" * (MAX_HEADER - head - 5)))
        connection.protocol.data_received(in_chunks(b"x" * body, 1))
        await settled()
        assert [answer[0] for answer in connection.answers] == [200, 200]
        assert connection.refused == []

    run(work)


def test_framing_around_a_body_has_a_bound() -> None:
    """Extensions of chunks are no part of the body, and no header."""

    async def work() -> None:
        connection = Connection()
        connection.protocol.data_received(in_chunks(b"", 1)[: -len(b"0\r\n\r\n")])
        for _ in range(MAX_HEADER):
            connection.protocol.data_received(b"1;" + b"e" * 60 + b"\r\nx\r\n")
            if connection.refused:
                break
        assert connection.refused == [(431, "framing_too_large")]

    run(work)


def test_an_answer_that_has_to_be_waited_for_comes_once_and_before_the_next() -> None:
    async def work() -> None:
        connection = Connection(waits=lambda body: body == b"slow")
        connection.protocol.data_received(post(b"slow") + post(b"next"))
        await settled()
        assert (connection.answers, connection.protocol.phase) == ([], RESPONDING)
        connection.released.set()
        await settled()
        assert connection.answers == [(200, b"<slow>"), (200, b"<next>")]
        assert connection.protocol.phase == IDLE

    run(work)


def test_who_left_is_not_answered() -> None:
    async def work() -> None:
        connection = Connection(waits=lambda _: True)
        connection.protocol.data_received(post())
        await settled()
        connection.protocol.connection_lost(None)
        connection.released.set()
        await settled()
        assert (connection.answers, len(connection.seen)) == ([], 1)

    run(work)


def test_nothing_is_written_to_a_connection_that_was_ended_a_moment_ago() -> None:
    async def work() -> None:
        told: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        here = Connection(waits=lambda _: True)
        here.protocol.data_received(post())
        await settled()
        here.transport.close()  # as when the time is over; the loop calls `connection_lost` after this
        here.released.set()
        await settled()
        gc.collect()
        await settled()
        assert (told, here.answers, here.refused) == ([], [], [])

    run(work)


@pytest.mark.parametrize("pending", [True, False])
def test_a_sender_that_has_said_all_gets_its_answer(pending: bool) -> None:
    async def work() -> None:
        connection = Connection(waits=lambda _: pending)
        connection.protocol.data_received(post())
        await settled()
        assert connection.protocol.eof_received() is (True if pending else None)
        connection.released.set()
        await settled()
        assert connection.answers == [(200, b"<x>")]
        assert connection.transport.closed is pending

    run(work)


def test_refused_while_an_answer_is_due_the_answer_comes_first_and_is_the_last() -> None:
    async def work() -> None:
        connection = Connection(waits=lambda _: True)
        connection.protocol.data_received(post(b"first"))
        connection.protocol.data_received(b"rubbish\r\n\r\n")
        await settled()
        assert (connection.refused, connection.answers) == ([(400, "not_http")], [])
        connection.released.set()
        await settled()
        assert connection.answers == [(200, b"<first>")]
        assert connection.transport.closed

    run(work)


@pytest.mark.parametrize("upgrade", ["h2c", "websocket"])
def test_another_protocol_that_is_offered_is_not_taken(upgrade: str) -> None:
    async def work() -> None:
        connection = Connection()
        offer = ("Connection: Upgrade, HTTP2-Settings", f"Upgrade: {upgrade}", "HTTP2-Settings: AAMAAABk")
        connection.protocol.data_received(post(b"body", *offer) + post(b"next"))
        await settled()
        assert connection.answers == [(200, b"<body>"), (200, b"<next>")]

    run(work)


def test_beyond_the_number_of_connections_one_is_told_and_far_beyond_closed() -> None:
    """Where no other waits for its sender."""

    class Busy:
        def is_waiting(self) -> bool:
            return False

        def is_late(self, _: float) -> bool:
            return False

    async def work() -> None:
        connection = Connection(lambda _: True)
        connection.protocol.data_received(post())
        limits, state = connection.protocol.limits, connection.protocol.server_state
        for extra, closed in ((1, False), (limits.spare, False), (limits.spare + 1, True)):
            while len(state.connections) < limits.connections + extra - 1:
                state.connections.add(cast("Any", Busy()))
            late, transport = type(connection.protocol)(connection.protocol.config, state, {}), Transport()
            late.connection_made(cast("Any", transport))
            assert b"503 Service Unavailable" in transport.written
            assert transport.closed is closed
        assert connection.refused == [(503, "too_many_connections")] * 3

    run(work)


def test_who_does_not_read_answers_is_not_read_from() -> None:
    async def work() -> None:
        connection = Connection()
        connection.transport.reading = True
        connection.protocol.pause_writing()
        assert not connection.transport.reading
        connection.protocol.resume_writing()
        assert connection.transport.reading

    run(work)


@pytest.mark.parametrize(("peer", "told"), [(("192.0.2.7", 80), "192.0.2.7"), (None, "unix")])
def test_who_was_refused_is_told(peer: tuple[str, int] | None, told: str) -> None:
    async def work() -> None:
        connection = Connection()
        connection.protocol.client = peer
        connection.protocol.data_received(b"nonsense\r\n\r\n")
        assert connection.refused_from == [told]

    run(work)


def test_a_sender_that_does_not_read_is_not_read() -> None:
    async def play() -> None:
        connection = Connection()
        connection.transport.reading = True
        connection.protocol.pause_writing()
        assert (connection.transport.reading, connection.protocol.flow.write_paused) == (False, True)
        connection.protocol.resume_writing()
        assert (connection.transport.reading, connection.protocol.flow.write_paused) == (True, False)

    asyncio.run(play())


@pytest.mark.parametrize("begun", [b"", b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\n{"])
def test_a_slow_connection_that_is_closing_is_written_nothing(begun: bytes) -> None:
    async def work() -> None:
        connection = Connection()
        if begun:
            connection.protocol.data_received(begun)
        connection.transport.close()
        connection.protocol.close_if_slow(connection.protocol.now() + 16)
        assert connection.refused
        assert connection.answers == []

    run(work)


def test_the_rest_of_a_body_is_read_at_once_where_its_size_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        connection = Connection()
        protocol = connection.protocol
        sizes: list[int] = []
        read_piece = protocol.read_piece

        def counted(piece: bytes | memoryview) -> bool:
            sizes.append(len(piece))
            return read_piece(piece)

        first, second = post(b"x" * MAX_BODY), post(b"y" * MAX_BODY)
        head = len(first) - MAX_BODY
        half = (head + 1) // 2  # two pieces of this size end in the body
        monkeypatch.setattr(piecewise, "PIECE", half)
        monkeypatch.setattr(protocol, "read_piece", counted)
        protocol.data_received(first + second)
        await reach(lambda: len(connection.answers) == 2)
        assert connection.answers == [(200, b"<" + letter * MAX_BODY + b">") for letter in (b"x", b"y")]
        assert sizes == [half, half, head + MAX_BODY - 2 * half] * 2

    run(work)


def test_a_failed_allocation_while_a_request_is_read_is_no_fault_of_the_sender() -> None:
    def fails(_: bytes) -> bool:
        raise MemoryError

    async def work() -> None:
        connection = Connection(fails)
        connection.protocol.data_received(post())
        assert connection.refused == [(503, "out_of_memory")]
        assert b"retry-after: 5" in connection.transport.written

    run(work)
