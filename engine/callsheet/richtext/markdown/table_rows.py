"""Cells of a table's rows that have no column in its header: the parser leaves them out, as renderers do."""

from __future__ import annotations

from markdown_it.rules_block import StateBlock
from markdown_it.rules_block import table as any_table
from markdown_it.rules_block.table import escapedSplit, getLine

CUT = "cut cells"  # where the parser's environment has their words


def table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
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
