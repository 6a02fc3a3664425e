"""Rows of a list as they are shown: cells of text with styles, filtered and folded without asking the site."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.template import TemplateError, evaluate, to_text
from ..output.table import Cell, settle_marks

if TYPE_CHECKING:
    from ..output.columns import Column
    from ..output.formats import FormatContext


class ShownRow(NamedTuple):
    """`id` is the word that commands know the thing by; empty for one that has none."""

    cells: tuple[Cell, ...]
    id: str
    item: Any
    folded: str  # all of its text, as a filter compares it
    depth: int = 0  # in a tree

    def has_all(self, words: Sequence[str]) -> bool:
        return all(word in self.folded for word in words)


class Table(NamedTuple):
    header: tuple[str, ...]
    rows: list[ShownRow]
    limits: Sequence[int | None] = ()
    whole: Sequence[bool] = ()

    def matching(self, text: str) -> list[ShownRow]:
        """Those that have each word of a text somewhere."""
        words = text.casefold().split()
        return [row for row in self.rows if row.has_all(words)] if words else self.rows

    def joined_to(self, other: Table) -> Table:
        """With the rows of a later page; a thing that moved to it stands once."""
        if other.header != self.header:  # things that no view describes have other fields from page to page
            places = [other.header.index(name) if name in other.header else None for name in self.header]
            rows = [
                row._replace(cells=tuple(Cell("") if place is None else row.cells[place] for place in places))
                for row in other.rows
            ]
            other = other._replace(rows=rows)
        known = {row.id for row in self.rows if row.id}
        return self._replace(rows=[*self.rows, *(row for row in other.rows if row.id not in known)])


def row_of(item: Any, columns: Sequence[Column], id: str | None, context: FormatContext) -> ShownRow:
    cells = tuple(_cell(column.cell(item, context)) for column in columns)
    word = value_at(id, item) if id else ""
    depth = len(item.get("indent", "")) // 2 if isinstance(item, dict) and isinstance(item.get("indent"), str) else 0
    return ShownRow(cells, word, item, "\n".join(cells).casefold(), depth)


def _cell(cell: Cell) -> Cell:
    return Cell(settle_marks(cell), cell.style)


def value_at(expression: str, item: Any) -> str:
    """What an expression finds in a thing, as text; empty where it does not suit it."""
    try:
        found = evaluate(expression, item)
    except TemplateError:
        return ""
    return "" if found is None or isinstance(found, dict | list) else to_text(found)


def unfolded(rows: Sequence[ShownRow], folded: frozenset[str]) -> list[ShownRow]:
    """The rows of a tree that are not below one of these."""
    found: list[ShownRow] = []
    hidden_below: int | None = None
    for row in rows:
        if hidden_below is not None and row.depth > hidden_below:
            continue
        hidden_below = row.depth if row.id in folded else None
        found.append(row)
    return found
