"""A document edited as Markdown: the parts that were not edited stay exactly as they are in the source.

The text carries nothing of the document. When it comes back, the document is read again, compared with the text block
by block and word by word, and only what differs is written anew. What Markdown has no words for has a place in the
text, under a name that the document is asked for (see `lossless_markers`).
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...collector import without_collector
from ...errors import CallsheetError, Conflict, UsageError
from ...jsontext import dump_json
from ..adf.reader import read_adf
from ..lossless_markers import refuse_references
from ..markdown.addresses import Beside
from ..markdown.block_reader import read_markdown
from ..node_rules import Rules
from ..tree import Losses, Node
from .block_matching import Outline
from .document_edit import DocumentEdit
from .document_parts import DocumentParts
from .edit_writer import EditWriter
from .merge_edits import BothChangedError, merge_edits
from .sayable import Sayable
from .section import Section, section_of
from .source_parts import Part
from .storage_edit import StorageEdit
from .storage_parts import StorageParts
from .verify import lost_words, readable_blocks, settle_text

if TYPE_CHECKING:
    from ..node_rules import Definitions


MOST_WORDS = 12  # of those that would be lost, in a message


class Editing:
    """One document of a format, `storage` or `adf`; `section` is the heading of the part that is meant."""

    def __init__(self, source: Any, format: str, nodes: Definitions, section: str | None = None) -> None:
        self.source = source
        self.format = format
        self.nodes = nodes
        self.rules = Rules(nodes)
        self.sayable = Sayable(self.rules)
        self.losses = Losses()
        try:
            with without_collector():
                self._open(source)
        except UsageError as error:  # it is what a service holds: no mistake of the person's
            raise CallsheetError(f"the text to be edited cannot be read: {error.message}") from None
        self.section: Section | None = section_of(self.root, section) if section is not None else None

    def _open(self, source: Any) -> None:
        if self.format != "storage":
            read_adf(source, self.rules, Losses())
            self.root = self._root(source)
            self._text = settle_text(self.root, self.sayable, lambda part: dump_json(part.source))
        elif isinstance(source, str):
            self.root = self._root(source)
            self._text = settle_text(self.root, self.sayable, lambda part: source[part.source.start : part.source.end])
        else:
            raise UsageError("expected a text in storage format")

    def _root(self, source: Any) -> Part:
        if self.format == "storage":
            return StorageParts(source, self.rules, self.sayable).root()
        return DocumentParts(self.rules, self.sayable).root(source)

    @cached_property
    def labels(self) -> dict[str, Part]:
        """Every part that has a name in the text."""
        return {label: part for part, label in labelled_parts(self.root)}

    def markdown(self) -> str:
        """The text to edit."""
        if self.section is None:
            return self._text
        return self.sayable.write_blocks([part.said() for part in self.section.parts])

    def edited(self, text: str, *, literal: bool = False, beside: Beside | None = None) -> Any:
        """The source with the changes of the text. Raises UsageError where the text asks for what is not there.

        In a `literal` text, which is not a person's own, only formatting is read.
        """
        with without_collector():
            return self._with(self._read(text, literal=literal, beside=beside))

    def merged(self, since: Editing, text: str, *, literal: bool = False, beside: Beside | None = None) -> Any:
        """The same for a text that was made `since`, from another version: the changes of both are put together.

        Raises Conflict where both changed one block, or the text has what is gone.
        """
        with without_collector():
            return self._merged(since, text, literal=literal, beside=beside)

    def _merged(self, since: Editing, text: str, *, literal: bool, beside: Beside | None) -> Any:
        old = [part.said() for part in since.root.parts or ()]
        mine = since._read(text, literal=literal, beside=beside)
        self.losses = since.losses
        try:
            content = merge_edits(old, mine, [part.said() for part in self.root.parts or ()])
            refuse_references(text, content, self.labels)
        except BothChangedError as error:
            hint = "read the newest version, and make your changes there"
            raise Conflict("cannot merge: both changed the same part", details=self._both(error), hint=hint) from None
        except UsageError as error:
            raise Conflict(f"the text refers to something that no longer exists: {error.message}") from None
        return self._with(content)

    def _both(self, error: BothChangedError) -> list[str]:
        sides = (("yours", error.mine), ("theirs", error.theirs))
        lines = ((side, line) for side, nodes in sides for line in self.sayable.write_blocks(nodes).splitlines())
        return [f"{side}: {line}" for side, line in lines if line.strip()]

    def _read(self, text: str, *, literal: bool, beside: Beside | None) -> list[Node]:
        """The blocks of the whole document, as the text has them."""
        rules = Rules(self.nodes, literal=True) if literal else self.rules
        own, target = self.format == "storage", self.format
        content = readable_blocks(
            read_markdown(text, rules, self.losses, target=target, own=own, beside=beside).content
        )
        refuse_references(text, content, self.labels)
        return content if self.section is None else self.section.within(content)

    def _with(self, content: list[Node]) -> Any:
        """The source with these blocks in the place of its own."""
        outline = Outline()
        old, new = outline.of_part(self.root), outline.of_nodes(content)
        if [block.key for block in old.children] == [block.key for block in new.children]:
            return self.source
        if self.format == "storage":
            writer: EditWriter = StorageEdit(self.source, self.rules, self.losses, self.labels)
        else:
            parts = DocumentParts(self.rules, self.sayable)
            writer = DocumentEdit(parts, self.losses, self.labels, self.source)
        result = writer.edited(self.root, old, new)
        self._check(result, content)
        return result

    def _check(self, result: Any, content: list[Node]) -> None:
        """Reads what was written: it can be read, and has every word that it was to have."""
        try:
            lost = lost_words(content, self._root(result))
            problem = f"these words would be lost: {' '.join(lost[:MOST_WORDS])}" if lost else ""
        except UsageError as error:
            problem = error.message
        if problem:
            hint = "nothing was sent; make the edit in smaller steps, and please report this"
            raise CallsheetError(f"the edited text cannot be written: {problem}", hint=hint)


def labelled_parts(root: Part) -> list[tuple[Part, str]]:
    """Every part that has a name in the text, the nodes in lines as parts of their own."""
    found: list[tuple[Part, str]] = []
    pending = [root]
    while pending:
        part = pending.pop()
        if part.label:
            found.append((part, part.label))
        for token in part.line or ():
            if token.node is not None and token.node.kind == "inlinereference":
                name = token.node.attrs["label"]
                source = token.pieces[0].source
                if isinstance(source, tuple):
                    source = source[0] if source[1] is None else {**source[0], "text": source[1]}
                found.append((Part("inlinereference", {}, source, label=name), name))
        pending += part.parts or ()
    return found
