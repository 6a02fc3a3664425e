"""Edited storage XHTML: what was not touched stays as it was, byte for byte."""

from __future__ import annotations

import re

from ..rules import Rules
from ..storage.forms import StorageForm
from ..storage.write import StorageWriter
from ..storage.xml import Element, cdata, escaped, parse
from ..tree import Losses, Node, text
from .align import increasing
from .blocks import Merger
from .label import caption_of
from .parts import FRAMED, EditToken, Part, Piece, Wrapper, shape, tokens_of
from .patch import differing, patched, readdressed
from .storage_parts import Span
from .words import OutputPiece, merged

EMPTY = re.compile(r"<([\w:-]+)(?:\s[^<>]*)?>\s*</\1>")
HOLE = "\ue000"  # where in a written element its content goes


class StorageEdit:
    def __init__(self, source: str, rules: Rules, losses: Losses, references: dict[str, Part]) -> None:
        self.source = source
        self.rules = rules
        self.references = references
        self.writer = StorageWriter(rules, losses)
        self.merger = Merger(rules, self)

    def edited(self, root: Part, nodes: list[Node]) -> str:
        return str(self.merger.blocks(root, nodes))

    # --- blocks ---

    def kept(self, part: Part) -> str:
        return self.source[part.source.start : part.source.end]

    def words(self, part: Part, node: Node) -> str:
        if part.line is None:
            return self._plain(part, node)
        inner = self._inline(merged(part.lead, part.line, tokens_of(node.content), keeping=self.rules.keeping))
        return self.around(part, node, inner)

    def _plain(self, part: Part, node: Node) -> str:
        words = "".join(child.text for child in node.content)
        if words == part.words:
            return self.around(part, node, self.source[part.source.inner : part.source.close])
        span: Span = part.source
        was = self.source[span.inner : span.close]
        plain = "<![CDATA[" in was or (not was and span.element is not None and ":" in span.element.name)
        return self.around(part, node, cdata(words) if plain else escaped(words))

    def around(self, part: Part, node: Node, inner: str) -> str:
        span: Span = part.source
        if part.label or (node.kind == part.kind and node.attrs == part.attrs):
            return self.source[span.start : span.inner] + inner + self.source[span.close : span.end]
        if node.kind == "paragraph" and span.element is None:
            return inner
        if patched := self._patched(part, node):
            return patched + inner + self.source[span.close : span.end]
        own = span.form.read(span.element) if span.form and span.element else {}
        alike = span.form is not None and span.form.kind == node.kind
        left = {name: value for name, value in own.items() if name not in part.attrs} if alike else {}
        shell = Node(node.kind, {**left, **node.attrs}, [text(HOLE)])
        if node.kind == "code":
            inner = inner.removeprefix("<![CDATA[").removesuffix("]]>")
        return self.writer.block(shell).replace(HOLE, inner, 1)

    def _patched(self, part: Part, node: Node) -> str | None:
        """What stands before the content of a part, with other attributes; None where that takes another element."""
        span: Span = part.source
        if span.form is None or span.element is None or node.kind != part.kind:
            return None
        return patched(self.source, span.element, span.form, differing(part.attrs, node.attrs), span.inner)

    def fresh(self, node: Node, parent: Part) -> str:
        del parent
        return self.writer.block(self.resolved(node))

    def resolved(self, node: Node) -> Node:
        """A new node with the source of what stands in it by reference."""
        if node.kind in ("reference", "inlinereference"):
            part = self.references[node.attrs["label"]]
            own = part.source if isinstance(part.source, str) else self.kept(part)
            if node.kind == "reference" and part.parts is not None and not part.opaque:
                own = self.around(part, node, str(self.merger.blocks(part, node.content)))
            return Node("macro", {"source": own})
        return node.having([self.resolved(child) for child in node.content])

    def joined(self, parent: Part, written: list[tuple[Part | None, str]]) -> str:
        """Blocks with what stood between them. What stood beside one that is gone stays, unless it is only space."""
        span: Span = parent.source
        parts = parent.parts or []
        places = {id(part): place for place, part in enumerate(parts)}
        starts = [part.source.start for part in parts] + [span.close]
        gaps = [self.source[part.source.end : starts[n + 1]] for n, part in enumerate(parts)]
        own = [places.get(id(part), -1) for part, _ in written]
        stayed = increasing(own)
        result: list[str] = []
        reached, gap = 0, self.source[span.inner : starts[0]]
        for number, (_part, words) in enumerate(written):
            if number in stayed:
                lost = gaps[reached : own[number]]
                result += [_beside(gap, lost) if lost else gap, words]
                reached, gap = own[number] + 1, gaps[own[number]]
            elif gap.strip() and result:
                result.append(words)
            else:
                result += [gap, words]
                gap = gap if not gap.strip() else ""
        return "".join([*result, _beside(gap, gaps[reached:]) if reached < len(gaps) else gap])

    # --- words ---

    def _inline(self, outputs: list[OutputPiece]) -> str:
        parts: list[str] = []
        opened: list[Wrapper] = []
        for output in outputs:
            stack = output.stack
            same = 0
            while same < min(len(opened), len(stack)) and opened[same] is stack[same]:
                same += 1
            parts += [self._tag(wrapper)[1] for wrapper in reversed(opened[same:])]
            parts += [self._tag(wrapper)[0] for wrapper in stack[same:]]
            opened = list(stack)
            parts.append(self._written(output))
        return "".join(parts + [self._tag(wrapper)[1] for wrapper in reversed(opened)])

    def _tag(self, wrapper: Wrapper) -> tuple[str, str]:
        if wrapper.base is not None and wrapper.mark is not None:
            opening, closing = wrapper.base.source
            if (done := readdressed(opening, wrapper.mark)) is not None:
                return done, closing
        if wrapper.source is None and wrapper.mark is not None:
            return self.writer.mark(wrapper.mark, opening=True), self.writer.mark(wrapper.mark, opening=False)
        opening, closing = wrapper.source
        return opening, closing

    def _written(self, output: OutputPiece) -> str:
        token, old = output.token, output.old
        if output.source is not None:
            if token is not None and old is not None and token.node is not None and old.node is not None:
                changed = shape(token.node) != shape(old.node) and token.node.kind != "inlinereference"
                if changed:
                    return self._relabelled(old, token)
            return str(output.source.source)
        token = token or EditToken()
        plain = any(wrapper.plain for wrapper in output.stack)
        if token.node is None:
            return token.text.replace("]]>", "]] >") if plain else escaped(token.text)
        return self.writer.inline([self.resolved(Node(token.node.kind, token.node.attrs, token.node.content))])

    def _relabelled(self, old: EditToken, token: EditToken) -> str:
        """A node of which Markdown now says something else: its words, which may have marks, or its attributes."""
        node = token.node or Node("text")
        source = str(old.pieces[0].source)
        words: str | None = node.attrs.get(self._label(node))
        if old.node is not None and node.kind in FRAMED and old.node.kind != node.kind:
            return self._framed(old.node, node, source)
        if node.kind == "figure":
            words, node = caption_of(node), node.content[0]
        was = _image(old.node).attrs if old.node else {}
        changed = differing(was, node.attrs)
        if old.label and words:
            new = tokens_of([text(str(words))])
            inner = self._inline(merged(old.label.lead, old.label.line, new, marks=False))
            source = source[: old.label.start] + inner + source[old.label.end :]
            changed.pop(self._label(node), None)
        element = parse(source).elements()[0]
        form = self.writer.forms.reading(element)
        shown = old.label is not None or not words  # with words of its own, or without any
        if form and shown and self._form(_image(old.node or node)) is self._form(node):
            done = patched(source, element, form, changed, element.end)
            if done is not None:
                return done
        own = form.read(element) if form else {}
        own = {name: value for name, value in own.items() if name not in was}
        return self.writer.inline([Node(node.kind, {**own, **node.attrs})])

    def _form(self, node: Node) -> StorageForm | None:
        """The form that a node is written in."""
        elements = parse(self.writer.inline([Node(node.kind, node.attrs)])).elements()
        return self.writer.forms.reading(elements[0]) if elements else None

    def _label(self, node: Node) -> str:
        """The attribute that has the words of a node that is written as a link."""
        return self.rules.of(node.kind).get("link", {}).get("label", "")

    def _framed(self, old: Node, new: Node, source: str) -> str:
        """An image that was given a caption, or lost it."""
        element = parse(source).elements()[0]
        forms = [(child, self.writer.forms.reading(child)) for child in element.elements()]
        for child, form in reversed(forms):
            if form is not None and form.kind == "caption":
                source = source[: child.start] + source[child.end :]
        bare = EditToken(node=_image(old), pieces=[Piece(source)])
        if shape(_image(old)) != shape(_image(new)):
            source = self._relabelled(bare, EditToken(node=_image(new)))
        own = parse(source).elements()[0]
        if new.kind != "figure" or own.close == own.end:
            return source if new.kind != "figure" else self._captioned(own, new)
        caption = self.writer.inline([Node("caption", {}, [text(caption_of(new))])])
        return source[: own.close] + caption + source[own.close :]

    def _captioned(self, element: Element, figure: Node) -> str:
        """An image whose element holds nothing, as one that can hold a caption."""
        form = self.writer.forms.reading(element)
        own = form.read(element) if form else {}
        image = Node(_image(figure).kind, {**own, **_image(figure).attrs})
        return self.writer.inline([figure.having([image, *figure.content[1:]])])


def _image(node: Node) -> Node:
    return node.content[0] if node.kind == "figure" else node


def _beside(gap: str, lost: list[str]) -> str:
    """What stood beside blocks that are gone, without the elements that held nothing but them."""
    words = gap + "".join(one for one in lost if one.strip())
    shorter = None
    while shorter != words:
        shorter, words = words, EMPTY.sub("", words)
    return words
