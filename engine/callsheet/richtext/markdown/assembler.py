"""Blocks of Markdown put together with the HTML that stands among them and in their lines."""

from __future__ import annotations

from collections.abc import Callable

from ..node_rules import Rules
from ..tree import Node, text_node
from .details import with_details
from .html import HtmlBuilder
from .tags import Tags


class Assembler:
    """Puts the blocks of one container together; `inner` reads Markdown that stands right beside tags."""

    def __init__(self, rules: Rules, tags: Tags, inner: Callable[[str], list[Node]]) -> None:
        self.rules = rules
        self.tags = tags
        self.inner = inner

    def assemble(self, nodes: list[Node]) -> list[Node]:
        """The nodes with every HTML block read."""
        if not any(node.kind == "html" for node in nodes):
            return nodes
        builder = HtmlBuilder(self.rules, self.tags, self.inner)
        for node in nodes:
            builder.take(node)
        return with_details(builder.ended())

    def of_line(self, content: list[Node]) -> list[Node]:
        """The blocks that a line is, which has tags of blocks in it."""
        builder = HtmlBuilder(self.rules, self.tags, self.inner)
        for node in content:
            builder.take_inline(node)
        return with_details(builder.ended())

    def literal(self, source: str) -> list[Node]:
        words = " ".join(source.split())
        return [Node("paragraph", content=[text_node(words)])] if words else []
