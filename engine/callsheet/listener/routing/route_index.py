"""Which of many routes a given event meets, without asking each of them.

Routes that demand a fixed value somewhere (`body.course_id == `7``) are found by that value in a dictionary, those that
demand a number below or above a bound by bisection; only the other conditions are tried one by one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...language.compiled_jmespath import Ast, compile_condition, compile_node, tree
from ...language.template import is_true

Holds = Callable[[Any], bool]
ValueGetter = Callable[[Any], Any]


class _Entry(NamedTuple):
    position: int
    condition: Holds | None
    item: Any


class _Comparison(NamedTuple):
    """What a condition cannot hold without: the value at a path stands in a relation to a constant."""

    path: str
    operator: str
    get_value: ValueGetter
    value: Any
    is_complete: bool


class _SortedBounds:
    """Entries by their bound."""

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self._sorted: list[tuple[float, int, _Entry]] = []
        self._bounds: list[float] = []

    def add(self, bound: float, entry: _Entry) -> None:
        self._sorted.append((bound, entry.position, entry))

    def sort(self) -> None:
        self._sorted.sort(key=lambda each: each[:2])
        self._bounds = [bound for bound, _, _ in self._sorted]

    def matching(self, value: float) -> Iterable[_Entry]:
        if self.operator in ("lt", "lte"):
            index = (bisect_right if self.operator == "lt" else bisect_left)(self._bounds, value)
            return (entry for _, _, entry in self._sorted[index:])
        index = (bisect_left if self.operator == "gt" else bisect_right)(self._bounds, value)
        return (entry for _, _, entry in self._sorted[:index])


class RouteIndex:
    """Items in order, each with an optional condition."""

    def __init__(self, items: Iterable[tuple[str | None, Any]]) -> None:
        self._always: list[_Entry] = []
        self._equal: dict[str, tuple[ValueGetter, dict[Any, list[_Entry]]]] = {}
        self._bounded: dict[tuple[str, str], tuple[ValueGetter, _SortedBounds]] = {}
        self.count = 0
        for when, item in items:
            self._add(when, item)
        for _, bounds in self._bounded.values():
            bounds.sort()

    def _add(self, when: str | None, item: Any) -> None:
        comparison = _required_comparison(tree(when)) if when else None
        condition = (
            None if when is None or (comparison is not None and comparison.is_complete) else compile_condition(when)
        )
        entry = _Entry(self.count, condition, item)
        self.count += 1
        if comparison is None:
            self._always.append(entry)
        elif comparison.operator == "eq":
            self._equal.setdefault(comparison.path, (comparison.get_value, {}))[1].setdefault(
                comparison.value, []
            ).append(entry)
        else:
            bounds = self._bounded.setdefault(
                (comparison.path, comparison.operator), (comparison.get_value, _SortedBounds(comparison.operator))
            )
            bounds[1].add(comparison.value, entry)

    @property
    def constant(self) -> list[Any] | None:
        """The items, where none of them has a condition."""
        if self._equal or self._bounded or any(entry.condition is not None for entry in self._always):
            return None
        return [entry.item for entry in self._always]

    def matching(self, scope: Any) -> list[Any]:
        """The items whose conditions hold, in order."""
        entries = list(self._always)
        for get_value, values in self._equal.values():
            value = get_value(scope)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                entries += values.get(value, ())
        for get_value, bounds in self._bounded.values():
            value = get_value(scope)
            if _is_number(value):
                entries += bounds.matching(value)
        entries = [entry for entry in entries if entry.condition is None or entry.condition(scope)]
        entries.sort(key=lambda entry: entry.position)
        return [entry.item for entry in entries]


_MIRRORED = {"eq": "eq", "lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}


def _required_comparison(node: Ast | None) -> _Comparison | None:
    if node is None:
        return None
    if node["type"] == "and_expression":
        comparisons = [comparison for child in node["children"] if (comparison := _required_comparison(child))]
        comparisons.sort(key=lambda comparison: comparison.operator != "eq")  # a fixed value leaves fewer than a bound
        return comparisons[0]._replace(is_complete=False) if comparisons else None
    if node["type"] != "comparator" or node["value"] not in _MIRRORED:
        return None
    first, second = node["children"]
    return _comparison(first, node["value"], second) or _comparison(second, _MIRRORED[node["value"]], first)


def _comparison(path: Ast, operator: str, literal: Ast) -> _Comparison | None:
    get_value = compile_node(path) if path["type"] in ("field", "subexpression") else None
    if get_value is None or literal["type"] != "literal":
        return None
    value = literal["value"]
    usable = _is_number(value) or (operator == "eq" and isinstance(value, str) and is_true(value))
    return _Comparison(repr(path), operator, get_value, value, is_complete=True) if usable else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
