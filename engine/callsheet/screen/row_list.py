"""A list of any length: only the rows that are on the screen are drawn, and others' text is harmless there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from ..language.template import TemplateError, evaluate, to_text
from ..output.table import LEFT_OUT, Cell, display_width, fit_columns, settle_marks, shortened_cell
from ..terminal import PLAIN, STYLES, escape_line, escape_text

if TYPE_CHECKING:
    from textual import events

    from ..output.columns import Column, FormatContext


# Rows of a list as they are shown: cells of text with styles, filtered and folded without asking the site.


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

    def matching_rows(self, text: str) -> list[ShownRow]:
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
    cells = tuple(_plain_cell(column.cell_of(item, context)) for column in columns)
    word = value_at(id, item) if id else ""
    depth = len(item.get("indent", "")) // 2 if isinstance(item, dict) and isinstance(item.get("indent"), str) else 0
    return ShownRow(cells, word, item, "\n".join(cells).casefold(), depth)


def _plain_cell(cell: Cell) -> Cell:
    return Cell(settle_marks(cell), cell.style)


def value_at(expression: str, item: Any) -> str:
    """What an expression finds in a thing, as text; empty where it does not suit it."""
    try:
        found = evaluate(expression, item)
    except TemplateError:
        return ""
    return "" if found is None or isinstance(found, dict | list) else to_text(found)


def unfolded_rows(rows: Sequence[ShownRow], folded: frozenset[str]) -> list[ShownRow]:
    """The rows of a tree that are not below one of these."""
    found: list[ShownRow] = []
    hidden_below: int | None = None
    for row in rows:
        if hidden_below is not None and row.depth > hidden_below:
            continue
        hidden_below = row.depth if row.id in folded else None
        found.append(row)
    return found


# Others' text on the screen: no control character and no markup in it acts.


_CODES = {code: name for name, code in STYLES.items()}
_PARTS = re.compile("(" + "|".join(map(re.escape, (*STYLES.values(), PLAIN))) + ")")
# The base colors alone, which a terminal makes readable on its ground.
_RICH = {name: Style.parse(name) for name in STYLES}


def style_of(name: str) -> Style:
    """Of a name that a palette or a view gives; nothing for an empty one."""
    return _RICH.get(name, Style.null())


def plain_text(text: str) -> Text:
    return Text(escape_text(text).expandtabs(), end="")


def plain_line(text: str) -> str:
    return escape_line(text)


def styled_text(lines: str) -> Text:
    """Text that the engine made for a terminal: its own styles are kept, nothing else is interpreted."""
    found, now = Text(end=""), Style.null()
    for part in _PARTS.split(lines):
        if part == PLAIN:
            now = Style.null()
        elif part in _CODES:
            now += _RICH[_CODES[part]]
        elif part:
            found.append(escape_text(part).expandtabs(), now)
    return found


# A list of any length: only the rows that are on the screen are drawn.


_GAP = "  "
_FOLDED, _OPEN, _LEAF = "▸ ", "▾ ", "  "


class RowList(ScrollView, can_focus=True):
    """Rows under a header. The pointed row is the one that keys act on."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "move(1)", "Down", show=False),
        Binding("k,up", "move(-1)", "Up", show=False),
        Binding("ctrl+d,pagedown", "move_pages(1)", "Page down", show=False),
        Binding("ctrl+u,pageup", "move_pages(-1)", "Page up", show=False),
        Binding("g,home", "move_to(0)", "First", show=False),
        Binding("G,end", "move_to(-1)", "Last", show=False),
        Binding("enter,v,l,right", "choose", "View", show=False),
        Binding("h,left", "screen.close", "Back", show=False),
        Binding("z", "fold", "Fold", show=False),
    ]

    class Chosen(Message):
        """Enter, or a second click."""

        def __init__(self, rows: RowList, row: ShownRow) -> None:
            super().__init__()
            self.rows = rows
            self.row = row

    class LastPointed(Message):
        """There may be more to ask for."""

        def __init__(self, rows: RowList) -> None:
            super().__init__()
            self.rows = rows

    def __init__(self, *, headers: bool = True, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.table = Table((), [])
        self.shown: list[ShownRow] = []
        self.place = 0
        self.text = ""  # the filter
        self._headers = headers
        self._folded: frozenset[str] = frozenset()
        self._natural: list[int] = []
        self._widths: list[int] = []

    @property
    def pointed_row(self) -> ShownRow | None:
        return self.shown[self.place] if 0 <= self.place < len(self.shown) else None

    def neighbor(self, by: int) -> ShownRow | None:
        """The shown row so many below the one that is pointed at."""
        place = self.place + by
        return self.shown[place] if 0 <= place < len(self.shown) else None

    @property
    def is_tree(self) -> bool:
        return any(row.depth for row in self.table.rows)

    def set_table(self, table: Table) -> None:
        """Other rows; what was pointed at stays so, if it is still there."""
        self.table = table
        cells = (
            [table.header, *(row.cells for row in table.rows)] if self._headers else [row.cells for row in table.rows]
        )
        self._natural = [max(map(display_width, column)) for column in zip(*cells, strict=True)]
        self._fit_columns()
        self._choose_shown()

    def filter_rows(self, text: str) -> None:
        """Only rows that have each word of the text."""
        self.text = text
        self._choose_shown()

    def point_at(self, id: str) -> None:
        """The row of a thing, if it is shown."""
        self.place = next((place for place, row in enumerate(self.shown) if row.id == id), self.place)
        self._keep_in_sight()

    def _choose_shown(self) -> None:
        before = self.pointed_row
        shown = self.table.matching_rows(self.text)
        self.shown = unfolded_rows(shown, self._folded) if self._folded and not self.text else shown
        same = (place for place, row in enumerate(self.shown) if before is not None and row.id and row.id == before.id)
        self.place = next(same, min(self.place, max(len(self.shown) - 1, 0)))
        self.virtual_size = Size(self.size.width, len(self.shown) + self._headers)
        self._keep_in_sight()

    def _fit_columns(self) -> None:
        if self._natural:
            limits, whole = self.table.limits, self.table.whole
            width = max(self.size.width - (len(_LEAF) if self.is_tree else 0), 1)
            self._widths = fit_columns(self._natural, limits, whole, width)

    def on_resize(self, event: events.Resize) -> None:
        self._fit_columns()
        self._keep_in_sight()

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        if self._headers and y == 0:
            return self._row_strip(
                self.table.header, Style(bold=True), _LEAF if self.is_tree else ""
            ).adjust_cell_length(width)
        place = y - self._headers + self.scroll_offset.y
        if not 0 <= place < len(self.shown):
            return Strip.blank(width)
        row = self.shown[place]
        style = Style(reverse=True) if place == self.place and (self.has_focus or not self.can_focus) else Style.null()
        if place == self.place and self.can_focus and not self.has_focus:
            style = Style(bold=True)
        strip = self._row_strip(row.cells, style, self._fold_mark(row) if self.is_tree else "")
        return strip.adjust_cell_length(width, style)

    def _row_strip(self, cells: Sequence[str], style: Style, mark: str) -> Strip:
        segments = [Segment(mark, style)] if mark else []
        for cell, width in zip(cells, self._widths, strict=True):
            if width == LEFT_OUT:
                continue
            text = shortened_cell(plain_line(cell), width)
            segments.append(Segment(text, style_of(getattr(cell, "style", "")) + style))
            segments.append(Segment(" " * (width - display_width(text)) + _GAP, style))
        return Strip(segments).crop(0, self.size.width)

    def _fold_mark(self, row: ShownRow) -> str:
        if row.id in self._folded:
            return _FOLDED
        place = self.table.rows.index(row)
        below = self.table.rows[place + 1 : place + 2]
        return _OPEN if below and below[0].depth > row.depth else _LEAF

    def action_move(self, by: int) -> None:
        self._go_to_row(self.place + by)

    def action_move_pages(self, by: int) -> None:
        self._go_to_row(self.place + by * max(self.size.height - 2, 1))

    def action_move_to(self, place: int) -> None:
        self._go_to_row(place if place >= 0 else len(self.shown) - 1)

    def action_choose(self) -> None:
        if self.pointed_row is not None:
            self.post_message(self.Chosen(self, self.pointed_row))

    def action_fold(self) -> None:
        """Hide what is below the pointed row of a tree, or show it again."""
        if self.pointed_row is not None and self.is_tree:
            self._folded ^= {self.pointed_row.id}
            self._choose_shown()

    def on_click(self, event: events.Click) -> None:
        place = event.y - self._headers + self.scroll_offset.y
        if not 0 <= place < len(self.shown):
            return
        again = place == self.place and event.chain > 1
        self._go_to_row(place)
        if again:
            self.action_choose()

    def _go_to_row(self, place: int) -> None:
        self.place = max(min(place, len(self.shown) - 1), 0)
        self._keep_in_sight()
        if self.place >= len(self.shown) - 1:
            self.post_message(self.LastPointed(self))

    def _keep_in_sight(self) -> None:
        room = max(self.size.height - self._headers, 1)
        top = self.scroll_offset.y
        if self.place < top:
            self.scroll_to(y=self.place, animate=False, immediate=True)
        elif self.place >= top + room:
            self.scroll_to(y=self.place - room + 1, animate=False, immediate=True)
        self.refresh()
