"""The parser's tokens as a rough tree: containers and leaves, inline content not read yet."""

from __future__ import annotations

import re

from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from ..shared_keys import share_keys
from ..tree import NO_ATTRS, Attrs, Node, text_node
from .parser import Parser

OPEN = {
    "paragraph_open": "paragraph",
    "blockquote_open": "quote",
    "bullet_list_open": "bullets",
    "ordered_list_open": "numbers",
    "list_item_open": "item",
    "table_open": "table",
    "tr_open": "row",
    "th_open": "header",
    "td_open": "cell",
    "heading_open": "heading",
    "dl_open": "dl",
    "dt_open": "dt",
    "dd_open": "dd",
    "box_open": "box",
    "container_container_open": "container",
    "footnote_reference_open": "note",
    "tab_open": "tab",
}
DESCRIBED = frozenset(
    {
        "heading_open",
        "ordered_list_open",
        "box_open",
        "container_container_open",
        "footnote_reference_open",
        "tab_open",
        "th_open",
        "td_open",
    }
)
CLOSE = frozenset(name.replace("_open", "_close") for name in OPEN)


def grow(root: Node, source: str, parser: Parser) -> None:
    """Puts the blocks of a text below `root`; what is inline is still Markdown, in the `text` of its block."""
    stack = [root]

    def take(token: Token) -> None:
        kind = token.type
        if kind == "inline":
            if token.meta:
                stack[-1].content.append(text_node(token.content))
            else:
                stack[-1].text = token.content
        elif token.nesting == 1:
            if kind in OPEN:
                node = Node(OPEN[kind], _attrs(token) if kind in DESCRIBED else NO_ATTRS)
                stack[-1].content.append(node)
                stack.append(node)
        elif token.nesting == 0:
            stack[-1].content.append(_leaf(token))
        elif kind in CLOSE:
            stack.pop()

    parser.blocks(source, take)


def _attrs(token: Token) -> Attrs:
    kind = token.type
    if kind == "heading_open":
        return share_keys({"level": int(token.tag[1])})
    if kind in ("th_open", "td_open"):
        return {"style": token.attrs["style"]} if token.attrs else NO_ATTRS
    if kind == "ordered_list_open":
        start = token.attrs.get("start")
        return {} if start is None else {"start": int(start)}
    if kind == "box_open":
        return dict(token.meta)
    if kind == "tab_open":
        return {"title": token.info}
    if kind == "container_container_open":
        return {"info": token.info}
    return {"label": token.meta["label"]} if kind == "footnote_reference_open" else {}


def _leaf(token: Token) -> Node:
    kind = token.type
    if kind in ("fence", "code_block"):
        words = unescapeAll(token.info).split(maxsplit=1)
        code = token.content.removesuffix("\n")
        language = _language(words[0]) if words else ""
        return Node("code", {"language": language} if language else {}, [text_node(code)] if code else [])
    if kind == "math_block":
        code = token.content.strip("\n")
        return Node("code", {"language": "latex"}, [text_node(code)] if code.strip() else [])
    return Node("rule") if kind == "hr" else Node("html", text=token.content)


def _language(word: str) -> str:
    """The language of a fence: `js`, `{.js}`, `js{1,3}`, `js:title` and `js,ignore` all are js, `lines="3"` is none."""
    match = re.match(r"\{?\.?([^\s{},:=`~]+)(=?)", word)
    return match[1] if match and not match[2] else ""
