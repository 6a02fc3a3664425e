"""What readable Markdown says of a document: the part of it that must read back."""

from __future__ import annotations

from typing import Any

from callsheet.richtext import fit_to_document as fit
from callsheet.richtext.adf.reader import read_adf
from callsheet.richtext.adf.writer import DocumentWriter
from callsheet.richtext.node_rules import Rules
from callsheet.richtext.tree import Losses, Node, text_node

from .richtext import nodes

LIFTED = {"layout", "column", "bodied", "syncbody", "syncblock"}
INLINE = {
    "text",
    "hardBreak",
    "mention",
    "emoji",
    "date",
    "status",
    "inlineCard",
    "placeholder",
    "inlineExtension",
    "mediaInline",
}


def readable(document: Any) -> Any:
    """The document without the containers, cards and captions that Markdown has no construct for."""
    rules = Rules(nodes())
    tree = read_adf(document, rules, Losses())
    return DocumentWriter(rules).write_document(fit.fit_to_rules(_plain(tree), rules, Losses()))


def _plain(node: Node) -> Node:
    return node.with_content([part for child in node.content for part in _part(_plain(child))])


def _part(node: Node) -> list[Node]:
    if node.kind in LIFTED:
        return node.content
    if node.kind == "gallery":
        return [Node("figure", content=[image]) for image in node.content]
    if node.kind == "blocktask":
        return [Node("task", node.attrs, [text_node("x")])]
    if node.kind in ("extension", "blockcard", "embed"):
        words = node.attrs.get("text" if node.kind == "extension" else "url")
        return [Node("paragraph", content=[text_node(words)])] if words else []
    if node.kind == "caption":
        return [node] if any(child.kind not in ("break", "card") for child in node.content) else []
    return [node]


def skeleton(node: Any) -> Any:
    """Types of blocks, nested."""
    inner = [found for child in node.get("content", ()) if (found := skeleton(child))]
    return None if node["type"] in INLINE else [node["type"], *inner]
