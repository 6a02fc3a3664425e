"""What a query is restricted to for certain, without knowing the language it is written in any better than this.

Understood are clauses that are joined by AND: `FIELD = VALUE` and `FIELD IN (VALUE, ...)`, at the top or in
parentheses. With an OR beside it, a clause restricts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise

_TOKEN = re.compile(r"""\s*("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|&&|\|\||[!<>]=|!~|[^\s"'()=!<>~&|,]+|.)""", re.DOTALL)
_AND, _OR = {"and", "&&", "&"}, {"or", "||", "|"}
_ALONE = frozenset("()=!<>~&|,\"'") | {"&&", "||", "!=", "<=", ">=", "!~"}
_DEEPEST = 20  # parentheses in one another


def restricted_to(query: str, fields: Collection[str]) -> set[str] | None:
    """The values that the query allows for these fields (in lower case); None where it may find anything."""
    return _values(_without_order(_TOKEN.findall(query)), fields, _DEEPEST)


def _without_order(tokens: Sequence[str]) -> Sequence[str]:
    pairs = enumerate(pairwise(tokens))
    end = next((at for at, pair in pairs if [word.casefold() for word in pair] == ["order", "by"]), None)
    return tokens[:end]


def _values(tokens: Sequence[str], fields: Collection[str], depth: int) -> set[str] | None:
    clauses = _clauses(tokens)
    if clauses is None or not depth:
        return None
    found = [values for clause in clauses if (values := _of_clause(clause, fields, depth)) is not None]
    return set().union(*found) if found else None


def _clauses(tokens: Sequence[str]) -> list[list[str]] | None:
    """What stands between the ANDs outside of parentheses; None with an OR there, or parentheses that do not close."""
    clauses: list[list[str]] = [[]]
    depth = 0
    for word in tokens:
        depth += (word == "(") - (word == ")")
        if depth < 0 or (not depth and word.casefold() in _OR):
            return None
        if not depth and word.casefold() in _AND:
            clauses.append([])
        else:
            clauses[-1].append(word)
    return None if depth else clauses


def _of_clause(clause: Sequence[str], fields: Collection[str], depth: int) -> set[str] | None:
    match [each.casefold() for each in clause[:3]]:
        case ["(", *_] if clause[-1] == ")":
            return _values(clause[1:-1], fields, depth - 1)
        case [field, "=", _] if _plain(field) in fields and len(clause) == 3:
            values = [clause[2]]
        case [field, "in", "("] if _plain(field) in fields and clause[-1] == ")" and set(clause[4:-1:2]) <= {","}:
            values = list(clause[3:-1:2])
        case _:
            return None
    if not values or _ALONE.intersection(values) or any("\\" in each for each in values):  # `\u0041` is an A
        return None
    return {_plain(each) for each in values}


def _plain(word: str) -> str:
    return word[1:-1] if len(word) > 1 and word[0] in "\"'" else word
