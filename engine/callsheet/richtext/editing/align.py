"""Which of the old things is which of the new ones."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

ALIKE = 0.3  # shared words of two blocks between others that stayed, to be one block that was edited
ELSEWHERE = 0.6  # the same for two that stand in different places
MOST = 3_000_000  # comparisons; beyond it what differs is all new


def same(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places with equal things, in order."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    pairs = [(i, i) for i in range(start)]
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    if inner_old and inner_new and _cost(inner_old, inner_new) <= MOST:
        matcher = SequenceMatcher(None, inner_old, inner_new, autojunk=False)
        for block in matcher.get_matching_blocks():
            pairs += [(start + block.a + i, start + block.b + i) for i in range(block.size)]
    return pairs + [(len(old) - end + i, len(new) - end + i) for i in range(end)]


def _cost(old: Sequence[Hashable], new: Sequence[Hashable]) -> int:
    count = Counter(old)
    return sum(count[one] for one in new)


def increasing(places: Sequence[int]) -> set[int]:
    """The indexes of the longest run of places that grow, -1 left out."""
    ends: list[int] = []
    last: list[int] = []
    before: dict[int, int] = {}
    for index, place in enumerate(places):
        if place < 0:
            continue
        at = bisect_left(ends, place)
        ends[at : at + 1] = [place]
        last[at : at + 1] = [index]
        before[index] = last[at - 1] if at else -1
    found: set[int] = set()
    index = last[-1] if last else -1
    while index >= 0:
        found.add(index)
        index = before[index]
    return found


def likeness(one: Counter[str], other: Counter[str]) -> float:
    """The share of words that two texts have in common, 0 to 1."""
    total = one.total() + other.total()
    return 2 * (one & other).total() / total if total else 1.0


def edited(
    old: Sequence[Counter[str] | None], new: Sequence[Counter[str] | None], pairs: list[tuple[int, int]]
) -> dict[int, int]:
    """New place → the old one it was edited from, for those that equal none. None takes no part.

    Between two that stayed, the nearest in order; then the likest wherever it stands.
    """
    found: dict[int, int] = {}
    edges = [(-1, -1), *pairs, (len(old), len(new))]
    for (a, b), (c, d) in pairwise(edges):
        _between([i for i in range(a + 1, c) if old[i] is not None], list(range(b + 1, d)), old, new, found)
    left_old = [i for i in range(len(old)) if old[i] is not None and i not in set(found.values())]
    taken = {i for i, _ in pairs}
    left_old = [i for i in left_old if i not in taken]
    placed = {j for _, j in pairs}
    left_new = [j for j in range(len(new)) if new[j] is not None and j not in placed and j not in found]
    if len(left_old) * len(left_new) <= MOST // 100:
        for j in left_new:
            best = max(left_old, key=lambda i: likeness(old[i] or Counter(), new[j] or Counter()), default=None)
            if best is not None and likeness(old[best] or Counter(), new[j] or Counter()) >= ELSEWHERE:
                found[j] = best
                left_old.remove(best)
    return found


def _between(
    gap_old: list[int],
    gap_new: list[int],
    old: Sequence[Counter[str] | None],
    new: Sequence[Counter[str] | None],
    found: dict[int, int],
) -> None:
    gap_new = [j for j in gap_new if new[j] is not None]
    if len(gap_old) == len(gap_new):
        found.update(zip(gap_new, gap_old, strict=True))
        return
    if len(gap_old) * len(gap_new) > MOST // 100:
        return
    place = 0
    for j in gap_new:
        words = new[j] or Counter()
        rated = [(likeness(old[i] or Counter(), words), -n) for n, i in enumerate(gap_old[place:])]
        rate, nearest = max(rated, default=(0.0, 0))
        if rate >= ALIKE:
            found[j] = gap_old[place - nearest]
            place += 1 - nearest
