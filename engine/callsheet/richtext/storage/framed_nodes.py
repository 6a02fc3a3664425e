"""Nodes of the document format that storage XHTML has no element for: they stand in it as they are, in a frame.

    <ac:adf-extension><ac:adf-node type="decision-list">
      <ac:adf-attribute key="local-id">1</ac:adf-attribute>
      <ac:adf-node type="decision-item"><ac:adf-content>words</ac:adf-content></ac:adf-node>
    </ac:adf-node></ac:adf-extension>

Names of types, attributes and parameters are written with hyphens. Values are texts; a parameter says what else it is,
and may hold further ones or a list of values.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from ..adf.document_forms import form_of, numbered_attributes
from ..adf.reader import DocumentReader
from ..attribute_fields import AttrField, as_number
from ..node_rules import NodeForm, Rules
from ..tree import Attrs, Losses, Node
from .storage_forms import BESIDE, kept_form
from .xml import Element, escape_xml, write_element, xml_tag

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


FRAMED = "framed"  # what a node is that could have an element of its own
HUMP = re.compile(r"(?<!^)([A-Z])")
HYPHEN = re.compile(r"(?<=[^-])-([a-z])")


class DocumentNodes:
    """The definition of macros names the elements."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.frame: shape.DocumentFrame = rules.definition_of("macro").get("document") or cast(
            "shape.DocumentFrame", {}
        )
        self.kinds = frozenset(self.frame.get("kinds", ()))
        self._reader = DocumentReader(rules, Losses())
        self._counts: dict[str, int] = {}

    # --- reading ---

    def read_framed(self, element: Element, blocks: Callable[[Element, str], list[Node]]) -> list[Node] | None:
        """The node in a frame; None where it is not known. `blocks` reads what it holds.

        Where it has an element of its own, too, it is `framed`. What stands beside it, for older programs, is kept.
        """
        if not self.frame or element.name != self.frame["element"]:
            return None
        nodes = [child for child in element.elements() if child.name == self.frame["node"]]
        found = self._read(nodes[0], blocks) if len(nodes) == 1 else None
        if found is None:
            return None
        more: Attrs = {} if found.kind in self.kinds else {FRAMED: True}
        if others := "".join(write_element(child) for child in element.elements() if child is not nodes[0]):
            more[BESIDE] = others
        found.attrs |= more
        return [found]

    def _read(self, element: Element, blocks: Callable[[Element, str], list[Node]]) -> Node | None:
        said = {"type": camel_case(element.attrs.get("type", "")), "attrs": {}}
        form = self._reader.form_of_object(said, mark=False)
        if form is None:
            return None
        given = self._attrs(element, form)
        form = self._reader.form_of_object({**said, "attrs": given}, mark=False) or form
        content: list[Node] = []
        for child in element.elements():
            if child.name == self.frame["content"]:
                content += blocks(child, form.kind)
            elif child.name == self.frame["node"]:
                inner = self._read(child, blocks)
                if inner is None:
                    return None
                content.append(inner)
        return Node(form.kind, self._reader.read_attributes(form, given), content)

    def _attrs(self, element: Element, form: NodeForm) -> Attrs:
        found: Attrs = {}
        for child in element.elements():
            if child.name == self.frame["attribute"]:
                name = camel_case(child.attrs.get("key", ""))
                value = typed_value(child.text(), form.known.get(name)) if not child.elements() else self._value(child)
                found |= {} if value is None else {name: value}
        return found

    def _value(self, element: Element) -> Any:
        inner = [child for child in element.elements() if child.name == self.frame["parameter"]]
        if inner:
            return {camel_case(child.attrs.get("key", "")): self._value(child) for child in inner}
        values = [child for child in element.elements() if child.name == self.frame["value"]]
        if values:
            return [self._value(child) for child in values]
        words, kind = element.text(), element.attrs.get("type", "")
        if kind == "boolean":
            return words == "true"
        number = as_number(words) if kind in ("integer", "number") else None
        return words if number is None else number

    # --- writing ---

    def write_framed(self, node: Node, content: Callable[[Node], str]) -> str | None:
        """The node in its frame; None for one that does not go into one."""
        if not self.is_framed(node) or (inner := self._node(node, content)) is None:
            return None
        return xml_tag(self.frame["element"], {}, inner + kept_form(node.attrs, BESIDE))

    def is_framed(self, node: Node) -> bool:
        """Whether a node goes into a frame."""
        return node.kind in self.kinds or (bool(self.frame) and node.attrs.get(FRAMED) is True)

    def _node(self, node: Node, content: Callable[[Node], str]) -> str | None:
        found = form_of(self.rules, node.kind, node.attrs)
        if found is None:
            return None
        form, attrs = found[0], numbered_attributes(node.kind, found[1], self._counts)
        inner = "".join(
            xml_tag(self.frame["attribute"], {"key": hyphenated(name)}, self._said(value))
            for name, value in attrs.items()
        )
        if node.content and node.content[0].kind in self.kinds:
            inner += "".join(self._node(child, content) or "" for child in node.content)
        elif node.content:
            inner += xml_tag(self.frame["content"], {}, content(node))
        return xml_tag(self.frame["node"], {"type": hyphenated(form.type)}, inner)

    def _said(self, value: Any) -> str:
        if isinstance(value, dict):
            return "".join(
                xml_tag(self.frame["parameter"], {"key": hyphenated(str(name)), **kind_of(inner)}, self._said(inner))
                for name, inner in value.items()
                if inner is not None
            )
        if isinstance(value, list):
            return "".join(xml_tag(self.frame["value"], kind_of(inner), self._said(inner)) for inner in value)
        return escape_xml(str(value).lower() if isinstance(value, bool) else str(value))


def kind_of(value: Any) -> dict[str, str]:
    """What a parameter says of a value that is no text."""
    if isinstance(value, bool):
        return {"type": "boolean"}
    return {"type": "integer" if isinstance(value, int) else "number"} if isinstance(value, int | float) else {}


def typed_value(words: str, field: AttrField | None) -> Any:
    """A text as the attribute takes it."""
    if field is None or str in field.types or object in field.types:
        return words
    if bool in field.types:
        return words == "true"
    return as_number(words)


def camel_case(name: str) -> str:
    """`localId` of `local-id`."""
    return HYPHEN.sub(lambda match: match[1].upper(), name)


def hyphenated(name: str) -> str:
    return HUMP.sub(lambda match: f"-{match[1].lower()}", name)
