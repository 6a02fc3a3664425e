"""Runs a Markdown page as a reader would: saves the files it shows, types its commands, compares what they print."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

_BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_END = re.compile(r"<<'?(\w+)'?$")
PORT = "8731"  # the pages name one port; the tests may run twice at once
_MARK = "--- end of command"


class Typed(NamedTuple):
    command: str
    expected: str


def commands(block: str) -> Iterator[Typed]:
    """The `$ ` lines of a console block, here-documents included, each with the output shown below it."""
    command, output, end = "", [], ""
    for line in block.splitlines():
        if end:
            command += f"\n{line}"
            end = "" if line == end else end
        elif line.startswith("$ "):
            if command:
                yield Typed(command, "\n".join(output))
            command, output = line[2:], []
            heredoc = _END.search(command)
            end = heredoc[1] if heredoc else ""
        else:
            output.append(line)
    if command:
        yield Typed(command, "\n".join(output))


def agrees(printed: str, expected: str) -> bool:
    """Equal line by line; a line `...` stands for any lines. Nothing shown means nothing is compared."""
    pattern = "\n".join(".*" if line == "..." else re.escape(line.rstrip()) for line in expected.splitlines())
    text = "\n".join(line.rstrip() for line in printed.splitlines())
    return not expected or re.fullmatch(pattern, text, re.DOTALL) is not None


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def walk(page: Path, directory: Path, environ: Mapping[str, str]) -> None:
    """One shell for the whole page; raises `AssertionError` at the first command that prints something else."""
    steps: list[Typed] = []
    page_text = page.read_text(encoding="utf-8").replace(PORT, _free_port())
    for language, name, text in _BLOCK.findall(page_text):
        if name:
            (directory / name).write_text(text, encoding="utf-8")
        elif language == "console":
            steps.extend(commands(text))
    script = "".join(f"{step.command}\necho '{_MARK}'\n" for step in steps) + "kill $(jobs -p) 2>/dev/null\n"
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=directory,
        env=dict(environ),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    printed = done.stdout.split(f"{_MARK}\n")
    assert len(printed) == len(steps) + 1, done.stdout
    for step, text in zip(steps, printed, strict=False):
        assert agrees(text, step.expected), f"$ {step.command}\n{text}\n--- the page shows:\n{step.expected}"
