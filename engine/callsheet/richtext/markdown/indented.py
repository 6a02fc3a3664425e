"""Boxes and content tabs: a line that says what it is, and what is indented below it."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock

TAB = re.compile(r"===[!+]?[ \t]+\"([^\"\n]*)\"[ \t]*$")
BOX = re.compile(r"(!!!|\?\?\?)\+?[ \t]+(?P<word>[\w-]+)(?P<title>[^\n]*)$")
INDENT = 4


def content_tab(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A rule for the parser: `tab_open` with the title as info, blocks, `tab_close`."""
    match = TAB.match(_line(state, start))
    last = start if match is None else _last(state, start, end)
    if match is None or last == start:
        return False
    if not silent:
        state.push("tab_open", "", 1).info = match[1]
        _inside(state, start, last)
        state.push("tab_close", "", -1)
    return True


def box(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A rule for the parser: `box_open` with the word and the title in `meta`, blocks, `box_close`."""
    match = BOX.match(_line(state, start))
    last = start if match is None else _last(state, start, end)
    if match is None or last == start:
        return False
    if not silent:
        title = match["title"].strip().strip('"')
        state.push("box_open", "", 1).meta = {"word": match["word"], "title": title, "closed": match[1] == "???"}
        _inside(state, start, last)
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


def _inside(state: StateBlock, start: int, last: int) -> None:
    """Reads the blocks that are indented below a line."""
    old_indent, old_end = state.blkIndent, state.lineMax
    state.blkIndent, state.lineMax = old_indent + INDENT, last + 1
    state.md.block.tokenize(state, start + 1, last + 1)
    state.blkIndent, state.lineMax = old_indent, old_end
    state.line = last + 1
