"""A session at a real terminal: questions are asked there, and answered there."""

from __future__ import annotations

import os
import select
import sys
import time
from pathlib import Path

import pytest

from support.cases import environment
from support.server import exchange, reply, serve

pty = pytest.importorskip("pty")


def at_terminal(argv: list[str], environ: dict[str, str], answer: str) -> tuple[int, str]:
    """Run the program at a pseudo terminal, type `answer` at its question; its exit code and all it printed."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(sys.executable, [sys.executable, "-m", "callsheet", "suite", *argv], {**os.environ, **environ})
    shown, answered, deadline = b"", False, time.monotonic() + 60
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1)
        try:
            piece = os.read(terminal, 4096) if ready else b""
        except OSError:
            break
        if ready and not piece:
            break
        shown += piece
        if b"[y/N]" in shown and not answered:
            os.write(terminal, answer.encode() + b"\n")
            answered = True
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    return os.waitstatus_to_exitcode(status), shown.decode()


@pytest.mark.parametrize(("answer", "code", "sent"), [("y", 0, 1), ("n", 2, 0), ("", 2, 0)])
def test_a_deletion_is_asked_for(answer: str, code: int, sent: int, tmp_path: Path) -> None:
    delete = exchange("DELETE", "/rest/api/3/issue/DEMO-1", reply(204), repeat=None)
    with serve([delete]) as server:
        environ = {**environment(tmp_path / "home", server.url), "NO_COLOR": "1"}
        exit_code, shown = at_terminal(["issues", "delete", "DEMO-1"], environ, answer)
        assert (exit_code, len(server.requests)) == (code, sent), shown
    assert "Delete issue DEMO-1? [y/N]" in shown
