"""Two edits of one document put together, block by block."""

from __future__ import annotations

from itertools import pairwise

from ..tree import Node
from .align import edited, increasing, same
from .blocks import word_counts
from .parts import shape

# What a block starts with that holds blocks, not words.
HOLDERS = frozenset(
    [
        "paragraph",
        "heading",
        "item",
        "row",
        "cell",
        "header",
        "task",
        "decision",
        "bullets",
        "numbers",
        "tasks",
        "reference",
    ]
)


class BothChangedError(Exception):
    """A block that both edits changed, and not alike; `mine` and `theirs` are what became of it."""

    def __init__(self, mine: list[Node], theirs: list[Node]) -> None:
        super().__init__()
        self.mine = mine
        self.theirs = theirs


def merged(base: list[Node], mine: list[Node], theirs: list[Node]) -> list[Node]:
    """The blocks of `base` with the changes of both. Raises `BothChangedError` where they meet."""
    own, their = partners(base, mine), partners(base, theirs)
    cuts = [(-1, -1, -1), *((i, own[i], their[i]) for i in range(len(base)) if i in own and i in their)]
    cuts.append((len(base), len(mine), len(theirs)))
    result: list[Node] = []
    for (a, b, c), (x, y, z) in pairwise(cuts):
        result += _between(base[a + 1 : x], mine[b + 1 : y], theirs[c + 1 : z])
        result += _block(base[x], mine[y], theirs[z]) if x < len(base) else []
    return result


def partners(base: list[Node], other: list[Node]) -> dict[int, int]:
    """Place of a block in `base` → its place in the other, unchanged or edited, where the order stayed."""
    pairs = same([shape(node) for node in base], [shape(node) for node in other])
    stayed, placed = {i for i, _ in pairs}, {j for _, j in pairs}
    was = [None if i in stayed else word_counts(node) for i, node in enumerate(base)]
    now = [None if j in placed else word_counts(node) for j, node in enumerate(other)]
    found = dict(pairs) | {old: new for new, old in edited(was, now, pairs).items()}
    places = [found.get(i, -1) for i in range(len(base))]
    return {i: places[i] for i in increasing(places)}


def _between(old: list[Node], one: list[Node], other: list[Node]) -> list[Node]:
    """Blocks of which some are new, or gone, on one side."""
    key, own, their = ([shape(node) for node in nodes] for nodes in (old, one, other))
    if own in (key, their):
        return other
    if their == key:
        return one
    raise BothChangedError(one, other)


def _block(old: Node, one: Node, other: Node) -> list[Node]:
    """A block that is on both sides: what it holds is put together where it holds blocks."""
    if shape(one) in (shape(old), shape(other)):
        return [other]
    if shape(other) == shape(old):
        return [one]
    kinds = {(node.kind, repr(node.attrs)) for node in (old, one, other)}
    if len(kinds) == 1 and all(node.content and node.content[0].kind in HOLDERS for node in (old, one, other)):
        return [other.having(merged(old.content, one.content, other.content))]
    raise BothChangedError([one], [other])
