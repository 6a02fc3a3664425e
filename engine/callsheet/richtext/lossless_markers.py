"""What Markdown cannot say, carried in HTML comments and attributes, and restored.

    <!-- callsheet {...} -->   before a block: what the block has besides what Markdown says of it
    <!-- callsheet {...} --> blocks <!-- /callsheet -->   a container that Markdown has no construct for
    <span data-callsheet="{...}">words</span>   marks of the words, or one inline node in their place

JSON here never holds `<`, `>`, `&` or two hyphens, so it can end neither a comment nor an attribute.
"""

from __future__ import annotations

import html
import json
import re
from typing import Any

from .rules import Rules
from .tree import Mark, Node

WORD = "callsheet"
COMMENT = re.compile(rf"<!-- {WORD} (\{{[^\n]*\}}) -->\s*")
END = f"<!-- /{WORD} -->"
SPAN = re.compile(rf'<span data-{WORD}="([^"]*)">')


def packed(value: Any) -> str:
    words = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&":
        words = words.replace(sign, f"\\u{ord(sign):04x}")
    return words.replace("--", "-\\u002d").replace("\u2028", "\\u2028").replace("\x85", "\\u0085")


def comment(value: Any) -> str:
    return f"<!-- {WORD} {packed(value)} -->"


def span(value: Any, words: str) -> str:
    # Backslashes and entities of an attribute are the reader's own affair: only its quotes are encoded.
    return f'<span data-{WORD}="{packed(value).replace(chr(34), "&quot;")}">{words}</span>'


def unpacked(words: str) -> dict[str, Any] | None:
    try:
        value = json.loads(words)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def from_comment(words: str) -> dict[str, Any] | None:
    match = COMMENT.fullmatch(words)
    return unpacked(match[1]) if match else None


def from_span(tag: str) -> dict[str, Any] | None:
    match = SPAN.fullmatch(tag)
    return unpacked(html.unescape(match[1])) if match else None


def flat(node: Node) -> dict[str, Any]:
    """A node as JSON, without what it has not."""
    result: dict[str, Any] = {"kind": node.kind}
    if node.attrs:
        result["attrs"] = node.attrs
    if node.text:
        result["text"] = node.text
    if node.marks:
        result["marks"] = [list(mark) for mark in node.marks]
    if node.content:
        result["content"] = [flat(child) for child in node.content]
    return result


def restored(value: Any, rules: Rules, depth: int = 0) -> Node | None:
    """The node of such JSON; None when it is none, or names a kind that no definition has."""
    if rules.literal or not isinstance(value, dict) or value.get("kind") not in rules.nodes or depth > 2 * 100:
        return None
    attrs = value.get("attrs")
    content = value.get("content")
    children = [restored(child, rules, depth + 1) for child in (content if isinstance(content, list) else ())]
    return Node(
        value["kind"],
        attrs if isinstance(attrs, dict) else {},
        [child for child in children if child],
        value["text"] if isinstance(value.get("text"), str) else "",
        marks(value.get("marks"), rules),
        kept=True,
    )


def marks(value: Any, rules: Rules) -> tuple[Mark, ...]:
    found = value if isinstance(value, list) and not rules.literal else ()
    return tuple(
        Mark(mark[0], mark[1])
        for mark in found
        if isinstance(mark, list) and len(mark) == 2 and isinstance(mark[1], dict) and mark[0] in rules.marks
    )
