"""What lossless Markdown carries in a comment before a block, put onto the block."""

from __future__ import annotations

from ..tree import Node


def with_details(nodes: list[Node]) -> list[Node]:
    """Carried details put onto the block that follows them."""
    result: list[Node] = []
    details: Node | None = None
    for node in nodes:
        if node.kind == "doc" and node.kept:
            details = node
        elif details is not None:
            result.append(_detailed(node, details))
            details = None
        else:
            result.append(node)
    return result


def _detailed(node: Node, details: Node) -> Node:
    marks = details.marks or node.marks
    return Node(node.kind, node.attrs | details.attrs, node.content, node.text, marks, kept=True)
