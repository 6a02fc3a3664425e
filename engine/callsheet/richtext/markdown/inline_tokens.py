"""The parser's tokens of inline content in little memory: a paragraph of nothing but signs has one for each of them."""

from __future__ import annotations

from array import array
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from ..shared_keys import blank_keys, share_keys


class _Unread:
    """What rules set and nothing here reads."""

    def __set__(self, token: InlineToken, value: Any) -> None:
        """Forgets the value."""


class InlineToken:
    """As much of a token as the reader of inline content uses, in 80 bytes instead of 300."""

    __slots__ = ("_more", "content", "end", "nesting", "type")

    tag, level, markup, info = _Unread(), _Unread(), _Unread(), _Unread()

    def __init__(self, type: str, nesting: int) -> None:
        self.type = type
        self.nesting = nesting
        self.content = ""
        self.end: int | None = None  # of a start tag of HTML: the index of what closes it
        self._more: dict[str, Any] | None = None

    @property
    def attrs(self) -> dict[str, Any]:
        return self._of("attrs")

    @attrs.setter
    def attrs(self, value: dict[str, Any]) -> None:
        self._set("attrs", share_keys(value))

    @property
    def meta(self) -> dict[str, Any]:
        return self._of("meta")

    @meta.setter
    def meta(self, value: dict[str, Any]) -> None:
        self._set("meta", value)

    @property
    def children(self) -> list[InlineToken]:
        found: list[InlineToken] = self._more.get("children") or [] if self._more else []
        return found

    @children.setter
    def children(self, value: list[InlineToken] | None) -> None:
        self._set("children", value)

    def attrSet(self, name: str, value: Any) -> None:  # noqa: N802 -- the parser's name for it
        self._set("attrs", {**self.attrs, name: value})

    def _of(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] | None = self._more.get(name) if self._more else None
        return {} if found is None else found

    def _set(self, name: str, value: Any) -> None:
        if self._more is None:
            self._more = blank_keys("attrs", "children").copy()  # what an image has, of which a line may be full
        self._more[name] = value


class _Places:
    """Where the parser stood → where it went on, in four bytes each; no place is the first one."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._found: array[int] | None = None

    def __contains__(self, place: int) -> bool:
        return self._found is not None and bool(self._found[place])

    def __getitem__(self, place: int) -> int:
        return self._found[place] if self._found is not None else 0

    def __setitem__(self, place: int, value: int) -> None:
        if self._found is None:
            self._found = array("I", bytes(4 * self._size))
        self._found[place] = value


class InlineState(StateInline):
    """The parser's state of inline content with light tokens."""

    def __init__(self, src: str, md: MarkdownIt, env: Any, tokens: list[Any]) -> None:
        super().__init__(src, md, env, tokens)
        self.cache: Any = _Places(len(src) + 1)

    def pushPending(self) -> Any:  # noqa: N802 -- the parser's name for it
        token = InlineToken("text", 0)
        token.content = self.pending
        self.tokens.append(token)  # type: ignore[arg-type]
        self.pending = ""
        return token

    def push(self, ttype: str, tag: str, nesting: Any) -> Any:
        del tag
        if self.pending:
            self.pushPending()
        token = InlineToken(ttype, nesting)
        meta: dict[str, Any] | None = None
        if nesting < 0:
            self.level -= 1
            self.delimiters = self._prev_delimiters.pop()
        elif nesting > 0:
            self.level += 1
            self._prev_delimiters.append(self.delimiters)
            self.delimiters = []
            meta = {"delimiters": self.delimiters}
        self.pendingLevel = self.level
        self.tokens.append(token)  # type: ignore[arg-type]
        self.tokens_meta.append(meta)
        return token


def parsed(parser: MarkdownIt, src: str, md: MarkdownIt, env: Any, tokens: list[Any]) -> list[Any]:
    """What `parser.inline.parse` does."""
    state = InlineState(src, md, env, tokens)
    parser.inline.tokenize(state)
    for rule in parser.inline.ruler2.getRules(""):
        rule(state)
    return state.tokens
