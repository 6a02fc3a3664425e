"""markdown-it-py set up so that no input makes it drop text, hang or run out of stack.

Beyond its nesting limit the parser drops what is left of a block; here a rule in front of all others takes that as a
paragraph. Inline text has a limit of its own, since brackets nested in brackets cost the square of it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any, cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.emphasis import tokenize as emphasis
from markdown_it.token import Token
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.deflist import deflist_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.dollarmath.index import math_inline_dollar
from mdit_py_plugins.footnote import footnote_plugin

from ..tree import MAX_DEPTH
from .parser_rules import (
    CUT,
    BlockToken,
    InlineToken,
    RulesBySign,
    box_rule,
    inline_note,
    only_answered,
    parse_inline,
    table_rule,
)

INLINE_DEPTH = 20
LINE_ENDS = re.compile(r"\r\n?")


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


_dollars = math_inline_dollar(allow_space=False, allow_digits=False, allow_double=True)


def _formula(state: StateInline, silent: bool) -> bool:
    """A formula between dollar signs; in `$HOME/$USER` there is none, and what is between them is read as any words."""
    start, source = state.pos, state.src
    state.src = source if start else source + "\n"  # what it takes for the character before the first one
    found = _dollars(state, True)  # noqa: FBT003 -- the parser's rules take it by position
    after = source[state.pos : state.pos + 1]
    state.pos = start
    found = found and not (after.isalnum() or after == "_") and _dollars(state, silent)
    state.src = source
    return found


class BlockState(StateBlock):
    """The parser's state of blocks with light tokens."""

    def push(self, ttype: str, tag: str, nesting: Any) -> Any:
        token = BlockToken(ttype, nesting)
        token.tag = tag
        if nesting:
            self.level += nesting
        self.tokens.append(token)  # type: ignore[arg-type]
        return token


class _Stream(list[Token]):
    """Hands each token on when the next one comes, since rules still change the last one; keeps none of them.

    The tokens of a list of a hundred thousand items would take 250 MiB. Rules that look back at tokens (to mark
    paragraphs of tight lists, which nothing here asks for) find an empty list.
    """

    def __init__(self, take: Callable[[Token], None]) -> None:
        super().__init__()
        self._take = take
        self._last: Token | None = None

    def append(self, token: Token) -> None:
        if self._last is not None:
            self._take(self._last)
        self._last = token

    def end(self) -> None:
        if self._last is not None:
            self._take(self._last)
        self._last = None


def _parser(nesting: int) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": nesting})
    footnote_plugin(parser, inline=False, move_to_end=False)
    dollarmath_plugin(parser, allow_labels=False, allow_space=False, allow_digits=False, allow_blank_lines=False)
    return parser


def block_parser() -> MarkdownIt:
    parser = _parser(MAX_DEPTH + 10).enable("table")
    rules = parser.block.ruler
    rules.at("table", table_rule, {"alt": ["paragraph", "reference"]})
    rules.before("table", "too_deep", _too_deep, {"alt": []})
    deflist_plugin(parser)
    container_plugin(parser, "container", validate=_named)
    rules.before("table", "box", box_rule, {"alt": ["paragraph", "reference", "blockquote", "list"]})
    return parser


def inline_parser() -> MarkdownIt:
    parser = _parser(INLINE_DEPTH).enable("strikethrough")
    parser.inline.ruler.at("math_inline", _formula)
    parser.inline.ruler.before("footnote_ref", "inline_note", inline_note)
    parser.inline.ruler.at("emphasis", only_answered(emphasis))
    cast("Any", parser.inline).parse = partial(parse_inline, parser)
    return parser


@cache
def _shared_block_parser() -> MarkdownIt:
    parser = block_parser()
    cast("Any", parser.block).ruler = RulesBySign(parser)
    return parser


_shared_inline_parser = cache(inline_parser)


class Parser:
    """Block structure of a text at once, inline content piece by piece, by parsers that are set up once for all texts.

    A caller whose rules are others gives parsers of its own.
    """

    def __init__(self, block: MarkdownIt | None = None, inline: MarkdownIt | None = None) -> None:
        self._block = block
        self._inline = inline
        self._env: dict[str, Any] = {}

    def forget_references(self) -> None:
        """Starts another text: what the last one defined is gone."""
        self._env.clear()

    def read_tokens(self, source: str, take: Callable[[Token], None]) -> None:
        """Calls `take` with every token of the block structure, in order."""
        stream = _Stream(take)
        source = LINE_ENDS.sub("\n", source) if "\r" in source else source
        if source:
            parser = self._block or _shared_block_parser()
            state = BlockState(source, parser, self._env, stream)
            parser.block.tokenize(state, state.line, state.lineMax)
        stream.end()

    def inline_tokens(self, content: str) -> list[InlineToken]:
        tokens: list[InlineToken] = []
        parser = self._inline or _shared_inline_parser()
        cast("Any", parser.inline).parse(content, parser, self._env, tokens)
        return tokens

    @property
    def references(self) -> dict[str, dict[str, str]]:
        """Name of a reference, in the parser's spelling → its `href` and `title`."""
        return cast("dict[str, dict[str, str]]", self._env.get("references", {}))

    @property
    def cut_cells(self) -> list[str]:
        """The words of cells that have no column in the header of their table."""
        return list(self._env.get(CUT, ()))

    @property
    def notes(self) -> dict[int, dict[str, Any]]:
        """Number of a footnote, in the order they are referred to → its `label`, or its `content` in the line."""
        return cast("dict[int, dict[str, Any]]", self._env.get("footnotes", {}).get("list", {}))


def _named(params: str, *_markup: str) -> bool:
    return bool(params.strip(" \t:"))
