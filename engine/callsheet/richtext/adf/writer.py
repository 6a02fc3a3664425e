"""The document format, written from a tree."""

from __future__ import annotations

from collections.abc import Container
from itertools import compress, product
from typing import cast

from ..node_rules import NodeForm, Rules
from ..shared_keys import blank_keys, share_keys
from ..tree import Attrs, Mark, Node, Verbatim
from .document_forms import SPELLING, DocumentMark, DocumentNode, form_of, numbered_attributes


def _shape(*names: str, type: str = "") -> DocumentNode:
    """What nodes with these keys are copies of."""
    found = blank_keys("type", *names).copy()
    found["type"] = type
    return cast("DocumentNode", found)


PLAIN, MARKED = _shape("text", type="text"), _shape("text", "marks", type="text")
SHAPES = {  # (attributes, content, marks) → a node that has these
    key: _shape(*compress(("attrs", "content", "marks"), key)) for key in product((False, True), repeat=3)
}


class DocumentWriter:
    """Writes trees that `fit` has made valid; ids that the format demands are counted, without those `taken`.

    With `consume` a node's children are let go as they are written, so that tree and document are never there at once.
    """

    def __init__(self, rules: Rules, *, consume: bool = False, taken: Container[str] = ()) -> None:
        self.rules = rules
        self.taken = taken
        self.consume = consume
        self.counts: dict[str, int] = {}

    def write_document(self, root: Node) -> DocumentNode:
        return {"version": 1, "type": "doc", "content": self._children(root)}

    def write_node(self, node: Node) -> DocumentNode:
        if isinstance(node, Verbatim):
            return cast("DocumentNode", node.source)
        if node.kind == "text":
            result = (MARKED if node.marks else PLAIN).copy()
            result["text"] = node.text
        else:
            result = self._branch(node)
        if node.marks:
            result["marks"] = [self.write_mark(mark) for mark in node.marks]
        return spelt_text(result, node, self.rules.forms[node.kind][0]) if SPELLING in node.attrs else result

    def _branch(self, node: Node) -> DocumentNode:
        """What is no text; its marks are still to come."""
        form, attrs = self.form_of(node)
        if node.kept and not node.attrs.keys() - {SPELLING} and form.table.get("bare"):
            attrs = {}
        said = bool(attrs) or bool(form.has_attrs and form.table.get("attrs_needed"))
        holds = bool(node.content or form.table.get("holds"))
        result = SHAPES[said, holds, bool(node.marks)].copy()
        result["type"] = form.type
        if said:
            result["attrs"] = share_keys(numbered_attributes(node.kind, attrs, self.counts, self.taken))
        if holds:
            result["content"] = self._children(node)
        return result

    def _children(self, node: Node) -> list[DocumentNode]:
        children = node.content
        if not self.consume:
            return [self.write_node(child) for child in children]
        node.content = []
        if len(children) == 1:
            return [self.write_node(children.pop())]  # a list that grows would take half as much again
        children.reverse()
        written: list[DocumentNode] = []
        while children:
            written.append(self.write_node(children.pop()))
        return written.copy()  # which has no room to grow

    def write_mark(self, mark: Mark) -> DocumentMark:
        form, attrs = form_of(self.rules, mark.kind, mark.attrs) or (self.rules.forms[mark.kind][0], {})
        result = cast("DocumentMark", SHAPES[bool(attrs), False, False].copy())
        result["type"] = form.type
        if attrs:
            result["attrs"] = share_keys(attrs)
        return result

    def form_of(self, node: Node) -> tuple[NodeForm, Attrs]:
        return form_of(self.rules, node.kind, node.attrs) or (self.rules.forms[node.kind][0], {})


def spelt_text(result: DocumentNode, node: Node, form: NodeForm) -> DocumentNode:
    """The node with its own way to say nothing."""
    said = node.attrs.get(SPELLING)
    for name in said if isinstance(said, list) else ():
        if name == "attrs" and form.fields:
            result.setdefault("attrs", {})
        elif name == "marks" and form.marks:
            result.setdefault("marks", [])
        elif name == "content" and not result.get("content") and not form.table.get("hollow"):
            result.pop("content", None)
    return result
