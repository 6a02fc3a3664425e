"""The document format as parts that know their source, the JSON they were read from."""

from __future__ import annotations

import json
from typing import Any

from ..adf.document_forms import Raw
from ..adf.reader import DocumentReader
from ..lossless_markers import marker_label
from ..node_rules import NodeForm, Rules
from ..plain_text import visible_text
from ..tree import MAX_DEPTH, Attrs, Losses, Node
from .sayable import Sayable
from .source_parts import (
    FRAMED,
    TOKEN,
    EditToken,
    Label,
    Part,
    Piece,
    Wrapper,
    label_tokens,
    marks_of,
    seen_tokens,
    tokens_of,
    word_tokens,
)

LINES = ("paragraph", "heading", "task", "decision")
SHOWN = ("extensionKey", "text", "url", "title", "shortName", "name", "resourceId", "id")


class DocumentParts:
    def __init__(self, rules: Rules, sayable: Sayable) -> None:
        self.rules = rules
        self.sayable = sayable
        self.reader = DocumentReader(rules, Losses())
        self._wrappers: dict[str, Wrapper] = {}

    def form(self, raw: Any) -> NodeForm | None:
        """What a node is; None of what is no node, or an unknown one."""
        return self.reader.form_of_object(raw, mark=False) if isinstance(raw, dict) else None

    def root(self, document: Raw) -> Part:
        """Raises UsageError when it is no document."""
        return Part("doc", {}, document, self._blocks(document, 1))

    def _blocks(self, raw: Raw, depth: int) -> list[Part]:
        return [part for child in _content(raw) for part in self._block(child, depth)]

    def _block(self, raw: Any, depth: int) -> list[Part]:
        form = self.form(raw)
        if form is None or depth > MAX_DEPTH:
            return [self._reference(raw)]
        attrs = self.reader.read_attributes(form, raw.get("attrs"))
        said = self.sayable.attrs(form.kind, attrs)
        if form.kind in LINES:
            inner = wrapped_words(raw, self.reader) if form.kind in ("task", "decision") else None
            lead, line = self.line(_content(inner or raw))
            seen = line or form.kind not in ("paragraph", "heading")
            return [Part(form.kind, said, raw, line=line, lead=lead)] if seen else []
        if form.kind == "figure":
            return [self._figure(raw)]
        if form.kind in ("code", "rule"):
            words = "".join(str(child.get("text", "")) for child in _content(raw) if isinstance(child, dict))
            return [Part(form.kind, said, raw, words=words)]
        if not form.table.get("holds") or form.kind in ("gallery", "caption", "blocktask"):
            return [self._reference(raw)]
        return [self._container(raw, form, said, depth)]

    def _container(self, raw: Raw, form: NodeForm, said: Attrs, depth: int) -> Part:
        parts = self._blocks(raw, depth + 1)
        is_named = self.rules.group(form.kind) == "block" and not self.sayable.has_construct(form.kind)
        if is_named or form.kind == "column" or (form.kind == "panel" and not said):
            own = {key: value for key, value in raw.items() if key != "content"}
            return Part(form.kind, {}, raw, parts, label=marker_label(self._name(raw), _key(own)))
        return Part(self.sayable.kind_as_read(form.kind), said, raw, parts)

    def _figure(self, raw: Raw) -> Part:
        """An image, which stands in a paragraph of its own in Markdown."""
        found = self.reader.read_nodes([raw], 1)
        image = next((child for child in found[0].content if child.kind == "image"), None) if found else None
        nodes = None
        if image is not None:
            caption = self.caption(raw).words
            bare = Node("image", image.attrs)
            nodes = self.sayable.nodes_as_read(self.sayable.figure_with_caption(bare, caption) if caption else bare)
        if nodes is None or nodes[0].kind not in FRAMED or image is None:
            return self._reference(raw)
        marks = [
            said
            for mark in (*image.marks, *found[0].marks)
            if mark.kind == "link" and (said := self.sayable.mark(mark))
        ]
        linked = tuple(marks[:1])
        node = Node(nodes[0].kind, nodes[0].attrs, nodes[0].content, marks=linked)
        return Part("paragraph", {}, raw, line=[EditToken(node=node, marks=linked, pieces=[Piece(raw)])])

    def _reference(self, raw: Any) -> Part:
        return Part("reference", {}, raw, label=marker_label(self._name(raw), _key(raw)))

    def _name(self, raw: Any) -> str:
        """What a reader may know it by: its type, and what it says of itself."""
        if not isinstance(raw, dict):
            return "part"
        attrs = raw.get("attrs")
        attrs = attrs if isinstance(attrs, dict) else {}
        words = [attrs[name] for name in SHOWN if isinstance(attrs.get(name), str)]
        return " ".join([str(raw.get("type")), *words[:2]])

    def caption(self, figure: Raw) -> Label:
        """The words below an image: only text, in which a node is the words that it says."""
        forms = [(child, self.form(child)) for child in _content(figure)]
        inner = [raw for child, form in forms if form is not None and form.kind == "caption" for raw in _content(child)]
        return Label(
            *seen_tokens([one for raw in inner for token in self._tokens(raw) for one in self._labelled(token)])
        )

    def _labelled(self, token: EditToken) -> list[EditToken]:
        if token.whole and token.pieces:
            return word_tokens(self._said(token.pieces[0]), token.pieces[0])
        return [] if token.whole else label_tokens(token, self._said)

    def _said(self, piece: Piece) -> str:
        return "".join(visible_text(node, self.rules) for node in self.reader.read_nodes([piece.source[0]], 1))

    # --- words ---

    def line(self, content: list[Any]) -> tuple[list[Piece], list[EditToken]]:
        return seen_tokens([token for raw in content for token in self._tokens(raw)])

    def _tokens(self, raw: Any) -> list[EditToken]:
        form = self.form(raw)
        stack = self._stack(raw) if isinstance(raw, dict) else ()
        if form is None or form.kind != "text" or not isinstance(raw.get("text"), str):
            return self._atom(raw, form, stack)
        marks = marks_of(stack)
        words = TOKEN.findall(raw["text"])
        return [EditToken(w, marks=marks, pieces=[Piece((raw, w), stack, w)]) for w in words]

    def _stack(self, raw: Raw) -> tuple[Wrapper, ...]:
        found = raw.get("marks")
        return tuple(self._wrapper(mark) for mark in (found if isinstance(found, list) else ()))

    def _wrapper(self, raw: Any) -> Wrapper:
        key = _key(raw)
        if key not in self._wrappers:
            read = self.reader.read_marks([raw])
            self._wrappers[key] = Wrapper(self.sayable.mark(read[0]) if read else None, raw)
        return self._wrappers[key]

    def _atom(self, raw: Any, form: NodeForm | None, stack: tuple[Wrapper, ...]) -> list[EditToken]:
        piece = Piece((raw, None), stack)
        nodes = None
        if form is not None and self.rules.group(form.kind) == "inline":
            nodes = self.sayable.nodes_as_read(Node(form.kind, self.reader.read_attributes(form, raw.get("attrs"))))
        if nodes is None:
            return [
                EditToken(
                    node=Node("inlinereference", {"label": marker_label(self._name(raw), _key(raw))}), pieces=[piece]
                )
            ]
        if nodes[0].kind != "text":
            return [EditToken(node=Node(nodes[0].kind, nodes[0].attrs, nodes[0].content), pieces=[piece])]
        tokens = tokens_of(nodes)
        for token in tokens:
            token.whole = tokens
        tokens[0].pieces = [piece]
        return tokens


def wrapped_words(raw: Raw, reader: DocumentReader) -> Raw | None:
    """The paragraph that holds the words of an item, which should hold them itself."""
    content = _content(raw)
    form = reader.form_of_object(content[0], mark=False) if len(content) == 1 and isinstance(content[0], dict) else None
    return content[0] if form is not None and form.kind == "paragraph" else None


def _content(raw: Raw) -> list[Any]:
    found = raw.get("content")
    return found if isinstance(found, list) else []


def _key(raw: Any) -> str:
    return json.dumps(raw, sort_keys=True, ensure_ascii=False, default=str)
