"""Which of many routes a given event meets, without asking each of them.

Routes that demand a fixed value somewhere (`body.course_id == `7``) are found by that value in a dictionary; only
the other conditions are tried one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from .expression import Node, compile_node, condition, is_true, tree

Holds = Callable[[Any], bool]
_Entry = tuple[int, Holds | None, Any]


class _Demand(NamedTuple):
    path: str
    find: Callable[[Any], Any]
    value: str | int | float
    is_all: bool


class Index:
    """Items in order, each with an optional condition."""

    def __init__(self, items: Iterable[tuple[str | None, Any]]) -> None:
        self._always: list[_Entry] = []
        self._by_path: dict[str, tuple[Callable[[Any], Any], dict[str | int | float, list[_Entry]]]] = {}
        self.count = 0
        for when, item in items:
            self._add(when, item)

    def _add(self, when: str | None, item: Any) -> None:
        position = self.count
        self.count += 1
        demand = _demand(tree(when)) if when else None
        if demand is None:
            self._always.append((position, condition(when) if when else None, item))
            return
        rest = None if demand.is_all else condition(when or "")
        _, values = self._by_path.setdefault(demand.path, (demand.find, {}))
        values.setdefault(demand.value, []).append((position, rest, item))

    def matching(self, scope: Any) -> list[Any]:
        """The items whose conditions hold, in order."""
        met = [entry for entry in self._always if entry[1] is None or entry[1](scope)]
        for find, values in self._by_path.values():
            value = find(scope)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                met += [entry for entry in values.get(value, ()) if entry[1] is None or entry[1](scope)]
        if self._by_path:
            met.sort(key=_position)
        return [entry[2] for entry in met]


def _position(entry: _Entry) -> int:
    return entry[0]


def _demand(node: Node | None) -> _Demand | None:
    """The equality that a condition cannot hold without."""
    if node is None:
        return None
    if node["type"] == "and_expression":
        found = _demand(node["children"][0]) or _demand(node["children"][1])
        return found._replace(is_all=False) if found else None
    if node["type"] != "comparator" or node["value"] != "eq":
        return None
    sides = node["children"]
    for path, literal in (sides, sides[::-1]):
        find = compile_node(path) if path["type"] in ("field", "subexpression") else None
        if find and literal["type"] == "literal" and _can_be_key(literal["value"]):
            return _Demand(repr(path), find, literal["value"], is_all=True)
    return None


def _can_be_key(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool) and is_true(value)
