"""Macros as extensions of a document, with their parameters and what they hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..node_rules import Rules
from ..plain_text import name_of_node
from ..tree import Attrs, Losses, Node
from .forms import StorageForm
from .write import StorageWriter
from .xml import Element, parse_fragment

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


class Extensions:
    """Puts extensions in the place of macros that the document format has no node for."""

    def __init__(self, table: shape.ExtensionForm, rules: Rules, losses: Losses) -> None:
        self.rules = rules
        self.losses = losses
        self.table = table
        self.writer = StorageWriter(rules, losses)
        self.frame = rules.frame
        unsaid = [kind for kind in self.writer.forms.by_kind if kind not in rules.forms]
        self.macros = frozenset(["macro", *(kind for kind in unsaid if self._macro(kind))])

    def _macro(self, kind: str) -> bool:
        forms: list[StorageForm] = self.writer.forms.by_kind[kind]
        return all(form.macro for form in forms)

    def within(self, node: Node) -> Node:
        holds = "text" in self.rules.holds.get(node.kind, ())
        node.content = [part for child in node.content for part in self._parts(self.within(child), inline=holds)]
        return node

    def _parts(self, node: Node, *, inline: bool) -> list[Node]:
        if node.kind not in self.macros:
            return [node]
        element = next(iter(parse_fragment(self.writer.block(node)).elements()), None)
        if element is not None and element.name == self.frame["element"]:
            return [self._extension(node, element, inline=inline)]
        if not inline:
            return [node]
        self.losses.add(f"{name_of_node(node)} became text")
        return [words for block in node.content for words in block.content]

    def _extension(self, node: Node, element: Element, *, inline: bool) -> Node:
        rich = element.child(self.frame["rich"])
        kind = self.table["bodied" if rich else "inline" if inline else "block"]
        return Node(kind, self._attrs(element), node.content if kind == self.table["bodied"] else [], "", node.marks)

    def _attrs(self, element: Element) -> Attrs:
        name, parameter = self.frame["name"], self.frame["parameter"]
        params: Attrs = {}
        for child in element.elements():
            if child.name == parameter:
                params[child.attrs.get(name, "")] = {self.table["value"]: child.text()}
                if child.elements():
                    self.losses.add(f"{element.attrs.get(name)}: what its parameter refers to cannot be said")
        if body := element.child(self.frame["plain"]):
            params[self.table["body"]] = {self.table["value"]: body.text()}
        value, said = self.table["value"], self.table["about"]
        about = {key: {value: element.attrs[attr]} for attr, key in said.items() if attr in element.attrs}
        own: Attrs = {self.table["params"]: params} | ({self.table["meta"]: about} if about else {})
        key = element.attrs.get(name, "")
        return {"extensionType": self.table["type"], "extensionKey": key, "parameters": own}
