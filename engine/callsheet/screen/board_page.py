"""A list as a board: a column for each value, and cards that a command moves from one to another."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Static

from ..output.columns import from_definition
from .call import CommandAnswer, CommandLine, actions
from .list_page import ListPage
from .row_list import RowList, ShownRow, Table, plain_line

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from ..language.shape.commands import ColumnDefinition

_CARD = 2  # cells of a row that a card has: what identifies it, and what it is called
_NOTHING = "-"  # the heading over cards that have no value


def changeable_columns(answer: CommandAnswer | None) -> list[ColumnDefinition]:
    """Those of a list that a command changes."""
    view = answer.view if answer is not None else None
    return [column for column in (view["columns"] if view else ()) if "change" in column]


class CardList(RowList):
    """A column of a board."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("h,left", "screen.go(-1)", "Column to the left", show=False),
        Binding("l,right", "screen.go(1)", "Column to the right", show=False),
    ]


class BoardPage(Screen[None]):
    """The rows of a list page, which stands below it and asks for them again."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("H,shift+left,less_than_sign", "move_card(-1)", "Move the card to the left"),
        Binding("L,shift+right,greater_than_sign", "move_card(1)", "Move the card to the right"),
        Binding("b", "next_board", "Board by another column"),
        Binding("x,space", "actions", "Actions"),
        Binding("r,f5,ctrl+r", "refresh_rows", "Refresh"),
        Binding("escape", "app.back", "Back", show=False),
    ]

    def __init__(self, page: ListPage) -> None:
        super().__init__()
        self._page = page
        self._columns = changeable_columns(page.answer)
        self._by = 0
        self._names: list[str] = []
        self._places: dict[str, int] = {}

    def compose(self) -> ComposeResult:
        yield Static(classes="title", markup=False)
        yield Horizontal(classes="columns")
        keys = " h l column  < > move the card  b another board  x actions  : commands  ? keys  q back"
        yield Static(keys, classes="status", markup=False)

    async def on_mount(self) -> None:
        await self._arrange()

    async def show_rows(self) -> None:
        """What the list has now; the card that was pointed at stays so."""
        await self._arrange()

    async def _arrange(self) -> None:
        focused = self._pointed()
        definition = self._columns[self._by]
        column, formats = from_definition(definition), self._page.answer.formats if self._page.answer else None
        if formats is None:
            return
        cards: dict[str, list[ShownRow]] = {name: [] for name in self._places}  # one that got empty stays
        order = list(formats.palette(column.palette)) if column.palette and formats.palette else []
        for row in self._page.rows.table.rows:
            name = str(column.cell(row.item, formats)) or _NOTHING
            shade = str(column.shade(row.item) if column.shade else name).casefold()
            self._places.setdefault(name, order.index(shade) if shade in order else -1)  # what has no color is new
            cards.setdefault(name, []).append(row._replace(cells=row.cells[:_CARD], depth=0))
        self._names = sorted(cards, key=lambda name: self._places[name])
        title = f" {definition['name']} of {' '.join(self._page.answer.line.words) if self._page.answer else ''}"
        self.query_one(".title", Static).update(plain_line(title))
        board = self.query_one(".columns", Horizontal)
        await board.remove_children()
        target: CardList | None = None
        for name in self._names:
            rows = CardList(headers=False)
            heading = Static(plain_line(f"{name} ({len(cards[name])})"), classes="question", markup=False)
            await board.mount(Vertical(heading, rows, classes="column"))
            rows.set_table(Table(("", ""), cards[name], whole=[True]))
            if focused is not None and any(row.id == focused.id for row in cards[name]):
                rows.point_at(focused.id)
                target = rows
        if self._names:  # once, when all are there: what is focused before is not focused yet
            (target or self.query(RowList).first()).focus()

    def _list(self) -> RowList | None:
        return self.focused if isinstance(self.focused, RowList) else None

    def _pointed(self) -> ShownRow | None:
        rows = self._list()
        return rows.pointed if rows is not None else None

    def action_go(self, by: int) -> None:
        lists, here = list(self.query(RowList)), self._list()
        if here is not None:
            lists[max(min(lists.index(here) + by, len(lists) - 1), 0)].focus()

    def action_move_card(self, by: int) -> None:
        """As a command of its own, with its questions and its undo."""
        here, row, answer = self._list(), self._pointed(), self._page.answer
        if here is None or row is None or not row.id or answer is None:
            return
        place = list(self.query(RowList)).index(here) + by
        if not 0 <= place < len(self._names) or self._names[place] == _NOTHING:
            self.app.bell()
            return
        change = self._columns[self._by]["change"]
        view = answer.definition.get("view") if answer.definition else None
        program = self._page.program
        offered = actions(program.context.catalog, view, answer.command)
        taker = next((each for each in offered if each.words == change["command"]), None)
        if taker is None:
            program.tell(f"{change['command']} takes no such thing", is_error=True)
            return
        values = {taker.param: row.id, change["value"]: self._names[place]}
        program.run_command(CommandLine(tuple(taker.words.split()), values))

    async def action_next_board(self) -> None:
        self._by, self._places = (self._by + 1) % len(self._columns), {}
        await self._arrange()

    def action_actions(self) -> None:
        self._page.offer_actions(self._pointed())

    def action_refresh_rows(self) -> None:
        self._page.refresh_rows()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """The thing in full."""
        event.stop()
        if (line := self._page.line_to_read(event.row)) is not None:
            self._page.program.run_command(line)
