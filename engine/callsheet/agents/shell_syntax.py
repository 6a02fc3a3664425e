"""A line for a POSIX shell: its syntax tree, and what is known of its words before anything is expanded."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from ..installation import how_to_add
from ..jsontext import JSONError, parse_json

# A line for a POSIX shell → its syntax tree, as shfmt reads it, with the shapes of `mvdan.cc/sh/syntax` in JSON.
#
# Only a line of plain words is read without it.

Node = dict[str, Any]

_PLAIN = re.compile(r"[\w./:@%+,-]+(?: +[\w./:@%+,=-]+)* *")  # nothing in it means anything to a shell
# What PowerShell or cmd takes for something else than Bash does, so that a harmless line could hold another one there.
_READ_OTHERWISE = re.compile(r"""\\(?:[\s;|&<>"'()#{}]|$)|[`^%]|\S(?:''|"")|(?:''|"")\S|(?<!\S)@""")
_LONGEST = 200_000  # characters: hosts wait for an answer, and some go on without one
_PATIENCE = 10.0  # seconds
PACKAGE = "shfmt-py"  # of the extra `guard`; an index has it, whether or not it has this distribution


class Unclear(Exception):
    """The line cannot be understood; the message says why."""


def parse_statements(line: str) -> list[Node]:
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
    if (program := shfmt_program()) is None:
        raise Unclear(f"only plain words can be read without the package {PACKAGE}; {how_to_add(PACKAGE)}")
    tree = _run_shfmt(program, line)
    if not isinstance(tree, dict):
        raise Unclear("shfmt gives no syntax tree")
    found: list[Node] = tree.get("Stmts", [])
    return found


def has_other_shells() -> bool:
    """Whether the line may be meant for PowerShell or cmd, which a guard is not told."""
    return os.name == "nt"


@lru_cache(maxsize=1)
def shfmt_program() -> str | None:
    """Where the program of the package is. One that only the PATH knows could be anything."""
    from importlib import metadata

    try:
        files = metadata.files(PACKAGE) or []
    except metadata.PackageNotFoundError:
        return None
    found = (str(file.locate()) for file in files if file.name in ("shfmt", "shfmt.exe"))
    return next(filter(os.path.isfile, found), None)


def _run_shfmt(program: str, line: str) -> Any:
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


# Nodes of a syntax tree → what is known of the words before anything is expanded.
#
# Kinds that are not listed here are unclear.

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\([$`"\\])')
_PATTERN = re.compile(r"[*?]|\[.*\]|\{.*(?:,|\.\.).*\}", re.DOTALL)
COMMANDS = frozenset({"CmdSubst", "ProcSubst"})
# What stands in words and beside them, and holds nothing that is run but commands in substitutions.
_TEXTS = frozenset({"Lit", "SglQuoted", "DblQuoted", "ParamExp", "ExtGlob", "BraceExp", "Word"})
# The shell calculates these, and runs what an index in the text of a variable holds.
_CALCULATED = frozenset({"ArithmExp", "BinaryArithm", "UnaryArithm", "ParenArithm"})
_TESTS = frozenset({"BinaryTest", "UnaryTest", "ParenTest"})
_CALCULATING_TESTS = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v", "-R"})
_OF_PARAMETERS = frozenset(
    ["Rbrace", "Short", "Param", "Index", "Length", "Excl", "Slice", "Repl", "Exp", "Names", "Dollar", "Type"]
)
_QUOTING = frozenset("AKQULaku")  # ${x@Q} and such only write a value differently
_ASSIGNING = frozenset({"=", ":="})


class WrittenText(NamedTuple):
    """`text`: all that is written in a piece of the line, commands in it left out; `commands`: those.

    `evaluated`: what the shell evaluates again; `assigned`: variables that an expansion gives a value.
    """

    text: str
    evaluated: str
    assigned: tuple[str, ...]
    commands: tuple[Node, ...]


class Word(NamedTuple):
    """`fixed`: what stands here is what the program gets; else a variable, a pattern or a command decides.

    Then `text` is what is written, and `several` says whether it may become any number of words. `named`: one of our
    programs is named in it, or in what a command in it prints.
    """

    text: str
    fixed: bool = True
    several: bool = False
    named: bool = False


def read_word(node: Node, source: bytes, *, named: bool = False) -> Word:
    """`source` is the line that the tree was made from; places in it are counted in bytes."""
    text, bare, fixed, several = "", "", True, False
    for part in node.get("Parts", ()):
        kind = part["Type"]
        if kind == "Lit":
            text += _ESCAPED.sub(r"\1", part["Value"])
            bare += _ESCAPED.sub("x", part["Value"])
        elif kind == "SglQuoted" and not part.get("Dollar"):
            text += part.get("Value", "")
        elif kind == "DblQuoted" and _is_fixed(part):
            text += "".join(_ESCAPED_IN_QUOTES.sub(r"\1", each["Value"]) for each in part.get("Parts", ()))
        else:
            text += source[part["Pos"]["Offset"] : part["End"]["Offset"]].decode(errors="replace")
            fixed = False
            several = several or _may_be_several(part)
    is_pattern = _PATTERN.search(bare) is not None
    return Word(text, fixed and not is_pattern, several or is_pattern, named)


def _is_fixed(quoted: Node) -> bool:
    return not quoted.get("Dollar") and all(each["Type"] == "Lit" for each in quoted.get("Parts", ()))


def _may_be_several(part: Node) -> bool:
    """Whether the shell splits what a part stands for, or has a list there: `"$@"`, `"${a[@]}"`, `"${!a@}"`."""
    if part["Type"] == "SglQuoted":
        return False
    if part["Type"] == "DblQuoted":
        return any(_is_list(each) for each in part.get("Parts", ()))
    return True


def _is_list(part: Node) -> bool:
    if part["Type"] != "ParamExp":
        return False
    index = part.get("Index", {}).get("Parts", [{}])[0].get("Value")
    return "@" in (part.get("Param", {}).get("Value"), index, part.get("Names")) or bool(part.get("Excl"))


def pieces_of_word(node: Any) -> WrittenText:
    """Of a word, a test, an array, an arithmetic expression or the text of a here-document. Raises `Unclear`."""
    texts: list[str] = []
    evaluated: list[str] = []
    assigned: list[str] = []
    commands: list[Node] = []
    for kind, piece, calculated in _pieces_of_node(node, calculated=False):
        if kind == "text":
            (evaluated if calculated else texts).append(piece)
        elif kind == "assigned":
            assigned.append(piece)
        else:
            commands.append(piece)
            texts.append(" ")
    return WrittenText("".join([*texts, " ", *evaluated]), " ".join(evaluated), tuple(assigned), tuple(commands))


def _pieces_of_node(node: Any, *, calculated: bool) -> Iterator[tuple[str, Any, bool]]:
    if isinstance(node, list):
        for each in node:
            yield from _pieces_of_node(each, calculated=calculated)
            if "Parts" in each and each.get("Type") in (None, "Word"):
                yield "text", " ", calculated
        return
    if not isinstance(node, dict):
        return
    kind = node.get("Type")
    if kind in COMMANDS:
        yield "command", node, calculated
        return
    if kind is not None and kind not in _TEXTS and kind not in _CALCULATED and kind not in _TESTS:
        raise Unclear(f"the guard cannot read {kind}")
    if kind == "ParamExp":
        yield from _check_assignment(node)
    calculated = calculated or kind in _CALCULATED or (kind in _TESTS and node.get("Op") in _CALCULATING_TESTS)
    for key, value in node.items():
        if isinstance(value, str) and key == "Value":
            yield "text", value, calculated
        elif key not in ("Pos", "End", "Param"):
            yield from _pieces_of_node(value, calculated=calculated or key in ("Index", "Slice"))


def _check_assignment(node: Node) -> Iterator[tuple[str, Any, bool]]:
    """Raises `Unclear` for an expansion that runs what a variable holds, or that is none of Bash's."""
    keys = {key for key in node if not key.endswith(("Pos", "End"))}
    expansion = node.get("Exp", {})
    if not keys <= _OF_PARAMETERS or (
        expansion.get("Op") == "@" and pieces_of_word(expansion.get("Word", {})).text.strip() not in _QUOTING
    ):
        raise Unclear("an expansion may run what a variable holds")
    if expansion.get("Op") in _ASSIGNING:
        yield "assigned", node.get("Param", {}).get("Value", ""), False
