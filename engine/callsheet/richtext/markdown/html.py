"""HTML blocks in Markdown: containers we know around Markdown, what lossless mode carries, and text."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import lossless_markers
from ..rules import Rules
from ..tree import Losses, Node, text
from .inline import tag_attributes

SUMMARY = re.compile(r"\s*<summary>(.*?)</summary>", re.DOTALL | re.IGNORECASE)
MOST = 20  # containers in one another
SPANS = ("colspan", "rowspan")


@dataclass(slots=True)
class Piece:
    """A part of the sequence: a node, a tag of a container, or text that stands beside tags."""

    what: str  # node, open, close, words
    block: int
    node: Node
    source: str = ""
    inside: list[Node] = field(default_factory=list)


class Assembler:
    def __init__(self, rules: Rules, losses: Losses, inner: Callable[[str], list[Node]]) -> None:
        self.rules = rules
        self.losses = losses
        self.inner = inner
        said = rules.with_key("html")
        self.tags = {
            tag: kind
            for kind, tag in reversed(said.items())
            if isinstance(tag, str) and rules.group(kind) in ("block", "part")
        }
        self.titled = frozenset(
            tag for tag, kind in self.tags.items() if rules.group(kind) == "block" and tag != "table"
        )
        self._tag = re.compile(rf"<(/?)({'|'.join(self.tags) or '(?!)'})((?:\s[^<>]*)?)>", re.IGNORECASE)

    def assemble(self, nodes: list[Node]) -> list[Node]:
        """The nodes with every HTML block read."""
        if not any(node.kind == "html" for node in nodes):
            return nodes
        pieces = [piece for index, node in enumerate(nodes) for piece in self._pieces(node, index)]
        raw: set[int] = set()
        for _attempt in range(4):
            wrong = self._unpaired(pieces, raw)
            if not wrong:
                return self._built(pieces, raw, nodes)
            raw |= wrong
        return self._built(pieces, {index for index, node in enumerate(nodes) if node.kind == "html"}, nodes)

    def _pieces(self, node: Node, index: int) -> list[Piece]:
        if node.kind != "html":
            return [Piece("node", index, node)]
        words = node.text.strip()
        value = lossless_markers.from_comment(words)
        if value is not None and (kept := lossless_markers.restored(value, self.rules)):
            return [Piece("node" if not value.get("open") else "open", index, kept, "carry")]
        if re.fullmatch(r"<br\s*/?>", words, re.IGNORECASE):
            return [Piece("node", index, Node("paragraph"))]
        if re.fullmatch(r"<!--\s*-->", words):
            return []  # what sets two lists apart
        if words == lossless_markers.END:
            return [Piece("close", index, node, "carry")]
        return self._tags(node, index)

    def _tags(self, node: Node, index: int) -> list[Piece]:
        pieces: list[Piece] = []
        words, end = node.text, 0
        for match in self._tag.finditer(words):
            if match.start() < end:
                continue
            if words[end : match.start()].strip():
                pieces.append(Piece("words", index, node, words[end : match.start()]))
            tag = match[2].lower()
            end = match.end()
            attrs: dict[str, Any] = {
                name: int(value)
                for name, value in tag_attributes(match[3]).items()
                if name in SPANS and value.isdigit()
            }
            if not match[1] and tag in self.titled and (summary := SUMMARY.match(words, end)):
                attrs, end = {"title": " ".join(_unescaped(summary[1]).split())}, summary.end()
            pieces.append(Piece("close" if match[1] else "open", index, Node(self.tags[tag], attrs), tag))
        if words[end:].strip():
            pieces.append(Piece("words", index, node, words[end:]))
        return pieces

    def _unpaired(self, pieces: list[Piece], raw: set[int]) -> set[int]:
        """Blocks whose tags do not pair, or that have text where only tags may stand."""
        wrong: set[int] = set()
        stack: list[Piece] = []
        for piece in pieces:
            if piece.block in raw:
                wrong |= {stack[-1].block} if stack and not self._takes_blocks(stack[-1]) else set()
            elif piece.what == "open":
                wrong |= set() if self._in_place(piece, stack) and len(stack) < MOST else {piece.block}
                stack.append(piece)
            elif piece.what == "close":
                if stack and stack[-1].source == piece.source:
                    stack.pop()
                else:
                    wrong.add(piece.block)
            elif piece.what == "words" and not (stack and stack[-1].source in self.titled):
                wrong.add(piece.block)
            elif piece.what == "node" and stack and not self._takes_blocks(stack[-1]):
                wrong.add(stack[-1].block)
        return (wrong | {piece.block for piece in stack}) - raw

    def _takes_blocks(self, piece: Piece) -> bool:
        return (
            piece.source == "carry"
            or piece.source in self.titled
            or (self.rules.group(piece.node.kind) == "part" and self.rules.get(piece.node.kind, "empty") == "paragraph")
        )

    def _in_place(self, piece: Piece, stack: list[Piece]) -> bool:
        """Rows stand in tables and cells in rows; a block stands where blocks may."""
        if piece.source == "carry":
            return True
        if self.rules.group(piece.node.kind) == "part":
            return bool(stack) and piece.node.kind in self.rules.holds.get(stack[-1].node.kind, ())
        return not stack or self._takes_blocks(stack[-1])

    def _built(self, pieces: list[Piece], raw: set[int], nodes: list[Node]) -> list[Node]:
        root = Node("doc")
        stack = [root]
        done: set[int] = set()
        for piece in pieces:
            if piece.block in raw:
                if piece.block not in done:
                    done.add(piece.block)
                    stack[-1].content.extend(self.literal(nodes[piece.block].text))
            elif piece.what == "open":
                stack.append(
                    Node(
                        piece.node.kind,
                        dict(piece.node.attrs),
                        list(piece.node.content),
                        "",
                        piece.node.marks,
                        piece.node.kept,
                    )
                )
            elif piece.what == "close":
                closed = stack.pop()
                stack[-1].content.append(self._closed(closed))
            else:
                stack[-1].content.extend(self.inner(piece.source) if piece.what == "words" else [piece.node])
        return _with_details(root.content)

    def _closed(self, node: Node) -> Node:
        node.content = _with_details(node.content)
        holds = self.rules.holds.get(node.kind, frozenset())
        if "text" in holds and len(node.content) == 1 and node.content[0].kind == "paragraph":
            node.content = node.content[0].content  # an item that only holds inline content
        return node

    def literal(self, source: str) -> list[Node]:
        """HTML as the text it is, line for line."""
        lines = [line.strip(" \t") for line in source.strip("\n").split("\n")]
        content: list[Node] = []
        for line in lines:
            content += [Node("break")] if content or line != lines[0] else []
            content += [text(line)] if line else []
        return [Node("paragraph", content=content)] if any(node.text for node in content) else []


def _with_details(nodes: list[Node]) -> list[Node]:
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


def _unescaped(words: str) -> str:
    return html.unescape(words)
