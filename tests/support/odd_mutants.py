"""Changes to definitions that are no plain faults: values that are well formed and meant by nobody."""

from __future__ import annotations

import copy
import datetime as dt
from collections.abc import Callable, Iterator
from typing import Any

from .mutant_spots import Mutant, Spot, is_closed


def _odd_value(spot: Spot) -> Iterator[Mutant]:
    """Values that are read well and meant by nobody: nothing in them, without end, a time, text of several lines."""
    value = spot.place.value
    if not spot.place.path:
        return
    odd: list[Any] = [dt.date(2026, 1, 31), dt.time(9, 30)] if isinstance(value, str | int | float) else []
    if isinstance(value, str):
        odd += ["", " ", f" {value} ", f"{value}\n{value}", value.upper(), "e\u0301", "{", "a" * 5000]
    elif isinstance(value, int | float) and not isinstance(value, bool):
        odd += [0, float("inf"), 10**30, value + 0.5]
    elif isinstance(value, dict | list):
        odd += [type(value)(), _deep(type(value))]
    for other in odd:

        def change(parent: Any, key: Any, other: Any = other) -> None:
            parent[key] = other

        yield spot.changed("odd value", change, repr(other)[:40])


def _deep(kind: type) -> Any:
    found: Any = kind()
    for _ in range(70):
        found = [found] if kind is list else {"a": found}
    return found


def _odd_pattern(spot: Spot) -> Iterator[Mutant]:
    value = spot.place.value
    if isinstance(value, str) and spot.place.schema.get("format") == "regex":
        for odd in ("(a+)+$", "(?P<id>", "[a-", "x{1000000000}", "(?<!x+)y", "(?i)(\\w|\\d)+z"):

            def change(parent: Any, key: Any, odd: str = odd) -> None:
                parent[key] = odd

            yield spot.changed("pattern", change, odd)


def _odd_expression(spot: Spot) -> Iterator[Mutant]:
    """Expressions that parse and answer what nobody expects there."""
    value, form = spot.place.value, spot.place.schema.get("format")
    if isinstance(value, str) and form in ("jmespath", "template", "value"):
        for text in ("`[]`", "`{}`", "@", "`1e999`", "*", "[0]", "keys(`{}`)", "('x' || 'y')[0]", "`null`"):
            odd = text if form == "jmespath" else f"{{{text}}}"

            def change(parent: Any, key: Any, odd: str = odd) -> None:
                parent[key] = odd

            yield spot.changed("expression", change, odd)


def _of_another(spot: Spot) -> Iterator[Mutant]:
    """A name of the world that is none of what is meant, or the definition itself."""
    value, wanted = spot.place.value, spot.place.schema.get("reference")
    if isinstance(value, str) and wanted:
        others = [spot.id, *(id for kind in spot.tables if kind != wanted for id in list(spot.tables[kind])[:1])]
        others += [id for id in spot.tables.get(str(wanted), ()) if id != value]
        for other in dict.fromkeys(others):

            def change(parent: Any, key: Any, other: str = other) -> None:
                parent[key] = other

            yield spot.changed("another name", change, f"{value} → {other}")


def _reordered(spot: Spot) -> Iterator[Mutant]:
    value = spot.place.value
    if isinstance(value, list) and len(value) > 1:
        yield spot.inside("reordered", lambda items: items.reverse(), "the other way round")
        yield spot.inside("reordered", lambda items: items.pop(0), "without the first")


def _taken_along(spot: Spot) -> Iterator[Mutant]:
    """A key that another definition of the kind has, or another table of the same shape."""
    if spot.place.path or not is_closed(spot):
        return
    for other in spot.tables[spot.kind].values():
        for key in other.keys() - spot.place.value.keys():

            def change(table: Any, key: str = key, value: Any = other[key]) -> None:
                table[key] = copy.deepcopy(value)

            yield spot.inside("taken along", change, f"with {key} of another", (key,))


ODD: tuple[Callable[[Spot], Iterator[Mutant]], ...] = (
    _odd_value,
    _odd_pattern,
    _odd_expression,
    _of_another,
    _reordered,
    _taken_along,
)
