"""The words and inline nodes of storage XHTML as tokens that know their source."""

from __future__ import annotations

import html
import re

from ..lossless_markers import marker_label
from ..node_rules import Rules
from ..plain_text import visible_text
from ..storage.storage_forms import StorageForm, StorageForms
from ..storage.xml import Element, Words, parse_fragment
from ..tree import Mark, Node
from .sayable import Sayable
from .source_parts import FRAMED, EditToken, Label, Piece, Wrapper, label_tokens, marks_of, seen_tokens, tokens_of

CDATA = "<![CDATA["  # in it, nothing is written as an entity
RAW = re.compile(r"[ \t\r\n]+|[^\W_]+|&#?\w+;|.", re.DOTALL)


class StorageWords:
    def __init__(self, source: str, rules: Rules, sayable: Sayable) -> None:
        self.source = source
        self.rules = rules
        self.sayable = sayable
        self.forms = StorageForms(rules)
        self.values = rules.value_elements

    def is_macro(self, element: Element) -> bool:
        return bool(element.name == self.forms.frame["element"])

    def name(self, element: Element) -> str:
        """What a reader may know it by: its own name, and its first parameters."""
        frame = self.forms.frame
        words = [c.text() for c in element.elements() if c.name == frame["parameter"]]
        name = element.attrs.get(frame["name"]) or element.name.rpartition(":")[2]
        return " ".join([name, *words])

    def line(self, children: list[Element | Words]) -> tuple[list[Piece], list[EditToken]]:
        found: list[EditToken] = []
        self._walk(children, (), found)
        return seen_tokens(found)

    def _walk(
        self,
        children: list[Element | Words],
        stack: tuple[Wrapper, ...],
        found: list[EditToken],
        *,
        in_label: bool = False,
    ) -> None:
        """`in_label`: a node with words of its own is not said as such there, so its words stand for it."""
        for child in children:
            if isinstance(child, Words):
                self._words(child, stack, found)
            else:
                self._inline(child, stack, found, in_label=in_label)

    def _words(self, words: Words, stack: tuple[Wrapper, ...], found: list[EditToken]) -> None:
        raw = self.source[words.start : words.end]
        marks = marks_of(stack)
        cdata = raw.startswith(CDATA)
        if cdata:
            raw = raw[len(CDATA) : -len("]]>")]
            stack = stack if stack and stack[-1].plain else (*stack, Wrapper(None, (CDATA, "]]>"), plain=True))
        for piece in RAW.findall(raw):
            seen = html.unescape(piece) if piece[0] == "&" and len(piece) > 1 and not cdata else piece
            found.append(EditToken(seen, marks=marks, pieces=[Piece(piece, stack, seen)]))

    def _inline(self, element: Element, stack: tuple[Wrapper, ...], found: list[EditToken], *, in_label: bool) -> None:
        form = self.forms.form_of_element(element)
        whole = Piece(self.source[element.start : element.end], stack)
        group = self.rules.group(form.kind) if form else ""
        inside = element
        if form is None and ":" in element.name and not self.is_macro(element):
            worded = [c for c in element.elements() if c.name not in self.values and c.text().strip()]
            inside = worded[0] if len(worded) == 1 and not words_in(element) else element
        labelled = self._label_body(element, form) if form and in_label else None
        if element.name == "!" or element.name in self.values:
            found.append(EditToken(pieces=[whole]))
        elif labelled is not None and labelled.text().strip() and not element.deep:
            self._walk(labelled.children, (*stack, self._wrapper(element, labelled, form)), found, in_label=True)
        elif (group == "mark" or (form and form.element == "a") or (form is None and not self.is_macro(element))) and (
            not element.deep
        ):
            before = len(found)
            wrapper = self._wrapper(element, inside, form)
            self._walk(inside.children, (*stack, wrapper), found, in_label=in_label)
            if not any(token.text or token.node for token in found[before:]):
                del found[before:]
                own = EditToken(pieces=[whole])
                found += [own] if not self._says(element) else self._atom(element, None, whole)
        else:
            found += self._atom(element, form, whole)

    def _says(self, element: Element) -> bool:
        """Whether an element without words shows something: it is of the wiki's own, and not merely empty."""
        return ":" in element.name

    def _wrapper(self, element: Element, inside: Element, form: StorageForm | None) -> Wrapper:
        mark = None
        if form and form.element == "a":
            form = self.forms.of_mark(element) or form
        if form and self.rules.group(form.kind) == "mark":
            mark = self.sayable.mark(Mark(form.kind, form.read_attributes(element)))
        opening, closing = self.source[element.start : inside.inner], self.source[inside.close : element.end]
        cdata = inside is not element and any(
            isinstance(child, Words) and self.source.startswith(CDATA, child.start) for child in inside.children
        )
        return Wrapper(mark, (opening + CDATA, "]]>" + closing) if cdata else (opening, closing), plain=cdata)

    def _atom(self, element: Element, form: StorageForm | None, whole: Piece) -> list[EditToken]:
        """A node that Markdown says by a construct or by words, else its place."""
        nodes = None
        body: Element | None = None
        if form and self.rules.group(form.kind) == "inline" and not element.deep:
            attrs = form.read_attributes(element)
            if "label" in form.table:
                body = self._label_body(element, form)
                words = self._label(body, element).words if body else ""
                named = self.rules.definition_of(form.kind).get("link", {}).get("label", "label")
                attrs = {k: v for k, v in attrs.items() if k != named} | ({named: words} if words else {})
            node = Node(form.kind, attrs)
            body = self._caption(element) if node.kind == "image" else body
            caption = self._label(body, element).words if body and node.kind == "image" else ""
            nodes = self.sayable.nodes_as_read(self.sayable.figure_with_caption(node, caption) if caption else node)
        if nodes is None:
            name = marker_label(self.name(element), whole.source)
            return [EditToken(node=Node("inlinereference", {"label": name}), pieces=[whole])]
        if nodes[0].kind != "text":
            marks = marks_of(whole.stack)
            linked = tuple(mark for mark in marks if mark.kind == "link" and nodes[0].kind in FRAMED)
            node = Node(nodes[0].kind, nodes[0].attrs, nodes[0].content, marks=linked)
            inner = self._label(body, element) if body else None
            return [EditToken(node=node, marks=linked, pieces=[whole], label=inner)]
        tokens = tokens_of(nodes)
        for token in tokens:
            token.whole = tokens
        tokens[0].pieces = [whole]
        return tokens

    def _label_body(self, element: Element, form: StorageForm) -> Element | None:
        """What holds the words of a link and the like."""
        return next((body for name in form.table.get("label", {}).values() if (body := element.child(name))), None)

    def _caption(self, element: Element) -> Element | None:
        """What holds the words of an image's caption."""
        kinds = ((child, self.forms.form_of_element(child)) for child in element.elements())
        body = next((child for child, form in kinds if form and form.kind == "caption"), None)
        while body is not None and len(body.elements()) == 1 and not words_in(body):
            body = body.elements()[0]
        return body

    def _label(self, body: Element, around: Element) -> Label:
        """The words in a link or a caption."""
        found: list[EditToken] = []
        self._walk(body.children, (), found, in_label=True)
        said = [one for token in found for one in label_tokens(token, self._said)]
        return Label(*seen_tokens(said), body.inner - around.start, body.close - around.start)

    def _said(self, piece: Piece) -> str:
        """The words of a node."""
        element = parse_fragment(str(piece.source)).elements()[0]
        form = self.forms.form_of_element(element)
        return visible_text(Node(form.kind, form.read_attributes(element)), self.rules) if form else ""


def words_in(element: Element) -> bool:
    return any(isinstance(child, Words) and child.strip() for child in element.children)
