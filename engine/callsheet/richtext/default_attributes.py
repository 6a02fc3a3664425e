"""What the writer of a format adds where a node says nothing: default values, and numbers of nodes.

Lossless Markdown leaves out what will be added in the same way when it goes back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from .adf.document_forms import COUNT
from .attribute_fields import attribute_fields
from .node_rules import Rules
from .tree import Attrs, Node


class Default(NamedTuple):
    """The value of a neutral attribute, `{count}` in it for a number; `counter` is what is counted together."""

    name: str
    value: Any
    counter: str

    def at(self, counts: dict[str, int]) -> Any:
        if not self.counter:
            return self.value
        counts[self.counter] = counts.get(self.counter, 0) + 1
        return self.value.replace(COUNT, str(counts[self.counter]))


class Defaults:
    """Of one format, `adf` or `storage`; other formats have none. Blocks are asked for in the order of the document."""

    def __init__(self, rules: Rules, format_name: str) -> None:
        found = {"adf": _of_documents, "storage": _of_storage}.get(format_name)
        self._known: dict[str, list[Default]] = {}
        for kind, default in found(rules) if found else ():
            self._known.setdefault(kind, []).append(default)
        self._counts: dict[str, int] = {}

    def without_defaults(self, node: Node) -> Node:
        """A block without what would be added; the same block where it has nothing of that."""
        return self._without(node, dict(self._counts)) if self._known else node

    def _without(self, node: Node, counts: dict[str, int]) -> Node:
        attrs = node.attrs
        for default in self._known.get(node.kind, ()):
            tried = dict(counts)
            if attrs.get(default.name) == default.at(tried):
                attrs = {name: value for name, value in attrs.items() if name != default.name}
                counts.update(tried)
        content = [self._without(child, counts) for child in node.content]
        if attrs is node.attrs and all(new is old for new, old in zip(content, node.content, strict=True)):
            return node
        return Node(node.kind, attrs, content, node.text, node.marks, node.kept)

    def match_completed(self, nodes: list[Node], wanted: Node) -> bool:
        """Whether nodes that were read are the wanted block once it is added; the numbers go on where they are."""
        if not self._known or len(nodes) != 1:
            return False
        counts = dict(self._counts)
        if self._completed(nodes[0], counts) != wanted:
            return False
        self._counts = counts
        return True

    def _completed(self, node: Node, counts: dict[str, int]) -> Node:
        attrs = node.attrs
        for default in () if node.kept else self._known.get(node.kind, ()):
            if default.name not in attrs:
                attrs = {**attrs, default.name: default.at(counts)}
        content = [self._completed(child, counts) for child in node.content]
        return Node(node.kind, attrs, content, node.text, node.marks, node.kept)


def _of_documents(rules: Rules) -> Iterator[tuple[str, Default]]:
    for kind, forms in rules.forms.items():
        for field in forms[0].fields:
            if isinstance(field.default, str) and COUNT in field.default:
                yield kind, Default(field.name, field.default, kind)
            elif field.default is not None:
                yield from (
                    (kind, Default(name, value, ""))
                    for name, value in _neutral(field.neutral_attributes(field.default))
                )


def _neutral(attrs: Attrs) -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in attrs.items() if isinstance(value, str | int | float | bool))


def _of_storage(rules: Rules) -> Iterator[tuple[str, Default]]:
    for kind, form in rules.storage_forms():
        for field in attribute_fields(form.get("fields", {}), renamed=True):
            if field.rule.get("counted"):
                yield kind, Default(field.name, COUNT, "element")
    frame = rules.definition_of("macro").get("document")
    framed = frame["kinds"] if frame else ()
    yield from ((kind, default) for kind, default in _of_documents(rules) if kind in framed)
