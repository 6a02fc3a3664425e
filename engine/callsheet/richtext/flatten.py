"""What is left of a node that may stand nowhere near: the ways that `unfit` and `row` of a definition name."""

from __future__ import annotations

from collections.abc import Callable

from .plain_text import says
from .rules import Rules
from .tree import Mark, Node, bold, text, trimmed, walk


def content(node: Node, rules: Rules) -> list[Node]:
    return node.content or plain(node, rules)


def plain(node: Node, rules: Rules) -> list[Node]:
    words = says(node, rules) or " ".join(
        filter(None, (says(child, rules) for child in walk(node) if not child.content))
    )
    return [text(words, tuple(mark for mark in node.marks if mark.kind == "link"))] if words else []


def strong(node: Node, _rules: Rules) -> list[Node]:
    return [Node("paragraph", content=bold(node.content))]


def titled(node: Node, _rules: Rules) -> list[Node]:
    title = node.attrs.get("title")
    return [*([Node("paragraph", content=bold([text(title)]))] if title else []), *node.content]


def rows(node: Node, _rules: Rules) -> list[Node]:
    """Every row of a table as a paragraph, cells set apart by bars."""
    result = []
    for row in node.content:
        line: list[Node] = []
        for cell in row.content:
            line += [text(" | ")] if line else []
            for found in walk(cell):
                line += (
                    [found]
                    if not found.content
                    and found.kind in ("text", "break", "mention", "emoji", "date", "status", "card", "image")
                    else []
                )
        result.append(Node("paragraph", content=trimmed(line)))
    return result


def link(node: Node, rules: Rules) -> list[Node]:
    """Images as linked text, but none that only decorate; the rest of the node as it is."""
    result: list[Node] = []
    for found in walk(node):
        if found.kind == "image" and found.attrs.get("alt") != "":
            url = found.attrs.get("url", "")
            linked = any(mark.kind == "link" for mark in found.marks)
            marks = found.marks if linked or not url else (*found.marks, Mark("link", {"href": url}))
            result.append(text(says(found, rules) or url, tuple(m for m in marks if m.kind != "border")))
        elif found.kind == "text":
            result += [text(" "), found] if result else [found]
    return result


FLATTEN: dict[str, Callable[[Node, Rules], list[Node]]] = {
    "content": content,
    "text": plain,
    "strong": strong,
    "titled": titled,
    "rows": rows,
    "link": link,
}
