"""Languages of conditions that a service searches with: read into conditions and an order.

query     = [ or ] [ "order" "by" sorting { "," sorting } ]
or        = and { ( "or" | "|" | "||" ) and }
and       = not { ( "and" | "&" | "&&" ) not }
not       = ( "not" | "!" ) not | "(" or ")" | condition
condition = field ( ( "=" | "!=" | "~" | "!~" ) single | ( "<" | ">" | "<=" | ">=" ) value | [ "not" ] "in" many
          | "is" [ "not" ] empty | "was" [ "not" ] ( single | "in" many ) { predicate } | "changed" { predicate } )
single    = empty | value | function
many      = function | list
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import NamedTuple, NoReturn

from ..errors import CallsheetError

# The words and signs of a query, with the place where each stands.


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


def query_tokens(text: str, reserved: AbstractSet[str]) -> Iterator[QueryToken]:
    """The tokens in order, the end last; raises `QuerySyntaxError` at a character or word that must be quoted."""
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None or match.lastgroup is None:
            raise QuerySyntaxError(_unreadable_message(text, position), text, position)
        token = _token_at(match.lastgroup, match.group(), position)
        if token.kind == WORD and token.text.lower() in reserved:
            message = f"'{token.text}' is a reserved word: enclose it in quotation marks to use it as a field or value"
            raise QuerySyntaxError(message, text, position)
        if token.kind != SPACE:
            yield token
        position = match.end()
    yield QueryToken(END, "", "", len(text))


def _token_at(kind: str, text: str, start: int) -> QueryToken:
    if kind == QUOTED:
        return QueryToken(kind, text, _unescaped_text(text[1:-1]), start)
    if kind == WORD and _NUMBER.match(text):
        kind = NUMBER
    return QueryToken(kind, text, _unescaped_text(text) if kind == WORD else text, start)


def _unescaped_text(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: _escaped_character(found[1]), text)


def _escaped_character(escape: str) -> str:
    return chr(int(escape[1:], 16)) if len(escape) > 1 else _LETTERS.get(escape, escape)


def _unreadable_message(text: str, position: int) -> str:
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


# What a query says, after it has been read.


class Value(NamedTuple):
    """A word, a number or a text in quotes."""

    text: str


class Empty(NamedTuple):
    """The word that stands for no value at all."""


class Function(NamedTuple):
    name: str
    arguments: tuple[str, ...]


class Values(NamedTuple):
    """Operands in parentheses."""

    items: tuple[Operand, ...]


Operand = Value | Empty | Function | Values


class ConditionField(NamedTuple):
    """The name before an operator, and what stands behind it in brackets: a key, and the path below it."""

    name: str
    properties: tuple[tuple[str, str], ...] = ()


class Predicate(NamedTuple):
    """A part of a condition on history: `after -1d`."""

    word: str
    operand: Operand


class Condition(NamedTuple):
    """One comparison. `operator` is in lower case with single spaces: `not in`; only `changed` has no operand."""

    field: ConditionField
    operator: str
    operand: Operand | None
    predicates: tuple[Predicate, ...]


class Negation(NamedTuple):
    clause: Clause


class Joined(NamedTuple):
    """Two or more clauses that all hold (`and`), or of which one holds (`or`)."""

    word: str
    clauses: tuple[Clause, ...]


Clause = Condition | Negation | Joined


class Sorting(NamedTuple):
    field: ConditionField
    descending: bool | None  # None: as the field is usually sorted


class Query(NamedTuple):
    """`where` is None where everything is asked for."""

    where: Clause | None
    order: tuple[Sorting, ...]


# Reading a query: conditions joined by and, or and not, and an order at the end.


_DEEPEST = 200
_EMPTY = ("empty", "null")
_AND = ("&", "&&")
_OR = ("|", "||")
_WHEN = ("before", "after", "on", "during", "by")
_CHANGE = (*_WHEN, "from", "to")
# They mean something in the grammar, so nothing is called that without quotation marks.
_GRAMMAR = frozenset(
    ("in", "is", "and", "or", "not", *_EMPTY, "was", "changed", *_CHANGE, "order", "by", "asc", "desc")
)


class Grammar:
    """`reserved` words must be quoted; `numbered` is the word that names a field by its number: `cf[10001]`."""

    def __init__(self, reserved: AbstractSet[str] = frozenset(), numbered: str | None = None) -> None:
        self.reserved = reserved
        self.numbered = numbered

    def parse_query(self, text: str) -> Query:
        """Raises `QuerySyntaxError`."""
        return _Reader(text, self).read_query()


class _Reader:
    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text = text
        self.numbered = grammar.numbered
        self.tokens = list(query_tokens(text, grammar.reserved))
        self.position = 0
        self.depth = 0

    @property
    def next_token(self) -> QueryToken:
        return self.tokens[self.position]

    def read_query(self) -> Query:
        ordered = self.next_token.is_word("order")
        where = None if ordered or self.next_token.kind == END else self.any_of()
        order = self.read_order() if self.next_token.is_word("order") else ()
        if self.next_token.kind != END:
            self.fail_at_token("'or', 'and' or 'order by'" if not order else "the end of the query")
        return Query(where, order)

    def any_of(self) -> Clause:
        return self.read_joined("or", _OR, self.all_of)

    def all_of(self) -> Clause:
        return self.read_joined("and", _AND, self.read_negation)

    def read_joined(self, word: str, signs: tuple[str, ...], part: Callable[[], Clause]) -> Clause:
        found = [part()]
        while self.next_token.is_word(word) or self.next_token.is_sign(*signs):
            self.position += 1
            found.append(part())
        return found[0] if len(found) == 1 else Joined(word, tuple(found))

    def read_negation(self) -> Clause:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise QuerySyntaxError("the query is nested too deeply", self.text, self.next_token.start)
        try:
            if self.took_word("not") or self.took_sign("!"):
                return Negation(self.read_negation())
            if self.took_sign("("):
                inner = self.any_of()
                self.expect_sign(")")
                return inner
            return self.read_condition()
        finally:
            self.depth -= 1

    def read_condition(self) -> Condition:
        field = self.read_field()
        token = self.next_token
        if token.is_sign("=", "!=", "~", "!~"):
            self.position += 1
            return Condition(field, token.text, self.read_single(), ())
        if token.is_sign("<", ">", "<=", ">="):
            self.position += 1
            return Condition(field, token.text, self.read_value(), ())
        if self.took_word("was"):
            return self.read_past(field)
        if self.took_word("changed"):
            return Condition(field, "changed", None, self.read_predicates(_CHANGE))
        if self.took_word("is"):
            return Condition(field, "is not" if self.took_word("not") else "is", self.read_empty(), ())
        negated = self.took_word("not")
        if not self.took_word("in"):
            self.fail_at_token(
                "'in'" if negated else "an operator: one of =, !=, <, >, <=, >=, ~, !~, in, not in, is, was, changed"
            )
        return Condition(field, "not in" if negated else "in", self.read_many(), ())

    def read_past(self, field: ConditionField) -> Condition:
        operator = "was not" if self.took_word("not") else "was"
        if self.took_word("in"):
            return Condition(field, f"{operator} in", self.read_many(), self.read_predicates(_WHEN))
        return Condition(field, operator, self.read_single(), self.read_predicates(_WHEN))

    def read_predicates(self, words: tuple[str, ...]) -> tuple[Predicate, ...]:
        found = []
        while self.next_token.is_word(*words):
            word = self.next_token.text.lower()
            self.position += 1
            found.append(Predicate(word, self.read_operand()))
        return tuple(found)

    def read_field(self) -> ConditionField:
        if self.numbered and self.took_word(self.numbered):
            self.expect_sign("[")
            number = self.next_token
            if number.kind != NUMBER or number.text.startswith("-"):
                self.fail_at_token("the number of a field")
            self.position += 1
            self.expect_sign("]")
            name = f"{self.numbered}[{number.text}]"
            return ConditionField(name, self.read_properties(pathless=True))
        return ConditionField(self.read_name("a field name"), self.read_properties())

    def read_properties(self, *, pathless: bool = False) -> tuple[tuple[str, str], ...]:
        found = []
        while self.took_sign("["):
            key = self.read_name("a property key")
            self.expect_sign("]")
            path = ""
            while not pathless and self.is_name():
                path += self.read_name("a path")
            found.append((key, path))
        return tuple(found)

    def read_single(self) -> Operand:
        return self.read_empty() if self.next_token.is_word(*_EMPTY) else self.read_value()

    def read_many(self) -> Operand:
        if self.next_token.is_sign("("):
            return self.read_values()
        found = self.read_value()
        if not isinstance(found, Function):
            self.fail_at_token("'('")
        return found

    def read_operand(self) -> Operand:
        return self.read_values() if self.next_token.is_sign("(") else self.read_single()

    def read_values(self) -> Values:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise QuerySyntaxError("the list is nested too deeply", self.text, self.next_token.start)
        self.expect_sign("(")
        found = [self.read_operand()]
        while self.took_sign(","):
            found.append(self.read_operand())
        self.expect_sign(")")
        self.depth -= 1
        return Values(tuple(found))

    def read_value(self) -> Value | Function:
        text = self.read_name("a value, a list or a function")
        return Function(text, self.read_arguments()) if self.took_sign("(") else Value(text)

    def read_arguments(self) -> tuple[str, ...]:
        if self.took_sign(")"):
            return ()
        found = [self.read_name("an argument")]
        while self.took_sign(","):
            found.append(self.read_name("an argument"))
        self.expect_sign(")")
        return tuple(found)

    def read_empty(self) -> Empty:
        if not self.took_word(*_EMPTY):
            self.fail_at_token("'empty'")
        return Empty()

    def read_order(self) -> tuple[Sorting, ...]:
        self.position += 1
        if not self.took_word("by"):
            self.fail_at_token("'by'")
        found = [self.read_sorting()]
        while self.took_sign(","):
            found.append(self.read_sorting())
        return tuple(found)

    def read_sorting(self) -> Sorting:
        field = self.read_field()
        descending = True if self.took_word("desc") else False if self.took_word("asc") else None
        return Sorting(field, descending)

    def is_name(self) -> bool:
        token = self.next_token
        if token.kind in (QUOTED, NUMBER):
            return True
        return token.kind == WORD and token.text.lower() not in _GRAMMAR and token.text.lower() != self.numbered

    def read_name(self, wanted: str) -> str:
        if not self.is_name():
            self.fail_at_token(wanted)
        self.position += 1
        return self.tokens[self.position - 1].value

    def took_word(self, *words: str) -> bool:
        return self._takes_sign(self.next_token.is_word(*words))

    def took_sign(self, sign: str) -> bool:
        return self._takes_sign(self.next_token.is_sign(sign))

    def _takes_sign(self, fits: bool) -> bool:
        self.position += fits
        return fits

    def expect_sign(self, sign: str) -> None:
        if not self.took_sign(sign):
            self.fail_at_token(f"'{sign}'")

    def fail_at_token(self, wanted: str) -> NoReturn:
        token = self.next_token
        got = "the end of the query" if token.kind == END else f"'{token.text}'"
        raise QuerySyntaxError(f"expecting {wanted} but got {got}", self.text, token.start)
