"""What a simulated site does that no definition can say: functions `(entities, members, scope)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .entities import Entities

if TYPE_CHECKING:
    from ..language.template import Scope


def rank(entities: Entities, members: Mapping[str, Any], scope: Scope) -> None:
    """Put `items` of a `entity` in front of the item `before`, or behind the item `after`.

    The member `rank` of an item is a number; the smaller ones come first.
    """
    del scope
    entity = members["entity"]
    moved = [found for each in members.get("items") or [] if (found := entities.find(entity, each))]
    others = sorted(
        (item for item in entities.state.items(entity) if item["id"] not in {each["id"] for each in moved}),
        key=lambda item: item.get("rank") or 0,
    )
    anchor = entities.find(entity, members.get("before") or members.get("after"))
    ids = [item["id"] for item in others]
    place = ids.index(anchor["id"]) + ("before" not in members or members["before"] is None) if anchor else len(ids)
    low = others[place - 1].get("rank", 0) if place else None
    high = others[place].get("rank", 0) if place < len(others) else None
    for number, item in enumerate(moved, 1):
        item["rank"] = _between(low, high, number / (len(moved) + 1))
        entities.keep(entity, item)


def _between(low: float | None, high: float | None, part: float) -> float:
    if low is None and high is None:
        return part
    if low is None:
        return (high or 0) - 1 + part
    if high is None:
        return low + part
    return low + (high - low) * part
