"""What anyone can send over a raw socket: each delivery gets its answer, at a bounded cost, without a traceback."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.listening import HEADER, SECRET, Listener, command, environment, event, listening, signature, until
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and sockets of POSIX")

START = b"POST /webhook HTTP/1.1\r\nHost: x\r\n"
CHUNKED = START + b"Transfer-Encoding: chunked\r\n\r\n"
SLOW = '[route.slow]\non = ["quiz_*"]\ndo = [{ handler = "exec", run = ["sleep", "0.3"] }]\n'


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> object:
    """One that verifies nothing, and takes a moment for some events."""
    with listening(tmp_path_factory.mktemp("odd"), "--max-body", "2000000", "--metrics", routes=SLOW) as listener:
        yield listener
        assert "Traceback" not in listener.err
        assert "internal" not in listener.err


def sized(body: bytes, *headers: bytes) -> bytes:
    return START + b"".join(line + b"\r\n" for line in headers) + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def chunked(body: bytes, sizes: list[int]) -> bytes:
    pieces, position = [], 0
    for size in sizes:
        if piece := body[position : position + size]:
            pieces.append(b"%x\r\n%s\r\n" % (len(piece), piece))
        position += size
    rest = body[position:]
    return b"".join(pieces) + (b"%x\r\n%s\r\n" % (len(rest), rest) if rest else b"") + b"0\r\n"


def statuses(connection: socket.socket, count: int) -> list[int]:
    """Of so many final answers, or fewer where the connection ends."""
    received, found = b"", []
    while len(found) < count:
        try:
            piece = connection.recv(65536)
        except ConnectionError:
            break
        if not piece:
            break
        received += piece
        found = re.findall(rb"HTTP/1\.1 (\d+) [^\r]*\r\n(?!\r\n)", received)
    return [int(status) for status in found]


def sent(listener: Listener, data: bytes, count: int = 1) -> list[int]:
    with listener.connect() as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        return statuses(connection, count)


@pytest.mark.parametrize("line", [b"A: " + b"x" * 1000, b"A: b"], ids=["long", "short"])
def test_trailers_have_a_limit(plain: Listener, line: bytes) -> None:
    before = plain.memory()
    with plain.connect() as connection:
        connection.sendall(CHUNKED + b"2\r\n{}\r\n0\r\n")
        piece = (line + b"\r\n") * (65536 // len(line))
        try:
            for _ in range(2000):
                connection.sendall(piece)
        except OSError:
            pass
        assert statuses(connection, 1) in ([431], [])
    with plain.connect() as connection:
        connection.sendall(CHUNKED + b"2\r\n{}\r\n0\r\nA: ")
        try:
            for _ in range(2000):
                connection.sendall(b"x" * 65536)
        except OSError:
            pass
    assert plain.memory() - before < 24 * 1024 * 1024
    assert "trailers_too_large" in plain.logged("431 trailers")


def test_a_trailer_proves_nothing(tmp_path: Path) -> None:
    body = event("trailer")
    trailers = f"{HEADER}: {signature(body)}\r\nX-Forwarded-For: 9.9.9.9\r\n\r\n".encode()
    with listening(tmp_path, "--trust-proxy", "*", environ={"LMS_SECRET": SECRET}) as listener:
        assert sent(listener, CHUNKED + chunked(body, [5]) + trailers) == [401]
        assert "client=127.0.0.1" in listener.logged("signature_missing")


@pytest.mark.slow
def test_a_body_in_the_smallest_chunks_costs_linear_time(plain: Listener) -> None:
    costs = []
    for size in (450_000, 1_800_000):
        body = event(f"small{size}", pad="x" * size)
        started = used(plain)
        assert sent(plain, CHUNKED + b"".join(b"1\r\n%c\r\n" % each for each in body) + b"0\r\n\r\n") == [200]
        costs.append(used(plain) - started)
    assert costs[1] < 9 * costs[0], "four times the size; with copies of what came before it would be 16 times"


def test_what_is_refused_does_not_answer_the_request_before_it(plain: Listener) -> None:
    slow = event("before a large one", "quiz_submitted")
    large = START + b"Content-Length: 3000000\r\n\r\n"
    with plain.connect() as connection:
        connection.sendall(sized(slow) + large)
        assert statuses(connection, 2)[:1] == [200]


def test_answers_that_nobody_reads_do_not_pile_up(plain: Listener) -> None:
    piece = sized(b"{}") * 1000
    with plain.connect() as connection:
        connection.settimeout(1)
        taken = 0
        with contextlib.suppress(OSError):  # no more is taken
            while taken < 60_000_000:
                taken += connection.send(piece)
    assert taken < 50_000_000


def used(listener: Listener) -> float:
    """Seconds of processor time."""
    page = listener.request("GET", "/metrics").body.decode()
    return float(re.findall(r"^process_cpu_seconds_total (\S+)", page, re.MULTILINE)[0])


def test_framing_without_a_body_has_a_limit(plain: Listener) -> None:
    with plain.connect() as connection:
        connection.sendall(CHUNKED + b"1;a=")
        try:
            for _ in range(2000):
                connection.sendall(b"x" * 65536)
        except OSError:
            pass
    plain.logged("431 framing_too_large")


@pytest.mark.parametrize(
    "headers",
    [
        (b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"),
        (b"Connection: upgrade", b"Upgrade: websocket", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="),
        (b"Upgrade: h2c", b"Connection: keep-alive, Upgrade"),
    ],
)
@pytest.mark.parametrize("split", [False, True])
def test_an_offer_to_speak_another_protocol_is_not_taken(
    plain: Listener, headers: tuple[bytes, ...], split: bool
) -> None:
    one = sized(event("upgrade"), *headers)
    slow = sized(event("upgrade-slow", "quiz_submitted"), *headers)
    with plain.connect() as connection:
        if split:
            for position in range(0, len(one), 7):
                connection.sendall(one[position : position + 7])
                time.sleep(0.001)
        else:
            connection.sendall(one)
        assert statuses(connection, 1) == [200]
        connection.sendall(slow + one)
        assert statuses(connection, 2) == [200, 200]
    assert sent(plain, b"CONNECT example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n") == [400]


@pytest.mark.parametrize("count", [600, 3000])
def test_many_deliveries_in_one_write_are_all_answered(plain: Listener, count: int) -> None:
    data = b"".join(sized(event(f"many{number}")) for number in range(count))
    with plain.connect() as connection:
        connection.settimeout(PATIENCE)
        import threading

        writer = threading.Thread(target=connection.sendall, args=(data,))
        writer.start()
        assert statuses(connection, count) == [200] * count
        writer.join()


@pytest.mark.parametrize("rubbish", [b"\0\1\2 rubbish\r\n\r\n", b"FETCH / HTTP/9\r\n\r\n", b"G G G\r\n\r\n"])
def test_rubbish_after_a_request_ends_in_order(plain: Listener, rubbish: bytes) -> None:
    expecting = START + b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert sent(plain, expecting + rubbish) == [400]
    with plain.connect() as connection:
        connection.sendall(expecting)
        assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
        connection.sendall(rubbish)
        assert statuses(connection, 1) == [400]
    body = event(f"working{rubbish!r}", "quiz_submitted")
    assert sent(plain, sized(body) + rubbish, 2) == [200], "the answer that was due first"
    assert plain.post(event("after")).status == 200


def test_a_sender_that_has_closed_its_half_gets_its_answers(plain: Listener) -> None:
    for type in ("grade_change", "quiz_submitted"):
        with plain.connect() as connection:
            connection.sendall(sized(event(f"half-{type}-1", type)) + sized(event(f"half-{type}-2", type)))
            received = connection.recv(1) if type == "quiz_submitted" else b""  # between the answers
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                received += piece
        assert received.count(b"HTTP/1.1 200 ") == 2, type


DEEP = [1, 199, 200, 201, 300, 900, 990, 1010, 5000, 100_000]


@pytest.mark.parametrize("options", [("--log",), ("--inbox", "inbox.db", "--log")], ids=["plain", "inbox"])
def test_json_of_every_depth_is_taken_or_refused(options: tuple[str, ...], tmp_path: Path) -> None:
    routes = '[route.r]\ndo = [{ handler = "append", file = "got" }]\n'
    with listening(tmp_path, *options, routes=routes) as listener:
        for depth in DEEP:
            for opening, closing in ((b"[", b"]"), (b'{"a":', b"}")):
                inner = opening * (depth - 2) + b"1" + closing * (depth - 2) if depth > 2 else b"1"
                body = b'{"event_type": "grade_change", "id": "%d%s", "body": {"x": %s}}' % (
                    depth, opening[:1].replace(b"[", b"l").replace(b"{", b"o"), inner,
                )  # fmt: skip
                assert listener.post(body).status == (200 if depth <= 200 else 400), depth
        until(lambda: (tmp_path / "got").read_bytes().count(b"\n") == 6, "the handlers")


def test_connections_are_refused_in_words_when_descriptors_are_few(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text("[extend.listener.webhook]\nbody_timeout = '1h'\n", encoding="utf-8")
    process = subprocess.Popen(
        ["bash", "-c", 'ulimit -n 128; exec "$@"', "bash", *command("listen", "--addr", ":0")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=tmp_path,
        env=environment(tmp_path, LMS_DEFINITIONS=str(tmp_path)),
    )  # fmt: skip
    listener = Listener(process, tmp_path)
    held: list[socket.socket] = []
    try:
        listener.wait_ready()
        line = listener.logged("128 open files are allowed")
        served = int(re.findall(r"room for (\d+) connections instead of 1024", line)[0])
        assert 32 <= served < 128
        for _ in range(served):
            held.append(listener.connect())
            held[-1].sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")  # and not more
        for _ in range(100):
            held.append(listener.connect())
            assert statuses(held[-1], 1) == [503]
        for connection in held:
            connection.close()
        until(lambda: sent(listener, sized(event("room"))) == [200], "room")
        assert listener.stop() == 0
    finally:
        for connection in held:
            connection.close()
        if process.poll() is None:
            process.kill()
        listener.finish()


BODIES = st.sampled_from([event("f1"), event("f2", pad="y" * 300), b"{}", b"", b'{"event_type": "grade_change"}'])
EXTRA = st.sampled_from(
    [
        (),
        (b"Connection: upgrade", b"Upgrade: h2c"),
        (b"Expect: 100-continue",),
        (b"X-A: caf\xe9",),
        (b"Connection: close",),
    ]
)
TRAILERS = st.sampled_from([b"\r\n", b"X-T: 1\r\n\r\n", b"X-Lms-Signature: 0\r\nX-U: 2\r\n\r\n"])


@st.composite
def requests(draw: st.DrawFn) -> tuple[bytes, bool]:
    """One well-formed delivery, and whether it is the last of its connection."""
    body, extra = draw(BODIES), draw(EXTRA)
    if draw(st.booleans()):
        made = sized(body, *extra)
    else:
        head = START + b"".join(line + b"\r\n" for line in extra) + b"Transfer-Encoding: chunked\r\n\r\n"
        made = head + chunked(body, draw(st.lists(st.integers(1, 40), max_size=6))) + draw(TRAILERS)
    return made, b"Connection: close" in extra


@settings(max_examples=60)
@given(made=st.lists(requests(), min_size=1, max_size=5), cuts=st.lists(st.integers(1, 400), max_size=6))
def test_any_well_formed_deliveries_are_answered_in_full(
    plain: Listener, made: list[tuple[bytes, bool]], cuts: list[int]
) -> None:
    """Sized or in chunks, with trailers, offers and pipelining, in pieces of any size."""
    last = next((number for number, (_, closes) in enumerate(made) if closes), len(made) - 1)
    data = b"".join(request for request, _ in made[: last + 1])
    with plain.connect() as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        position = 0
        for size in (*cuts, len(data)):
            connection.sendall(data[position : position + size])
            position += size
        found = statuses(connection, last + 1)
    assert len(found) == last + 1
    assert set(found) <= {200, 400}


@settings(max_examples=60)
@given(request=requests(), place=st.integers(0, 400), rubbish=st.binary(min_size=1, max_size=20))
def test_a_damaged_delivery_leaves_the_server_in_order(
    plain: Listener, request: tuple[bytes, bool], place: int, rubbish: bytes
) -> None:
    data = request[0][:place] + rubbish + request[0][place:]
    with plain.connect() as connection:
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65536):
                pass
        except ConnectionError:
            pass
    assert plain.process.poll() is None
    assert plain.request("GET", "/health").status == 200
