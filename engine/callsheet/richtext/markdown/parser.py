"""markdown-it-py set up so that no input makes it drop text, hang or run out of stack.

Beyond its nesting limit the parser drops what is left of a block; here a rule in front of all others takes that as a
paragraph. Inline text has a limit of its own, since brackets nested in brackets cost the square of it.
"""

from __future__ import annotations

from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token

from ..tree import MAX_DEPTH

INLINE_DEPTH = 20
TERMINATED = ["paragraph", "reference", "blockquote", "list", "table"]


def _too_deep(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Takes all lines of a container at the limit as one paragraph of literal text."""
    if state.level < MAX_DEPTH or silent:
        return False
    lines = " ".join(state.getLines(start, end, state.blkIndent, keepLastLF=False).split())
    state.line = end
    state.push("paragraph_open", "p", 1)
    token = state.push("inline", "", 0)
    token.meta = {"literal": True}
    token.content, token.map, token.children = lines, [start, end], []
    state.push("paragraph_close", "p", -1)
    return True


class Parser:
    """Block structure of a text at once, inline content piece by piece."""

    def __init__(self) -> None:
        self._block = MarkdownIt("commonmark", {"maxNesting": MAX_DEPTH + 10}).enable("table")
        self._block.core.ruler.enableOnly(["normalize", "block"])
        self._block.block.ruler.before("table", "too_deep", _too_deep, {"alt": []})
        self._inline = MarkdownIt("commonmark", {"maxNesting": INLINE_DEPTH}).enable("strikethrough")
        self._env: dict[str, Any] = {}

    def blocks(self, source: str) -> list[Token]:
        return self._block.parse(source, self._env)

    def inline(self, content: str) -> list[Token]:
        tokens: list[Token] = []
        self._inline.inline.parse(content, self._inline, self._env, tokens)
        return tokens
