"""The small parts of the listener: expressions, the index of routes, what was seen, limits, addresses, lines."""

from __future__ import annotations

import asyncio
import errno
import io
import os
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.catalog.catalog import open_catalog
from callsheet.durations import duration_seconds
from callsheet.errors import UsageError
from callsheet.language.compiled_jmespath import compile_condition, compile_fast, first_names
from callsheet.language.template import TemplateError, compile_expression
from callsheet.listener.handlers.concurrency_limits import ConcurrencyLimit, KeyedLock, Saturated, acquire_immediately
from callsheet.listener.handlers.exec_handler import OUTPUT_TIMEOUT, TERMINATE_TIMEOUT
from callsheet.listener.routes import RouteIndex
from callsheet.listener.server.listening_sockets import ListenAddress, bind_sockets, parse_address, urls_of_sockets
from callsheet.listener.telemetry.log import MAX_WAITING, OVERHEAD, LineWriter
from callsheet.terminal import escape_line
from support.listening import until
from support.waiting import PATIENCE

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.floats(-2, 2) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3),
    max_leaves=6,
)
EXPRESSIONS = [
    "a", "a.b", "a.b.c", "a || b", "a.b || b.c", "a && b", "!a", "a == b", "a != b", "a < b", "a >= `1`", "a == 'a'",
    "a == `1`", "a == `true`", "a.b == `1` && c", "c && a == 'a'", "'a' == b", "(a || b).c", "@", "a[0]", "a[?b]",
    "not_null(a, b)", "not_null(a.b, c, `1`)", "not_null(a || b) == c", "a == `null`",
    "!a == b", "a == `[]`", "a < 'b'",
]  # fmt: skip


@pytest.mark.slow
@settings(max_examples=400)
@given(expression=st.sampled_from(EXPRESSIONS), scope=st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES))
def test_a_compiled_expression_means_what_the_library_says(expression: str, scope: Any) -> None:
    try:
        wanted = compile_expression(expression)(scope)
    except (TemplateError, TypeError):
        return  # where the library fails there is nothing to agree with
    found = compile_fast(expression)(scope)
    assert repr(found) == repr(wanted)


def test_an_expression_that_does_not_parse_is_refused() -> None:
    with pytest.raises(TemplateError):
        compile_fast("a.[")


def test_a_condition_that_fails_is_not_met() -> None:
    assert not compile_condition("contains(a, 'x')")({"a": None})
    assert compile_condition("a")({"a": 0})
    assert not compile_condition("a")({"a": []})
    assert first_names('payload.a || headers."x-b"') >= {"payload", "headers"}


CONDITIONS = [
    None,
    "a == `1`",
    "a == `2`",
    "a == 'a'",
    "b.c == `1` && a",
    "a && b == 'b'",
    "a < `2`",
    "a == `true`",
    "a == b",
    "a <= `1`",
    "a > `0` && b",
    "`1` >= a",
    "b.c >= `-1`",
    "`0` < a",
]


@settings(max_examples=300)
@given(
    scope=st.dictionaries(st.sampled_from(["a", "b"]), VALUES), whens=st.lists(st.sampled_from(CONDITIONS), max_size=12)
)
def test_the_index_finds_what_trying_each_would(scope: Any, whens: list[str | None]) -> None:
    wanted = [place for place, when in enumerate(whens) if when is None or compile_condition(when)(scope)]
    assert RouteIndex((when, place) for place, when in enumerate(whens)).matching_items(scope) == wanted


def test_a_gate_lets_in_as_many_as_it_says_and_forgets_who_gave_up() -> None:
    async def play() -> None:
        concurrency = ConcurrencyLimit(2, 2)
        await concurrency.acquire_place()
        await concurrency.acquire_place()
        first, second = (
            asyncio.create_task(concurrency.acquire_place()),
            asyncio.create_task(concurrency.acquire_place()),
        )
        await asyncio.sleep(0)
        with pytest.raises(Saturated):
            await concurrency.acquire_place()
        first.cancel()
        await asyncio.sleep(0)
        concurrency.release_place()
        await second
        assert (concurrency.running, len(concurrency._waiting)) == (2, 0)
        third = asyncio.create_task(concurrency.acquire_place())
        await asyncio.sleep(0)
        concurrency.release_place()
        third.cancel()  # just when its turn came
        await asyncio.gather(third, return_exceptions=True)
        concurrency.release_place()
        assert concurrency.running == 0

    asyncio.run(play())


def test_several_limits_are_entered_together_or_not_at_all() -> None:
    async def play() -> None:
        wide, narrow = ConcurrencyLimit(3), ConcurrencyLimit(1)
        assert acquire_immediately((wide, narrow))
        assert not acquire_immediately((wide, narrow))
        assert (wide.running, narrow.running) == (1, 1)
        waiting = asyncio.create_task(narrow.acquire_place())
        await asyncio.sleep(0)
        narrow.release_place()
        assert not acquire_immediately((narrow,))  # whoever waits comes first
        await waiting

    asyncio.run(play())


