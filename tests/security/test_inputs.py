"""Inputs without an end, or of a kind that cannot be read: a clear error, nothing sent, no traceback."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.cli.main import run
from callsheet.commands import streams
from support.cases import environment, run_program
from support.sampled import sampled
from support.server import serve
from support.waiting import PATIENCE

posix = pytest.mark.skipif(sys.platform == "win32", reason="devices, pipes and signals of POSIX")


class Endless(io.RawIOBase):
    """A pipe that never ends, and says how much was taken."""

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.taken = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self.taken += len(buffer)
        buffer[:] = (self.text * (len(buffer) // len(self.text) + 1))[: len(buffer)]
        return len(buffer)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "MOST_INPUT", 1 << 20)


STDIN = [
    ["op", "call", "createIssue", "-d", "@-"],
    ["api", "POST", "/x", "-d", "-"],
    ["issues", "create", "-d", "@-"],
    ["issues", "comment", "DEMO-1", "--body", "@-"],
    ["convert", "--from", "markdown", "--to", "adf"],
    ["convert", "--from", "markdown", "--to", "adf", "--batch"],
    ["definitions", "import", "-", "--product", "endless"],
]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("words", STDIN, ids=" ".join)
def test_standard_input_without_an_end(words: list[str], tmp_path: Path) -> None:
    raw = Endless(b"[")
    out, err = io.StringIO(), io.StringIO()
    with serve([]) as server:
        environ = environment(tmp_path / "home", server.url)
        stdin = io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8")
        code = run("suite", words, environ=environ, stdin=stdin, stdout=out, stderr=err)
    assert (code, server.requests) == (2, []), err.getvalue()
    assert "than 1 MiB" in err.getvalue()
    assert raw.taken < 3 << 20


@posix
@pytest.mark.parametrize(
    "words",
    [
        ["op", "call", "createIssue", "-d", "@/dev/zero"],
        ["issues", "comment", "DEMO-1", "--body", "@/dev/zero"],
        ["definitions", "import", "/dev/zero", "--product", "endless"],
        ["op", "call", "addAttachment", "--param", "issueIdOrKey=DEMO-1", "--file", "/dev/zero"],
        ["issues", "attach", "DEMO-1", "/dev/zero"],
        ["issues", "attach", "DEMO-1", "{dir}"],
        ["issues", "attach", "DEMO-1", "{dir}/pipe"],
        ["issues", "attach", "DEMO-1", "{dir}/good", "{dir}/absent"],
        ["issues", "attach", "DEMO-1", "{dir}/a\udcffb"],
        ["op", "call", "addAttachment", "--param", "issueIdOrKey=DEMO-1", "--file", "{dir}/a\ud800b"],
        ["issues", "comment", "DEMO-1", "--body", "@{dir}/a\ud800b"],
        ["op", "call", "createIssue", "-d", "@{dir}/deep"],
        ["issues", "create", "-d", "@{dir}/deep"],
        ["api", "POST", "/x", "-d", "@{dir}/deep"],
    ],
)
def test_a_file_that_cannot_be_sent(words: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "good").write_text("good")
    (tmp_path / "deep").write_text("[" * 200_000)
    with contextlib.suppress(OSError):
        (tmp_path / "a\udcffb").write_text("x")
    with serve([]) as server:
        environ = environment(tmp_path / "home", server.url)
        done = run_program("suite", [word.replace("{dir}", str(tmp_path)) for word in words], environ)
    assert (done.exit, server.requests) == (2, []), done.stderr
    assert done.stderr.startswith("error: ")
    assert "unexpected" not in done.stderr


@pytest.fixture
def interrupted() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        process.kill()
        process.wait()


@posix
@pytest.mark.parametrize(
    "program", sampled(["def f: f; f", "range(1e12)", "[range(1e12) | select(. < 0)]", "last(range(1e12))"], 4)
)
def test_ctrl_c_ends_a_filter(
    program: str, tmp_path: Path, cache: Path, interrupted: list[subprocess.Popen[bytes]]
) -> None:
    command = [sys.executable, "-m", "callsheet", "suite", "op", "list", "--max", "1", "--jq", program]
    environ = {**os.environ, "CALLSHEET_HOME": str(tmp_path), "CALLSHEET_CACHE": str(cache), "PYTHONUNBUFFERED": "1"}
    # Threads of the test must not keep the signal from the child: it is told apart by its own start.
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    interrupted.append(process)
    while process.poll() is None and (_ticks(process.pid) < 60 or _is_caught(process.pid)):  # a start takes 20 ticks
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE) in (-signal.SIGINT, 130)


def _is_caught(pid: int) -> bool:
    """Whether Python has a handler for SIGINT, as it has while no filter runs."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return False
    masks = dict(line.split(":", 1) for line in status.read_text(encoding="utf-8").splitlines())
    return bool(int(masks.get("SigCgt", "0"), 16) & 1 << signal.SIGINT - 1)


def _ticks(pid: int) -> int:
    """Processor time that a process has used, in hundredths of a second."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 60
    return int(fields[11]) + int(fields[12])
