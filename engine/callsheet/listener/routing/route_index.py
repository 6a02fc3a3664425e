"""Which of many routes a given event meets, without asking each of them.

Routes that demand a fixed value somewhere (`body.course_id == `7``) are found by that value in a dictionary, those that
demand a number below or above a bound by bisection; only the other conditions are tried one by one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...language.compiled_jmespath import Ast, compile_node, condition, is_true, tree

Holds = Callable[[Any], bool]
ValueGetter = Callable[[Any], Any]


class _Entry(NamedTuple):
    position: int
    rest: Holds | None
    item: Any


class _Demand(NamedTuple):
    """What a condition cannot hold without: the value at a path stands in a relation to a constant."""

    path: str
    sign: str
    find: ValueGetter
    value: Any
    is_all: bool


class _Bounds:
    """Entries by their bound."""

    def __init__(self, sign: str) -> None:
        self.sign = sign
        self._sorted: list[tuple[float, int, _Entry]] = []
        self._bounds: list[float] = []

    def add(self, bound: float, entry: _Entry) -> None:
        self._sorted.append((bound, entry.position, entry))

    def close(self) -> None:
        self._sorted.sort(key=lambda each: each[:2])
        self._bounds = [bound for bound, _, _ in self._sorted]

    def met_by(self, value: float) -> Iterable[_Entry]:
        if self.sign in ("lt", "lte"):
            cut = (bisect_right if self.sign == "lt" else bisect_left)(self._bounds, value)
            return (entry for _, _, entry in self._sorted[cut:])
        cut = (bisect_left if self.sign == "gt" else bisect_right)(self._bounds, value)
        return (entry for _, _, entry in self._sorted[:cut])


class Index:
    """Items in order, each with an optional condition."""

    def __init__(self, items: Iterable[tuple[str | None, Any]]) -> None:
        self._always: list[_Entry] = []
        self._equal: dict[str, tuple[ValueGetter, dict[Any, list[_Entry]]]] = {}
        self._bounded: dict[tuple[str, str], tuple[ValueGetter, _Bounds]] = {}
        self.count = 0
        for when, item in items:
            self._add(when, item)
        for _, bounds in self._bounded.values():
            bounds.close()

    def _add(self, when: str | None, item: Any) -> None:
        demand = _demand(tree(when)) if when else None
        rest = None if when is None or (demand is not None and demand.is_all) else condition(when)
        entry = _Entry(self.count, rest, item)
        self.count += 1
        if demand is None:
            self._always.append(entry)
        elif demand.sign == "eq":
            self._equal.setdefault(demand.path, (demand.find, {}))[1].setdefault(demand.value, []).append(entry)
        else:
            made = self._bounded.setdefault((demand.path, demand.sign), (demand.find, _Bounds(demand.sign)))
            made[1].add(demand.value, entry)

    def matching(self, scope: Any) -> list[Any]:
        """The items whose conditions hold, in order."""
        met = list(self._always)
        for find, values in self._equal.values():
            value = find(scope)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                met += values.get(value, ())
        for find, bounds in self._bounded.values():
            value = find(scope)
            if _is_number(value):
                met += bounds.met_by(value)
        met = [entry for entry in met if entry.rest is None or entry.rest(scope)]
        met.sort(key=lambda entry: entry.position)
        return [entry.item for entry in met]


_TURNED = {"eq": "eq", "lt": "gt", "lte": "gte", "gt": "lt", "gte": "lte"}


def _demand(node: Ast | None) -> _Demand | None:
    if node is None:
        return None
    if node["type"] == "and_expression":
        found = [demand for child in node["children"] if (demand := _demand(child))]
        found.sort(key=lambda demand: demand.sign != "eq")  # a fixed value leaves fewer than a bound
        return found[0]._replace(is_all=False) if found else None
    if node["type"] != "comparator" or node["value"] not in _TURNED:
        return None
    first, second = node["children"]
    return _compared(first, node["value"], second) or _compared(second, _TURNED[node["value"]], first)


def _compared(path: Ast, sign: str, literal: Ast) -> _Demand | None:
    find = compile_node(path) if path["type"] in ("field", "subexpression") else None
    if find is None or literal["type"] != "literal":
        return None
    value = literal["value"]
    usable = _is_number(value) or (sign == "eq" and isinstance(value, str) and is_true(value))
    return _Demand(repr(path), sign, find, value, is_all=True) if usable else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