def test_turns_of_one_key_follow_each_other_and_leave_nothing_behind() -> None:
    async def play() -> None:
        turns, log = KeyedLock(), []

        async def work(key: str, number: int) -> None:
            async with turns.hold_key(key):
                log.append((key, number, "in"))
                await asyncio.sleep(0)
                log.append((key, number, "out"))

        await asyncio.gather(*(work(key, number) for number in range(5) for key in "ab"))
        for key in "ab":
            own = [(number, what) for who, number, what in log if who == key]
            assert own == [(number, what) for number in range(5) for what in ("in", "out")]
        assert turns._limits == {}

    asyncio.run(play())


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (":8080", ListenAddress(("127.0.0.1", "::1"), 8080)),
        ("8080", ListenAddress(("127.0.0.1", "::1"), 8080)),
        ("localhost:1", ListenAddress(("127.0.0.1", "::1"), 1)),
        ("127.0.0.1:0", ListenAddress(("127.0.0.1",), 0)),
        ("0.0.0.0:80", ListenAddress(("0.0.0.0",), 80)),
        ("[::1]:80", ListenAddress(("::1",), 80)),
        ("unix:/run/x", ListenAddress(path="/run/x")),
    ],
)
def test_addresses(text: str, wanted: ListenAddress) -> None:
    assert parse_address(text) == wanted
    assert wanted.is_public == (text == "0.0.0.0:80")


@settings(max_examples=150)
@given(st.text(max_size=30))
def test_any_address_is_read_or_refused(text: str) -> None:
    try:
        found = parse_address(text)
    except UsageError:
        return
    assert found.path or (found.hosts and 0 <= found.port < 65536)


def test_a_port_alone_is_both_loopback_addresses() -> None:
    sockets = bind_sockets(parse_address(":0"))
    try:
        ports = {opened.getsockname()[1] for opened in sockets}
        assert len(ports) == 1
        assert urls_of_sockets(sockets, "http")[0] == f"http://127.0.0.1:{ports.pop()}"
        assert all(opened.family in (socket.AF_INET, socket.AF_INET6) for opened in sockets)
    finally:
        for opened in sockets:
            opened.close()


@pytest.mark.parametrize(("text", "wanted"), [("250ms", 0.25), ("10s", 10), ("1.5m", 90), ("1h", 3600), ("2d", 172800)])
def test_durations(text: str, wanted: float) -> None:
    assert duration_seconds(text) == wanted


@settings(max_examples=200)
@given(st.text())
def test_an_escaped_text_is_one_line_without_controls(text: str) -> None:
    found = escape_line(text)
    assert len(found.splitlines()) <= 1
    assert not any(character < " " or "\x7f" <= character < "\xa0" for character in found)
    found.encode()


def test_lines_are_written_whole_and_in_order() -> None:
    stream = io.StringIO()
    lines = LineWriter(stream)
    for number in range(500):
        lines.write_line(str(number))
    lines.close()
    assert stream.getvalue() == "".join(f"{number}\n" for number in range(500))


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_log_goes_on_after_a_full_disk(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    written, full = os.write, threading.Event()
    failed = threading.Event()

    def write(descriptor: int, data: bytes) -> int:
        if descriptor != stream.fileno() or not full.is_set():
            return written(descriptor, data)
        failed.set()
        if len(data) > 5:
            return written(descriptor, data[:5])  # the last of the room
        raise OSError(number, "no room")

    monkeypatch.setattr("callsheet.listener.telemetry.log.os.write", write)
    with path.open("w", encoding="utf-8") as stream:
        lines = LineWriter(stream, "{} lines are missing".format)
        full.set()
        lines.write_line("1234567")
        assert failed.wait(PATIENCE)
        until(lambda: lines.dropped == 1, "the loss")
        full.clear()
        lines.write_line("after")
        lines.close(30)
    assert path.read_text(encoding="utf-8") == "12345\n1 lines are missing\nafter\n"


class Blocked(io.StringIO):
    """A stream that nobody reads, until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.reached = threading.Event()
        self.free = threading.Event()

    def write(self, text: str) -> int:
        self.reached.set()
        self.free.wait()
        return super().write(text)


@pytest.mark.parametrize("line", ["", "x", "x" * 10_000])
def test_the_lines_that_wait_for_a_blocked_stream_are_bounded(line: str) -> None:
    stream = Blocked()
    lines = LineWriter(stream)
    lines.write_line("first")
    stream.reached.wait()
    for _ in range(MAX_WAITING // (len(line) + OVERHEAD) + 1000):
        lines.write_line(line)
    held = sum(len(each) + OVERHEAD for each in lines._waiting)
    assert held <= MAX_WAITING + len(line) + OVERHEAD
    assert lines.dropped >= 999
    stream.free.set()
    lines.close(wait=30)
    assert len(stream.getvalue()) <= held + len("first\n")


def test_a_sender_gets_its_answer_within_its_15_seconds() -> None:
    catalog = open_catalog("lms", os.environ)
    try:
        definition = catalog.listeners.get("webhook")
    finally:
        catalog.close()
    assert (
        duration_seconds(definition["queue_timeout"])
        + duration_seconds(definition["timeout"])
        + TERMINATE_TIMEOUT
        + OUTPUT_TIMEOUT
        < 15
    )
