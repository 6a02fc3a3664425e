"""Blocks that were edited, put into the source of those that were there; the same for every format."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ..tree import Node
from .block_matching import Block, match_blocks
from .line_edit import source_tokens
from .source_parts import EditToken, Part


class MisfitError(Exception):
    """A block may not stand where it should: what is around it is written anew."""


class WrittenBlock(NamedTuple):
    """A block as it is written, and the part that it was, where it was one."""

    kind: str
    part: Part | None
    source: Any


class Format(Protocol):
    """What writes one format."""

    def kept(self, part: Part) -> Any:
        """A part as it was."""

    def moved(self, written: Any, parent: Part) -> Any:
        """What stood elsewhere, as it can stand in this parent."""

    def words(self, part: Part, node: Node, old: list[EditToken]) -> Any:
        """A part with other words in it, which came from these."""

    def around(self, part: Part, node: Node, inner: Any) -> Any:
        """A part with other blocks in it, and with what Markdown now says of it."""

    def new_line(self, node: Node, old: list[EditToken], parent: Part) -> Any:
        """A line that is new, with words that were in others."""

    def fresh(self, node: Node, parent: Part) -> Any:
        """A block that is new; what is in it may be old."""

    def joined(self, parent: Part, written: list[WrittenBlock], columns: list[int] | None) -> Any:
        """The blocks in a part: what was there, each with its source where it has one."""


class EditWriter:
    """Writes the blocks of a new text, each from the part of the source that it is or was made from."""

    def __init__(self, format: Format, old: Block, new: Block) -> None:
        self.format = format
        self._new = new
        match_blocks(old, new)
        self._blocks = {id(block.node): block for block in self._new.walk()}

    def written(self, root: Part) -> Any:
        """The source with the new blocks in the place of the old ones."""
        return self._content(root, self._new)

    def _content(self, parent: Part, block: Block) -> Any:
        written = [WrittenBlock(child.kind, _part(child), self._one(child, parent)) for child in block.children]
        return self.format.joined(parent, written, block.columns)

    def _one(self, block: Block, parent: Part) -> Any:
        part = _part(block)
        if part is None:
            return self._new_one(block, parent)
        try:
            written = self._edited(block, part)
            return written if _stayed(block) else self.format.moved(written, parent)
        except MisfitError:
            return self.format.fresh(block.node, parent)

    def _new_one(self, block: Block, parent: Part) -> Any:
        if block.lines and (old := source_tokens(block)):
            return self.format.new_line(block.node, old, parent)
        return self.format.fresh(block.node, parent)

    def _edited(self, block: Block, part: Part) -> Any:
        if block.equal:
            return self.format.kept(part)
        if part.parts is None:
            return self.format.words(part, block.node, source_tokens(block))
        return self.format.around(part, block.node, self._content(part, block))

    def old_in(self, node: Node, parent: Part) -> Any | None:
        """What stands for a node in a new block: the source of the part that it is, None where it is new, too."""
        block = self._blocks.get(id(node))
        if block is None or (block.match is None and not block.lines):
            return None
        part = _part(block)
        return self._new_one(block, parent) if part is None else self._edited(block, part)


def _part(block: Block) -> Part | None:
    return block.match.part if block.match is not None else None


def _stayed(block: Block) -> bool:
    """Whether it stands in what it stood in."""
    return block.match is not None and block.parent is not None and block.match.parent is block.parent.match
