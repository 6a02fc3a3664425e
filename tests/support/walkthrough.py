"""Runs Markdown pages as a reader would: saves the files it shows, types its commands, compares what they print.

| block | is |
|---|---|
| `console` | run: lines with `$ ` are typed, what stands below is what they print; a line `...` stands for any lines |
| `console` below `<!-- not run: why -->` | not run; its commands of ours are still checked |
| `sh` | not run; its commands of ours are checked |
| any with `title="NAME"` | saved under this name, which readers see above it |
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from support.ports import free_port
from support.waiting import PATIENCE

_BLOCK = re.compile(
    r"^(?:<!-- not run: (?P<why>.+?) -->\n+)?"
    r"""^```(?P<language>\w+)(?: title="(?P<name>[\w.-]+)")?\n(?P<text>.*?)^```$""",
    re.DOTALL | re.MULTILINE,
)
_END = re.compile(r"<<'?(\w+)'?$", re.MULTILINE)
_FAILS = re.compile(r"""^(?:error: |\{"error")""", re.MULTILINE)
PORTS = ("8731", "8741")  # what the pages name; the tests may run twice at once
_PAUSE = "& sleep 1"  # what a reader types to let a server start
_ANSWERS = " || ".join(f"(: <>/dev/tcp/127.0.0.1/{port}) 2>/dev/null" for port in PORTS)
_UNTIL_IT_ANSWERS = f"&\nuntil {_ANSWERS}; do sleep 0.05; done"
_MARK = "--- end of command, exit code"


class Typed(NamedTuple):
    command: str
    expected: str


def commands(block: str) -> Iterator[Typed]:
    """The `$ ` lines of a console block, here-documents included, each with the output shown below it.

    A line that ends with a backslash goes on in the next one.
    """
    command, output, end = "", [], ""
    for line in block.splitlines():
        if end or command.endswith("\\"):
            command += f"\n{line}"
            heredoc = _END.search(line)
            end = ("" if line == end else end) or (heredoc[1] if heredoc else "")
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


def run_on(page: str) -> list[Typed]:
    """What is typed where a page is followed."""
    blocks = [found for found in _BLOCK.finditer(page) if found["language"] == "console" and not found["why"]]
    return [typed for found in blocks for typed in commands(found["text"])]


def only_shown_on(page: str) -> list[str]:
    """The command lines that are shown and not run."""
    shown = []
    for found in _BLOCK.finditer(page):
        if found["language"] == "console" and found["why"]:
            shown += [typed.command for typed in commands(found["text"])]
        elif found["language"] == "sh" and not found["name"]:
            shown.append(found["text"])
    return shown


def agrees(printed: str, expected: str) -> bool:
    """Equal line by line; a line `...` stands for any lines. Nothing shown means nothing is compared.

    In a line, ` ...` stands for a word or more, such as the number of a process. Any port of this machine is as good.
    """
    lines = (re.escape(line.rstrip()).replace(r"\ \.\.\.", r"\ [^\n]+") for line in expected.splitlines())
    pattern = "\n".join(".*" if line == r"\.\.\." else line for line in lines)
    pattern = re.sub(r"(?<=127\\\.0\\\.0\\\.1:)\d+", r"\\d+", pattern)
    text = "\n".join(line.rstrip() for line in printed.splitlines())
    return not expected or re.fullmatch(pattern, text, re.DOTALL) is not None


def walk(
    pages: Sequence[Path], directory: Path, environ: Mapping[str, str], stands_for: Mapping[str, str] | None = None
) -> None:
    """One shell for all pages; raises `AssertionError` at the first command that fails or prints something else.

    `stands_for` has the addresses of the page, and where they really are. A command may fail where `error:` is shown.
    """
    places = {**{port: str(free_port()) for port in PORTS}, **(stands_for or {})}
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    for found in _BLOCK.finditer(text):
        if found["name"]:
            (directory / found["name"]).write_text(_really(found["text"], places), encoding="utf-8")
    steps = run_on(text)
    typed = (step.command.replace(_PAUSE, _UNTIL_IT_ANSWERS) for step in steps)
    script = "".join(f"{_really(command, places)}\necho '{_MARK}' $?\n" for command in typed)
    done = subprocess.run(
        ["bash", "-c", f"{script}kill $(jobs -p) 2>/dev/null\n"],
        cwd=directory,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    printed = re.split(rf"{re.escape(_MARK)} (\d+)\n", _as_shown(done.stdout, places))
    assert len(printed) == 2 * len(steps) + 1, done.stdout
    for step, told, code in zip(steps, printed[::2], printed[1::2], strict=False):
        shown = f"$ {step.command}\n{told}\n--- exit code {code}; the page shows:\n{step.expected}"
        assert agrees(told, step.expected), shown
        assert code == "0" or _FAILS.search(step.expected), shown


def _really(text: str, places: Mapping[str, str]) -> str:
    for shown, place in places.items():
        text = text.replace(shown, place)
    return text


def _as_shown(text: str, places: Mapping[str, str]) -> str:
    for shown, place in places.items():
        text = text.replace(place, shown)
    return text
