"""Which of the words and nodes of a new line is which of the old ones."""

from __future__ import annotations

from itertools import pairwise

from .align import equal_pairs
from .source_parts import FRAMED, EditToken


def paired(old: list[EditToken], new: list[EditToken], keeping: frozenset[str]) -> dict[int, int]:
    """New place → old place. Nodes of the kinds in `keeping` are the same ones, also where they say something else."""
    source = {b: a for a, b in equal_pairs([token.key for token in old], [token.key for token in new])}
    _apart(old, source)
    _slid(old, new, source)
    _before(old, new, source)
    _lonely(new, source)
    _changed(old, new, source, keeping)
    return source


def _apart(old: list[EditToken], source: dict[int, int]) -> None:
    """Tokens that stand for one piece of source together are that piece only when all of them are there."""
    placed = {a: b for b, a in source.items()}
    for place, token in enumerate(old):
        if token.whole and token is token.whole[0]:
            places = range(place, place + len(token.whole))
            there = [placed.get(one, -1) for one in places]
            if -1 in there or there != list(range(there[0], there[0] + len(there))):
                for one in places:
                    source.pop(placed.get(one, -1), None)


def _slid(old: list[EditToken], new: list[EditToken], source: dict[int, int]) -> None:
    """A space before words that are new, where the one behind them could as well be the old one, and has its marks.

    So what is put at the end of a link is in the link, and not beside it.
    """
    for place in sorted(source):
        last = place + 1
        while last < len(new) and last not in source:
            last += 1
        last -= 1
        if (
            last > place
            and new[place].blank
            and new[last].blank
            and not _marks(new[place]) <= _marks(old[source[place]])
            and _marks(new[last]) <= _marks(old[source[place]])
        ):
            source[last] = source.pop(place)


def _before(old: list[EditToken], new: list[EditToken], source: dict[int, int]) -> None:
    """A space of which there were two is the one that has its marks: the one before the words behind it."""
    for place in [place for place in source if new[place].blank and place + 1 in source]:
        at = source[place + 1] - 1
        if at > source[place] and old[at].blank and _marks(old[at]) == _marks(new[place]) != _marks(old[source[place]]):
            source[place] = at


def _marks(token: EditToken) -> frozenset[str]:
    return frozenset(repr(mark) for mark in token.marks)


def _lonely(new: list[EditToken], source: dict[int, int]) -> None:
    """A space between words that are all new is new, too: no link and no colour stays for it alone."""
    for place in [place for place in source if new[place].blank]:
        if not any(source.get(place + step) == source[place] + step for step in (-1, 1)):
            del source[place]


def _changed(old: list[EditToken], new: list[EditToken], source: dict[int, int], keeping: frozenset[str]) -> None:
    """Pairs the nodes that went with those that came in their place, where they are of the same kinds."""
    places = [(-1, -1), *sorted((a, b) for b, a in source.items()), (len(old), len(new))]
    for (a, b), (c, d) in pairwise(places):
        gone = [place for place in range(a + 1, c) if _kind(old[place]) in keeping]
        came = [place for place in range(b + 1, d) if _kind(new[place]) in keeping]
        if [_kind(old[place]) for place in gone] == [_kind(new[place]) for place in came]:
            source.update(zip(came, gone, strict=True))


def _kind(token: EditToken) -> str:
    if token.node is None:
        return ""
    return FRAMED[0] if token.node.kind in FRAMED else token.node.kind
