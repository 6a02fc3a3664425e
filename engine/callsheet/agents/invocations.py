"""Which programs of ours a shell line would start, and with which words."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Sequence
from typing import NamedTuple

from .other_programs import (
    DATA_FOLLOWS,
    FROM_INPUT,
    PRINTERS,
    READERS,
    READS_A_SCRIPT,
    RESERVED,
    SHELLS,
    STARTERS,
    only_reads,
    sets_alias,
)
from .shell_words import Simple, Unclear, Word, simple_commands

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=")
_SUBSTITUTED = re.compile(r"\$\([^()]*\)|`[^`]*`")  # what runs there is looked at by itself
_LONGEST = 200_000  # characters: hosts wait for an answer, and some go on without one
_ENGINE = ("-m", "callsheet")


class Invocation(NamedTuple):
    """`open`: words that stand nowhere in the line may be added at the end."""

    program: str
    words: tuple[Word, ...]
    open: bool = False


def invocations(line: str, programs: Collection[str]) -> list[Invocation]:
    """Raises `Unclear` where a program of ours may be started in a way that the line does not show."""
    if len(line) > _LONGEST:
        raise Unclear(f"the line is longer than {_LONGEST} characters")
    try:
        return list(_invocations(line, frozenset(programs), 0))
    except RecursionError:
        raise Unclear("commands are nested too deeply") from None


def _invocations(line: str, programs: frozenset[str], depth: int) -> Iterator[Invocation]:
    if depth > 4:
        raise Unclear("shells start shells")
    names = "|".join(map(re.escape, sorted(programs)))
    mentioned = re.compile(rf"(?:(?<![\w.-])|(?<=-[A-Za-z])(?<!\w-[A-Za-z]))(?:{names})(?![\w/-]|\.(?!exe\b)\w)")
    if not mentioned.search(re.sub(r"[\\'\"]", "", line)):
        return
    finder = _Finder(programs, mentioned, depth)
    for simple in simple_commands(line, depth):
        yield from finder.find(simple)


class _Finder:
    """Goes through the commands of one line. `said`: the last one hands on a text that names one of the programs."""

    def __init__(self, programs: frozenset[str], mentioned: re.Pattern[str], depth: int) -> None:
        self.programs = programs
        self.mentioned = mentioned
        self.depth = depth
        self.said = False

    def find(self, simple: Simple) -> Iterator[Invocation]:
        words = _command(simple.words)
        self._check_assignments(simple.words)
        reads = (simple.fed and self.said) or self.mentioned.search(simple.given) is not None
        self.said = False
        if not words or (words[0].fixed and words[0].text in DATA_FOLLOWS):
            return
        if not words[0].fixed:
            raise Unclear("the command's name is only known when the line runs")
        name = _name(words[0])
        if reads and name not in READERS and name not in self.programs:
            raise Unclear(f"{name} may run what it reads")
        self.said = name in READERS and (reads or (name in PRINTERS and self._mentions(words[1:])))
        yield from self._started(words, fed=simple.fed)

    def _check_assignments(self, words: Sequence[Word]) -> None:
        """A variable can hold what another program starts, as PAGER does."""
        for word in words:
            if not (found := _ASSIGNMENT.match(word.text)) and word.text not in RESERVED:
                return
            if found and self.mentioned.search(_SUBSTITUTED.sub("", word.text[found.end() :])):
                raise Unclear(f"{word.text[: found.end() - 1]} may be started")

    def _started(self, words: Sequence[Word], *, fed: bool, more: bool = False) -> Iterator[Invocation]:
        name = _name(words[0])
        rest = words[1:]
        texts = [word.text for word in rest]
        if name in self.programs:
            yield Invocation(name, tuple(rest), more)
        elif engine := self._engine(words):
            yield engine
        elif name in READS_A_SCRIPT:
            yield from self._of_shell(rest, fed=fed, more=more)
        elif name in STARTERS and not only_reads(name, texts):
            yield from self._of_starter(name, rest, fed=fed, more=more)
        elif name == "eval" and all(word.fixed for word in rest):
            yield from _invocations(" ".join(texts), self.programs, self.depth + 1)
        elif name == "eval" or sets_alias(name, texts) or (not only_reads(name, texts) and self._mentions(rest)):
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
            named = any(self.mentioned.search(word.text) for word in rest[place + 2 :])
            if not script.fixed or more or named:
                raise Unclear("what a shell is told to run is only known when the line runs")
            yield from _invocations(script.text, self.programs, self.depth + 1)
        elif fed or self._mentions(rest):
            raise Unclear("a shell runs what it reads")

    def _of_starter(self, name: str, rest: Sequence[Word], *, fed: bool, more: bool) -> Iterator[Invocation]:
        if name == "command" and rest and rest[0].text in ("-v", "-V"):
            return
        if rest and rest[0].fixed and only_reads(_name(rest[0]), [word.text for word in rest[1:]]):
            return
        more = more or name in FROM_INPUT
        for place, word in enumerate(rest):
            inner = _name(word)
            if word.fixed and (inner in self.programs or inner in SHELLS or inner in STARTERS):
                yield from self._started(rest[place:], fed=fed, more=more)
                return
            if self._engine(rest[place:]):
                yield from self._started(rest[place:], fed=fed, more=more)
                return
        target = next((word for word in rest if not word.text.startswith("-") and not _is_number(word.text)), None)
        dynamic = any(not word.fixed for word in rest[:2])
        reads = target is not None and _name(target) in READERS
        if dynamic or self._mentions(rest) or (more and fed and not reads):
            raise Unclear(f"{name} may start one of these programs")

    def _mentions(self, words: Sequence[Word]) -> bool:
        return any(self._may_start(word, words[place + 1 :]) for place, word in enumerate(words))

    def _may_start(self, word: Word, behind: Sequence[Word]) -> bool:
        """Whether the word is one of the programs, or a text that starts one.

        A directory of that name is neither, unless words stand behind it as they would behind a program.
        """
        if self.mentioned.search(word.text) is None:
            return False
        if not os.path.isdir(word.text):
            return True
        argument = next((each.text for each in behind if not each.text.startswith("-")), None)
        return "/" not in word.text and argument is not None and not os.path.lexists(argument)


def _command(words: Sequence[Word]) -> Sequence[Word]:
    """Without what stands before the command: reserved words, the name of a function, and assignments."""
    place = 0
    while place < len(words) and words[place].fixed and words[place].text in RESERVED | {"function"}:
        place += 2 if words[place].text == "function" else 1
    while place < len(words) and _ASSIGNMENT.match(words[place].text):
        place += 1
    return words[place:]


def _name(word: Word) -> str:
    return word.text.replace("\\", "/").rpartition("/")[2].removesuffix(".exe")


def _is_number(text: str) -> bool:
    return text.rstrip("smhd").replace(".", "", 1).isdigit()
