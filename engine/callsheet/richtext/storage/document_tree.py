"""A tree of storage XHTML as documents have it: macros that no node is for become extensions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..adf.document_forms import SPELLING
from ..attribute_fields import as_number
from ..node_rules import Rules
from ..plain_text import name_of_node
from ..tree import Attrs, Losses, Mark, Node, walk_nodes
from .extension_sizes import layout_of_widths, set_column_widths
from .framed_nodes import FRAMED
from .storage_forms import BESIDE, StorageForm, style_of
from .writer import StorageWriter
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
        self.frame = rules.macro_frame
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
        self.losses.note(f"{name_of_node(node)} became text")
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
                    self.losses.note(f"{element.attrs.get(name)}: what its parameter refers to cannot be said")
        if body := element.child(self.frame["plain"]):
            params[self.table["body"]] = {self.table["value"]: body.text()}
        value, said = self.table["value"], self.table["about"]
        about = {key: {value: element.attrs[attr]} for attr, key in said.items() if attr in element.attrs}
        own: Attrs = {self.table["params"]: params} | ({self.table["meta"]: about} if about else {})
        key = element.attrs.get(name, "")
        return {"extensionType": self.table["type"], "extensionKey": key, "parameters": own}


TOGETHER = frozenset({"attributes", "title", BESIDE, FRAMED, SPELLING})
ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def for_documents(root: Node, rules: Rules, losses: Losses) -> Node:
    """The tree of a storage body with styles as marks, sizes on the parts they are of, and macros as extensions."""
    styles, frames = rules.block_styles, rules.attributes_for_child
    for node in walk_nodes(root):
        if node.kind in frames:
            node.attrs = {**_said_inside(node, frames[node.kind]), **node.attrs}
        elif frames:
            node.content = [_framed(child, rules, frames) for child in node.content]
        _count(node, rules)
        url = str(node.attrs.get("url", ""))
        if node.kind == "image" and not ADDRESS.match(url):
            losses.note(f"the image {url!r} is attached: a document names its media file, which is not known here")
        _tell(node, rules, losses)
        attributes = node.attrs.get("attributes")
        if isinstance(attributes, dict):
            node.marks = (*node.marks, *_styled(attributes.get("style"), node.kind, rules, styles))
            layout_of_widths(node, rules)
        for form in rules.definition_of(node.kind).get("storage", ()):
            if "columns" in form:
                set_column_widths(node, form["columns"])
    extension = rules.definition_of("macro").get("extension")
    return Extensions(extension, rules, losses).within(root) if extension else root


def _tell(node: Node, rules: Rules, losses: Losses) -> None:
    """Notes what a document has no attribute for. What several attributes say together is seen in its place."""
    forms = rules.forms.get(node.kind, ())
    known = {name for form in forms for field in form.fields for name in (field.name, field.outer)}
    for name in node.attrs if forms else ():
        if name not in known and name not in TOGETHER and not any(form.address for form in forms):
            losses.note(f"{name_of_node(node)}: {name} cannot be said in a document")


def _count(node: Node, rules: Rules) -> None:
    """Texts that are numbers in the document format as numbers."""
    for form in rules.forms.get(node.kind, ()):
        for field in form.fields:
            value = node.attrs.get(field.name)
            if isinstance(value, str) and float in field.types and (number := as_number(value)) is not None:
                node.attrs[field.name] = number


def _said_inside(frame: Node, onto: dict[str, str]) -> Attrs:
    """What the nodes in a frame say of it."""
    found: Attrs = {}
    for node in frame.content:
        attributes = node.attrs.get("attributes")
        if isinstance(attributes, dict):
            found |= {name: attributes[outer] for name, outer in onto.items() if outer in attributes}
    return found


def _framed(node: Node, rules: Rules, frames: dict[str, dict[str, str]]) -> Node:
    """A node in the kind that has what its own attributes say, such as an image in a figure."""
    for kind, onto in frames.items():
        said = _said_inside(Node(kind, content=[node]), onto)
        if said and kind in rules.definition_of(node.kind).get("unfit", ()):
            return Node(kind, said, [node])
    return node


def _styled(style: Any, kind: str, rules: Rules, styles: dict[str, shape.Styled]) -> list[Mark]:
    """The marks of a block that its style says."""
    if not isinstance(style, str) or kind not in rules.forms:
        return []
    found = style_of(Element("", {"style": style}))
    may = rules.forms[kind][0].marks
    return [
        Mark(mark, {said["as"]: said["values"][found[said["property"]]]})
        for mark, said in styles.items()
        if mark in may and found.get(said["property"]) in said["values"]
    ]
