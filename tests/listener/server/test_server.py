"""A listener process over real sockets: answers, limits, logs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import socket
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.listening import HEADER, SECRET, Listener, event, listening, run, signature, until
from support.places import ROOT
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and sockets of POSIX")

SHORT = '[listener.webhook]\nheader_timeout = "1s"\nbody_timeout = "1s"\nidle_timeout = "1s"\nmax_connections = 20\n'


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> object:
    """One listener that verifies nothing and prints every event."""
    with listening(tmp_path_factory.mktemp("plain"), "--log", "--metrics", "--max-body", "100000") as listener:
        yield listener


@pytest.fixture(scope="module")
def signed(tmp_path_factory: pytest.TempPathFactory) -> object:
    """One listener with a secret, its old secret, and no log of bodies."""
    secrets = {"LMS_SECRET": f"{SECRET}\nthe old one"}
    with listening(tmp_path_factory.mktemp("signed"), "--events", "grade_*", environ=secrets) as listener:
        yield listener


def test_paths_and_methods(plain: Listener) -> None:
    assert plain.request("GET", "/health")[::2] == (200, b'{"status":"ok"}')
    assert plain.request("HEAD", "/health")[::2] == (200, b"")
    assert plain.request("GET", "/ready").status == 200
    for method in ("GET", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS"):
        answer = plain.request(method, "/webhook")
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert plain.request("POST", "/health").headers["allow"] == "GET, HEAD"
    for path in ("/webhook/", "/", "/webhooks", "/Webhook", "/%77ebhook/"):
        assert plain.post(event(), path=path).status == 404
    answer = plain.post(event())
    assert (answer.status, answer.body) == (200, b"")
    assert plain.post(event("query"), path="/webhook?a=b").status == 200


NO_EVENTS = [
    b"", b"{}", b"null", b"[]", b"1", b'"x"', b"\xff\xfe{}", b"{", b'{"event_type": 5}', b'{"event_type": ""}',
    b'{"event_type": "grade_change", "id": {}}', b'{"event_type": "grade_change", "id": true}',
    b'{"event_type": "grade_change", "x": NaN}', b'{"event_type": "grade_change", "x": -Infinity}',
    b"[" * 50_000, b'{"a":' * 9000, b'{"event_type": "grade_change", "x": ' + b"9" * 5000 + b"}",
    "\ufeff{}".encode(), b"grade_change=1",
]  # fmt: skip


@pytest.mark.parametrize("body", NO_EVENTS, ids=lambda body: body[:30].decode("latin-1"))
def test_what_is_no_event_is_a_bad_request(plain: Listener, body: bytes) -> None:
    assert plain.post(body).status == 400


@settings(max_examples=150)
@given(body=st.one_of(
    st.binary(max_size=200),
    st.builds(json.dumps, st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "event_type", "metadata", "event_name", "body", "event_time"]), inner),
        max_leaves=8,
    )).map(str.encode),
))  # fmt: skip
def test_any_bytes_get_an_answer(plain: Listener, body: bytes) -> None:
    assert plain.post(body).status in (200, 400)


@settings(max_examples=60)
@given(data=st.binary(min_size=1, max_size=120))
def test_any_bytes_instead_of_http_leave_the_server_alive(plain: Listener, data: bytes) -> None:
    with plain.connect() as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(PATIENCE)
        try:
            first = connection.recv(65536)
        except ConnectionError:
            first = b""
    assert first[:9] in (b"", b"HTTP/1.1 ")
    assert plain.process.poll() is None


def test_the_log_is_exact_and_stays_on_its_lines(plain: Listener) -> None:
    before = len(plain.out)
    body = (
        b'{"id": 21070000000000145, "event_type": "grade_change", "event_time": "2026-01-02T03:04:05Z", '
        b'"body": {"score": 1.10, "big": 123456789012345678901234567890, "x": "\\u2028\\u001b[31m\\u009b\\n'
        b'\xe2\x80\xae"}}'
    )
    assert plain.post(body).status == 200
    until(lambda: "Body:" in plain.out[before:], "the log")
    lines = plain.out[before:].split("\n")
    assert lines[:3] == ["Time: 2026-01-02T03:04:05Z", "Type: grade_change", "ID: 21070000000000145"]
    assert lines[3].startswith('Body: {"id": 21070000000000145,')
    assert '"score": 1.10' in lines[3]
    assert "123456789012345678901234567890" in lines[3]
    assert json.loads(lines[3].removeprefix("Body: "))["body"]["x"] == "\u2028\x1b[31m\x9b\n\u202e"
    assert lines[3].isprintable()
    assert lines[4:] == [""]


def test_an_id_cannot_forge_lines_or_fields(plain: Listener, signed: Listener) -> None:
    evil = "x\nBody: {}\x1b[2J status=200"
    before = len(plain.out)
    assert plain.post(event(evil)).status == 200
    until(lambda: "Body: {" in plain.out[before:], "the log")
    assert plain.out[before:].count("\nBody: ") == 1
    assert signed.send(event(evil)).status == 200
    line = signed.logged("x\\nBody")
    assert "\x1b" not in line
    assert 'id="x\\nBody: {}\\u001b[2J status=200"' in line


def test_the_second_envelope(plain: Listener) -> None:
    before = len(plain.out)
    body = {"metadata": {"event_name": "quiz_submitted", "event_time": "2026-05-05"}, "data": {"quiz_id": 1}}
    assert plain.post(json.dumps(body).encode()).status == 200
    until(lambda: "Type: quiz_submitted\nID: \n" in plain.out[before:], "the log")


def test_encoded_bodies_are_refused(plain: Listener) -> None:
    assert plain.post(event(), {"Content-Encoding": "gzip"}).status == 415


def test_types_beyond_the_definitions_are_counted_and_not_handled(plain: Listener) -> None:
    before, counted = len(plain.out), _unknown(plain)
    assert plain.post(event("u", "planet_created")).status == 200
    assert plain.post(event("v")).status == 200
    until(lambda: "ID: v" in plain.out[before:], "the log")
    assert "planet" not in plain.out[before:]
    page = plain.request("GET", "/metrics").body.decode()
    assert _unknown(plain) == counted + 1
    assert "listener_deliveries_received_total" in page
    assert 'listener_deliveries_rejected_total{reason="unreadable"}' in page


def test_metrics_are_named_as_prometheus_asks_and_as_the_documentation_says(plain: Listener) -> None:
    page = plain.request("GET", "/metrics").body.decode()
    families = dict(re.findall(r"^# TYPE (listener_\w+) (\w+)$", page, re.MULTILINE))
    families = {name: kind for name, kind in families.items() if not name.endswith("_created")}
    for name, kind in families.items():
        assert name.endswith("_total") == (kind == "counter"), name
        assert not re.search(r"_(ms|milliseconds|minutes|hours|days|kb|mb)(_|$)", name), name
    documented = re.findall(
        r"^\| `(listener_\w+)` \|", (ROOT / "docs" / "how-to" / "run-a-listener.md").read_text("utf-8"), re.MULTILINE
    )
    assert sorted(documented) == sorted(families)


def _unknown(listener: Listener) -> float:
    page = listener.request("GET", "/metrics").body.decode()
    found = re.search(r'listener_events_total{outcome="unknown_type",source="lms"} (\S+)', page)
    return float(found[1]) if found else 0.0


def test_signatures_from_any_of_the_secrets_pass(signed: Listener) -> None:
    body = event("s1")
    assert signed.send(body).status == 200
    assert signed.send(body, "the old one").status == 200
    for headers in ({}, {HEADER: signature(body, "wrong")}, {HEADER: signature(body).upper()}, {HEADER: ""}):
        answer = signed.post(body, headers)
        assert (answer.status, answer.body) == (401, b'{"error":"not genuine"}')
    signed.logged("401 signature_wrong")
    signed.logged("401 signature_missing")
    assert signed.send(b"{}").status == 400


@pytest.mark.parametrize("blank", [" ", "\t", " \t  "])
def test_blanks_around_a_header_are_no_part_of_it(blank: str, signed: Listener) -> None:
    body = event(f"blank{len(blank)}{blank}")
    assert signed.post(body, {HEADER: f"{blank}{signature(body)}{blank}"}).status == 200


def test_nothing_of_a_body_is_printed_without_being_asked(signed: Listener) -> None:
    assert signed.send(event("p1", secret_word="xyzzy")).status == 200
    assert signed.send(event("p2", "quiz_submitted", secret_word="xyzzy")).status == 200
    assert signed.post(event("p3", secret_word="xyzzy")).status == 401
    signed.logged("id=p1")
    assert "200 filtered" in signed.logged("id=p2")
    assert "xyzzy" not in signed.out + signed.err
    assert SECRET not in signed.out + signed.err


def test_one_structured_line_an_event(signed: Listener) -> None:
    signed.send(event("line"))
    line = signed.logged("id=line")
    assert " 200 accepted source=lms type=grade_change id=line client=127.0.0.1 duration_ms=" in line


@pytest.mark.parametrize("size", [256 * 1024 * 1024, 100_001])
def test_a_large_body_is_refused_by_its_length(plain: Listener, size: int) -> None:
    with plain.connect() as connection:
        connection.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % size)
        assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads memory from /proc")
def test_a_large_body_is_refused_while_it_streams_and_costs_no_memory(plain: Listener) -> None:
    before = plain.memory()
    for _ in range(3):
        with plain.connect() as connection:
            connection.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            piece = b"40000\r\n" + b"x" * 0x40000 + b"\r\n"
            with contextlib.suppress(OSError):  # it may stop listening at any time
                for _ in range(1024):  # 256 MiB
                    connection.sendall(piece)
            with contextlib.suppress(ConnectionError):
                assert connection.recv(4096).startswith(b"HTTP/1.1 413 ")
    assert plain.memory() - before < 16 * 1024 * 1024
    assert plain.post(event("after")).status == 200


def test_large_headers_are_refused(plain: Listener) -> None:
    with plain.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 80_000)
        assert connection.recv(4096).startswith(b"HTTP/1.1 431 ")


def test_slow_senders_are_parted_with(tmp_path: Path) -> None:
    halves = [
        (b"", b"HTTP/1.1 408 "),
        (b"POST /webhook HT", b"HTTP/1.1 408 "),
        (b"POST /webhook HTTP/1.1\r\nHost: x\r\n", b"HTTP/1.1 408 "),
        (b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{", b"HTTP/1.1 408 "),
        (b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 200 "),
    ]
    with listening(tmp_path, definitions=SHORT) as listener:
        connections = [listener.connect() for _ in halves]
        for connection, (half, _) in zip(connections, halves, strict=True):
            connection.sendall(half)
        for connection, (_, wanted) in zip(connections, halves, strict=True):
            with connection:
                received = b""
                while piece := connection.recv(4096):
                    received += piece
                assert received.startswith(wanted)
        assert listener.request("GET", "/health").status == 200


def test_a_byte_now_and_then_does_not_keep_a_request_open(tmp_path: Path) -> None:
    with listening(tmp_path, definitions=SHORT) as listener, listener.connect() as connection:
        received = b""
        connection.settimeout(0.1)
        connection.sendall(b"POST /webhook HTTP/1.1\r\n")

        def ended() -> bool:
            nonlocal received
            try:
                connection.sendall(b"A: b\r\n")
                received += connection.recv(4096)
            except TimeoutError:
                return False
            except OSError:
                return True
            return b"408" in received

        until(ended, "the end of the connection")


def test_connections_are_capped(tmp_path: Path) -> None:
    with listening(tmp_path, definitions=SHORT.replace('"1s"', '"1h"')) as listener:
        held = [listener.connect() for _ in range(20)]
        for connection in held:
            connection.sendall(b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{")
        until(lambda: _refused(listener), "the refusal")
        for connection in held:
            connection.close()
        until(lambda: listener.request("GET", "/health").status == 200, "room")


SILENT = {
    "nothing": b"",
    "half a head": b"POST /webhook HTTP/1.1\r\nHo",
    "no body": b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n",
    "another request later": b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
}


@pytest.mark.parametrize("said", SILENT.values(), ids=SILENT)
def test_connections_whose_senders_are_silent_give_their_place_to_new_ones(said: bytes, tmp_path: Path) -> None:
    with listening(tmp_path, definitions=SHORT.replace('"1s"', '"1h"')) as listener:
        silent = [listener.connect() for _ in range(20)]
        for connection in silent:
            connection.sendall(said)
        until(lambda: not _refused(listener), "the answer")
        came = dict.fromkeys(silent, b"")
        ended = until(lambda: [came[each] for each in silent if _has_ended(each, came)], "the end of one")
        is_idle = said == SILENT["another request later"]
        assert all((b" 503 " in received) != is_idle for received in ended)
        for connection in silent:
            connection.close()


def _has_ended(connection: socket.socket, came: dict[socket.socket, bytes]) -> bool:
    connection.settimeout(0)
    try:
        while piece := connection.recv(4096):
            came[connection] += piece
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


def _refused(listener: Listener) -> bool:
    with listener.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        try:
            return b" 503 " in connection.recv(4096)
        except ConnectionError:
            return False


def test_pipelined_requests_are_answered_in_order(plain: Listener) -> None:
    one = event("pipe")
    post = b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(one), one)
    with plain.connect() as connection:
        connection.sendall(
            post
            + b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
            + post
            + b"GET /no HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        received = b""
        while piece := connection.recv(4096):
            received += piece
    assert re.findall(rb"HTTP/1\.1 (\d+)", received) == [b"200", b"200", b"200", b"404"]


def test_a_sender_that_waits_to_be_asked_for_the_body(plain: Listener) -> None:
    body = event("expect")
    with plain.connect() as connection:
        connection.sendall(
            b"POST /webhook HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n" % len(body)
        )
        assert connection.recv(4096).startswith(b"HTTP/1.1 100 ")
        connection.sendall(body)
        assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")


def test_a_unix_socket_and_a_second_listener_on_one_port(tmp_path: Path) -> None:
    path = tmp_path / "s"
    with listening(tmp_path, address=("--addr", f"unix:{path}")) as listener:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(4096).startswith(b"HTTP/1.1 200 ")
        done = run(tmp_path, "listen", "--addr", f"unix:{path}")
        assert done.returncode == 1
        assert "another program listens there" in done.stderr
        assert listener.stop() == 0
    assert not path.exists()


def test_all_interfaces_without_verification_warn(tmp_path: Path) -> None:
    public = ("--addr", "0.0.0.0:0")
    done = run(tmp_path, "listen", *public)
    assert done.returncode == 2
    assert "it has no secret or key set to verify events with" in done.stderr
    assert "--insecure anyone who can reach this host" in done.stderr
    with listening(tmp_path, "--insecure", address=public) as listener:
        assert "warning: lms: nothing is verified, anyone who can reach this host can send events" in listener.err
    with listening(tmp_path, address=public, environ={"LMS_SECRET": "x"}) as listener:
        assert "warning" not in listener.err


def test_the_address_behind_a_proxy(tmp_path: Path) -> None:
    with listening(tmp_path, "--trust-proxy", "127.0.0.0/8") as listener:
        listener.post(event("proxied"), {"X-Forwarded-For": "6.6.6.6, 203.0.113.9, 127.0.0.1"})
        assert "client=203.0.113.9 " in listener.logged("id=proxied")


BAD_STARTS = {
    "--events grade_chnage": "did you mean 'grade_change'?",
    "--events x*y": "no event matches 'x*y'",
    "--addr nonsense": "is not a valid address",
    "--addr ::1:80": "brackets",
    "--addr :99999": "is not a valid address",
    "--jwks-url http://example.org/k": "needs https",
    "--jwks-url http://0.0.0.0/k": "needs https",
    "--jwks-url ftp://x": "--jwks-url: 'ftp://x' is not a valid address",
    "--inbox=": "--inbox is empty",
    "--queue=": "--queue is empty",
    "--public-url=": "--public-url is empty",
    "--events=": "--events is empty",
    "--events=grade_change --events=,": "--events is empty",
    "--secret-file /does/not/exist": "No such file",
    "--routes /does/not/exist": "no file",
    "--tls-key x": "needs --tls-cert",
    "--max-body 0": "expected a number of bytes above 0, not 0",
    "--source lsm": "did you mean 'lms'?",
    "--trust-proxy nowhere": "is not an address or network",
}


@pytest.mark.parametrize("arguments", BAD_STARTS)
def test_a_wrong_option_is_refused_before_listening(arguments: str, tmp_path: Path) -> None:
    done = run(tmp_path, "listen", *arguments.split())
    assert done.returncode == 2, done.stderr
    assert BAD_STARTS[arguments] in done.stderr
    assert "Traceback" not in done.stderr


def test_a_secret_with_a_blank_is_refused_and_not_shown(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("hush \n", encoding="utf-8")
    (tmp_path / "secret").chmod(0o600)
    for done in (
        run(tmp_path, "listen", "--secret", " hush"),
        run(tmp_path, "listen", "--secret-file", "secret"),
        run(tmp_path, "listen", LMS_SECRET="hush "),
    ):
        assert done.returncode == 2
        assert "whitespace" in done.stderr
        assert "hush" not in done.stderr


def test_closed_and_blocked_output_does_not_stop_the_server(tmp_path: Path) -> None:
    import subprocess

    from support.listening import command, environment

    read, write = os.pipe()
    process = subprocess.Popen(
        command("listen", "--addr", f"unix:{tmp_path}/s", "--log"),
        stdin=subprocess.DEVNULL, stdout=write, stderr=write, cwd=tmp_path, env=environment(tmp_path),
    )  # fmt: skip
    os.close(write)
    try:
        until((tmp_path / "s").exists, "the socket")
        body = event("x", pad="x" * 4000)
        post = b"POST /webhook HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        for stage in ("nobody reads", "closed"):
            for _ in range(100):
                with socket.socket(socket.AF_UNIX) as connection:
                    connection.settimeout(PATIENCE)
                    until(lambda connection=connection: _connected(connection, str(tmp_path / "s")), "a connection")
                    connection.sendall(post)
                    assert connection.recv(4096).startswith(b"HTTP/1.1 200 "), stage
            if stage == "nobody reads":
                os.close(read)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _connected(connection: socket.socket, path: str) -> bool:
    try:
        connection.connect(path)
    except OSError:
        time.sleep(0.05)
        return False
    return True
