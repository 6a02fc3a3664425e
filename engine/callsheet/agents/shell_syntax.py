"""A line for a POSIX shell → its syntax tree, as shfmt reads it, with the shapes of `mvdan.cc/sh/syntax` in JSON.

Only a line of plain words is read without it.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache
from typing import Any

from ..installation import how_to_add
from ..jsontext import JSONError, parse_json

Node = dict[str, Any]

_PLAIN = re.compile(r"[\w./:@%+,-]+(?: +[\w./:@%+,=-]+)* *")  # nothing in it means anything to a shell
# What PowerShell or cmd takes for something else than Bash does, so that a harmless line could hold another one there.
_READ_OTHERWISE = re.compile(r"""\\(?:[\s;|&<>"'()#{}]|$)|[`^%]|\S(?:''|"")|(?:''|"")\S|(?<!\S)@""")
_LONGEST = 200_000  # characters: hosts wait for an answer, and some go on without one
_PATIENCE = 10.0  # seconds
PACKAGE = "shfmt-py"  # of the extra `guard`; an index has it, whether or not it has this distribution


class Unclear(Exception):
    """The line cannot be understood; the message says why."""


def statements(line: str) -> list[Node]:
    """Raises `Unclear` for a line that is no Bash, and for any but a plain one where shfmt is not installed."""
    if len(line) > _LONGEST:
        raise Unclear(f"the line is longer than {_LONGEST} characters")
    if "\0" in line or "\r" in line:
        raise Unclear("it has characters that shells read differently")
    if has_other_shells() and _READ_OTHERWISE.search(line):
        raise Unclear("PowerShell and cmd read it otherwise")
    if _PLAIN.fullmatch(line):
        words = [{"Parts": [{"Type": "Lit", "Value": word}]} for word in line.split()]
        return [{"Cmd": {"Type": "CallExpr", "Args": words}}]
    if (program := shfmt()) is None:
        raise Unclear(f"only plain words can be read without the package {PACKAGE}; {how_to_add(PACKAGE)}")
    tree = _read(program, line)
    if not isinstance(tree, dict):
        raise Unclear("shfmt gives no syntax tree")
    found: list[Node] = tree.get("Stmts", [])
    return found


def has_other_shells() -> bool:
    """Whether the line may be meant for PowerShell or cmd, which a guard is not told."""
    return os.name == "nt"


@lru_cache(maxsize=1)
def shfmt() -> str | None:
    """Where the program of the package is. One that only the PATH knows could be anything."""
    from importlib import metadata

    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    found = (str(file.locate()) for file in files if file.name in ("shfmt", "shfmt.exe"))
    return next(filter(os.path.isfile, found), None)


def _read(program: str, line: str) -> Any:
    import subprocess

    try:
        command = [program, "-ln", "bash", "--to-json"]
        done = subprocess.run(command, input=line.encode(), capture_output=True, timeout=_PATIENCE, check=False)
        if done.returncode:
            raise Unclear(
                f"it cannot be read: {done.stderr.decode(errors='replace').strip().removeprefix('<standard input>:')}"
            )
        return parse_json(done.stdout)
    except (OSError, subprocess.SubprocessError, JSONError, UnicodeError) as error:
        raise Unclear(f"it cannot be read: {error}") from None
