"""Which of many routes a given event meets, without asking each of them.

Routes that demand a fixed value somewhere (`body.course_id == `7``) are found by that value in a dictionary; only the
other conditions are tried one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from ...language.compiled_jmespath import Ast, compile_condition, compile_node, expression_tree
from ...language.template import is_true

ValueGetter = Callable[[Any], Any]


class _Entry(NamedTuple):
    position: int
    condition: Callable[[Any], bool] | None
    item: Any


class _FixedValue(NamedTuple):
    """What a condition cannot hold without: a constant at a path. `is_all` where that is the whole condition."""

    path: str
    get_value: ValueGetter
    value: Any
    is_all: bool


class RouteIndex:
    """Items in order, each with an optional condition."""

    def __init__(self, items: Iterable[tuple[str | None, Any]]) -> None:
        self._tried: list[_Entry] = []
        self._by_value: dict[str, tuple[ValueGetter, dict[Any, list[_Entry]]]] = {}
        for position, (when, item) in enumerate(items):
            fixed = _fixed_value(expression_tree(when)) if when else None
            condition = None if when is None or (fixed is not None and fixed.is_all) else compile_condition(when)
            entry = _Entry(position, condition, item)
            if fixed is None:
                self._tried.append(entry)
            else:
                _, entries = self._by_value.setdefault(fixed.path, (fixed.get_value, {}))
                entries.setdefault(fixed.value, []).append(entry)

    @property
    def constant(self) -> list[Any] | None:
        """The items, where none of them has a condition."""
        if self._by_value or any(entry.condition is not None for entry in self._tried):
            return None
        return [entry.item for entry in self._tried]

    def matching(self, scope: Any) -> list[Any]:
        """The items whose conditions hold, in order."""
        entries = list(self._tried)
        for get_value, by_value in self._by_value.values():
            value = get_value(scope)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                entries += by_value.get(value, ())
        entries = [entry for entry in entries if entry.condition is None or entry.condition(scope)]
        entries.sort(key=lambda entry: entry.position)
        return [entry.item for entry in entries]


def _fixed_value(node: Ast | None) -> _FixedValue | None:
    if node is None:
        return None
    if node["type"] == "and_expression":
        found = next((fixed for child in node["children"] if (fixed := _fixed_value(child))), None)
        return found and found._replace(is_all=False)
    if node["type"] != "comparator" or node["value"] != "eq":
        return None
    first, second = node["children"]
    return _value_at(first, second) or _value_at(second, first)


def _value_at(path: Ast, literal: Ast) -> _FixedValue | None:
    get_value = compile_node(path) if path["type"] in ("field", "subexpression") else None
    if get_value is None or literal["type"] != "literal":
        return None
    value = literal["value"]
    is_usable = isinstance(value, str | int | float) and not isinstance(value, bool) and is_true(value)
    return _FixedValue(repr(path), get_value, value, is_all=True) if is_usable else None
