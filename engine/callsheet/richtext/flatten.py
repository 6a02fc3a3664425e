"""What is left of a node that may stand nowhere near: the ways that `unfit` and `row` of a definition name."""

from __future__ import annotations

from collections.abc import Callable

from .node_rules import Rules
from .plain_text import visible_text
from .tree import Mark, Node, bold_nodes, text_node, trim_inline, walk_nodes


def content(node: Node, rules: Rules) -> list[Node]:
    return node.content or plain_inline(node, rules)


def plain_inline(node: Node, rules: Rules) -> list[Node]:
    words = visible_text(node, rules) or " ".join(
        filter(None, (visible_text(child, rules) for child in walk_nodes(node) if not child.content))
    )
    return [text_node(words, tuple(mark for mark in node.marks if mark.kind == "link"))] if words else []


def strong(node: Node, _rules: Rules) -> list[Node]:
    return [Node("paragraph", content=bold_nodes(node.content))]


def titled(node: Node, _rules: Rules) -> list[Node]:
    title = node.attrs.get("title")
    return [*([Node("paragraph", content=bold_nodes([text_node(title)]))] if title else []), *node.content]


def rows(node: Node, _rules: Rules) -> list[Node]:
    """Every row of a table as a paragraph, cells set apart by bars."""
    result = []
    for row in node.content:
        line: list[Node] = []
        for cell in row.content:
            line += [text_node(" | ")] if line else []
            for found in walk_nodes(cell):
                line += (
                    [found]
                    if not found.content
                    and found.kind in ("text", "break", "mention", "emoji", "date", "status", "card", "image")
                    else []
                )
        result.append(Node("paragraph", content=trim_inline(line)))
    return result


def link(node: Node, rules: Rules) -> list[Node]:
    """Images as linked text, by their file where they have no words, but none that only decorate; the rest as it is."""
    result: list[Node] = []
    for found in walk_nodes(node):
        if found.kind == "image" and found.attrs.get("alt") != "":
            url = found.attrs.get("url", "")
            linked = any(mark.kind == "link" for mark in found.marks)
            marks = found.marks if linked or not url else (*found.marks, Mark("link", {"href": url}))
            words = visible_text(found, rules) or url.rpartition("/")[2] or url
            result.append(text_node(words, tuple(m for m in marks if m.kind != "border")))
        elif found.kind == "text":
            result += [text_node(" "), found] if result else [found]
    return result


FLATTEN: dict[str, Callable[[Node, Rules], list[Node]]] = {
    "content": content,
    "text": plain_inline,
    "strong": strong,
    "titled": titled,
    "rows": rows,
    "link": link,
}
