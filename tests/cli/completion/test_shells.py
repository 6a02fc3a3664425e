"""Tab in real shells: what a site calls something stands on the line as one word, and nothing of it is run."""

from __future__ import annotations

import os
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from callsheet.cli.completion.shells import completion_script
from support.waiting import PATIENCE

pytest.importorskip("pty")

HOSTILE = "ab $(touch $OUT.ran) `touch $OUT.ran`;touch $OUT.ran&|<>(x)[y]?*{a,b}#'\\%!:=\u00e9 end"
STARTS = {
    "bash": ["--norc", "--noprofile", "-i"],
    "zsh": ["-f", "-i"],
    "fish": ["--private", "-i"],
}
SOURCE = {"bash": "", "zsh": "autoload -U compinit; compinit -u -D; ", "fish": ""}
# Answers a shell that asks, as the program does; else it keeps its arguments.
PROGRAM = """#!/bin/sh
if [ -n "$_SUITE_COMPLETE" ]; then exec "$PYTHON" "$0.py" "$@"; fi
for each in "$@"; do printf '%s\\0' "$each"; done > "$OUT.part"
mv "$OUT.part" "$OUT"
"""
ANSWER = """
import os, sys
from click.shell_completion import CompletionItem
from callsheet.cli.completion.shells import SHELLS, answer_line
typed = SHELLS[os.environ["_SUITE_COMPLETE"]].typed(os.environ, sys.argv[1:])
word = os.environ["WORD"]
option = "--opt=" if typed.last.startswith("--opt=") else ""
quoted = typed.quoted(option + word)
if quoted is not None:
    print(answer_line(CompletionItem(option + word, help="about $(touch $OUT.ran)"), quoted))
"""


class Typist:
    """A shell at a pseudo terminal."""

    def __init__(self, shell: str, directory: Path) -> None:
        import pty

        self.out = directory / "out"
        environ = {
            "PATH": f"{directory}:/usr/bin:/bin",
            "HOME": str(directory),
            "ZDOTDIR": str(directory),
            "TERM": "dumb",
            "LC_ALL": "C.UTF-8",
            "PYTHON": sys.executable,
            "OUT": str(self.out),
            "WORD": HOSTILE,
        }
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvpe(shell, [shell, *STARTS[shell]], environ)
        self.shown = b""

    def type(self, text: str) -> None:
        os.write(self.terminal, text.encode())

    def wait_for(self, text: bytes) -> None:
        """What is shown from now on has it; quotes keep an echo of the command from being taken for its answer."""
        end, start = time.monotonic() + PATIENCE, len(self.shown)
        while text not in self.shown[start:] and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.shown += os.read(self.terminal, 65536)
        assert text in self.shown[start:], self.shown[start:]

    def arguments(self) -> list[str]:
        end = time.monotonic() + PATIENCE
        while not self.out.exists() and time.monotonic() < end:
            if select.select([self.terminal], [], [], 0.02)[0]:
                self.shown += os.read(self.terminal, 65536)
        found = self.out.read_bytes().decode().split("\0")[:-1]
        self.out.unlink()
        return found

    def close(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.terminal)


@pytest.fixture
def typist(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Typist]:
    shell = request.param
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    (tmp_path / "suite").write_text(PROGRAM)
    (tmp_path / "suite").chmod(0o755)
    (tmp_path / "suite.py").write_text(ANSWER)
    (tmp_path / "script").write_text(completion_script(shell, "suite"))
    typist = Typist(shell, tmp_path)
    try:
        typist.type(f"{SOURCE[shell]}source {tmp_path}/script; echo rea''dy\r")
        typist.wait_for(b"ready")
        yield typist
    finally:
        typist.close()


@pytest.mark.parametrize("typist", ["bash", "zsh", "fish"], indirect=True)
def test_a_word_of_a_site_is_one_argument_and_runs_nothing(typist: Typist, tmp_path: Path) -> None:
    for typed in ("", "ab", "'", "--opt="):
        typist.type(f"suite x {typed}\t")
        typist.wait_for(b"end")
        typist.type("\r")
        option = typed if typed.startswith("--") else ""
        assert typist.arguments() == ["x", option + HOSTILE]
    assert not (tmp_path / "out.ran").exists()
