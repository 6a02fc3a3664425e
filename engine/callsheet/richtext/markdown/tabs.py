"""Content tabs: `=== "Title"` and what is indented below it, as MkDocs and its relatives write them."""

from __future__ import annotations

import re

from markdown_it.rules_block import StateBlock

TAB = re.compile(r"===[!+]?[ \t]+\"([^\"\n]*)\"[ \t]*$")
INDENT = 4


def content_tab(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A rule for the parser: `tab_open` with the title as info, blocks, `tab_close`."""
    match = TAB.match(state.src[state.bMarks[start] + state.tShift[start] : state.eMarks[start]])
    inside = state.blkIndent + INDENT
    if match is None or state.is_code_block(start):
        return False
    after = start + 1
    last = start
    while after < end and (state.isEmpty(after) or state.sCount[after] >= inside):
        last = last if state.isEmpty(after) else after
        after += 1
    if last == start:
        return False
    if silent:
        return True
    state.push("tab_open", "", 1).info = match[1]
    old_indent, old_end = state.blkIndent, state.lineMax
    state.blkIndent, state.lineMax = inside, last + 1
    state.md.block.tokenize(state, start + 1, last + 1)
    state.blkIndent, state.lineMax = old_indent, old_end
    state.push("tab_close", "", -1)
    state.line = last + 1
    return True
