"""Single values put into the source of an element."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from ..attribute_fields import AttrField
from ..node_rules import Rules
from ..storage.storage_forms import StorageForm
from ..storage.writer import StorageWriter
from ..storage.xml import NOT_XML, Element, cdata_section, escape_xml, parse_fragment, xml_tag
from ..tree import Attrs, Losses, Mark, Node, Verbatim, text_node, write_nested
from .block_matching import longest_increasing
from .edit_writer import EditWriter, WrittenBlock
from .line_edit import OutputPiece, merge_tokens
from .source_parts import FRAMED, EditToken, Part, Piece, Wrapper, caption_of, shape_of_node, tokens_of
from .storage_parts import Span


def changed_attributes(old: Attrs, new: Attrs) -> Attrs:
    """The values that are not the same any more; None for those that are gone."""
    return {name: new.get(name) for name in (*old, *(new.keys() - old.keys())) if old.get(name) != new.get(name)}


def patch_values(source: str, element: Element, form: StorageForm, changed: Attrs, end: int) -> str | None:
    """The source of an element up to `end` with other values; None where one of them has no place there."""
    splices: list[tuple[int, int, str]] = []
    for name, value in changed.items():
        splice = _splice(source, element, form, name, value)
        if splice is None or splice[1] > end:
            return None
        splices.append(splice)
    result, place = "", element.start
    for start, stop, words in sorted(splices):
        result += source[place:start] + words
        place = stop
    return result + source[place:end]


def _splice(source: str, element: Element, form: StorageForm, name: str, value: Any) -> tuple[int, int, str] | None:
    if field := _named(form.fields, name):
        return _content(element.child(field.outer), form.said([field], {name: value}).get(field.outer))
    if field := _named(form.params, name):
        frame = form.frame
        parameters = [c for c in element.elements() if c.name == frame["parameter"]]
        found = next((c for c in parameters if c.attrs.get(frame["name"]) == field.outer), None)
        return _content(found, form.said([field], {name: value}).get(field.outer))
    if field := _named(form.attrs, name):
        return _attribute(source, element, field.outer, form.said([field], {name: value}).get(field.outer))
    field = _named(form.inner_attrs, name)
    inner = element.child(form.inner) if form.inner else None
    if field and inner:
        return _attribute(source, inner, field.outer, form.said([field], {name: value}).get(field.outer))
    return None


def _named(among: list[AttrField], name: str) -> AttrField | None:
    return next((field for field in among if field.name == name), None)


def _content(element: Element | None, words: str | None) -> tuple[int, int, str] | None:
    return None if element is None or words is None else (element.inner, element.close, escape_xml(words))


def patch_address(tag: str, mark: Mark) -> str | None:
    """The start tag of a link with another address; None where it is none."""
    match = re.search(r"\shref\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
    if match is None or set(mark.attrs) != {"href"}:
        return None
    return tag[: match.start(1)] + quoteattr(str(mark.attrs["href"])) + tag[match.end(1) :]


def _attribute(source: str, element: Element, name: str, value: str | None) -> tuple[int, int, str] | None:
    """An attribute with another value, one that is new, or one less."""
    tag = source[element.start : element.inner]
    match = re.search(rf"(\s+){re.escape(name)}\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
    if match is None:
        place = element.start + len("<" + element.name)
        return None if value is None else (place, place, f" {name}={quoteattr(NOT_XML.sub('', value))}")
    if value is None:
        return element.start + match.start(), element.start + match.end(), ""
    return element.start + match.start(2), element.start + match.end(2), quoteattr(NOT_XML.sub("", value))


EMPTY = re.compile(r"<([\w:-]+)(?:\s[^<>]*)?>\s*</\1>")
HOLE = "\ue000"  # where in a written element its content goes


class StorageEdit(EditWriter):
    def __init__(self, source: str, rules: Rules, losses: Losses, references: Mapping[str, Part]) -> None:
        super().__init__(rules, references)
        self.source = source
        self.writer = StorageWriter(rules, losses)
        self.writer.count = self._highest()

    def _highest(self) -> int:
        """The highest of the numbers that are counted, so that none is given twice."""
        forms = (form for forms in self.writer.forms.by_kind.values() for form in forms)
        counted = {field.outer for form in forms for field in form.fields if field.rule.get("counted")}
        found = (re.findall(rf"<{re.escape(name)}>\s*(\d{{1,18}})\s*</", self.source) for name in counted)
        return max((int(number) for numbers in found for number in numbers), default=0)

    # --- blocks ---

    def whole(self, _root: Part, content: str) -> str:
        return content

    def kept(self, part: Part) -> str:
        return part.source if isinstance(part.source, str) else self.source[part.source.start : part.source.end]

    def verbatim(self, kind: str, written: str) -> list[Node]:
        return [Verbatim(kind, source=written)]

    def moved(self, written: str, _parent: Part) -> str:
        return written

    def line(self, part: Part, node: Node, outputs: list[OutputPiece]) -> str:
        return self.around(part, node, self._inline(outputs))

    def plain(self, part: Part, node: Node, words: str) -> str:
        if words == part.words:
            return self.around(part, node, self.source[part.source.inner : part.source.close])
        span: Span = part.source
        was = self.source[span.inner : span.close]
        plain = "<![CDATA[" in was or (not was and span.element is not None and ":" in span.element.name)
        return self.around(part, node, cdata_section(words) if plain else escape_xml(words))

    def around(self, part: Part, node: Node, inner: str) -> str:
        span: Span = part.source
        if part.label or (node.kind == part.kind and node.attrs == part.attrs):
            return self.source[span.start : span.inner] + inner + self._closing(span, inner)
        if node.kind == "paragraph" and span.element is None:
            return inner
        if patched := self._patched(part, node):
            return patched + inner + self.source[span.close : span.end]
        own = span.form.read_attributes(span.element) if span.form and span.element else {}
        alike = span.form is not None and span.form.kind == node.kind
        left = {name: value for name, value in own.items() if name not in part.attrs} if alike else {}
        if node.kind == "code":
            inner = inner.removeprefix("<![CDATA[").removesuffix("]]>")
        return self._shell(Node(node.kind, {**left, **node.attrs}), inner)

    def _closing(self, span: Span, inner: str) -> str:
        """What stands behind the content of a part; what there says the same for older programs says the new one."""
        closing = self.source[span.close : span.end]
        frame = self.rules.definition_of("macro").get("document")
        if not frame or span.element is None or span.element.name != frame["element"]:
            return closing
        for child in span.element.elements():
            if child.name != frame["node"] and child.start >= span.close:
                closing = closing.replace(self.source[child.inner : child.close], inner, 1)
        return closing

    def _patched(self, part: Part, node: Node) -> str | None:
        """What stands before the content of a part, with other attributes; None where that takes another element."""
        span: Span = part.source
        if span.form is None or span.element is None or node.kind != part.kind:
            return None
        return patch_values(
            self.source, span.element, span.form, changed_attributes(part.attrs, node.attrs), span.inner
        )

    def new_line(self, node: Node, outputs: list[OutputPiece]) -> str:
        return self._shell(Node(node.kind, node.attrs), self._inline(outputs))

    def fresh(self, node: Node, _parent: Part) -> str:
        return self.writer.block(node)

    def _shell(self, node: Node, inner: str) -> str:
        """A new block around what is written already."""
        return self.writer.block(node.with_content([text_node(HOLE)])).replace(HOLE, inner, 1)

    def joined(self, parent: Part, written: list[WrittenBlock], columns: list[int] | None) -> str:
        """Blocks with what stood between them. What stood beside one that is gone stays, unless it is only space."""
        span: Span = parent.source
        parts = parent.parts or []
        if parent.kind in self.writer.items and [block.part for block in written] != parts:
            return self._items(parts, written)
        places = {id(part): place for place, part in enumerate(parts)}
        starts = [part.source.start for part in parts] + [span.close]
        gaps = [self.source[part.source.end : starts[n + 1]] for n, part in enumerate(parts)]
        own = [places.get(id(block.part), -1) for block in written]
        stayed = longest_increasing(own)
        result: list[str] = []
        reached, gap = 0, self.source[span.inner : starts[0]]
        for number, block in enumerate(written):
            words = block.source if number in stayed or block.part is None else self._apart(block.part, block.source)
            if number in stayed:
                lost = gaps[reached : own[number]]
                result += [_beside(gap, lost) if lost else gap, words]
                reached, gap = own[number] + 1, gaps[own[number]]
            elif gap.strip() and result:
                closed = self._group_end(parts[reached - 1], gap) if reached else 0
                result += [gap[:closed], words]
                gap = gap[closed:]
            else:
                opened = self._group_start(parts[0], gap) if parts else len(gap)
                result += [gap[:opened], words]
                gap = gap[opened:] if gap.strip() else gap
        done = "".join([*result, _beside(gap, gaps[reached:]) if reached < len(gaps) else gap])
        return done if columns is None else self._columns(span, done, columns)

    def _items(self, parts: list[Part], written: list[WrittenBlock]) -> str:
        """A list whose items have lists in them, which are parts beside them: each goes into the item before it."""
        rests = {id(part): part.source.rest for part in parts}
        done: list[tuple[bool, str]] = []
        for block in written:
            rest = rests.get(id(block.part))
            done.append((block.kind in self.writer.items, block.source + (self.source[slice(*rest)] if rest else "")))
        return self.writer.listed(done)

    def _apart(self, part: Part, words: str) -> str:
        """A part that stands elsewhere than it did, with what has to be around it there."""
        if is_bare(part):
            return self._shell(Node("paragraph"), words)
        around = self._around(part)
        return xml_tag(around, {}, HOLE).replace(escape_xml(HOLE), words, 1) if around else words

    def _around(self, part: Part) -> str:
        """The element that is around a part and its neighbours of the same kind."""
        form = part.source.form
        return form.table.get("around", "") if form is not None else ""

    def _group_end(self, part: Part, gap: str) -> int:
        """Where behind a part the element ends that is around it and its neighbours; 0 where it goes on."""
        around = self._around(part)
        match = re.match(rf"\s*</{re.escape(around)}\s*>", gap) if around else None
        return match.end() if match else 0

    def _group_start(self, part: Part, gap: str) -> int:
        """Where before a part the element starts that is around it and its neighbours; else the end."""
        around = self._around(part)
        match = re.search(rf"<{re.escape(around)}[\s>]", gap) if around else None
        return match.start() if match else len(gap)

    def _columns(self, span: Span, inner: str, columns: list[int]) -> str:
        """What is in a table, with the elements that say the widths of its columns in the order of the columns."""
        rule = span.form.table.get("columns") if span.form else None
        group = span.element.child(rule["group"]) if rule and span.element else None
        if rule is None or group is None:
            return inner
        old = [self.source[one.start : one.end] for one in group.elements()]
        if max(columns, default=0) >= len(old):
            return inner
        new = [old[place] if place >= 0 else f"<{rule['each']} />" for place in columns]
        return inner.replace(self.source[group.inner : group.close], "".join(new), 1)

    # --- words ---

    def _inline(self, outputs: list[OutputPiece]) -> str:
        pieces = [(output.stack, self._written(output)) for output in outputs]
        return write_nested(pieces, lambda wrapper, opening: self._tag(wrapper)[not opening])

    def _tag(self, wrapper: Wrapper) -> tuple[str, str]:
        if wrapper.base is not None and wrapper.mark is not None:
            opening, closing = wrapper.base.source
            if (done := patch_address(opening, wrapper.mark)) is not None:
                return done, closing
        if wrapper.source is None and wrapper.mark is not None:
            return self.writer.mark(wrapper.mark, opening=True), self.writer.mark(wrapper.mark, opening=False)
        opening, closing = wrapper.source
        return opening, closing

    def _written(self, output: OutputPiece) -> str:
        token, old = output.token, output.old
        if output.source is not None:
            if token is not None and old is not None and token.node is not None and old.node is not None:
                changed = shape_of_node(token.node) != shape_of_node(old.node) and token.node.kind != "inlinereference"
                if changed:
                    return self._relabelled(old, token)
            return str(output.source.source)
        token = token or EditToken()
        plain = any(wrapper.plain for wrapper in output.stack)
        if token.node is None:
            return token.text.replace("]]>", "]] >") if plain else escape_xml(token.text)
        return self.writer.inline([self._resolved(Node(token.node.kind, token.node.attrs, token.node.content))])

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
        changed = changed_attributes(was, node.attrs)
        if old.label and words:
            new = tokens_of([text_node(str(words))])
            inner = self._inline(merge_tokens(old.label.lead, old.label.line, new, marks=False))
            source = source[: old.label.start] + inner + source[old.label.end :]
            changed.pop(self._label(node), None)
        element = parse_fragment(source).elements()[0]
        form = self.writer.forms.form_of_element(element)
        shown = old.label is not None or not words  # with words of its own, or without any
        if form and shown and self._form(_image(old.node or node)) is self._form(node):
            done = patch_values(source, element, form, changed, element.end)
            if done is not None:
                return done
        own = form.read_attributes(element) if form else {}
        own = {name: value for name, value in own.items() if name not in was}
        return self.writer.inline([Node(node.kind, {**own, **node.attrs})])

    def _form(self, node: Node) -> StorageForm | None:
        """The form that a node is written in."""
        elements = parse_fragment(self.writer.inline([Node(node.kind, node.attrs)])).elements()
        return self.writer.forms.form_of_element(elements[0]) if elements else None

    def _label(self, node: Node) -> str:
        """The attribute that has the words of a node that is written as a link."""
        return self.rules.definition_of(node.kind).get("link", {}).get("label", "")

    def _framed(self, old: Node, new: Node, source: str) -> str:
        """An image that was given a caption, or lost it."""
        element = parse_fragment(source).elements()[0]
        forms = [(child, self.writer.forms.form_of_element(child)) for child in element.elements()]
        for child, form in reversed(forms):
            if form is not None and form.kind == "caption":
                source = source[: child.start] + source[child.end :]
        bare = EditToken(node=_image(old), pieces=[Piece(source)])
        if shape_of_node(_image(old)) != shape_of_node(_image(new)):
            source = self._relabelled(bare, EditToken(node=_image(new)))
        own = parse_fragment(source).elements()[0]
        if new.kind != "figure" or own.close == own.end:
            return source if new.kind != "figure" else self._captioned(own, new)
        caption = self.writer.inline([Node("caption", {}, [text_node(caption_of(new))])])
        return source[: own.close] + caption + source[own.close :]

    def _captioned(self, element: Element, figure: Node) -> str:
        """An image whose element holds nothing, as one that can hold a caption."""
        form = self.writer.forms.form_of_element(element)
        own = form.read_attributes(element) if form else {}
        image = Node(_image(figure).kind, {**own, **_image(figure).attrs})
        return self.writer.inline([figure.with_content([image, *figure.content[1:]])])


def is_bare(part: Part) -> bool:
    """Whether it is words between blocks, which are a paragraph only there."""
    return part.kind == "paragraph" and part.source.element is None


def _image(node: Node) -> Node:
    return node.content[0] if node.kind == "figure" else node


def _beside(gap: str, lost: list[str]) -> str:
    """What stood beside blocks that are gone, without the elements that held nothing but them."""
    words = gap + "".join(one for one in lost if one.strip())
    shorter = None
    while shorter != words:
        shorter, words = words, EMPTY.sub("", words)
    return words
