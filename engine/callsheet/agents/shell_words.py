"""A line for a POSIX shell → the simple commands in it, with what is known of their words before anything is expanded.

Not a shell: whatever it does not understand is said to be unclear, and the caller takes that for dangerous.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_OPERATORS = re.compile(r"&>>|&>|<<<|<<-|<<|<>|<&|>>|>&|>\||;;&|;;|;&|\|\||\|&|&&|[;&|()<>\n]")
_REDIRECTIONS = frozenset({"&>>", "&>", "<<<", "<<", "<<-", "<>", "<&", ">>", ">&", ">|", "<", ">"})
_INPUTS = frozenset({"<<<", "<<", "<<-", "<"})
_BLANKS = " \t\r"
_PLAIN = re.compile(r"[^ \t\r\n\\'\"$`;&|()<>]+")
_GLOB = re.compile(r"[*?\[]|\{(?=[^{}]*\})[^{}]*?(?:,|\.\.)")
_DEEPEST = 8


class Word(NamedTuple):
    """`fixed`: what stands here is what the program gets; else a variable, a pattern or a command decides.

    Then `text` is what is written.
    """

    text: str
    fixed: bool = True


class Simple(NamedTuple):
    """One command. `fed`: it reads what another command, a file or the line itself hands to it.

    `given` is what stands in the line of that.
    """

    words: tuple[Word, ...]
    fed: bool = False
    given: str = ""


class _Document(NamedTuple):
    """A here-document whose text is still to come, and the number of the command that reads it."""

    delimiter: str
    quoted: bool
    command: int


class Unclear(Exception):
    """The line cannot be understood; the message says why."""


def simple_commands(line: str, depth: int = 0) -> list[Simple]:
    """Every simple command, also those in substitutions and groups. Raises `Unclear`."""
    if depth > _DEEPEST:
        raise Unclear("commands are nested too deeply")
    return _Reader(line, depth).read()


class _Reader:
    def __init__(self, line: str, depth: int) -> None:
        self.line = line.replace("\\\n", "")
        self.depth = depth
        self.at = 0
        self.found: list[Simple] = []
        self.inner: list[Simple] = []
        self.words: list[Word] = []
        self.fed = False
        self.given = ""
        self.documents: list[_Document] = []

    def read(self) -> list[Simple]:
        while self.at < len(self.line):
            letter = self.line[self.at]
            operator = _OPERATORS.match(self.line, self.at)
            if letter in _BLANKS:
                self.at += 1
            elif letter == "#":
                self.at = self._end_of_line()
            elif operator and not self._is_substitution(operator[0]):
                self.at = operator.end()
                self._take_operator(operator[0])
            else:
                self._take_word(self._word())
        self._end()
        return [*self.found, *self.inner]

    def _is_substitution(self, operator: str) -> bool:
        return operator in "<>" and self.line.startswith("(", self.at + 1)

    def _end_of_line(self) -> int:
        end = self.line.find("\n", self.at)
        return len(self.line) if end < 0 else end

    def _take_operator(self, operator: str) -> None:
        if operator in _REDIRECTIONS:
            self._redirect(operator)
            return
        self._end(feeds=operator in ("|", "|&"))
        if operator == "\n" and self.documents:
            self._take_documents()

    def _redirect(self, operator: str) -> None:
        if self.words and self.words[-1].text.isdigit() and self.line[self.at - len(operator) - 1].isdigit():
            self.words.pop()  # a descriptor, as in 2>
        while self.at < len(self.line) and self.line[self.at] in _BLANKS:
            self.at += 1
        start = self.at
        target = self._word() if self.at < len(self.line) else Word("")
        self.fed = self.fed or operator in _INPUTS
        if operator in ("<<", "<<-"):
            quoted = any(sign in self.line[start : self.at] for sign in "'\"\\")
            self.documents.append(_Document(target.text, quoted, len(self.found)))
        elif operator == "<<<":
            self.given += target.text

    def _take_documents(self) -> None:
        for delimiter, quoted, command in self.documents:
            start = self.at
            while self.at < len(self.line):
                end = self._end_of_line()
                text, self.at = self.line[self.at : end], min(end + 1, len(self.line))
                if not quoted and ("$(" in text or "`" in text):
                    raise Unclear("a here-document runs commands")
                if text.strip("\t") == delimiter:
                    break
            if command < len(self.found):
                self.found[command] = self.found[command]._replace(given=self.line[start : self.at])
        self.documents = []

    def _take_word(self, word: Word) -> None:
        self.words.append(word)

    def _end(self, *, feeds: bool = False) -> None:
        if self.words:
            self.found.append(Simple(tuple(self.words), self.fed, self.given))
        self.words, self.fed, self.given = [], feeds, ""

    def _word(self) -> Word:
        text, fixed, bare = "", True, ""
        while self.at < len(self.line):
            letter = self.line[self.at]
            if letter in _BLANKS or (_OPERATORS.match(self.line, self.at) and not self._begins_substitution()):
                break
            if letter == "\\":
                text += self.line[self.at + 1 : self.at + 2]
                self.at += 2
            elif letter == "'":
                text += self._until("'")
            elif letter == '"':
                inside, plain = self._quoted()
                text, fixed = text + inside, fixed and plain
            elif letter in "$`" or self._begins_substitution():
                text, fixed = text + self._expansion(), False
            else:
                run = _PLAIN.match(self.line, self.at)
                chunk = run[0] if run else letter
                text, bare, self.at = text + chunk, bare + chunk, self.at + len(chunk)
        return Word(text, fixed and not _GLOB.search(bare))

    def _begins_substitution(self) -> bool:
        return self.line[self.at] in "<>" and self.line.startswith("(", self.at + 1)

    def _until(self, sign: str) -> str:
        """What stands between here and the next sign of this kind."""
        end = self.line.find(sign, self.at + 1)
        if end < 0:
            raise Unclear(f"a {sign} is not closed")
        text, self.at = self.line[self.at + 1 : end], end + 1
        return text

    def _quoted(self) -> tuple[str, bool]:
        """What stands in double quotes, and whether nothing in it is expanded."""
        self.at += 1
        text, plain = "", True
        while not self.line.startswith('"', self.at):
            if self.at >= len(self.line):
                raise Unclear('a " is not closed')
            letter = self.line[self.at]
            if letter == "\\" and self.line[self.at + 1 : self.at + 2] in {"$", "`", '"', "\\"}:
                text, self.at = text + self.line[self.at + 1], self.at + 2
            elif letter in "$`":
                text, plain = text + self._expansion(), False
            else:
                text, self.at = text + letter, self.at + 1
        self.at += 1
        return text, plain

    def _expansion(self) -> str:
        """A variable, or a command whose output stands here, as it is written; such a command is read too."""
        start = self.at
        self._pass_expansion()
        return self.line[start : self.at]

    def _pass_expansion(self) -> None:
        if self.line[self.at] == "`":
            self.inner += simple_commands(self._until("`").replace("\\`", "`"), self.depth + 1)
        elif self.line.startswith(("$(", "<(", ">("), self.at):
            start = self.at + 2
            self.at = self._closing(start)
            self.inner += simple_commands(self.line[start : self.at - 1], self.depth + 1)
        elif self.line.startswith("${", self.at):
            if "$(" in (inside := self._until("}")) or "`" in inside:
                raise Unclear("a variable runs commands")
        elif self.line.startswith("$'", self.at):
            self.at += 1
            self._until("'")
        else:
            self.at += 1
            while self.at < len(self.line) and (self.line[self.at].isalnum() or self.line[self.at] in "_@*#?$!-"):
                self.at += 1

    def _closing(self, start: int) -> int:
        """Behind the parenthesis that closes what begins at `start`; quotes in it are skipped."""
        self.at, open_ones = start, 1
        while open_ones:
            if self.at >= len(self.line):
                raise Unclear("a ( is not closed")
            letter = self.line[self.at]
            if letter == "'":
                self._until("'")
                continue
            if letter == '"':
                self._skip_quoted()
                continue
            open_ones += (letter == "(") - (letter == ")")
            self.at += 2 if letter == "\\" else 1
        return self.at

    def _skip_quoted(self) -> None:
        """Over double quotes, in which a parenthesis is a letter unless it is a command's."""
        self.at += 1
        while not self.line.startswith('"', self.at):
            if self.at >= len(self.line):
                raise Unclear('a " is not closed')
            if self.line.startswith("$(", self.at):
                self.at = self._closing(self.at + 2)
            else:
                self.at += 2 if self.line[self.at] == "\\" else 1
        self.at += 1
