"""What Markdown cannot say, carried in HTML comments and attributes, and restored.

    <!-- callsheet {...} -->   before a block: what the block has besides what Markdown says of it
    <!-- callsheet {...} --> blocks <!-- /callsheet -->   a container that Markdown has no construct for
    <span data-callsheet="{...}">words</span>   marks of the words, or one inline node in their place

In the text of a document that is to be edited and given back, the document itself keeps what Markdown cannot say. What
has a place of its own in the text stands there under its name and a hash of its source:

    <!-- callsheet toc 3f2a9c1d / -->                  a block
    <!-- callsheet layout 77ab01c2 --> blocks <!-- /callsheet -->
    <span data-callsheet="status 9c1d3f2a"></span>       an inline node

A comment or attribute of ours that is none of these is damaged, which is an error and never text.

JSON here never holds `<`, `>`, `&` or two hyphens, so it can end neither a comment nor an attribute.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from collections.abc import Container
from typing import Any, Required, TypedDict

from ..errors import UsageError
from ..jsontext import JSONError, parse_json
from .node_rules import Rules
from .tree import MAX_DEPTH, Attrs, Mark, Node, walk_nodes

WORD = "callsheet"
COMMENT = re.compile(rf"<!-- {WORD} (\{{[^\n]*\}}) -->\s*")
LONGEST = 80  # characters of a damaged comment in its error
DEEPEST = 4 * MAX_DEPTH  # objects and lists in one of ours: two for each node, and what its attributes hold
END = f"<!-- /{WORD} -->"
SPAN = re.compile(rf'<span data-{WORD}="([^"]*)"\s*>')
OURS = re.compile(rf"<!--\s*/?\s*{WORD}\b|<span[^>]*\sdata-{WORD}\b")
LABEL = r"[^\s<>\"&{}](?:[^<>\"&{}\n]*[^\s<>\"&{}])? [0-9a-f]{8}"
REFERENCE = re.compile(rf"<!-- {WORD} ({LABEL})( /)? -->\s*")
NOT_IN_LABEL = re.compile(r"[<>\"&{}\s]+|-{2,}")


class Carried(TypedDict, total=False):
    """A node as JSON; `open` where what it holds follows as Markdown, up to the end."""

    kind: Required[str]
    attrs: Attrs
    text: str
    marks: list[list[Any]]
    content: list[Carried]
    open: int


class DamagedError(ValueError):
    """A comment or attribute of ours that says nothing; the argument is its words in the text."""


def damaged_marker_error(words: str, source: str) -> UsageError:
    """The error for a damaged comment, with its line."""
    line = source.count("\n", 0, max(source.find(words.partition("\n")[0]), 0)) + 1
    shown = words if len(words) <= LONGEST else words[:LONGEST] + "..."
    return UsageError(
        f"line {line}: {shown} is damaged or incomplete",
        hint="restore it, or remove it together with its other half",
    )


def marker_label(words: str, source: str) -> str:
    """The name under which a part of a document stands in its text."""
    clean = " ".join(NOT_IN_LABEL.sub(" ", words).split())[:60].strip(" -") or "part"
    return f"{clean} {hashlib.sha1(source.encode(errors='surrogatepass'), usedforsecurity=False).hexdigest()[:8]}"


def marker_reference(label: str, *, opens: bool = False) -> str:
    return f"<!-- {WORD} {label}{'' if opens else ' /'} -->"


def inline_reference(label: str) -> str:
    return f'<span data-{WORD}="{label}"></span>'


def from_reference(words: str) -> tuple[str, bool] | None:
    """The label in such a comment, and whether blocks and an end follow."""
    match = REFERENCE.fullmatch(words)
    return (match[1], not match[2]) if match else None


def from_inline_reference(tag: str) -> str | None:
    match = SPAN.fullmatch(tag)
    return match[1] if match and re.fullmatch(LABEL, match[1]) else None


def pack_marker(value: Any) -> str:
    words = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&":
        words = words.replace(sign, f"\\u{ord(sign):04x}")
    return words.replace("--", "-\\u002d").replace("\u2028", "\\u2028").replace("\x85", "\\u0085")


def marker_comment(value: Any) -> str:
    return f"<!-- {WORD} {pack_marker(value)} -->"


def marker_span(value: Any, words: str) -> str:
    # Backslashes and entities of an attribute are the reader's own affair: only its quotes are encoded.
    return f'<span data-{WORD}="{pack_marker(value).replace(chr(34), "&quot;")}">{words}</span>'


def unpack_marker(words: str) -> Attrs | None:
    try:
        value = parse_json(words, DEEPEST)
    except JSONError:
        return None
    return value if isinstance(value, dict) else None


def from_comment(words: str) -> Attrs | None:
    match = COMMENT.fullmatch(words)
    return unpack_marker(match[1]) if match else None


def from_span(tag: str) -> Attrs | None:
    match = SPAN.fullmatch(tag)
    return unpack_marker(html.unescape(match[1])) if match else None


def carried_node(node: Node) -> Carried:
    """A node as JSON, without what it has not."""
    result: Carried = {"kind": node.kind}
    if node.attrs:
        result["attrs"] = node.attrs
    if node.text:
        result["text"] = node.text
    if node.marks:
        result["marks"] = [list(mark) for mark in node.marks]
    if node.content:
        result["content"] = [carried_node(child) for child in node.content]
    return result


def restored_node(value: Any, rules: Rules, depth: int = 0) -> Node | None:
    """The node of such JSON; None when it is none, or names a kind that no definition has."""
    if rules.literal or not isinstance(value, dict) or value.get("kind") not in rules.nodes or depth > 2 * 100:
        return None
    attrs = value.get("attrs")
    content = value.get("content")
    children = [restored_node(child, rules, depth + 1) for child in (content if isinstance(content, list) else ())]
    return Node(
        value["kind"],
        attrs if isinstance(attrs, dict) else {},
        [child for child in children if child],
        value["text"] if isinstance(value.get("text"), str) else "",
        restored_marks(value.get("marks"), rules),
        kept=True,
    )


def marker_meaning(words: str, rules: Rules) -> tuple[Node, bool] | None:
    """The block that a comment carries or stands for, and whether what it holds and an end follow."""
    if found := from_reference(words):
        return Node("reference", {"label": found[0]}), found[1]
    value = from_comment(words) or {}
    node = restored_node(value, rules)
    return (node, bool(value.get("open"))) if node else None


def restored_marks(value: Any, rules: Rules) -> tuple[Mark, ...]:
    found = value if isinstance(value, list) and not rules.literal else ()
    return tuple(
        Mark(mark[0], mark[1])
        for mark in found
        if isinstance(mark, list) and len(mark) == 2 and isinstance(mark[1], dict) and mark[0] in rules.marks
    )


def refuse_references(source: str, content: list[Node], known: Container[str] = ()) -> None:
    """Raises UsageError with the line of the first name in a text that stands for no known part of a document."""
    there = content if WORD in source else ()
    for node in (found for one in there for found in walk_nodes(one) if found.kind in ("reference", "inlinereference")):
        name = node.attrs.get("label")
        if name not in known:
            words = (
                marker_reference(str(name), opens=bool(node.content))
                if node.kind == "reference"
                else inline_reference(str(name))
            )
            line = source.count("\n", 0, max(source.find(str(name)), 0)) + 1
            raise UsageError(
                f"line {line}: {words} stands for a part of the document that the text was taken from; "
                "there is none here",
                hint="it was removed meanwhile, its name was changed, or the text comes from another document",
            )
