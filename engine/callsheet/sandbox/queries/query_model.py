"""What a query says, after it has been read."""

from __future__ import annotations

from typing import NamedTuple


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
