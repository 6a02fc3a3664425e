"""Storage XHTML read into the neutral tree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..node_rules import Rules
from ..tree import Losses, Mark, Node, merge_runs, paragraph_nodes, text_node, trim_inline
from .framed_nodes import DocumentNodes
from .storage_forms import BLOCKS, RICH, StorageForm, StorageForms
from .xml import Element, Words, inner_xml, parse_fragment, write_element

PLAIN = ("!", "div", "span")  # elements that say nothing without attributes
SPACE = re.compile(r"[ \t\r\n]+")


def read_storage(source: str, rules: Rules, losses: Losses) -> Node:
    """The tree of a fragment; raises UsageError with line and column where it is not well-formed."""
    reader = StorageReader(rules, losses, consume=True)
    return Node("doc", {}, reader.blocks(parse_fragment(source, places=False), "doc"))


class StorageReader:
    """With `consume` elements are let go as they are read, so that they and the tree are never there at once."""

    def __init__(self, rules: Rules, losses: Losses, *, consume: bool = False) -> None:
        self.consume = consume
        self.rules = rules
        self.losses = losses
        self.forms = StorageForms(rules)
        self.framed = DocumentNodes(rules)
        self.items = rules.items_of_lists

    def blocks(self, element: Element, kind: str) -> list[Node]:
        """The children as what `kind` holds: runs of inline content in paragraphs where it holds blocks."""
        nodes = self.children(element, ())
        holds = self.rules.holds.get(kind, frozenset(("paragraph",)))
        if "text" in holds:
            return trim_inline(in_lines(nodes))
        if "paragraph" not in holds:
            return [node for node in nodes if node.kind != "text" or node.text.strip()]
        return self._grouped(nodes)

    def _grouped(self, nodes: list[Node]) -> list[Node]:
        """Runs of inline content as paragraphs."""
        result: list[Node] = []
        run: list[Node] = []
        for node in nodes:
            if node.kind in self.rules.inline or (node.kind == "macro" and paragraph_nodes(run)):
                run.append(node)
            else:
                result += [*paragraph_nodes(run), node]
                run = []
        return result + paragraph_nodes(run)

    def children(self, element: Element, marks: tuple[Mark, ...]) -> list[Node]:
        result: list[Node] = []
        for child in self._taken(element):
            if isinstance(child, str):
                words = SPACE.sub(" ", child)
                result += [text_node(words, marks)] if words else []
            else:
                result += self.node(child, marks)
        return merge_runs(result)

    def _taken(self, element: Element) -> Iterator[Element | Words]:
        if not self.consume:
            yield from element.children
            return
        left = element.children[::-1]
        element.children = []
        while left:
            yield left.pop()

    def node(self, element: Element, marks: tuple[Mark, ...]) -> list[Node]:
        form = self.forms.form_of_element(element)
        if form is None:
            found = self._framed(element)
            return self._unknown(element, marks) if found is None else found
        attrs = form.read_attributes(element)
        if form.table.get("says") and element.text() not in ("", attrs.get(form.table["says"])):
            form = self.forms.of_mark(element) or form  # a card that has words of its own is a link
            attrs = form.read_attributes(element)
        if self.rules.group(form.kind) == "mark":
            present = any(mark.kind == form.kind for mark in marks)
            return self.children(element, marks if present else (*marks, Mark(form.kind, attrs)))
        if form.table.get("label"):
            attrs |= self._label(element, form)
        node = Node(form.kind, attrs, [], "", marks if self.rules.group(form.kind) == "inline" else ())
        return self._whole(node, element, form)

    def _framed(self, element: Element) -> list[Node] | None:
        """What stands in a frame. Where it is not known after all, the element is still whole."""
        consume, self.consume = self.consume, False
        try:
            return self.framed.read_framed(element, self.blocks)
        finally:
            self.consume = consume

    def _whole(self, node: Node, element: Element, form: StorageForm) -> list[Node]:
        """The node with its content; a list inside an item of a flat list comes after the item."""
        body = self._body(element, form)
        if form.plain:
            words = body.text() if body else ""
            return [Node(node.kind, node.attrs, [text_node(words)] if words else [])]
        if node.kind == "image":
            return self._image(node, element)
        if body is None or node.kind in self.rules.inline:
            return [node]
        node.content = self.blocks(body, node.kind)
        if node.kind in self.items.values():
            return self._flat(node)
        return [node]

    def _flat(self, item: Node) -> list[Node]:
        inner: list[Node] = []
        lists: list[Node] = []
        for node in item.content:
            if node.kind in self.items:
                lists.append(node)
            else:
                inner += node.content if node.kind == "paragraph" else [node]
        return [item.with_content(trim_inline(inner)), *lists]

    def _image(self, node: Node, element: Element) -> list[Node]:
        caption = next(
            (
                child
                for child in element.elements()
                if (form := self.forms.form_of_element(child)) and form.kind == "caption"
            ),
            None,
        )
        if caption is None:
            return [node]
        words = [inner for block in self.blocks(caption, "item") for inner in block.content]
        return [Node("figure", {}, [node, Node("caption", content=words)])] if words else [node]

    def _label(self, element: Element, form: StorageForm) -> dict[str, str]:
        body = next((found for name in form.table["label"].values() if (found := element.child(name))), None)
        words = body.text().strip() if body else ""
        if body is None or not words:
            return {}
        marked = {RICH: "".join(inner_xml(child) for child in body.children)} if body.elements() else {}
        return {"label": words} | marked

    def _body(self, element: Element, form: StorageForm) -> Element | None:
        if form.macro is not None:
            return element.child(form.body) if form.body else None
        return element if form.body is None else element.child(form.body) or element

    def _unknown(self, element: Element, marks: tuple[Mark, ...]) -> list[Node]:
        frame = self.forms.frame
        if ":" not in element.name or element.name in self.forms.is_skipped:
            if element.name not in self.forms.is_skipped and (element.attrs or element.name not in PLAIN):
                self.losses.note(f"<{element.name}> cannot be kept: only what it holds is")
            found = self.children(element, marks)
            return self._grouped(found) if element.name in BLOCKS else found
        source = write_element(element)  # before its content is taken out of it
        bodies = [child for child in element.elements() if child.name == frame.get("rich")]
        words = "".join(c.text() for c in element.elements() if c.name == frame.get("plain")) or (
            "" if element.name == frame.get("element") else element.text().strip() or _referred(element)
        )
        content = [node for body in bodies for node in self.blocks(body, "doc")]
        if words and not content:
            content.append(Node("paragraph", content=[text_node(words)]))
        name = element.attrs.get(frame.get("name", ""), element.name)
        return [Node("macro", {"name": name, "source": source}, content, "", ())]


def in_lines(nodes: list[Node]) -> list[Node]:
    """Inline content, what are paragraphs in it as lines of their own."""
    if not any(node.kind == "paragraph" for node in nodes):
        return nodes
    result: list[Node] = []
    for node in nodes:
        apart = node.kind == "paragraph" or (bool(result) and result[-1].kind == "break")
        result += [Node("break")] if apart and result and result[-1].kind != "break" else []
        result += [*node.content, Node("break")] if node.kind == "paragraph" else [node]
    return result[:-1] if result[-1].kind == "break" else result


def _referred(element: Element) -> str:
    """What an element without words refers to by its first child, such as the name of a file: readers see that."""
    return next((value for child in element.elements()[:1] for value in child.attrs.values()), "")
