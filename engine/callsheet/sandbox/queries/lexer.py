"""The words and signs of a query, with the place where each stands."""

from __future__ import annotations

import re
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from ...errors import CallsheetError

SPACE, SIGN, WORD, NUMBER, QUOTED, END = "space", "sign", "word", "number", "quoted", "end"

# A backslash in front of what may not stand there as it is: in a word only in front of these.
_ESCAPE = r"\\(?:[tnr\\\"' ]|u[0-9A-Fa-f]{4})"
_UNQUOTED = r"[^ \x00-\x20\x7f\"'\\,()\[\]|&!<>=~{}*/%+^$#@?;\ufdd0-\ufdef\uffff]"
_CONTROL = r"\x00-\x09\x0b\x0c\x0e-\x1f\x7f"
_TOKEN = re.compile(
    rf"""
    (?P<space>[ \t\r\n]+)
    | (?P<sign>&&|\|\||!=|!~|>=|<=|[()\[\],!<>=~&|])
    | (?P<word>(?:{_ESCAPE}|{_UNQUOTED})+)
    | (?P<quoted>"(?:{_ESCAPE}|[^"\\{_CONTROL}])*"|'(?:{_ESCAPE}|[^'\\{_CONTROL}])*')
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?[0-9]+\Z")
_ESCAPED = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r"}


class QuerySyntaxError(CallsheetError):
    """A query that is none. `start` counts characters from 0."""

    def __init__(self, message: str, text: str, start: int) -> None:
        line = text.count("\n", 0, start) + 1
        character = start - (text.rfind("\n", 0, start) + 1) + 1
        super().__init__(f"{message} (line {line}, character {character})")


class QueryToken(NamedTuple):
    """`value` is what the text means; `text` is as it was written."""

    kind: str
    text: str
    value: str
    start: int

    def is_word(self, *words: str) -> bool:
        return self.kind == WORD and self.text.lower() in words

    def is_sign(self, *signs: str) -> bool:
        return self.kind == SIGN and self.text in signs


def tokens(text: str, reserved: AbstractSet[str]) -> Iterator[QueryToken]:
    """The tokens in order, the end last; raises `QuerySyntaxError` at a character or word that must be quoted."""
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise QuerySyntaxError(_unreadable(text, position), text, position)
        token = _token(match.lastgroup, match.group(), position)
        if token.kind == WORD and token.text.lower() in reserved:
            message = f"'{token.text}' is a reserved word: enclose it in quotation marks to use it as a field or value"
            raise QuerySyntaxError(message, text, position)
        if token.kind != SPACE:
            yield token
        position = match.end()
    yield QueryToken(END, "", "", len(text))


def _token(kind: str, text: str, start: int) -> QueryToken:
    if kind == QUOTED:
        return QueryToken(kind, text, _unescaped(text[1:-1]), start)
    if kind == WORD and _NUMBER.match(text):
        kind = NUMBER
    return QueryToken(kind, text, _unescaped(text) if kind == WORD else text, start)


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: _character(found[1]), text)


def _character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _LETTERS.get(escape, escape)


def _unreadable(text: str, position: int) -> str:
    character = text[position]
    if character in "\"'":
        rest = text[position + 1 :]
        bad = re.search(rf"\\(?![tnr\\\"' ]|u[0-9A-Fa-f]{{4}})|[{_CONTROL}]", rest)
        end = re.search(rf"(?<!\\){character}", rest)
        if bad and (end is None or bad.start() < end.start()):
            return "the quoted text holds a control character or an unknown escape"
        return "the quoted text has not been completed"
    if character == "\\":
        return "the escape is not valid: use one of \\t \\n \\r \\\\ \\\" \\' '\\ ' or \\uXXXX"
    return (
        f"the character {character!r} is reserved: enclose it in quotation marks or write the escape "
        f"'\\u{ord(character):04x}' instead"
    )
