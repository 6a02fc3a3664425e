"""Blocks that were edited, put into the source of those that were there; the same for every format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..node_rules import Rules
from ..tree import Node, text_node
from .block_matching import Block, match_blocks
from .line_edit import OutputPiece, merge_tokens, source_tokens
from .source_parts import EditToken, Part, Piece, tokens_of


class MisfitError(Exception):
    """A block may not stand where it should: what is around it is written anew."""


class WrittenBlock(NamedTuple):
    """A block as it is written, and the part that it was, where it was one."""

    kind: str
    part: Part | None
    source: Any


class EditWriter(ABC):
    """Writes the blocks of a new text, each from the part of the source that it is or was made from.

    What a format writes is what `joined` gives: a text, or a list of nodes.
    """

    def __init__(self, rules: Rules, references: Mapping[str, Part]) -> None:
        self.rules = rules
        self.references = references  # name in the text → the part that it stands for

    def edited(self, root: Part, old: Block, new: Block) -> Any:
        """The source with the new blocks in the place of the old ones."""
        match_blocks(old, new)
        self._blocks = {id(block.node): block for block in new.walk()}
        return self.whole(root, self._content(root, new))

    def _content(self, parent: Part, block: Block) -> Any:
        written = [WrittenBlock(child.kind, _part(child), self._one(child, parent)) for child in block.children]
        return self.joined(parent, written, block.columns)

    def _one(self, block: Block, parent: Part) -> Any:
        part = _part(block)
        if part is None:
            return self._new_one(block, parent)
        try:
            written = self._edited(block, part)
            return written if _stayed(block) else self.moved(written, parent)
        except MisfitError:
            return self.fresh(self._resolved(block.node), parent)

    def _new_one(self, block: Block, parent: Part) -> Any:
        if block.lines and (old := source_tokens(block)):
            return self.moved(self.new_line(block.node, self._merged([], old, block.node)), parent)
        return self.fresh(self._resolved(block.node), parent)

    def _edited(self, block: Block, part: Part) -> Any:
        node = block.node
        if block.equal:
            return self.kept(part)
        if part.parts is not None:
            return self.around(part, node, self._content(part, block))
        if part.line is None:
            return self.plain(part, node, "".join(child.text for child in node.content))
        return self.line(part, node, self._merged(part.lead, source_tokens(block), node))

    def _merged(self, lead: list[Piece], old: list[EditToken], node: Node) -> list[OutputPiece]:
        return merge_tokens(lead, old, tokens_of(node.content), keeping=self.rules.keeping_kinds)

    def _resolved(self, node: Node) -> Node:
        """A new node in which what is old stands as it was."""
        if node.kind in ("reference", "inlinereference"):
            kept = self.kept(self.references[node.attrs["label"]])
            return next(iter(self.verbatim("macro", kept)), text_node(""))
        around = Part(node.kind, {}, None)
        content: list[Node] = []
        for child in node.content:
            block = self._blocks.get(id(child))
            if block is None or (block.match is None and not block.lines):
                content.append(self._resolved(child))
                continue
            part = _part(block)
            old = self._new_one(block, around) if part is None else self._edited(block, part)
            content += self.verbatim(child.kind, old)
        return node.with_content(content)

    # --- what a format does ---

    @abstractmethod
    def whole(self, root: Part, content: Any) -> Any:
        """The source with all of its content."""

    @abstractmethod
    def kept(self, part: Part) -> Any:
        """A part as it was."""

    @abstractmethod
    def verbatim(self, kind: str, written: Any) -> list[Node]:
        """Nodes that stand for what is written already."""

    @abstractmethod
    def moved(self, written: Any, parent: Part) -> Any:
        """What stood elsewhere, or is a new line, as it can stand in this parent."""

    @abstractmethod
    def plain(self, part: Part, node: Node, words: str) -> Any:
        """A part of plain text with these words."""

    @abstractmethod
    def line(self, part: Part, node: Node, outputs: list[OutputPiece]) -> Any:
        """A part with other words in it."""

    @abstractmethod
    def around(self, part: Part, node: Node, inner: Any) -> Any:
        """A part with other blocks in it, and with what Markdown now says of it."""

    @abstractmethod
    def new_line(self, node: Node, outputs: list[OutputPiece]) -> Any:
        """A line that is new, with words that were in others."""

    @abstractmethod
    def fresh(self, node: Node, parent: Part) -> Any:
        """A block that is new."""

    @abstractmethod
    def joined(self, parent: Part, written: list[WrittenBlock], columns: list[int] | None) -> Any:
        """The blocks in a part: what was there, each with its source where it has one."""


def _part(block: Block) -> Part | None:
    return block.match.part if block.match is not None else None


def _stayed(block: Block) -> bool:
    """Whether it stands in what it stood in."""
    return block.match is not None and block.parent is not None and block.match.parent is block.parent.match
