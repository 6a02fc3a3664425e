"""Regular expressions that can take for ever.

One does where one stretch of a text fits a repetition in more than one way, as in `(a+)+` or `(a|aa)*`: each way is
tried in turn. The expression is read as an automaton of its places for one character, with every way from place to
place; where two ways that read the same lead from a place back to it, their number doubles with each round.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise
from re import _parser  # type: ignore[attr-defined] # there is no public one
from typing import Any, NamedTuple

_MANY = 10  # a repetition of so many is as bad as one without an end
_MOST = 300  # places of one expression; longer ones are not judged
_USUAL = "aZ0_- .,:/@\n\u00e9"


class _TooLong(Exception):
    pass


class _Part(NamedTuple):
    """Where a part of an expression can begin and end, and in how many ways it can be left out."""

    first: list[int]
    last: list[int]
    nullable: int


_NOTHING = _Part([], [], nullable=1)


def fits_no_text(pattern: str) -> bool:
    """Whether a valid regular expression wants more behind the end of a text, as `$[0-9]` does."""
    if "$" not in pattern or "(?m" in pattern:
        return False
    return _goes_on_behind_end(_parser.parse(pattern))


def _goes_on_behind_end(tree: Iterable[Any]) -> bool:
    parts = list(tree)
    inside = (value[3] for kind, value in parts if str(kind) == "SUBPATTERN")
    return any(map(_goes_on_behind_end, inside)) or any(
        str(value) == "AT_END" and _takes_a_sign(*after) for (_, value), after in pairwise(parts)
    )


def _takes_a_sign(kind: Any, value: Any) -> bool:
    """Whether a part of an expression takes a letter, a digit or the like, and no end of a line."""
    match str(kind):
        case "LITERAL":
            return bool(value != ord("\n"))
        case "IN":
            return all(str(what) in ("LITERAL", "RANGE") or str(which) in _NO_SPACE for what, which in value)
        case "MAX_REPEAT" | "MIN_REPEAT":
            return bool(value[0]) and _takes_a_sign(*value[2][0])
    return False


_NO_SPACE = ("CATEGORY_DIGIT", "CATEGORY_WORD")


def lengths_of_matches(pattern: str) -> tuple[int, float]:
    """How many letters a text has at least in which a valid expression is found, and at most."""
    tree = _parser.parse(pattern)
    least, most = tree.getwidth()
    ends = [str(value) for kind, value in (*tree[:1], *tree[-1:]) if str(kind) == "AT"]
    is_whole = ends in (["AT_BEGINNING", "AT_END"], ["AT_BEGINNING_STRING", "AT_END_STRING"])
    return least, most if is_whole and "(?m" not in pattern else float("inf")


@lru_cache(maxsize=4096)
def takes_for_ever(pattern: str) -> bool:
    """Of a valid regular expression."""
    try:
        tree = _parser.parse(pattern)
    except RecursionError:
        return False
    if not any(sign in pattern for sign in "*+{"):
        return False
    try:
        automaton = _Automaton(_letters_of_pattern(tree))
        automaton.add_sequence(tree)
        return automaton.is_ambiguous() or any(map(_of_part, automaton.apart))
    except (_TooLong, RecursionError):
        return False


def _of_part(tree: Any) -> bool:
    automaton = _Automaton(_letters_of_pattern(tree))
    automaton.add_sequence(tree)
    return automaton.is_ambiguous()


class _Automaton:
    def __init__(self, letters: frozenset[str]) -> None:
        self.letters = letters
        self.reads: list[frozenset[str]] = []
        self.ways: list[list[int]] = []  # from each place to those that may follow; twice where there are two ways
        self.apart: list[Any] = []  # what looks ahead or behind

    def add_sequence(self, tree: Iterable[Any]) -> _Part:
        whole = _NOTHING
        for kind, value in tree:
            part = self._add_part(str(kind), value)
            self._join_places(whole.last, part.first)
            whole = _Part(
                whole.first + part.first * whole.nullable,
                part.last + whole.last * part.nullable,
                whole.nullable * part.nullable,
            )
        return whole

    def _add_part(self, kind: str, value: Any) -> _Part:
        if kind in ("MAX_REPEAT", "MIN_REPEAT"):
            return self._add_repetition(*value)
        if kind == "SUBPATTERN":
            return self.add_sequence(value[-1])
        if kind == "BRANCH":
            parts = [self.add_sequence(branch) for branch in value[1]]
            first = [place for part in parts for place in part.first]
            last = [place for part in parts for place in part.last]
            return _Part(first, last, sum(part.nullable for part in parts))
        if kind in ("ASSERT", "ASSERT_NOT"):
            self.apart.append(value[1])
            return _NOTHING
        if kind in ("AT", "GROUPREF", "GROUPREF_EXISTS"):
            return _NOTHING
        return self._add_place(_letters_read(kind, value, self.letters))

    def _add_place(self, reads: frozenset[str]) -> _Part:
        if len(self.reads) >= _MOST:
            raise _TooLong
        self.reads.append(reads)
        self.ways.append([])
        place = len(self.reads) - 1
        return _Part([place], [place], nullable=0)

    def _add_repetition(self, least: int, most: int, tree: Any) -> _Part:
        if most >= _MANY:
            part = self.add_sequence(tree)
            self._join_places(part.last, part.first)
            return part._replace(nullable=part.nullable or int(least == 0))
        whole = _NOTHING
        for number in range(most):
            part = self.add_sequence(tree)
            self._join_places(whole.last, part.first)
            can_end = number >= least
            whole = _Part(
                whole.first + part.first * whole.nullable,
                part.last + whole.last * (part.nullable or can_end),
                whole.nullable * (part.nullable or int(can_end)),
            )
        return whole

    def _join_places(self, ends: list[int], starts: list[int]) -> None:
        for end in ends:
            self.ways[end] += starts

    def is_ambiguous(self) -> bool:
        return any(self._is_ambiguous_within(circle) for circle in self._circles_of_places())

    def _is_ambiguous_within(self, circle: frozenset[int]) -> bool:
        inside = {place: sorted(other for other in self.ways[place] if other in circle) for place in circle}
        if any(one == other for ways in inside.values() for one, other in pairwise(ways)):
            return True
        seen: set[tuple[int, int]] = set()
        waiting = [
            pair
            for ways in inside.values()
            for number, one in enumerate(ways)
            for other in ways[number + 1 :]
            if self._read_alike(pair := (one, other))
        ]
        while waiting:
            pair = waiting.pop()
            if pair in seen:
                continue
            seen.add(pair)
            for one in inside[pair[0]]:
                for other in inside[pair[1]]:
                    if one == other and self.reads[one]:
                        return True
                    if self._read_alike((one, other)):
                        waiting.append((one, other))
        return False

    def _read_alike(self, pair: tuple[int, int]) -> bool:
        return not self.reads[pair[0]].isdisjoint(self.reads[pair[1]])

    def _circles_of_places(self) -> list[frozenset[int]]:
        """The places that lead back to each other."""
        ahead = [self._places_reached(self.ways, place) for place in range(len(self.ways))]
        found = {frozenset(other for other in there if place in ahead[other]) for place, there in enumerate(ahead)}
        return [circle for circle in found if circle]

    @staticmethod
    def _places_reached(ways: list[list[int]], start: int) -> set[int]:
        found: set[int] = set()
        waiting = [*ways[start]]
        while waiting:
            place = waiting.pop()
            if place not in found:
                found.add(place)
                waiting += ways[place]
        return found


def _letters_of_pattern(tree: Any) -> frozenset[str]:
    """Letters that stand for all others: those that an expression names, and their neighbours."""
    codes = {ord(sign) for sign in _USUAL}
    waiting = [tree]
    while waiting:
        each = waiting.pop()
        if isinstance(each, int) and not isinstance(each, bool) and 0 < each < 0x10FFFF:
            codes |= {each - 1, each, each + 1}
        elif isinstance(each, tuple | list) or hasattr(each, "data"):
            waiting += list(each)
    return frozenset(chr(code) for code in codes)


def _letters_read(kind: str, value: Any, letters: frozenset[str]) -> frozenset[str]:
    """Those letters that one place reads."""
    if kind == "LITERAL":
        return frozenset({chr(value)})
    if kind == "NOT_LITERAL":
        return letters - {chr(value)}
    if kind == "ANY":
        return letters - {"\n"}
    if kind == "RANGE":
        return frozenset(sign for sign in letters if value[0] <= ord(sign) <= value[1])
    if kind == "CATEGORY":
        return frozenset(filter(_CATEGORIES.get(str(value), lambda _: False), letters))
    if kind == "IN":
        negated = bool(value) and str(value[0][0]) == "NEGATE"
        found = frozenset().union(*(_letters_read(str(part), inner, letters) for part, inner in value[negated:]))
        return letters - found if negated else found
    return letters  # what is not known may read anything


def _is_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


_CATEGORIES = {
    "CATEGORY_DIGIT": str.isdigit,
    "CATEGORY_NOT_DIGIT": lambda sign: not sign.isdigit(),
    "CATEGORY_SPACE": str.isspace,
    "CATEGORY_NOT_SPACE": lambda sign: not sign.isspace(),
    "CATEGORY_WORD": _is_word,
    "CATEGORY_NOT_WORD": lambda sign: not _is_word(sign),
}
