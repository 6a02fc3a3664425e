"""The memory that deliveries take has one bound, and what does not fit is told to come again before it is read."""

from __future__ import annotations

import contextlib
import gc
import json
import random
import re
import socket
import sys
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.listener import byte_budget as budget
from callsheet.listener import machine_limits as memory
from callsheet.listener.byte_budget import ByteBudget, budget_of, memory_of_event
from callsheet.listener.verify.payload import parse_exact, parse_payload
from support.listening import HEADER, SECRET, Listener, event, listening, signature, until
from support.waiting import PATIENCE

MAX_BODY = 100_000
TIGHT = ("--max-body", str(MAX_BODY), "--max-in-flight", str(4 * MAX_BODY), "--metrics")
HELD = '[route.r]\ndo = [{ handler = "exec", run = ["./wait"], timeout = "600s" }]\n'


# So that half a body is never late.
PATIENT = "[extend.listener.webhook]\nbody_timeout = '1h'\n"


def head(length: int, *lines: str) -> bytes:
    return "\r\n".join(("POST /webhook HTTP/1.1", "Host: x", f"Content-Length: {length}", *lines, "", "")).encode()


def answer_of(connection: socket.socket) -> str:
    """All that came until the other side had said all."""
    data = b""
    while chunk := connection.recv(65536):
        data += chunk
        if b"\r\n\r\n" in data and b"connection: close" not in data.lower():
            break
    return data.decode()


def in_flight(listener: Listener) -> float:
    page = listener.request("GET", "/metrics").body.decode()
    return float(re.findall(r"^listener_bytes_in_flight (\S+)$", page, re.MULTILINE)[0])


@contextlib.contextmanager
def held_up(folder: Path, *more: str, **environ: str) -> Iterator[Listener]:
    """Its handler ends when there is a file `go`."""
    (folder / "wait").write_text("#!/bin/sh\necho >> begun\nuntil test -e go; do sleep 0.05; done\n", encoding="utf-8")
    (folder / "wait").chmod(0o755)
    with listening(folder, *TIGHT, *more, routes=HELD, environ=environ, definitions=PATIENT) as listener:
        yield listener


