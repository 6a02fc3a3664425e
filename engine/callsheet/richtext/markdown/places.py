"""Where the headings, the fences and the addresses of links and images of a text of Markdown stand.

The parser of the reader itself is watched, so what looks like a link in code, in a comment or behind a backslash is
none here either. An offset counts characters of the text; its line ends are line feeds.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from html import unescape
from typing import Any, NamedTuple

from markdown_it.common.utils import normalizeReference, unescapeAll
from markdown_it.helpers import parseLinkDestination, parseLinkLabel
from markdown_it.rules_block import StateBlock, reference
from markdown_it.rules_inline import StateInline, html_inline, image, link
from markdown_it.token import Token

from .inline_reader import words_of_tokens
from .parser import Parser, block_parser, inline_parser
from .parser_rules import InlineToken
from .text_patterns import at_end

TAG = re.compile(r"<(?P<name>a|img)\s(?:[^>\"']|\"[^\"]*\"|'[^']*')*>", re.IGNORECASE)
ADDRESS = re.compile(
    r"\s(?P<key>href|src|id|name)\s*=\s*(?:\"(?P<double>[^\"\n]*)\"|'(?P<single>[^'\n]*)'|(?P<bare>[^\s\"'=<>`]+))",
    re.IGNORECASE,
)
COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
NAMED = re.compile(r"\{:?[ \t]*#([\w:.-]+)[^{}\n]*\}")  # what some dialects let stand behind any words
PLAIN = re.compile(r"[\w ,.;:()?!/+'\"-]*")  # a heading whose words are as they stand


class Heading(NamedTuple):
    level: int
    words: str
    name: str  # as `{#name}` behind it says
    start: int  # of its first line
    end: int  # behind its last line
    words_end: int  # where its words end in the text, before what closes it


class Address(NamedTuple):
    """Where a link or an image leads; `start` and `end` are around the address as it is written."""

    address: str
    start: int
    end: int
    image: bool
    html: bool  # in quotes, in a tag


class Fence(NamedTuple):
    language: str
    content: str
    start: int  # of the fence itself, behind what its line starts with
    end: int  # of its last line


class Places(NamedTuple):
    headings: list[Heading]
    addresses: list[Address]  # in the order of the text
    fences: list[Fence]
    names: set[str]  # of other things that links lead to elsewhere: elements of HTML, words with a list of attributes


class PlaceReader:
    """Reads one text after another."""

    def __init__(self) -> None:
        lines, words = block_parser(), inline_parser()
        self._parser = Parser(lines, words)
        inline, block = words.inline.ruler, lines.block.ruler
        inline.at("link", self._watched(link, 0))
        inline.at("image", self._watched(image, 1))
        inline.at("html_inline", self._tag)
        block.at("reference", self._definition, {"alt": []})

    def find_places(self, source: str) -> Places:
        self._parser.forget_references()
        self._source = source
        self._lines = [0, *(match.end() for match in re.finditer("\n", source))]
        self._found = Places([], [], [], set())
        self._pieces: list[Token] = []
        self._shown: set[str] = set()
        self._definitions: list[tuple[str, Address]] = []
        self._last: Token | None = None
        self._cell = 0
        self._headings: list[Token] = []
        self._parser.read_tokens(source, self._take)
        for token in self._headings:  # only now it is known what the text defines
            self._heading(token)
        for token in self._pieces:
            self._inline(token)
        self._found.addresses.extend(
            address._replace(image=label in self._shown) for label, address in self._definitions
        )
        self._found.addresses.sort(key=lambda address: address.start)
        return self._found

    def line(self, offset: int) -> int:
        """The number of the line, from 1, that an offset of the last text is in."""
        return bisect_right(self._lines, offset)

    # --- blocks ---

    def _take(self, token: Token) -> None:
        if token.type == "inline" and token.map and not token.meta:
            opener = self._last.type if self._last is not None else ""
            if opener in ("th_open", "td_open"):
                self._cell_of(token)
            if opener == "heading_open":
                self._headings.append(token)
                token.meta = {"opener": self._last}
            else:
                if "{" in token.content:
                    self._found.names.update(NAMED.findall(token.content))
                if "]" in token.content or "<" in token.content:
                    self._pieces.append(token)
        elif token.type == "fence" and token.map:
            words = unescapeAll(token.info).split(maxsplit=1)
            start = self._source.index(token.markup, self._lines[token.map[0]])
            end = self._lines[token.map[1]] - 1 if token.map[1] < len(self._lines) else len(self._source)
            self._found.fences.append(Fence(words[0] if words else "", token.content, start, end))
        elif token.type == "html_block" and token.map:
            hidden = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), token.content)
            place = self._place(token)
            for match in TAG.finditer(hidden):
                self._attributes(match[0], match.start(), place)
        self._last = token

    def _cell_of(self, token: Token) -> None:
        """Remembers where a cell stands in its row: after the one before it, with backslashes before its bars."""
        assert token.map  # noqa: S101 -- the caller looked
        row = self._lines[token.map[0]]
        found = self._source.find(token.content.replace("|", "\\|"), max(row, self._cell))
        token.meta = {"cell": found}
        self._cell = found + len(token.content) if found >= 0 else row

    def _heading(self, token: Token) -> None:
        opener = token.meta["opener"]
        level = int(opener.tag[1])
        raw = token.content
        place = self._place(token)
        words, name = at_end(raw)
        tokens = None if PLAIN.fullmatch(words) else self._inline(token)
        said = words if tokens is None else at_end(words_of_tokens(tokens))[0]
        first, last = opener.map
        end = self._lines[last] if last < len(self._lines) else len(self._source)
        where = place(len(words)) if raw else end
        self._found.headings.append(Heading(level, " ".join(said.split()), name, self._lines[first], end, where))

    def _place(self, token: Token) -> Callable[[int], int]:
        """From an offset in what the parser made of some lines to the offset in the text."""
        assert token.map  # noqa: S101 -- the caller looked
        if (cell := token.meta.get("cell")) is not None:
            return lambda offset: cell + offset + token.content.count("|", 0, offset) if cell >= 0 else -1
        starts, places = [], []
        inner = 0
        for number, words in enumerate(token.content.split("\n"), token.map[0]):
            if number >= len(self._lines):
                break
            start = self._lines[number]
            end = self._lines[number + 1] - 1 if number + 1 < len(self._lines) else len(self._source)
            found = self._source.rfind(words, start, end)
            starts.append(inner)
            places.append(found if found >= 0 else -1)
            inner += len(words) + 1

        def place(offset: int) -> int:
            index = bisect_right(starts, offset) - 1
            return places[index] + offset - starts[index] if places[index] >= 0 else -1

        return place

    # --- inline ---

    def _inline(self, token: Token) -> list[InlineToken]:
        self._content = token.content
        self._here = self._place(token)
        return self._parser.inline_tokens(token.content)

    def _watched(self, rule: Callable[[StateInline, bool], bool], sign: int) -> Callable[[StateInline, bool], bool]:
        def watch(state: StateInline, silent: bool) -> bool:
            start = state.pos
            if not rule(state, silent):
                return False
            if not silent and state.src is self._content:
                self._linked(state, start, sign)
            return True

        return watch

    def _linked(self, state: StateInline, start: int, sign: int) -> None:
        after, state.pos = state.pos, start
        label_end = parseLinkLabel(state, start + sign, not sign)
        state.pos = after
        pos = label_end + 1
        if state.src[pos : pos + 1] == "(" and after > pos + 1:
            pos += 1
            while state.src[pos] in " \t\n":
                pos += 1
            found = parseLinkDestination(state.src, pos, after)
            if found.ok and found.str:
                self._add(found.str, self._here(pos), self._here(found.pos - 1) + 1, image=bool(sign))
        elif sign:
            label = state.src[pos + 1 : after - 1] if after > pos else ""
            self._shown.add(normalizeReference(label or state.src[start + 1 + sign : label_end]))

    def _tag(self, state: StateInline, silent: bool) -> bool:
        start = state.pos
        found = html_inline(state, silent)
        if found and not silent and state.src is self._content:
            words = state.src[start : state.pos]
            if TAG.fullmatch(words):
                self._attributes(words, start, self._here)
        return found

    def _attributes(self, tag: str, at: int, place: Callable[[int], int]) -> None:
        image = tag[1:2] in "iI"
        for match in ADDRESS.finditer(tag):
            kind = next(name for name in ("double", "single", "bare") if match[name] is not None)
            key = match["key"].lower()
            if key in ("id", "name"):
                self._found.names.add(unescape(match[kind]))
            elif (key == "src") == image and match[kind]:
                start, end = (at + offset for offset in match.span(kind))
                self._add(unescape(match[kind]), place(start), place(end - 1) + 1, image=image, html=True)

    def _definition(self, state: StateBlock, start: int, end: int, silent: bool) -> bool:
        found = reference(state, start, end, silent)
        if found and not silent:
            pos = state.bMarks[start] + state.tShift[start]
            match = re.compile(r"\[((?:[^\]\\]|\\.)*)\]:[ \t]*(\n?)", re.DOTALL).match(state.src, pos)
            if match is not None:
                place, line = match.end(), self._line_of(match.end())
                if match[2]:
                    place = state.bMarks[line] + state.tShift[line]
                where = parseLinkDestination(state.src, place, state.eMarks[line])
                if where.ok and where.str:
                    address = Address(where.str, place, where.pos, image=False, html=False)
                    self._definitions.append((normalizeReference(match[1]), address))
        return found

    def _line_of(self, offset: int) -> int:
        return bisect_right(self._lines, offset) - 1

    def _add(self, address: str, start: int, end: int, *, image: bool, html: bool = False) -> None:
        if 0 <= start < end:
            self._found.addresses.append(Address(address, start, end, image=image, html=html))


def replace_ranges(text: str, changes: list[tuple[int, int, str]]) -> str:
    """A text with other words between offsets; changes must not overlap."""
    parts: list[Any] = []
    done = 0
    for start, end, words in sorted(changes):
        parts += [text[done:start], words]
        done = end
    return "".join([*parts, text[done:]])
