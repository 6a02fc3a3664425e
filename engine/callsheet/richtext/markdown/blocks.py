"""Markdown read into the neutral tree: block structure."""

from __future__ import annotations

import re
from typing import Any

from markdown_it.common.utils import unescapeAll
from markdown_it.token import Token

from ..rules import Rules
from ..tree import Losses, Node, text
from .html import Assembler
from .inline import InlineReader
from .parser import Parser
from .patterns import Patterns

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
}
ALERT = re.compile(r"\[!([A-Za-z]+)\][ \t]*(?:\n|$)")


def read(source: str, rules: Rules, losses: Losses, *, soft_break: str = "space", cards: bool = False) -> Node:
    return BlockReader(rules, losses, soft_break=soft_break, cards=cards).read(source.replace("\0", "\ufffd"))


class BlockReader:
    def __init__(self, rules: Rules, losses: Losses, *, soft_break: str = "space", cards: bool = False) -> None:
        self.rules = rules
        self.losses = losses
        self.parser = Parser()
        self.inline = InlineReader(self.parser, rules, Patterns(rules, cards=cards), soft_break=soft_break)
        self.assembler = Assembler(rules, losses, self.inner)
        self.alerts = {
            name: (kind, attrs) for kind, named in rules.with_key("alerts").items() for name, attrs in named.items()
        }
        markers = rules.with_key("markers")
        self.markers = {sign: (kind, attrs) for kind, signs in markers.items() for sign, attrs in signs.items()}
        self._marker = re.compile(f"(?:{'|'.join(map(re.escape, self.markers)) or '(?!)'})(?=\\s|$)", re.IGNORECASE)
        self.lists = {items: kind for kind, items in rules.with_key("items").items()}
        self._nested = 0

    def read(self, source: str) -> Node:
        return self._tree(self.parser.blocks(source))

    def inner(self, source: str) -> list[Node]:
        """Blocks of Markdown that stands between HTML tags."""
        if self._nested >= 10 or not source.strip():
            return self.assembler.literal(source)
        self._nested += 1
        try:
            return self._tree(self.parser.blocks(source)).content
        finally:
            self._nested -= 1

    def _tree(self, tokens: list[Token]) -> Node:
        root = Node("doc")
        stack = [root]
        for token in tokens:
            if token.type in OPEN:
                stack.append(Node(OPEN[token.type], self._attrs(token)))
            elif token.type == "inline":
                stack[-1].content.extend(self._inline(token, stack))
            elif token.nesting == -1 and token.type.replace("_close", "_open") in OPEN:
                stack[-2].content.extend(self._closed(stack.pop(), stack[-1]))
            elif token.nesting == 0:
                stack[-1].content.append(self._leaf(token))
        root.content = self.assembler.assemble(root.content)
        return root

    def _attrs(self, token: Token) -> dict[str, Any]:
        if token.type == "heading_open":
            return {"level": int(token.tag[1])}
        start = token.attrGet("start") if token.type == "ordered_list_open" else None
        return {} if start is None else {"start": int(start)}

    def _leaf(self, token: Token) -> Node:
        if token.type in ("fence", "code_block"):
            words = unescapeAll(token.info).split(maxsplit=1)
            code = token.content.removesuffix("\n")
            return Node("code", {"language": words[0]} if words else {}, [text(code)] if code else [])
        return Node("rule") if token.type == "hr" else Node("html", text=token.content)

    def _inline(self, token: Token, stack: list[Node]) -> list[Node]:
        if token.meta:
            return [text(token.content)]
        content = token.content
        if stack[-1].kind == "paragraph" and len(stack) > 1:
            content = self._without_marker(content, stack[-2])
        return self.inline.read(content)

    def _without_marker(self, content: str, parent: Node) -> str:
        """The paragraph without the sign at its start that says what its item or quote is; the parent remembers it."""
        if parent.content or parent.kind not in ("item", "quote"):
            return content
        match = (self._marker if parent.kind == "item" else ALERT).match(content)
        if match is None:
            return content
        found = match[0] if parent.kind == "item" else match[1].upper()
        if found.lower() in self.markers or found in self.alerts:
            parent.text = found.lower() if parent.kind == "item" else found
            return content[match.end() :].lstrip()
        return content

    def _closed(self, node: Node, parent: Node) -> list[Node]:
        if node.kind == "paragraph":
            return self._paragraph(node, parent)
        if node.kind in ("header", "cell"):
            node.content = [Node("paragraph", content=node.content)]
        elif node.kind not in ("heading", "row", "table"):
            node.content = self.assembler.assemble(node.content)
        if node.kind == "quote" and node.text:
            kind, attrs = self.alerts[node.text]
            return [Node(kind, dict(attrs), node.content)]
        if node.kind in ("bullets", "numbers"):
            return self._list(node)
        return [node]

    def _paragraph(self, node: Node, parent: Node) -> list[Node]:
        """A paragraph of nothing but line breaks has one less than is written: `<br>` alone is an empty one."""
        if node.content and all(part.kind == "break" for part in node.content):
            node.content = node.content[1:]
            return [node]
        if len(node.content) == 1 and node.content[0].kind == "card":
            return [Node("blockcard", node.content[0].attrs)]
        return [node] if node.content or parent.kind == "item" else []

    def _list(self, node: Node) -> list[Node]:
        kinds = {self.markers[item.text][0] if item.text else "" for item in node.content}
        kind = kinds.pop() if len(kinds) == 1 else ""
        special = self.lists.get(kind, "")
        if special and node.kind == "bullets" and all(self._simple(item, special) for item in node.content):
            return [Node(special, {}, [part for item in node.content for part in self._parts(item, kind)])]
        for item in node.content:
            if item.text:
                self._signed(item)
        return [node]

    def _simple(self, item: Node, special: str) -> bool:
        """Whether all of an item is one paragraph and further lists of its kind."""
        rest = item.content[1:]
        return (
            item.content[:1] != []
            and item.content[0].kind == "paragraph"
            and all(part.kind == special for part in rest)
        )

    def _parts(self, item: Node, kind: str) -> list[Node]:
        return [Node(kind, dict(self.markers[item.text][1]), item.content[0].content), *item.content[1:]]

    def _signed(self, item: Node) -> None:
        """Puts the sign of a special item back into an ordinary one, as a character of its own where there is one."""
        kind, attrs = self.markers[item.text]
        signs = self.rules.get(kind, "bullets", {})
        sign = next((sign for sign, said in signs.items() if said == attrs), item.text)
        first = item.content[0]
        first.content = [text(f"{sign} "), *first.content] if first.content else [text(sign)]
        item.text = ""
