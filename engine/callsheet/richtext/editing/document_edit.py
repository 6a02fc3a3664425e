"""Edited documents: what was not touched stays as it was, and what is new fits where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..adf.document_forms import Raw, form_of
from ..adf.writer import DocumentWriter
from ..fit_to_document import Fitter, Up
from ..tree import Losses, Node, Verbatim, text_node
from .block_matching import longest_increasing
from .document_parts import DocumentParts, wrapped_words
from .edit_writer import EditWriter, MisfitError, WrittenBlock
from .line_edit import OutputPiece, merge_tokens
from .source_parts import FRAMED, EditToken, Part, Wrapper, caption_of, tokens_of


class DocumentEdit(EditWriter):
    def __init__(self, parts: DocumentParts, losses: Losses, references: Mapping[str, Part], source: Raw) -> None:
        super().__init__(parts.rules, references)
        self.parts = parts
        self.reader = parts.reader
        self.fitter = Fitter(self.rules, losses)
        self.writer = DocumentWriter(self.rules, taken=frozenset(attribute_texts(source)))

    # --- blocks ---

    def whole(self, root: Part, content: list[Any]) -> Raw:
        return {**root.source, "content": content}

    def kept(self, part: Part) -> list[Any]:
        return [part.source]

    def verbatim(self, _kind: str, written: list[Any]) -> list[Node]:
        return [
            Verbatim(node.kind, node.attrs, [_kept(child) for child in node.content], node.text, node.marks, source=raw)
            for raw in written
            for node in self.reader.read_nodes([raw], 1)
        ]

    def moved(self, written: list[Any], parent: Part) -> list[Any]:
        return self._placed(self.verbatim("", written), parent)

    def plain(self, part: Part, node: Node, words: str) -> list[Any]:
        return self.around(part, node, respell_text(part.source.get("content", []), words))

    def line(self, part: Part, node: Node, outputs: list[OutputPiece]) -> list[Any]:
        form = self.parts.form(part.source)
        if form is not None and form.kind == "figure":
            return self._figure(part, node)
        inner = self._inline(outputs, node)
        if part.kind in ("task", "decision") and (around := wrapped_words(part.source, self.reader)):
            inner = [{**around, "content": inner}]
        return self.around(part, node, inner)

    def around(self, part: Part, node: Node, inner: list[Any]) -> list[Any]:
        raw: Raw = part.source
        if part.label or (node.kind == part.kind and node.attrs == part.attrs):
            return [{**raw, "content": inner}]
        form = self.parts.form(raw)
        same = form is not None and self.parts.sayable.kind_as_read(form.kind) == node.kind
        own = self.reader.read_attributes(form, raw.get("attrs")) if form and same else {}
        left = {name: value for name, value in own.items() if name not in part.attrs}
        shell = self.writer.write_node(Node(form.kind if form and same else node.kind, {**left, **node.attrs}))
        if not same:
            kinds = {found.kind for child in inner if (found := self.parts.form(child))}
            if not kinds <= self.rules.holds.get(node.kind, frozenset()):
                raise MisfitError
        kept = {"marks": raw["marks"]} if "marks" in raw and same else {}
        return [{**shell, **kept, "content": inner}]

    def new_line(self, node: Node, outputs: list[OutputPiece]) -> list[Any]:
        return [{**self.writer.write_node(Node(node.kind, node.attrs)), "content": self._inline(outputs, node)}]

    def fresh(self, node: Node, parent: Part) -> list[Any]:
        return self._placed([node], parent)

    def _placed(self, nodes: list[Node], parent: Part) -> list[Any]:
        """Nodes as they may stand in a part."""
        kind = self._kind(parent)
        kind = kind if kind in self.rules.holds else "doc"
        placed = [one for node in nodes for one in self.fitter.place_child(node, Node(kind))]
        if kind != "doc" and any(isinstance(one, Up) for one in placed):
            raise MisfitError
        return [self.writer.write_node(one) for one in placed]

    def _kind(self, part: Part) -> str:
        form = self.parts.form(part.source)
        return form.kind if form is not None else part.kind

    def joined(self, parent: Part, written: list[WrittenBlock], columns: list[int] | None) -> list[Any]:
        """Blocks with those between them that nobody sees. Cells say what they know of their column."""
        if columns is not None:
            written = [self._in_columns(row, parent, columns) for row in written]
        content = list(parent.source.get("content", ()))
        places = {id(child): place for place, child in enumerate(content)}
        at = {id(part): places[id(part.source)] for part in parent.parts or ()}
        seen = set(at.values())
        own = [at.get(id(block.part), -1) for block in written]
        stayed = longest_increasing(own)
        result: list[Any] = []
        reached = 0
        for number, block in enumerate(written):
            if number in stayed:
                result += [content[n] for n in range(reached, own[number]) if n not in seen]
                reached = own[number] + 1
            result += block.source
        result += [content[n] for n in range(reached, len(content)) if n not in seen]
        empty = self.rules.definition_of(self._kind(parent)).get("empty")
        return result or ([self.writer.write_node(Node(empty))] if empty else [])

    def _in_columns(self, row: WrittenBlock, table: Part, columns: list[int]) -> WrittenBlock:
        """A row that came from another table, as wide as the columns in which it is now."""
        forms = self.rules.definition_of(table.kind).get("storage", ())
        name = next((form["columns"]["of"] for form in forms if "columns" in form), "")
        if row.part is None or row.part in (table.parts or ()):
            return row
        own = [cell.source.get("attrs", {}).get(name) for cell in (table.parts or [row.part])[0].parts or ()]
        cells: list[Any] = []
        for cell, column in zip(row.source[0]["content"], columns, strict=True):
            attrs = {key: value for key, value in cell.get("attrs", {}).items() if key != name}
            width = own[column] if column >= 0 else None
            cells.append({**cell, "attrs": {**attrs, **({name: width} if width is not None else {})}})
        return row._replace(source=[{**row.source[0], "content": cells}])

    def _figure(self, part: Part, node: Node) -> list[Any]:
        """An image with another address, description or caption; one of another sort is new."""
        line = tokens_of(node.content)
        new = line[0].node if len(line) == 1 else None
        old = (part.line or [EditToken()])[0].node
        if node.kind != "paragraph" or new is None or old is None or new.marks != old.marks:
            raise MisfitError
        if new.kind not in FRAMED or old.kind not in FRAMED:
            raise MisfitError
        was, now = (one.content[0] if one.kind == "figure" else one for one in (old, new))
        forms = [form_of(self.rules, image.kind, image.attrs) for image in (was, now)]
        if len({found[0].address for found in forms if found}) != 1 or not all(forms):
            raise MisfitError
        content = [self._image(child, was, now) for child in part.source.get("content", ())]
        if caption_of(old) != caption_of(new):
            content = self._captioned(part.source, content, caption_of(new))
        return [{**part.source, "content": content}]

    def _image(self, raw: Raw, was: Node, now: Node) -> Raw:
        form = self.parts.form(raw)
        if form is None or form.kind not in FRAMED or was.attrs == now.attrs:
            return raw
        found = form_of(self.rules, now.kind, now.attrs)
        attrs = {name: value for name, value in raw.get("attrs", {}).items() if name != "alt"}
        return {**raw, "attrs": {**attrs, **(found[1] if found else {})}}

    def _captioned(self, figure: Raw, content: list[Raw], words: str) -> list[Raw]:
        """What is in a figure, with another caption, or one more, or one less."""
        label = self.parts.caption(figure)
        inner = self._inline(
            merge_tokens(label.lead, label.line, tokens_of([text_node(words)]), marks=False), Node("caption")
        )
        forms = [self.parts.form(child) for child in content]
        own = [place for place, form in enumerate(forms) if form is not None and form.kind == "caption"]
        if not own:
            return [*content, self.writer.write_node(Node("caption", {}, [text_node(words)]))]
        kept = [child for place, child in enumerate(content) if place not in own]
        return [*kept, *([{**content[own[0]], "content": inner}] if words else [])]

    # --- words ---

    def _inline(self, outputs: list[OutputPiece], parent: Node) -> list[Any]:
        result: list[Any] = []
        origin: list[Any] = []
        for output in outputs:
            raws, source = self._written(output, parent)
            for raw in raws:
                last: Any = result[-1] if result else None
                joins = (
                    _is_text(last)
                    and _is_text(raw)
                    and last.get("marks", []) == raw.get("marks", [])
                    and (source is None or origin[-1] is None or source is origin[-1])
                )
                if joins:
                    result[-1] = {**last, "text": last["text"] + raw["text"]}
                    origin[-1] = origin[-1] if origin[-1] is not None else source
                    result[-1] = {**(source if source is not None else last), "text": result[-1]["text"]}
                else:
                    result.append(raw)
                    origin.append(source)
        return result

    def _written(self, output: OutputPiece, parent: Node) -> tuple[list[Any], Any]:
        """Nodes of the document for one word or node, and the node they are a part of where nothing changed."""
        if output.source is not None and not _remade(output):
            raw, words = output.source.source
            if words is None:
                return [self._relabelled(raw, output)], raw
            if output.stack == output.source.stack:
                return [{**raw, "text": words}], raw
            return [self._text(words, output, parent)], None
        token = output.token or EditToken()
        if token.node is None and output.near is not None and output.near.source[1] is not None:
            raw = output.near.source[0]
            return [{**raw, "text": token.text}], raw
        if token.node is None:
            return [self._text(" " if token.blank else token.text, output, parent)], None
        placed = self.fitter.place_child(self._resolved(token.node), Node(parent.kind))
        if any(isinstance(one, Up) for one in placed):
            raise MisfitError
        return [self.writer.write_node(one) for one in placed], None

    def _text(self, words: str, output: OutputPiece, parent: Node) -> Raw:
        marks = [raw for wrapper in output.stack if (raw := wrapper.source or self._mark(wrapper))]
        read = text_node(words, self.reader.read_marks(marks))
        fitted = self.fitter.with_marks(read, Node(parent.kind))
        kept = [raw for raw, mark in zip(marks, read.marks, strict=False) if mark in fitted.marks]
        return {"type": "text", "text": words, **({"marks": kept} if kept else {})}

    def _mark(self, wrapper: Wrapper) -> Any:
        if wrapper.mark is None:
            return None
        made = self.writer.write_mark(wrapper.mark)
        old = wrapper.base.source if wrapper.base else {}
        return {**old, **made, **({"attrs": {**old.get("attrs", {}), **made["attrs"]}} if "attrs" in made else {})}

    def _relabelled(self, raw: Any, output: OutputPiece) -> Any:
        """A node of which Markdown now says something else."""
        old, new = output.old, output.token
        if old is None or new is None or old.node is None or new.node is None or old.node.attrs == new.node.attrs:
            return raw
        form = self.parts.form(raw)
        own = self.reader.read_attributes(form, raw.get("attrs")) if form else {}
        left = {name: value for name, value in own.items() if name not in old.node.attrs}
        found = form_of(self.rules, new.node.kind, {**left, **new.node.attrs})
        return {**raw, "attrs": found[1]} if found else raw


def attribute_texts(raw: Any) -> Iterator[str]:
    """Every text that is an attribute in a document: an id among them is not given again."""
    pending = [raw]
    while pending:
        found = pending.pop()
        if isinstance(found, dict):
            attrs, content = found.get("attrs"), found.get("content")
            yield from (
                value for value in (attrs.values() if isinstance(attrs, dict) else ()) if isinstance(value, str)
            )
            pending += content if isinstance(content, list) else ()


def respell_text(content: list[Raw], words: str) -> list[Raw]:
    """Runs of plain text with other words in them: only those that differ are new."""
    start, end = 0, len(content)
    while start < end and words.startswith(content[start].get("text", "")):
        words = words[len(content[start].get("text", "")) :]
        start += 1
    while end > start and words.endswith(content[end - 1].get("text", "")):
        end -= 1
        words = words[: len(words) - len(content[end].get("text", ""))]
    if words and start == end and content:  # put between two of them, or at an edge: a part of the one before it
        start, end, words = max(start - 1, 0), max(end, 1), _beside(content, start, words)
    first = content[start] if start < end else {"type": "text"}
    return [*content[:start], *([{**first, "text": words}] if words else []), *content[end:]]


def _beside(content: list[Raw], place: int, words: str) -> str:
    """New words with those of the text that they become a part of."""
    own = str(content[max(place - 1, 0)].get("text", ""))
    return own + words if place else words + own


def _is_text(raw: Any) -> bool:
    return isinstance(raw, dict) and raw.get("type") == "text"


def _remade(output: OutputPiece) -> bool:
    """Whether a node became one of another kind: an image in a line that was given a caption."""
    old = output.old.node if output.old else None
    new = output.token.node if output.token else None
    return old is not None and new is not None and old.kind != new.kind


def _kept(node: Node) -> Node:
    return Node(node.kind, node.attrs, [_kept(child) for child in node.content], node.text, node.marks, kept=True)
