"""Programs that are started for events, watched by the loop where it can and by threads elsewhere."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.handlers import process
from callsheet.listener.handlers.process import MAX_OUTPUT, Process
from callsheet.listener.server.server import new_event_loop
from support.listening import until

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="written for a POSIX shell")
BIG = b"x" * 1_000_000


@pytest.fixture(params=["loop", "threads"], autouse=True)
def _watch(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "threads":
        monkeypatch.setattr(process, "_HAS_PIDFD", False)
    elif not hasattr(os, "pidfd_open"):
        pytest.skip("no pidfds here")


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        return runner.run(work())


def outcome(line: str, data: bytes = b"") -> tuple[int, bytes]:
    async def work() -> tuple[int, bytes]:
        started = Process(["/bin/sh", "-c", line], None, dict(os.environ), data)
        return await started.wait(), await started.output()

    found: tuple[int, bytes] = run(work)
    return found


@pytest.mark.parametrize(
    ("line", "data", "code", "said"),
    [
        ("cat", b"an event\n", 0, b"an event\n"),
        ("wc -c", BIG, 0, b"1000000\n"),
        ("cat", BIG, 0, BIG[:MAX_OUTPUT]),
        ("true", BIG, 0, b""),
        ("exec 0<&-; sleep 0.1; echo no", BIG, 0, b"no\n"),
        ("echo out; echo err >&2; exit 3", b"", 3, b"out\nerr\n"),
        ("kill -9 $$", b"", -9, b""),
    ],
)
def test_a_program_gets_its_input_and_is_heard(line: str, data: bytes, code: int, said: bytes) -> None:
    assert outcome(line, data) == (code, said)


def test_a_child_that_was_left_is_not_waited_for() -> None:
    begun = time.monotonic()
    assert outcome("sleep 30 & echo done") == (0, b"done\n")
    assert time.monotonic() - begun < 20


def test_stopping_ends_all_that_was_started(tmp_path: Path) -> None:
    async def work() -> tuple[int, bytes]:
        line = f"trap '' TERM; sleep 60 & echo $! > {tmp_path}/child; wait; sleep 60"
        started = Process(["/bin/sh", "-c", line], None, dict(os.environ), b"")
        await asyncio.to_thread(until, lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
        await started.stop()
        return await started.wait(), await started.output()

    assert run(work) == (-9, b"")
    child = int((tmp_path / "child").read_text())
    until(lambda: not is_running(child))


def is_running(pid: int) -> bool:
    """A zombie that nobody has waited for yet has ended."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip()[:1] not in ("", "Z")


def test_a_program_that_is_not_there_is_an_os_error() -> None:
    async def work() -> None:
        Process(["/no/such/program"], None, {}, b"")

    with pytest.raises(FileNotFoundError):
        run(work)


def test_many_programs_leave_no_descriptor_open() -> None:
    async def work() -> None:
        async def one() -> None:
            started = Process(["/bin/sh", "-c", "cat"], None, dict(os.environ), b"x")
            await started.wait()
            assert await started.output() == b"x"

        await asyncio.gather(*(one() for _ in range(20)))

    run(work)
    before = len(os.listdir("/dev/fd"))
    run(work)
    assert len(os.listdir("/dev/fd")) == before
