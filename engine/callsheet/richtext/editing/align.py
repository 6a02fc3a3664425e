"""Which of two sequences' things are equal, in order."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from difflib import SequenceMatcher

FEW = 100_000  # pairs of equal things, of which the longest runs are looked for
EDITS, STEPS = 2_000, 20_000_000  # of the shortest way from one to the other; beyond it what differs is all new


def equal_pairs(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places with equal things, in order."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    pairs = [(i, i) for i in range(start)]
    inner_old, inner_new = old[start : len(old) - end], new[start : len(new) - end]
    if inner_old and inner_new:
        few = _cost(inner_old, inner_new) <= FEW
        found = _longest(inner_old, inner_new) if few else _shortest(inner_old, inner_new)
        pairs += [(start + a, start + b) for a, b in found]
    return pairs + [(len(old) - end + i, len(new) - end + i) for i in range(end)]


def _longest(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """The longest run in both, then before and after it; its time grows with the cube of what is repeated."""
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    return [(block.a + i, block.b + i) for block in blocks for i in range(block.size)]


def _shortest(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """What the fewest edits leave in its place (Myers 1986)."""
    numbers: dict[Hashable, int] = {}
    a, b = ([numbers.setdefault(one, len(numbers)) for one in side] for side in (old, new))
    most = min(EDITS, len(a) + len(b), STEPS // (len(a) + len(b)))
    reached = [0] * (2 * most + 3)  # diagonal → how far it was followed
    before: list[list[int]] = []
    for edits in range(most + 1):
        before.append(reached[most - edits : most + edits + 3])
        for diagonal in range(-edits, edits + 1, 2):
            x = _step(reached, most + 1 + diagonal, down=diagonal == -edits, right=diagonal == edits)
            while x < len(a) and x - diagonal < len(b) and a[x] == b[x - diagonal]:
                x += 1
            reached[most + 1 + diagonal] = x
            if x >= len(a) and x - diagonal >= len(b):
                return _way(before, x, diagonal)
    return []


def _step(reached: list[int], place: int, *, down: bool, right: bool) -> int:
    """Where a diagonal is entered: from the one beside it that came further."""
    if down or (not right and reached[place - 1] < reached[place + 1]):
        return reached[place + 1]
    return reached[place - 1] + 1


def _way(before: list[list[int]], x: int, diagonal: int) -> list[tuple[int, int]]:
    """The pairs on the way that ends at a place, from what was reached with each number of edits."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(before) - 1, -1, -1):
        down, right = diagonal == -edits, diagonal == edits
        place = edits + 1 + diagonal
        entered = _step(before[edits], place, down=down, right=right)
        pairs += [(one, one - diagonal) for one in range(x - 1, entered - 1, -1)]
        came_down = down or (not right and before[edits][place - 1] < before[edits][place + 1])
        x, diagonal = (entered, diagonal + 1) if came_down else (entered - 1, diagonal - 1)
    return pairs[::-1]


def _cost(old: Sequence[Hashable], new: Sequence[Hashable]) -> int:
    count = Counter(old)
    return sum(count[one] for one in new)


def longest_increasing(places: Sequence[int]) -> set[int]:
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
