"""Sums of a number over things that are alike."""

from __future__ import annotations

from typing import Any


def count_in_words(items: list[Any], names: list[str], number: str) -> list[dict[str, Any]]:
    """For all items with the same values under `names` one object with these and the sum, in the order of the first.

    What is no number counts as nothing.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for item in items:
        if not isinstance(item, dict):
            continue
        alike = {name: item.get(name) for name in names}
        total = found.setdefault(tuple(map(repr, alike.values())), {**alike, number: 0})
        value = item.get(number)
        if isinstance(value, int | float) and not isinstance(value, bool):
            total[number] += value
    return list(found.values())