def test_a_body_is_refused_before_it_is_read_where_there_is_no_room(tmp_path: Path) -> None:
    with listening(
        tmp_path, *TIGHT, definitions=PATIENT
    ) as listener, listener.connect() as first, listener.connect() as second:  # fmt: skip
        first.sendall(head(MAX_BODY) + b"{" * (MAX_BODY // 2))
        until(lambda: in_flight(listener) == 2 * MAX_BODY)
        second.sendall(head(MAX_BODY, "Expect: 100-continue"))
        refused = answer_of(second)
        assert refused.startswith("HTTP/1.1 503 ")
        assert "retry-after: 5" in refused.lower()
        listener.logged("too_many_bytes")
        first.close()
        until(lambda: in_flight(listener) == 0)
        assert listener.post(event(text="x" * (MAX_BODY - 500))).status == 200
        until(lambda: in_flight(listener) == 0)


def test_a_length_that_is_announced_keeps_no_one_out(tmp_path: Path) -> None:
    """Whoever says it and sends no body gives the room to those who send theirs."""
    with listening(tmp_path, *TIGHT, definitions=PATIENT) as listener, listener.connect() as silent:
        silent.sendall(head(MAX_BODY) + b"{")
        until(lambda: in_flight(listener) == 2 * MAX_BODY)
        until(lambda: listener.post(event(text="x" * 50_000)).status == 200)
        assert answer_of(silent).startswith("HTTP/1.1 503 ")


def test_a_body_in_chunks_is_refused_as_soon_as_there_is_no_room(tmp_path: Path) -> None:
    with listening(tmp_path, *TIGHT) as listener, listener.connect() as first, listener.connect() as second:
        chunk = b"%x\r\n%s\r\n" % (60_000, b"x" * 60_000)
        start = b"POST /webhook HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        first.sendall(start + chunk)
        until(lambda: in_flight(listener) == 120_000)
        second.sendall(start + chunk)
        assert answer_of(second).startswith("HTTP/1.1 503 ")


def test_what_is_not_verified_leaves_half_for_what_is(tmp_path: Path) -> None:
    big = event("1", text="x" * 45_000)
    with held_up(tmp_path, LMS_SECRET=SECRET) as listener, ThreadPoolExecutor(2) as pool:
        running = pool.submit(listener.send, big)
        until((tmp_path / "begun").exists)
        proved = in_flight(listener)
        assert proved > 3 * len(big)  # the body, its line, its values
        with listener.connect() as waiting:
            waiting.sendall(head(MAX_BODY) + b"{" * (MAX_BODY // 2))  # it has a half of its own
            until(lambda: in_flight(listener) == proved + 2 * MAX_BODY)
            assert listener.send(event("2")).status == 503
        until(lambda: in_flight(listener) == proved)
        (tmp_path / "go").touch()
        assert running.result(PATIENCE).status == 200
        until(lambda: in_flight(listener) == 0)


def test_what_nothing_proves_has_half_of_it_until_its_run_has_ended(tmp_path: Path) -> None:
    with held_up(tmp_path) as listener, ThreadPoolExecutor(2) as pool:
        running = pool.submit(listener.post, event("1", text="x" * 45_000))
        until((tmp_path / "begun").exists)
        with listener.connect() as other:
            other.sendall(head(50_000))
            assert answer_of(other).startswith("HTTP/1.1 503 ")
        (tmp_path / "go").touch()
        assert running.result(PATIENCE).status == 200


def test_an_event_of_an_inbox_counts_until_its_run_has_ended_and_not_until_its_answer(tmp_path: Path) -> None:
    with held_up(tmp_path, "--inbox", "in.db", LMS_SECRET=SECRET) as listener:
        assert listener.send(event("1", text="x" * 45_000)).status == 200
        until((tmp_path / "begun").exists)
        assert in_flight(listener) > 100_000
        (tmp_path / "go").touch()
        until(lambda: in_flight(listener) == 0)


FAILING = """
import asyncio
def plain(event): raise ValueError(event)
async def waits(event):
    await asyncio.sleep(0)
    raise ValueError(event)
def works(event): pass
"""
KINDS = (
    '{ handler = "python", call = "code:plain" }', '{ handler = "python", call = "code:waits" }',
    '{ handler = "python", call = "code:works" }', '{ handler = "exec", run = ["false"] }',
    '{ handler = "append", file = "got" }', '{ handler = "append", file = "no/such/folder" }',
    '{ handler = "forward", url = "http://127.0.0.1:9/" }',
)  # fmt: skip


@pytest.mark.parametrize(
    "handlers",
    [", ".join(KINDS), *(pytest.param(each, marks=pytest.mark.slow) for each in KINDS)],
    ids=range(len(KINDS) + 1),
)
def test_nothing_is_charged_any_more_whatever_became_of_the_event(handlers: str, tmp_path: Path) -> None:
    """Also where nothing that is left over is ever collected."""
    (tmp_path / "code.py").write_text(FAILING, encoding="utf-8")
    never = "import gc; gc.set_threshold = lambda *_: None; gc.disable(); gc.enable = lambda: None"
    with listening(
        tmp_path, *TIGHT, routes=f"[route.r]\ndo = [{handlers}]\n", environ={"LMS_SECRET": SECRET}, patch=never
    ) as listener:
        for number in range(20):  # all of them together would not fit
            assert listener.send(event(str(number), text="x" * 9_000)).status in (200, 500)
            assert listener.post(event("bad", text="x" * 9_000)).status == 401
            assert listener.post(b"{" * 9_000, {HEADER: signature(b"{" * 9_000)}).status == 400
        until(lambda: in_flight(listener) == 0)


def status_of(listener: Listener, body: bytes) -> int | None:
    """None where the answer was lost: a refused sender that is slow to say the rest is parted with soon."""
    try:
        return listener.send(body).status
    except ConnectionError:
        return None


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is read from /proc")
def test_a_process_with_little_memory_refuses_and_does_not_end(tmp_path: Path) -> None:
    """Bodies of 0.9 MB, and as much memory as the program takes and 120 MB."""
    limited = (
        "import resource, re; size = int(re.search(r'VmSize:\\s+(\\d+)', open('/proc/self/status').read())[1]) * 1024;"
        "resource.setrlimit(resource.RLIMIT_AS, (size + 120_000_000,) * 2)"
    )
    (tmp_path / "code.py").write_text(
        "import asyncio, os\nasync def handle(event):\n while not os.path.exists('go'): await asyncio.sleep(0.05)\n",
        encoding="utf-8",
    )
    routes = '[route.r]\ndo = [{ handler = "python", call = "code:handle", timeout = "600s" }]\n'
    with listening(
        tmp_path, "--metrics", routes=routes, environ={"LMS_SECRET": SECRET}, patch=limited, definitions=PATIENT
    ) as listener, ThreadPoolExecutor(80) as pool:  # fmt: skip
        bodies = [event(str(number), words=[f"word {word}" for word in range(55_000)]) for number in range(80)]
        answers = [pool.submit(status_of, listener, body) for body in bodies]
        until(lambda: len(re.findall("too_many_bytes|out_of_memory", listener.err)) > 40)
        assert {each.result() for each in answers if each.done()} <= {503, None}
        (tmp_path / "go").touch()
        statuses = {each.result(PATIENCE) for each in answers}
        assert 200 in statuses
        assert statuses <= {200, 503, None}
        assert listener.send(event("later")).status == 200
        assert listener.process.poll() is None
        until(lambda: in_flight(listener) == 0)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="addresses are read from /proc")
def test_no_thread_has_addresses_of_its_own_set_aside(tmp_path: Path) -> None:
    """As glibc does for each of the first threads, 64 MB at a time: what a limit leaves is too little then."""
    with listening(tmp_path) as listener:
        assert listener.post(event("x")).status == 200
        maps = Path(f"/proc/{listener.process.pid}/maps").read_text(encoding="utf-8")
        closed = re.findall(r"^(\w+)-(\w+) ---p 0+ 00:00 0 *$", maps, re.MULTILINE)
        assert [size for begin, end in closed if (size := int(end, 16) - int(begin, 16)) > 32 << 20] == []


def shapes() -> list[Any]:
    drawn = random.Random(1)
    word = [f"{drawn.getrandbits(40):x}" for _ in range(200)]
    return [
        [{} for _ in range(20_000)], [[] for _ in range(20_000)], [{"a": 0} for _ in range(10_000)],
        list(range(1000, 30_000)), [f"{number}" for number in range(20_000)], "x" * 100_000,
        {f"{each}{number}": number for number in range(40) for each in word},
        [{each: {"id": number, "name": each, "tags": [each]} for each in word} for number in range(10)],
    ]  # fmt: skip


@pytest.mark.parametrize("shape", shapes())
def test_an_event_takes_no_more_than_is_charged_for_it(shape: Any) -> None:
    data = json.dumps({"body": shape}).encode()
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        values = parse_payload(data)
        once = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert values == parse_exact(data)
    assert once + 3 * len(data) <= memory_of_event(data, data)


def test_a_small_event_is_not_looked_through() -> None:
    data = b'{"body":[' + b",".join([b"{}"] * 330) + b"]}"
    assert len(data) <= 1024
    tracemalloc.start()
    try:
        values = parse_payload(data)
        assert tracemalloc.get_traced_memory()[0] <= memory_of_event(data, data)
    finally:
        tracemalloc.stop()
    assert len(values["body"]) == 330


def test_charges_come_back_when_nobody_holds_them() -> None:
    found = ByteBudget(1000, 100)
    one, other = found.new_charge(), found.new_charge()
    assert one.charge_body(200)
    assert not other.charge_body(51)  # half of it
    assert other.charge_body(50)
    one.mark_genuine()
    assert other.charge_body(200)
    assert not other.charge_body(1)
    assert found.in_flight() == found.used == 900
    del one
    assert found.in_flight() == 500
    del other
    assert (found.in_flight(), found.unverified) == (0, 0)


def test_one_event_alone_may_be_larger_than_all() -> None:
    found, text = ByteBudget(10_000, 1000), b"[" * 2000
    alone = found.new_charge()
    assert alone.charge_events(memory_of_event(text, text))
    second = found.new_charge()
    assert not second.charge_events(memory_of_event(text, text))
    del alone
    assert second.charge_events(memory_of_event(text, text))


def test_a_worker_takes_from_its_queue_what_there_is_room_for() -> None:
    found = ByteBudget(40_000, 1000)
    assert found.events_that_fit == 10
    held = found.charge_kept_event(b"x" * 2000, b"x" * 2000)
    assert found.events_that_fit == 7
    assert found.unverified == 0
    del held
    assert found.events_that_fit == 10


GROUPS = [
    (
        "0::/a.slice/b.service\n",
        {"a.slice/b.service/memory.max": "max\n", "a.slice/memory.max": "80000000\n"},
        80_000_000,
    ),
    ("0::/a\n", {"a/memory.max": "70000000\n", "memory.max": "90000000\n"}, 70_000_000),
    ("0::/\n", {"memory.max": "50000000\n"}, 50_000_000),
    ("0::/not/here\n", {}, None),
    ("4:memory:/d\n3:cpu,cpuacct:/d\n", {"memory/d/memory.limit_in_bytes": "60000000\n"}, 60_000_000),
    ("4:memory:/\n", {"memory/memory.limit_in_bytes": "9223372036854771712\n"}, None),
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="control groups are Linux's")
@pytest.mark.parametrize(("own", "files", "limit"), GROUPS)
def test_the_limit_is_that_of_the_control_group_and_those_above_it(
    own: str, files: dict[str, str], limit: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="ascii")
    (tmp_path / "own").write_text(own, encoding="ascii")
    monkeypatch.setattr(memory, "_GROUPS", str(tmp_path))
    monkeypatch.setattr(memory, "_OWN_GROUP", str(tmp_path / "own"))
    monkeypatch.setattr(memory, "_address_space", lambda: None)
    assert memory.memory_limit(1) == limit
    assert memory.memory_limit(4) == (None if limit is None else limit // 4)
    monkeypatch.setattr(memory, "_address_space", lambda: 40_000_000)
    assert memory.memory_limit(1) == 40_000_000


def test_the_default_is_a_quarter_of_little_memory_and_room_for_a_body(monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, size in ((None, 64 << 20), (1 << 40, 64 << 20), (80 << 20, 20 << 20), (1 << 20, 4 << 20)):
        monkeypatch.setattr(budget, "memory_limit", lambda _, limit=limit: limit)
        assert budget_of(None, 1 << 20, 1).size == size


def test_a_budget_that_holds_no_body_is_refused() -> None:
    assert budget_of(4000, 1000, 1).size == 4000
    with pytest.raises(UsageError, match="--max-in-flight: 3999 bytes leave no room for a body of 1000"):
        budget_of(3999, 1000, 1)
