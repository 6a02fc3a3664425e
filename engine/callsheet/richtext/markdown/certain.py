"""Inline content that reads back as itself when it is written with signs, whatever stands around it.

Plain words, and among them words with one mark each, set apart by white space or punctuation. Most paragraphs are no
more than that, and need not be read back; a property of the tests holds it to what is read.
"""

from __future__ import annotations

import re

from ..tree import Mark, Node

# Letters and signs that begin nothing where they stand: `__init__` has underscores at its edges, `:name:` is an emoji.
WORDS = r"(?:[^\W_]|[ ,.;()?%/'\"+#>–—…‘’“”-]|(?<=[^\W_])_(?=[^\W_])|(?<=\S):(?=\s|$)|[!&](?=\s))"  # noqa: RUF001 -- they are meant
PLAIN = re.compile(f"{WORDS}*")
TIGHT = re.compile(rf"(?! ){WORDS}+(?<! )")  # no space at the edges
ADDRESS = re.compile(r"https?://[a-z0-9.-]+(?:/[a-z0-9./-]*)?")
SIGNED = frozenset({"strong", "em", "strike"})
CODE = re.compile(r"[^`\s](?:[^`\n]*[^`\s])?")


def certain(nodes: list[Node]) -> bool:
    """Whether the nodes are such content; False says nothing."""
    last = len(nodes) - 1
    for place, node in enumerate(nodes):
        if node.kind != "text" or node.attrs:
            return False
        if not node.marks:
            if not PLAIN.fullmatch(node.text):
                return False
            continue
        if len(node.marks) > 1 or not _is_simple(node.marks[0], node.text):
            return False
        if (place and _touches(nodes[place - 1], -1)) or (place < last and _touches(nodes[place + 1], 0)):
            return False
    return True


def _touches(node: Node, edge: int) -> bool:
    """Whether what stands beside a mark can belong to it, or to a sign of it."""
    if node.kind != "text" or not node.text or node.marks:
        return True
    sign = node.text[edge]
    return sign.isalnum() or sign == "_" or (edge == 0 and sign == "(")


def _is_simple(mark: Mark, words: str) -> bool:
    if mark.kind == "codespan":
        return not mark.attrs and bool(CODE.fullmatch(words))
    if mark.kind == "link":
        href = mark.attrs.get("href")
        if len(mark.attrs) != 1 or not isinstance(href, str) or not ADDRESS.fullmatch(href):
            return False
    elif mark.kind not in SIGNED or mark.attrs:
        return False
    return bool(TIGHT.fullmatch(words))
