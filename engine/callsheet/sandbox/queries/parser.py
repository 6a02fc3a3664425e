"""Reading a query: conditions joined by and, or and not, and an order at the end.

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

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import NoReturn

from .lexer import END, NUMBER, QUOTED, WORD, QuerySyntaxError, QueryToken, tokens
from .query_model import (
    Clause,
    Condition,
    ConditionField,
    Empty,
    Function,
    Joined,
    Negation,
    Operand,
    Predicate,
    Query,
    Sorting,
    Value,
    Values,
)

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

    def parse(self, text: str) -> Query:
        """Raises `QuerySyntaxError`."""
        return _Reader(text, self).query()


class _Reader:
    def __init__(self, text: str, grammar: Grammar) -> None:
        self.text = text
        self.numbered = grammar.numbered
        self.tokens = list(tokens(text, grammar.reserved))
        self.position = 0
        self.depth = 0

    @property
    def next(self) -> QueryToken:
        return self.tokens[self.position]

    def query(self) -> Query:
        ordered = self.next.is_word("order")
        where = None if ordered or self.next.kind == END else self.any_of()
        order = self.order() if self.next.is_word("order") else ()
        if self.next.kind != END:
            self.fail("'or', 'and' or 'order by'" if not order else "the end of the query")
        return Query(where, order)

    def any_of(self) -> Clause:
        return self.joined("or", _OR, self.all_of)

    def all_of(self) -> Clause:
        return self.joined("and", _AND, self.negation)

    def joined(self, word: str, signs: tuple[str, ...], part: Callable[[], Clause]) -> Clause:
        found = [part()]
        while self.next.is_word(word) or self.next.is_sign(*signs):
            self.position += 1
            found.append(part())
        return found[0] if len(found) == 1 else Joined(word, tuple(found))

    def negation(self) -> Clause:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise QuerySyntaxError("the query is nested too deeply", self.text, self.next.start)
        try:
            if self.took_word("not") or self.took_sign("!"):
                return Negation(self.negation())
            if self.took_sign("("):
                inner = self.any_of()
                self.expect(")")
                return inner
            return self.condition()
        finally:
            self.depth -= 1

    def condition(self) -> Condition:
        field = self.field()
        token = self.next
        if token.is_sign("=", "!=", "~", "!~"):
            self.position += 1
            return Condition(field, token.text, self.single(), ())
        if token.is_sign("<", ">", "<=", ">="):
            self.position += 1
            return Condition(field, token.text, self.value(), ())
        if self.took_word("was"):
            return self.past(field)
        if self.took_word("changed"):
            return Condition(field, "changed", None, self.predicates(_CHANGE))
        if self.took_word("is"):
            return Condition(field, "is not" if self.took_word("not") else "is", self.empty(), ())
        negated = self.took_word("not")
        if not self.took_word("in"):
            self.fail(
                "'in'" if negated else "an operator: one of =, !=, <, >, <=, >=, ~, !~, in, not in, is, was, changed"
            )
        return Condition(field, "not in" if negated else "in", self.many(), ())

    def past(self, field: ConditionField) -> Condition:
        operator = "was not" if self.took_word("not") else "was"
        if self.took_word("in"):
            return Condition(field, f"{operator} in", self.many(), self.predicates(_WHEN))
        return Condition(field, operator, self.single(), self.predicates(_WHEN))

    def predicates(self, words: tuple[str, ...]) -> tuple[Predicate, ...]:
        found = []
        while self.next.is_word(*words):
            word = self.next.text.lower()
            self.position += 1
            found.append(Predicate(word, self.operand()))
        return tuple(found)

    def field(self) -> ConditionField:
        if self.numbered and self.took_word(self.numbered):
            self.expect("[")
            number = self.next
            if number.kind != NUMBER or number.text.startswith("-"):
                self.fail("the number of a field")
            self.position += 1
            self.expect("]")
            name = f"{self.numbered}[{number.text}]"
            return ConditionField(name, self.properties(pathless=True))
        return ConditionField(self.name("a field name"), self.properties())

    def properties(self, *, pathless: bool = False) -> tuple[tuple[str, str], ...]:
        found = []
        while self.took_sign("["):
            key = self.name("a property key")
            self.expect("]")
            path = ""
            while not pathless and self.is_name():
                path += self.name("a path")
            found.append((key, path))
        return tuple(found)

    def single(self) -> Operand:
        return self.empty() if self.next.is_word(*_EMPTY) else self.value()

    def many(self) -> Operand:
        if self.next.is_sign("("):
            return self.values()
        found = self.value()
        if not isinstance(found, Function):
            self.fail("'('")
        return found

    def operand(self) -> Operand:
        return self.values() if self.next.is_sign("(") else self.single()

    def values(self) -> Values:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise QuerySyntaxError("the list is nested too deeply", self.text, self.next.start)
        self.expect("(")
        found = [self.operand()]
        while self.took_sign(","):
            found.append(self.operand())
        self.expect(")")
        self.depth -= 1
        return Values(tuple(found))

    def value(self) -> Value | Function:
        text = self.name("a value, a list or a function")
        return Function(text, self.arguments()) if self.took_sign("(") else Value(text)

    def arguments(self) -> tuple[str, ...]:
        if self.took_sign(")"):
            return ()
        found = [self.name("an argument")]
        while self.took_sign(","):
            found.append(self.name("an argument"))
        self.expect(")")
        return tuple(found)

    def empty(self) -> Empty:
        if not self.took_word(*_EMPTY):
            self.fail("'empty'")
        return Empty()

    def order(self) -> tuple[Sorting, ...]:
        self.position += 1
        if not self.took_word("by"):
            self.fail("'by'")
        found = [self.sorting()]
        while self.took_sign(","):
            found.append(self.sorting())
        return tuple(found)

    def sorting(self) -> Sorting:
        field = self.field()
        descending = True if self.took_word("desc") else False if self.took_word("asc") else None
        return Sorting(field, descending)

    def is_name(self) -> bool:
        token = self.next
        if token.kind in (QUOTED, NUMBER):
            return True
        return token.kind == WORD and token.text.lower() not in _GRAMMAR and token.text.lower() != self.numbered

    def name(self, wanted: str) -> str:
        if not self.is_name():
            self.fail(wanted)
        self.position += 1
        return self.tokens[self.position - 1].value

    def took_word(self, *words: str) -> bool:
        return self._took(self.next.is_word(*words))

    def took_sign(self, sign: str) -> bool:
        return self._took(self.next.is_sign(sign))

    def _took(self, fits: bool) -> bool:
        self.position += fits
        return fits

    def expect(self, sign: str) -> None:
        if not self.took_sign(sign):
            self.fail(f"'{sign}'")

    def fail(self, wanted: str) -> NoReturn:
        token = self.next
        got = "the end of the query" if token.kind == END else f"'{token.text}'"
        raise QuerySyntaxError(f"expecting {wanted} but got {got}", self.text, token.start)
