"""Blocks of a text as they are compared: what each says, what it holds, and a key that all have which read alike."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..tree import Node, walk_nodes
from .source_parts import LINES, Part, Shape, shape_around, shape_of_node

WORD = re.compile(r"\w+")
LEAVES = frozenset({"code", "rule"})
LISTS = frozenset({"bullets", "numbers", "tasks", "decisions"})
FAMILIES = {"table": "table", "row": "row", "cell": "cell", "header": "cell", "item": "item"}


@dataclass(slots=True, eq=False)
class Block:
    """A block as it is compared: a part of the source, or a node of a text."""

    node: Node  # of the text; of a part of the source what Markdown says of it, without the blocks in it
    family: str  # only blocks of one family can be one another
    key: int  # the same for all that read alike
    own: list[str]  # words of what it says itself, those of its text first
    length: int  # how many of them are of its text
    said: int  # how many words it says with all that is in it
    part: Part | None = None
    children: list[Block] = field(default_factory=list)
    parent: Block | None = None
    place: int = 0  # in its parent
    match: Block | None = None
    columns: list[int] | None = None  # of a new table: which column of the old one each of its own is, -1 for none
    lines: list[Block] = field(default_factory=list)  # old lines besides its match that have words of it
    _words: Counter[str] | None = None

    @property
    def kind(self) -> str:
        return self.node.kind

    @property
    def words(self) -> Counter[str]:
        """Also those of the blocks that it is known by; of most blocks nobody ever asks for them."""
        if self._words is None:
            self._words = Counter(self.own)
            for child in _known_by(self):
                self._words.update(child.words)
        return self._words

    @property
    def equal(self) -> bool:
        return self.match is not None and self.match.key == self.key

    @property
    def fixed(self) -> bool:
        """Whether it cannot leave its parent: it has no source of its own."""
        return self.part is not None and self.part.fixed

    def walk(self) -> Iterator[Block]:
        pending = [self]
        while pending:
            found = pending.pop()
            yield found
            pending.extend(reversed(found.children))


class Outline:
    """Makes blocks of parts and of nodes whose keys can be compared with each other."""

    def __init__(self) -> None:
        self._keys: dict[Any, int] = {}

    def of_part(self, part: Part) -> Block:
        children = [self.of_part(one) for one in part.inner]
        block = self._block(part.shell(), children, None if children else part.shape())
        block.part = part
        return block

    def of_nodes(self, nodes: list[Node]) -> Block:
        return self._block(Node("doc"), [self.of_node(node) for node in nodes], None)

    def of_node(self, node: Node) -> Block:
        holds = node.kind not in LINES | LEAVES
        children = [self.of_node(child) for child in node.content] if holds else []
        return self._block(node, children, None if children else shape_of_node(node))

    def _block(self, node: Node, children: list[Block], leaf: Shape | None) -> Block:
        """A block that says what the node does, with these children in the place of the node's own."""
        said = leaf or shape_around(node, [(child.key,) for child in children])
        nodes = (node,) if children else (node, *(found for child in node.content for found in walk_nodes(child)))
        own = [word for found in nodes if found.text for word in WORD.findall(found.text)]
        length = len(own)
        for found in nodes:
            for value in found.attrs.values() if found.attrs else ():
                own += WORD.findall(value) if isinstance(value, str) else ()
        key = self._keys.setdefault(said, len(self._keys))
        total = len(own) + sum(child.said for child in children)
        block = Block(node, family_of(node), key, own, length, total, children=children)
        for place, child in enumerate(children):
            child.parent, child.place = block, place
        return block


def _known_by(block: Block) -> list[Block]:
    """The blocks that a block is known by: an item by its words, whatever list is put into it."""
    if block.family != "item":
        return block.children
    return [child for child in block.children if child.family != "list"] or block.children


def family_of(node: Node) -> str:
    if node.kind in LINES:
        return "line"
    if node.kind == "reference":
        return f"reference {node.attrs.get('label')}"
    if node.kind in LEAVES:
        return node.kind
    return "list" if node.kind in LISTS else FAMILIES.get(node.kind, "blocks")
