"""Two edits of one text put together: block by block, and word by word where both changed one block.

Each side is matched with what both began with. So a block that one side moved and the other edited is moved and
edited. A block is where my side put it, if it moved it, and else where theirs has it.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from ..tree import Node, text_node
from .block_matching import Block, Outline, equal_pairs, longest_increasing, match_blocks
from .source_parts import EditToken, nodes_of, tokens_of

EMPTY = frozenset({"reference", "cell", "header"})  # what may hold nothing
T = TypeVar("T", bound=Hashable)


class BothChangedError(Exception):
    """What both edits changed, and not alike; `mine` and `theirs` are what became of it."""

    def __init__(self, mine: list[Node], theirs: list[Node]) -> None:
        super().__init__()
        self.mine = mine
        self.theirs = theirs


def merge_edits(base: list[Node], mine: list[Node], theirs: list[Node]) -> list[Node]:
    """The blocks of `base` with the changes of both. Raises `BothChangedError` where they meet."""
    return _Merge(base, mine, theirs).content()


class _Merge:
    def __init__(self, base: list[Node], mine: list[Node], theirs: list[Node]) -> None:
        outline = Outline()
        own, other = outline.of_nodes(base), outline.of_nodes(base)
        self.mine, self.theirs = outline.of_nodes(mine), outline.of_nodes(theirs)
        match_blocks(own, self.mine)
        match_blocks(other, self.theirs)
        # A block of the base is there twice, once for each side.
        self._other = {id(a): b for pair in zip(own.walk(), other.walk(), strict=True) for a, b in (pair, pair[::-1])}
        self._moved = {id(block) for side in (self.mine, self.theirs) for block in _moved(side)}
        self._placed: set[int] = set()
        self._wanted = {id(a) for a in own.walk() if a.match is not None and self._other[id(a)].match is not None}

    def content(self) -> list[Node]:
        self._placed.add(id(self.mine.match))
        content = self._children(self.mine, self.theirs)
        if self._wanted - self._placed:  # each side put one of two blocks into the other
            raise BothChangedError(_nodes(self.mine.children), _nodes(self.theirs.children))
        return content

    def _base(self, block: Block) -> tuple[Block | None, Block | None]:
        """What a block was, and what the other side made of it."""
        old = block.match
        return old, self._other[id(old)].match if old is not None else None

    def _children(self, mine: Block | None, theirs: Block | None) -> list[Node]:
        """What stands in a block that is on one side or on both."""
        found: list[tuple[Block, Node | None]] = []
        for block in theirs.children if theirs else ():
            old, own = self._base(block)
            if old is None:
                found.append((block, self._new(block, mine=False)))
            elif own is None:
                self._gone(old, block, mine=False)
            elif id(own) not in self._moved:
                found.append((block, self._both(old, own, block)))
        place = 0
        new = {block.key for block, _ in found if block.match is None}
        for block in mine.children if mine else ():
            old, other = self._base(block)
            there = next((n for n, (one, _) in enumerate(found) if one is other), -1) if other is not None else -1
            if there >= 0:
                place = there + 1
            elif old is None and block.key not in new:
                found.insert(place, (block, self._new(block, mine=True)))
                place += 1
            elif old is not None and other is None:
                self._gone(old, block, mine=True)
            elif old is not None and other is not None and id(block) in self._moved:
                found.insert(place, (block, self._both(old, block, other)))
                place += 1
        return [node for _, node in found if node is not None]

    def _new(self, block: Block, *, mine: bool) -> Node:
        """A block that only one side has, with what is in it."""
        if not block.children:
            return block.node
        return block.node.with_content(self._children(block if mine else None, None if mine else block))

    def _gone(self, old: Block, block: Block, *, mine: bool) -> None:
        """A block that one side left out, which the other must not have touched; its neighbours may have moved."""
        if block.key != old.key or block.parent is None or block.parent.match is not old.parent:
            raise BothChangedError([block.node] if mine else [], [] if mine else [block.node])

    def _both(self, old: Block, mine: Block, theirs: Block) -> Node | None:
        """A block that is on both sides; None where each took out of it what the other left."""
        self._placed |= {id(old), id(self._other[id(old)])}
        if not (old.children and mine.children and theirs.children):
            self._placed |= {id(one) for root in (old, self._other[id(old)]) for one in root.walk()}
            return _merged_leaf(old, mine, theirs)
        shell = _chosen(_shell(old), _shell(mine), _shell(theirs))
        if shell is None:
            raise BothChangedError([mine.node], [theirs.node])
        content = self._children(mine, theirs)
        if old.family == "table" and len({len(row.content) for row in content}) > len(
            {len(r.children) for r in old.children}
        ):
            raise BothChangedError([mine.node], [theirs.node])  # a column came on one side, a row on the other
        if not content and old.kind not in EMPTY:
            return None
        return (mine.node if shell == _shell(mine) else theirs.node).with_content(content)


def _moved(root: Block) -> list[Block]:
    """The blocks of a side that stand elsewhere than in what both began with."""
    found: list[Block] = []
    for parent in root.walk():
        stays = [child for child in parent.children if child.match is not None and child.match.parent is parent.match]
        places = {id(child): n for n, child in enumerate(parent.match.children)} if parent.match is not None else {}
        kept = longest_increasing([places[id(child.match)] for child in stays])
        still = {id(child) for n, child in enumerate(stays) if n in kept}
        found += [child for child in parent.children if child.match is not None and id(child) not in still]
    return found


def _nodes(blocks: list[Block]) -> list[Node]:
    return [block.node for block in blocks]


def _width(row: Node) -> int:
    return len(row.content)


def _shell(block: Block) -> Hashable:
    return (block.kind, repr(sorted(block.node.attrs.items())))


def _chosen(old: Hashable, mine: Hashable, theirs: Hashable) -> Hashable | None:
    """What one side changed; None where both did, and not alike."""
    if mine in (old, theirs):
        return theirs
    return mine if theirs == old else None


def _merged_leaf(old: Block, mine: Block, theirs: Block) -> Node:
    """A block of words: each word as the side that changed it has it."""
    one, other = mine.node, theirs.node
    if mine.key in (old.key, theirs.key):
        return other
    if theirs.key == old.key:
        return one
    shell = _chosen(_shell(old), _shell(mine), _shell(theirs))
    if shell is None or old.family not in ("line", "code"):
        raise BothChangedError([one], [other])
    chosen = one if shell == _shell(mine) else other
    if old.family == "code":
        lines = _three_way(*(_lines(block.node) for block in (old, mine, theirs)))
        merged_content = None if lines is None else [text_node("".join(lines))]
    else:
        tokens = _three_way(*(_words(block.node) for block in (old, mine, theirs)))
        merged_content = None if tokens is None else nodes_of([word.token for word in tokens])
    if merged_content is None:
        raise BothChangedError([one], [other])
    return chosen.with_content(merged_content)


@dataclass(slots=True, eq=False)
class _Word:
    """A word or node of a line, which is the same as another one that reads alike."""

    token: EditToken

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Word) and self.token.shape == other.token.shape

    def __hash__(self) -> int:
        return hash(self.token.shape)


def _words(line: Node) -> list[_Word]:
    return [_Word(token) for token in tokens_of(line.content)]


def _lines(code: Node) -> list[str]:
    return "".join(part.text for part in code.content).splitlines(keepends=True)


def _three_way(old: list[T], mine: list[T], theirs: list[T]) -> list[T] | None:
    """One sequence with the changes of both sides; None where they changed the same place, and not alike."""
    kept, kept_other = dict(equal_pairs(old, mine)), dict(equal_pairs(old, theirs))
    cuts = [(-1, -1, -1), *((i, kept[i], kept_other[i]) for i in range(len(old)) if i in kept and i in kept_other)]
    cuts.append((len(old), len(mine), len(theirs)))
    result: list[T] = []
    for (a, b, c), (x, y, z) in pairwise(cuts):
        before, one, two = old[a + 1 : x], mine[b + 1 : y], theirs[c + 1 : z]
        if one in (before, two):
            result += two
        elif two == before:
            result += one
        else:
            return None
        result += theirs[z : z + 1]
    return result
