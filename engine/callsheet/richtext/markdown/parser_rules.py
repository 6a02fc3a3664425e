"""Rules of markdown-it-py of our own: boxes, tabs, notes in a line, rows of tables; and its rules made quick."""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkLabel
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import table as any_table
from markdown_it.rules_block.table import escapedSplit, getLine
from markdown_it.rules_inline import StateInline

from ..tree import NO_ATTRS

CLOSES = {sign: re.compile(rf"[^\s{re.escape(sign)}]{re.escape(sign)}") for sign in "*_"}


def only_answered(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """The parser's own rule for all but the signs that can only open where nothing closes, or the other way round."""

    def emphasis(state: StateInline, silent: bool) -> bool:
        start = state.pos
        sign = state.src[start]
        if silent or sign not in CLOSES:
            return rule(state, silent)
        run = state.scanDelims(start, sign == "*")
        if (run.can_open and (run.can_close or _closes_after(state, start + run.length, sign))) or (
            run.can_close and state.delimiters
        ):
            return rule(state, silent)
        state.append_pending(sign * run.length)
        state.pos += run.length
        return True

    return emphasis


def _closes_after(state: StateInline, place: int, sign: str) -> bool:
    """Whether a later sign can close; the first such place is looked for once for all signs before it."""
    found: dict[str, int] = vars(state).setdefault("closing", {})
    if found.get(sign, 0) <= place:
        match = CLOSES[sign].search(state.src, place)
        found[sign] = match.end() if match else len(state.src) + 1
    return found[sign] <= len(state.src)


TAB = re.compile(r"===[!+]?(?P<word>)[ \t]+(?P<title>\"[^\"\n]*\")[ \t]*$")
BOX = re.compile(r"(?:!!!|\?\?\?)\+?[ \t]+(?P<word>[\w-]+)(?P<title>[^\n]*)$")
INDENT = 4


def box_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A rule for the parser: `box_open` with the word and the title in `meta`, blocks, `box_close`.

    A tab is a box without a word, which does not end a paragraph.
    """
    line = _line(state, start)
    match = BOX.match(line) or (None if silent else TAB.match(line))
    last = start if match is None else _last(state, start, end)
    if match is None or last == start:
        return False
    if not silent:
        said = match.groupdict()
        title = said["title"].strip().strip('"')
        state.push("box_open", "", 1).meta = {**said, "title": title, "closed": line.startswith("???")}
        old_indent, old_end = state.blkIndent, state.lineMax
        state.blkIndent, state.lineMax = old_indent + INDENT, last + 1
        state.md.block.tokenize(state, start + 1, last + 1)
        state.blkIndent, state.lineMax = old_indent, old_end
        state.line = last + 1
        state.push("box_close", "", -1)
    return True


def _line(state: StateBlock, line: int) -> str:
    return "" if state.is_code_block(line) else state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _last(state: StateBlock, start: int, end: int) -> int:
    """The last line that is indented below a line, with any number of empty ones in between."""
    last = start
    for line in range(start + 1, end):
        if not state.isEmpty(line):
            if state.sCount[line] < state.blkIndent + INDENT:
                break
            last = line
    return last


REPEATED = tuple("*+?{$")


def inline_note(state: StateInline, silent: bool) -> bool:
    """A rule for the parser: the note goes to those that labels refer to, its words not read yet."""
    start = state.pos
    if state.src[start : start + 2] != "^[":
        return False
    end = parseLinkLabel(state, start + 1)
    words = state.src[start + 2 : end].strip() if end >= 0 else ""
    if len(words.split(maxsplit=1)) < 2 or state.src.startswith(REPEATED, end + 1):
        return False
    if not silent:
        notes = state.env.setdefault("footnotes", {}).setdefault("list", {})
        state.push("footnote_ref", "", 0).meta = {"id": len(notes)}
        notes[len(notes)] = {"content": words}
    state.pos = end + 1
    return True


SIGNS = {
    "fence": "`~",
    "math_block": "$",
    "box": "!?=",
    "container_container": ":",
    "blockquote": ">",
    "hr": "*-_",
    "list": "*+-0123456789",
    "footnote_def": "[",
    "reference": "[",
    "html_block": "<",
    "heading": "#",
}

Rule = Callable[[StateBlock, int, int, bool], bool]


class RulesBySign:
    """In the place of the parser's ruler, when all its rules are there."""

    def __init__(self, parser: MarkdownIt) -> None:
        self._ruler = parser.block.ruler
        self._names = dict(zip(self._ruler.getRules(""), self._ruler.get_active_rules(), strict=True))
        self._made: dict[str, list[Rule]] = {}

    def get_active_rules(self) -> list[str]:
        return list(self._names.values())

    def getRules(self, chain: str = "") -> list[Rule]:  # noqa: N802 -- the parser's name for it
        if chain not in self._made:
            signs = [(rule, SIGNS.get(self._names[rule])) for rule in self._ruler.getRules(chain)]
            every = {sign for _rule, began_by in signs for sign in began_by or ""}
            by_sign = {sign: [rule for rule, began_by in signs if not began_by or sign in began_by] for sign in every}
            self._made[chain] = [_one(by_sign, [rule for rule, began_by in signs if not began_by])]
        return self._made[chain]


def _one(by_sign: dict[str, list[Rule]], others: list[Rule]) -> Rule:
    def rule(state: StateBlock, line: int, end: int, silent: bool) -> bool:
        start = state.bMarks[line] + state.tShift[line]
        for one in by_sign.get(state.src[start : start + 1], others):  # noqa: SIM110 -- a generator costs as much as a rule
            if one(state, line, end, silent):
                return True
        return False

    return rule


CUT = "cut cells"  # where the parser's environment has their words


def table_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The parser's rule, which here remembers the words that it leaves out."""
    below = state.bMarks[start + 1] + state.tShift[start + 1]
    if state.src[below : below + 1] not in "|:-":
        return False
    found = any_table(state, start, end, silent)
    if found and not silent:
        columns = len(_cells(getLine(state, start)))
        for line in range(start + 2, state.line):
            words = getLine(state, line)
            if _bare(words).count("|") >= columns:
                cut = filter(None, map(str.strip, _cells(words)[columns:]))
                state.env.setdefault(CUT, {}).update(dict.fromkeys(cut))
    return found


def _bare(row: str) -> str:
    return row.strip().removeprefix("|").removesuffix("|")


def _cells(row: str) -> list[str]:
    """The cells as the parser takes them: a bar at the start and one at the end say nothing."""
    cells: list[str] = escapedSplit(row.strip())
    if cells and not cells[0]:
        cells.pop(0)
    if cells and not cells[-1]:
        cells.pop()
    return cells


class BlockToken:
    """A token of the parser without what nothing here reads; it is made in a third of the time."""

    tag = content = info = markup = ""
    map: Any = None
    children: Any = ()
    attrs: Any = NO_ATTRS
    meta: Any = NO_ATTRS
    end: int | None = None  # of a start tag of HTML: the index of what closes it

    def __init__(self, type: str, nesting: int) -> None:
        self.type = type
        self.nesting = nesting


class _Unread:
    """What rules set and nothing here reads."""

    def __set__(self, token: InlineToken, value: Any) -> None:
        """Forgets the value."""


class InlineToken(BlockToken):
    """A token in a line, of which there may be many at a time."""

    tag: Any = _Unread()
    level: Any = _Unread()
    markup: Any = _Unread()
    info: Any = _Unread()

    def attrSet(self, name: str, value: Any) -> None:  # noqa: N802 -- the parser's name for it
        self.attrs = {**self.attrs, name: value}


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

    def push(self, ttype: str, _tag: str, nesting: Any) -> Any:
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


def parse_inline(parser: MarkdownIt, src: str, md: MarkdownIt, env: Any, tokens: list[Any]) -> list[Any]:
    """What `parser.inline.parse` does."""
    state = InlineState(src, md, env, tokens)
    parser.inline.tokenize(state)
    for rule in parser.inline.ruler2.getRules(""):
        rule(state)
    return state.tokens
