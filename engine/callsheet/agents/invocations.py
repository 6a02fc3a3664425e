"""Which programs of ours a shell line would start, and with which words."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from .shell_words import Simple, Unclear, Word, simple_commands

# Words that stand before a command and are none.
_RESERVED = frozenset(
    {"if", "then", "elif", "else", "fi", "while", "until", "do", "done", "!", "{", "}", "time", "esac"}
)
_DATA_FOLLOWS = frozenset({"for", "case", "select", "function", "in"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
# Programs that start the program that they name.
_STARTERS = frozenset(
    {
        "builtin",
        "chrt",
        "command",
        "doas",
        "env",
        "exec",
        "find",
        "ionice",
        "nice",
        "nohup",
        "parallel",
        "pipx",
        "poetry",
        "setsid",
        "stdbuf",
        "sudo",
        "timeout",
        "uv",
        "uvx",
        "watch",
        "xargs",
    }
)
_FROM_INPUT = frozenset({"find", "parallel", "xargs"})  # these add words that stand nowhere in the line
_SHELLS = frozenset({"ash", "bash", "dash", "fish", "ksh", "sh", "zsh"})
# Programs that print, search or describe what they are given, and start nothing.
_READERS = frozenset(
    {
        "cat",
        "cd",
        "cmp",
        "diff",
        "echo",
        "egrep",
        "fgrep",
        "file",
        "git",
        "grep",
        "head",
        "jq",
        "less",
        "ls",
        "man",
        "mkdir",
        "more",
        "printf",
        "pwd",
        "rg",
        "sort",
        "stat",
        "tail",
        "test",
        "touch",
        "tr",
        "type",
        "uniq",
        "wc",
        "whereis",
        "which",
    }
)
_ENGINE = ("-m", "callsheet")


class Invocation(NamedTuple):
    """`open`: words that stand nowhere in the line may be added at the end."""

    program: str
    words: tuple[Word, ...]
    open: bool = False


def invocations(line: str, programs: Collection[str]) -> list[Invocation]:
    """Raises `Unclear` where a program of ours may be started in a way that the line does not show."""
    return list(_invocations(line, frozenset(programs), 0))


def _invocations(line: str, programs: frozenset[str], depth: int) -> Iterator[Invocation]:
    if depth > 4:
        raise Unclear("shells start shells")
    mentioned = re.compile(rf"(?<![\w./-])(?:\S*/)?(?:{'|'.join(map(re.escape, sorted(programs)))})(?![\w-])")
    if not mentioned.search(re.sub(r"[\\'\"]", "", line)):
        return
    for simple in simple_commands(line, depth):
        yield from _Finder(programs, mentioned, depth).find(simple)


class _Finder:
    def __init__(self, programs: frozenset[str], mentioned: re.Pattern[str], depth: int) -> None:
        self.programs = programs
        self.mentioned = mentioned
        self.depth = depth

    def find(self, simple: Simple) -> Iterator[Invocation]:
        words = _command(simple.words)
        if not words or (words[0].fixed and words[0].text in _DATA_FOLLOWS):
            return
        if not words[0].fixed:
            raise Unclear("the command's name is only known when the line runs")
        yield from self._started(words, fed=simple.fed)

    def _started(self, words: Sequence[Word], *, fed: bool, more: bool = False) -> Iterator[Invocation]:
        name = _name(words[0])
        rest = words[1:]
        if name in self.programs:
            yield Invocation(name, tuple(rest), more)
        elif engine := self._engine(words):
            yield engine
        elif name in _SHELLS:
            yield from self._of_shell(rest, fed=fed, more=more)
        elif name in _STARTERS:
            yield from self._of_starter(name, rest, fed=fed)
        elif name == "eval" and all(word.fixed for word in rest):
            yield from _invocations(" ".join(word.text for word in rest), self.programs, self.depth + 1)
        elif name == "eval" or (name not in _READERS and self._mentions(rest)) or _sets_alias(name, rest):
            raise Unclear(f"{name} may start one of these programs")

    def _engine(self, words: Sequence[Word]) -> Invocation | None:
        """`python -m callsheet PROGRAM ...`."""
        texts = [word.text for word in words]
        for place in range(1, len(texts) - 2):
            if tuple(texts[place : place + 2]) == _ENGINE and texts[place + 2] in self.programs:
                return Invocation(texts[place + 2], tuple(words[place + 3 :]))
        return None

    def _of_shell(self, rest: Sequence[Word], *, fed: bool, more: bool) -> Iterator[Invocation]:
        place = next((i for i, word in enumerate(rest) if re.fullmatch(r"-[a-z]*c", word.text)), None)
        if place is not None and place + 1 < len(rest):
            script = rest[place + 1]
            if not script.fixed or more:
                raise Unclear("what a shell is told to run is only known when the line runs")
            yield from _invocations(script.text, self.programs, self.depth + 1)
        elif fed or self._mentions(rest):
            raise Unclear("a shell runs what it reads")

    def _of_starter(self, name: str, rest: Sequence[Word], *, fed: bool) -> Iterator[Invocation]:
        if name == "command" and rest and rest[0].text in ("-v", "-V"):
            return
        more = name in _FROM_INPUT
        for place, word in enumerate(rest):
            inner = _name(word)
            if word.fixed and (inner in self.programs or inner in _SHELLS or inner in _STARTERS):
                yield from self._started(rest[place:], fed=fed, more=more)
                return
            if self._engine(rest[place:]):
                yield from self._started(rest[place:], fed=fed, more=more)
                return
        target = next((word for word in rest if not word.text.startswith("-") and not _is_number(word.text)), None)
        dynamic = any(not word.fixed for word in rest[:2])
        if self._mentions(rest) or dynamic or (more and fed and (target is None or _name(target) not in _READERS)):
            raise Unclear(f"{name} may start one of these programs")

    def _mentions(self, words: Sequence[Word]) -> bool:
        return any(self._may_start(word) for word in words)

    def _may_start(self, word: Word) -> bool:
        """Whether the word is one of the programs, or a text that starts one; a directory of that name is neither."""
        if os.path.isdir(word.text):
            return False
        return self.mentioned.search(word.text) is not None


def _command(words: Sequence[Word]) -> Sequence[Word]:
    """Without what stands before the command: reserved words and assignments."""
    place = 0
    while place < len(words) and words[place].text in _RESERVED and words[place].fixed:
        place += 1
    while place < len(words) and _ASSIGNMENT.match(words[place].text):
        place += 1
    return words[place:]


def _name(word: Word) -> str:
    return word.text.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def _is_number(text: str) -> bool:
    return text.rstrip("smhd").replace(".", "", 1).isdigit()


def _sets_alias(name: str, rest: Sequence[Word]) -> bool:
    """A program's own way to give a command another name, where it could start anything."""
    return name == "git" and any(word.text.startswith(("-c", "--exec-path", "config")) for word in rest[:3])
