"""Sums of a number over things that are alike."""

from __future__ import annotations

from typing import Any


def sum_alike(items: list[Any], names: list[str], number: str) -> list[dict[str, Any]]:
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


def sum_so_far(items: list[Any], number: str) -> list[dict[str, Any]]:
    """Each object of the list with the sum of `number` up to it; what is no number counts as nothing."""
    found: list[dict[str, Any]] = []
    total: int | float = 0
    for item in items:
        if isinstance(item, dict):
            value = item.get(number)
            total += value if isinstance(value, int | float) and not isinstance(value, bool) else 0
            found.append({**item, number: total})
    return found
