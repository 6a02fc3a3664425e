"""Blocks that were edited, put into the source of those that were there; the same for every format."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

from ..rules import Rules
from ..tree import Node, walk
from .align import edited, same
from .parts import Part, shape


class MisfitError(Exception):
    """A block may not stand where it should: what is around it is written anew."""


LINES = frozenset({"paragraph", "heading", "task", "decision"})
STRUCTURE = frozenset({"row", "table"})


class Format(Protocol):
    """What writes one format."""

    def kept(self, part: Part) -> Any:
        """A part as it was."""

    def words(self, part: Part, node: Node) -> Any:
        """A part with other words in it."""

    def around(self, part: Part, node: Node, inner: Any) -> Any:
        """A part with other blocks in it, and with what Markdown now says of it."""

    def fresh(self, node: Node, parent: Part) -> Any:
        """A block that is new."""

    def joined(self, parent: Part, written: list[tuple[Part | None, Any]]) -> Any:
        """The blocks in a part: what was there, each with its source where it has one."""


@dataclass(slots=True)
class BlockChange:
    """One block of the new text: the part it is or was made from, and whether it is just that."""

    node: Node
    part: Part | None = None
    equal: bool = False


def changes(parts: list[Part], nodes: list[Node]) -> list[BlockChange]:
    """What became of the parts, in the order of the new blocks."""
    old = [part.said() for part in parts]
    keys, new_keys = [shape(node) for node in old], [shape(node) for node in nodes]
    pairs = same(keys, new_keys)
    free: dict[Any, list[int]] = {}
    taken = {a for a, _ in pairs}
    for place, key in enumerate(keys):
        if place not in taken:
            free.setdefault(key, []).append(place)
    placed = {b: a for a, b in pairs}
    moved = {place: free[key].pop(0) for place, key in enumerate(new_keys) if place not in placed and free.get(key)}
    gone = {*taken, *moved.values()}
    was = [None if i in gone or parts[i].sealed else word_counts(old[i]) for i in range(len(parts))]
    now = [None if j in placed or j in moved else word_counts(nodes[j]) for j in range(len(nodes))]
    made = edited(was, now, pairs)
    equal = placed | moved
    return [
        BlockChange(node, parts[equal[j]], equal=True)
        if j in equal
        else BlockChange(node, parts[made[j]] if j in made and _can_be(parts[made[j]], node) else None)
        for j, node in enumerate(nodes)
    ]


def word_counts(node: Node) -> Counter[str]:
    return Counter(word for found in walk(node) for word in re.findall(r"\w+", found.text))


def _can_be(part: Part, node: Node) -> bool:
    """Whether a block can be an edit of that part: it holds the same sort of things."""
    if part.line is not None:
        return node.kind in LINES
    if part.label or node.kind == "reference":
        return part.label == node.attrs.get("label")
    if part.parts is None:
        return part.kind == node.kind
    inner = {child.kind for child in part.parts} & STRUCTURE.union(("item", "task", "decision", "cell", "header"))
    own = {child.kind for child in node.content} & STRUCTURE.union(("item", "task", "decision", "cell", "header"))
    return node.kind not in LINES | {"code", "rule"} and (
        inner == own or bool(inner & own) or {"cell", "header"} >= inner | own
    )


class Merger:
    def __init__(self, rules: Rules, format: Format) -> None:
        self.rules = rules
        self.format = format

    def blocks(self, parent: Part, nodes: list[Node]) -> Any:
        """What a part holds, with these blocks in the place of those it had."""
        found = changes(parent.parts or [], nodes)
        return self.format.joined(parent, [(change.part, self._one(change, parent)) for change in found])

    def _one(self, change: BlockChange, parent: Part) -> Any:
        part = change.part
        if part is None:
            return self.format.fresh(change.node, parent)
        if change.equal:
            return self.format.kept(part)
        try:
            if part.parts is None:
                return self.format.words(part, change.node)
            return self.format.around(part, change.node, self.blocks(part, change.node.content))
        except MisfitError:
            return self.format.fresh(change.node, parent)
