"""A terminal: a stream that says it is one, or a real pseudo terminal with a program at it."""

from __future__ import annotations

import io
import os
import select
import time
from collections.abc import Mapping

from support.canary import leaks
from support.waiting import PATIENCE


class Screen(io.StringIO):
    """Takes text as a terminal would."""

    def isatty(self) -> bool:
        return True


def at_terminal(
    command: list[str], environ: Mapping[str, str], answer: str, question: bytes = b"[y/N]"
) -> tuple[int, str]:
    """Run a program at a pseudo terminal, type `answer` at its question; its exit code and all it printed."""
    import pty

    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(command[0], command, {**os.environ, **environ})
    shown, answered, deadline = b"", False, time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        ready, _, _ = select.select([terminal], [], [], 1)
        try:
            piece = os.read(terminal, 4096) if ready else b""
        except OSError:
            break
        if ready and not piece:
            break
        shown += piece
        if question in shown and not answered:
            os.write(terminal, answer.encode() + b"\n")
            answered = True
    _, status = os.waitpid(pid, 0)
    os.close(terminal)
    assert not leaks(shown), f"a secret was shown: {shown!r}"
    return os.waitstatus_to_exitcode(status), shown.decode("utf-8", "surrogateescape")


def in_shell(line: str, environ: Mapping[str, str]) -> tuple[int, str]:
    return at_terminal(["/bin/sh", "-c", line], environ, "")


class Dialog:
    """A program at a pseudo terminal that is typed to while it runs; `seen` is all that stood on the screen."""

    def __init__(self, command: list[str], environ: Mapping[str, str]) -> None:
        import pty

        self.seen = ""
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.execve(command[0], command, {**os.environ, **environ})

    def expect(self, text: str) -> None:
        """Wait until a text stands on the screen."""
        end = time.monotonic() + PATIENCE
        while text not in self.seen:
            assert time.monotonic() < end, f"no {text!r} in {self.seen!r}"
            assert self._read(), f"ended without {text!r}: {self.seen!r}"

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def close(self) -> int:
        """Wait for the end; the exit code."""
        while self._read():
            pass
        os.close(self.terminal)
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _read(self) -> bool:
        select.select([self.terminal], [], [], 60)
        try:
            piece = os.read(self.terminal, 4096)
        except OSError:
            return False
        self.seen += piece.decode("utf-8", "replace")
        assert not leaks(piece), "a secret was shown"
        return bool(piece)
