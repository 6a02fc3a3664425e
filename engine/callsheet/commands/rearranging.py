"""Names that go from thing to thing, and the order of things: in which turn, and by how few moves."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

if TYPE_CHECKING:
    from .resources import Parents, Things

Key = TypeVar("Key")


class NameChange(NamedTuple):
    """What something is called, and what it shall be called; None: it is not there then."""

    was: str | None
    wanted: str | None


def set_aside(name: Any, id: str) -> str:
    """What a thing is called while another one has the name that it gets: where a run is stopped, the next knows it."""
    return f"{name} ({id})"


def names_in_turn(renamed: Mapping[Key, NameChange]) -> list[tuple[Key, bool]]:
    """Those whose name goes to another one or comes from one, in turn; True: set aside, as they go in a circle."""
    owners: dict[str | None, Key] = {name.was: key for key, name in renamed.items() if name.was is not None}
    wanted = {name.wanted for name in renamed.values()} & owners.keys()
    found: list[tuple[Key, bool]] = []
    done: set[Key] = set()
    for first in renamed:
        way: list[Key] = []
        key: Key | None = first
        while key is not None and key not in done:
            done.add(key)
            way.append(key)
            key = owners.get(renamed[key].wanted)
        if len(way) > 1 and key == way[0]:
            found.append((way[0], True))
        if {renamed[one].was for one in way} & wanted or (way and key is not None):
            found += [(one, False) for one in reversed(way)]
    return found


# The order of things with one parent.


def longest_rising(values: Sequence[Any]) -> list[int]:
    """The places of as many values as possible that rise from one to the next; None stands nowhere."""
    ends: list[int] = []  # of the best row of each length, the place of its last value
    before: dict[int, int | None] = {}
    for place, value in enumerate(values):
        if value is not None:
            length = bisect_left(ends, value, key=values.__getitem__)
            before[place] = ends[length - 1] if length else None
            ends[length:] = [place, *ends[length + 1 :]]
    found: list[int] = []
    last = ends[-1] if ends else None
    while last is not None:
        found.append(last)
        last = before[last]
    return found[::-1]


class Move(NamedTuple):
    """What is put behind another one, or before one; where both are None it is alone."""

    key: Any
    after: Any
    before: Any


def moves_into_order(wanted: Sequence[Any], ranks: Sequence[Any]) -> list[Move]:
    """The moves, in turn, that bring things that have these ranks into the wanted order; as few as possible."""
    stays = longest_rising(ranks)
    first = next((wanted[place] for place in stays), None)
    moved = sorted({*range(len(wanted))} - {*stays})
    return [Move(wanted[place], wanted[place - 1] if place else None, None if place else first) for place in moved]


def sibling_ranks(things: Things, parents: Parents) -> dict[str, dict[str, float]]:
    """Parent of the same resource, "" for none → the things below it in their order, with what they are ordered by."""
    ranked: dict[str, dict[str, float]] = {}
    for thing in things.list_things(parents, ids_only=True):
        if (rank := things.rank_of(thing)) is not None:
            ranked.setdefault(things.parents_of(thing).get(things.resource, ""), {})[things.id_of(thing)] = rank
    return {parent: dict(sorted(of.items(), key=lambda each: each[1])) for parent, of in ranked.items()}
