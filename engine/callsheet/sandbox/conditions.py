"""Comparing the values of a field with the words of a query, by the field's kind."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from .moments import moment_of_word, parse_item_time

if TYPE_CHECKING:
    from ..language.shape.sandbox import QueryField

Comparison = Callable[[Sequence[Any]], bool]
_ORDER: dict[str, Callable[[Any, Any], bool]] = {
    "<": lambda left, right: left < right,
    ">": lambda left, right: left > right,
    "<=": lambda left, right: left <= right,
    ">=": lambda left, right: left >= right,
}
_EQUAL = ("=", "in")
_UNEQUAL = ("!=", "not in")
_EMPTINESS = {"is": True, "=": True, "is not": False, "!=": False}


class OperatorError(Exception):
    """The field's kind has no such comparison."""


def comparison(field: QueryField, operator: str, wanted: list[str] | None, now: datetime) -> Comparison:
    """Whether the values of a field fit. `wanted` is None where they are compared with nothing.

    Raises `OperatorError`, and `ValueError` with the word that is none of the field's kind.
    """
    if wanted is None:
        if operator not in _EMPTINESS:
            raise OperatorError(operator)
        return (lambda values: not values) if _EMPTINESS[operator] else bool
    kind = field.get("kind", "name")
    return _KINDS[kind](operator, wanted, now)


def _names(operator: str, wanted: list[str], _: datetime) -> Comparison:
    """Words are equal whatever their letters; what has no value is unequal to nothing."""
    known = {word.casefold() for word in wanted}
    if operator in _EQUAL:
        return lambda values: any(str(value).casefold() in known for value in values)
    if operator in _UNEQUAL:
        return lambda values: bool(values) and not any(str(value).casefold() in known for value in values)
    if operator in ("~", "!~"):
        return _text(operator, wanted, _)
    raise OperatorError(operator)


def _keys(operator: str, wanted: list[str], now: datetime) -> Comparison:
    if operator not in _ORDER:
        return _names(operator, wanted, now)
    compare, limit = _ORDER[operator], key_parts(wanted[0])

    def holds(values: Sequence[Any]) -> bool:
        return any(key_parts(str(value))[0] == limit[0] and compare(key_parts(str(value)), limit) for value in values)

    return holds


def key_parts(text: str) -> tuple[str, int]:
    head, _, number = text.casefold().rpartition("-")
    return head, int(number) if number.isdigit() else 0


def _numbers(operator: str, wanted: list[str], _: datetime) -> Comparison:
    numbers = [_number(word) for word in wanted]
    if operator in _ORDER:
        compare = _ORDER[operator]
        return lambda values: any(compare(float(value), numbers[0]) for value in values)
    if operator in _EQUAL:
        return lambda values: any(float(value) in numbers for value in values)
    if operator in _UNEQUAL:
        return lambda values: bool(values) and not any(float(value) in numbers for value in values)
    raise OperatorError(operator)


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        raise ValueError(word) from None


def _dates(operator: str, wanted: list[str], now: datetime) -> Comparison:
    moments = [moment_of(word, now) for word in wanted]
    if operator in _ORDER:
        compare = _ORDER[operator]
        return lambda values: any(compare(parse_item_time(str(value)), moments[0]) for value in values)
    if operator in _EQUAL:
        return lambda values: any(parse_item_time(str(value)) in moments for value in values)
    if operator in _UNEQUAL:
        return lambda values: bool(values) and not any(parse_item_time(str(value)) in moments for value in values)
    raise OperatorError(operator)


def moment_of(word: str, now: datetime) -> datetime:
    try:
        return parse_item_time(word) if "T" in word else moment_of_word(word, now)
    except ValueError:
        raise ValueError(word) from None


def _text(operator: str, wanted: list[str], _: datetime) -> Comparison:
    """All words must be there, in any order; words in quotation marks together, and `*` stands for any letters."""
    if operator not in ("~", "!~"):
        raise OperatorError(operator)
    patterns = [re.compile(pattern) for word in wanted for pattern in _patterns(word)]

    def holds(values: Sequence[Any]) -> bool:
        text = " ".join(str(value) for value in values).casefold()
        return all(pattern.search(text) for pattern in patterns)

    if operator == "~":
        return holds
    return lambda values: bool(values) and not holds(values)


def _patterns(text: str) -> list[str]:
    found = []
    for phrase, word in re.findall(r'"([^"]*)"|(\S+)', text.casefold()):
        parts = re.findall(r"[\w*?]+", phrase or word)
        if parts:
            found.append(r"\W+".join(rf"\b{_wild(part)}" for part in parts) + ("" if word else r"\b"))
    return found


def _wild(word: str) -> str:
    return re.escape(word).replace(r"\*", r"\w*").replace(r"\?", r"\w")


_KINDS: dict[str, Callable[[str, list[str], datetime], Comparison]] = {
    "name": _names,
    "key": _keys,
    "number": _numbers,
    "date": _dates,
    "text": _text,
}
