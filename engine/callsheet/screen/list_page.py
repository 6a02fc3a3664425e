"""Pages of lists: rows, and boards with their columns."""

from __future__ import annotations

import asyncio
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widgets import Input, Static

from ..errors import CallsheetError, RateLimited
from ..output.columns import from_definition
from .call import CommandAnswer, CommandLine, OfferedCommand, error_text, offered_actions, reader, run_line
from .row_list import RowList, ShownRow, Table, plain_line
from .text_page import ChoiceDialog, CommandApp, TextPane, thing_text

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from ..language.shape.commands import ColumnDefinition


# A list of things, the one that is looked at, and what can be done with it.


_BESIDE = 120  # columns from which a thing is shown beside its list
_LONGEST = 600.0  # seconds between two looks at a site that refuses for a while


class ListPage(Screen[None]):
    """Without an `answer` its rows are commands, which are run when they are chosen."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter"),
        Binding("x,space", "actions", "Actions"),
        Binding("K,shift+up", "move_row(-1)", "Move up in the order"),
        Binding("J,shift+down", "move_row(1)", "Move down in the order"),
        Binding("o", "browse", "Open in the browser"),
        Binding("y", "copy", "Copy the address"),
        Binding("r,f5,ctrl+r", "refresh_rows", "Refresh"),
        Binding("w,tab", "other_pane", "List or detail", show=False),
        Binding("escape,h,left", "close", "Back", show=False),
    ]

    def __init__(self, table: Table, *, title: str, answer: CommandAnswer | None = None) -> None:
        super().__init__()
        self._table = table
        self._title = title
        self._answer = answer
        self._pages = 1
        self._loads = 0  # one that another replaces ends after that has begun
        self._thing: CommandAnswer | None = None
        self._shown: ShownRow | None = None  # whose thing is shown in full
        self._offered: list[OfferedCommand] = []
        self._wait = 0.0  # seconds between two looks
        self._looked = monotonic()

    @property
    def program(self) -> CommandApp:
        return cast("CommandApp", self.app)

    @property
    def answer(self) -> CommandAnswer | None:
        """What the rows came from, as it was read last."""
        return self._answer

    def line_to_read(self, row: ShownRow) -> CommandLine | None:
        """The command that shows a thing whole, if there is one."""
        found = reader(self._offered)
        return _action_line(found, row) if found is not None and row.id else None

    class Reread(Message):
        """The site was asked again."""

    @property
    def rows(self) -> RowList:
        return self.query_one(RowList)

    def compose(self) -> ComposeResult:
        yield Static(plain_line(f" {self._title}"), classes="title", markup=False)
        with Horizontal():
            yield RowList()
            yield TextPane(classes="detail hidden")
        yield Input(placeholder="filter", compact=True, classes="filter hidden")
        yield Static(classes="status", markup=False)

    def on_mount(self) -> None:
        self.rows.set_table(self._table)
        self.rows.focus()
        if self._answer is not None:
            view = self._answer.definition.get("view") if self._answer.definition else None
            self._offered = offered_actions(self.program.context.catalog, view, self._answer.command)
        self._wait = self.program.every
        if self._answer is not None and self._answer.is_read and self._wait:
            self.set_interval(1, self._look_again)
        self._show_status()

    # What is shown

    def _show_status(self) -> None:
        if not self.is_attached or not self.query(RowList):  # the page was left while the site was asked
            return
        rows = self.rows
        count = f"{len(rows.shown)} of {len(rows.table.rows)}" if rows.text else str(len(rows.table.rows))
        total = self._answer.total if self._answer else None
        if total is not None and total > len(rows.table.rows):
            count += f" of {total}"
        elif self._answer is not None and self._answer.next:
            count += "+"
        working = "  loading ..." if self._loads else ""
        keys = (
            "/ filter  x actions  : commands  ? keys  q back"
            if self._answer
            else "/ filter  : commands  ? keys  q quit"
        )
        self.query_one(".status", Static).update(plain_line(f" {count}{working}   {keys}"))

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        if self._answer is None:
            self.program.run_command(CommandLine(tuple(event.row.id.split())))
            return
        self._show_thing(event.row)

    def _show_thing(self, row: ShownRow) -> None:
        """What the list knows of it at once, and all of it when the site has answered."""
        self.query_one(TextPane).remove_class("hidden")
        self._arrange_panes()
        self._thing = self._answer._replace(thing=row.item, table=None) if self._answer else None
        self._shown = row
        self._show_detail()
        if self.rows.styles.display == "none":
            self.query_one(TextPane).focus()
        found = reader(self._offered)
        if found is not None and row.id:
            self.run_worker(self._read_thing(found, row), group="thing", exclusive=True)

    async def _read_thing(self, found: OfferedCommand, row: ShownRow) -> None:
        try:
            answer = await self.program.answer_of(_action_line(found, row))
        except RateLimited:
            return
        if answer is not None and isinstance(answer.thing, dict):
            self._thing = answer
            self._show_detail()

    def _show_detail(self) -> None:
        pane = self.query_one(TextPane)
        if self._thing is not None and not pane.has_class("hidden"):
            width = self.app.size.width // 2 if pane.has_class("beside") else self.app.size.width
            pane.show(thing_text(self._thing, max(width - 5, 20)))

    def _arrange_panes(self) -> None:
        """A thing stands beside its list where there is room, else in its place."""
        pane, beside = self.query_one(TextPane), self.app.size.width >= _BESIDE
        pane.set_class(beside, "beside")
        self.rows.styles.display = "block" if beside or pane.has_class("hidden") else "none"

    def on_resize(self, event: events.Resize) -> None:
        self._arrange_panes()
        self._show_detail()

    # The site is asked again

    def action_refresh_rows(self) -> None:
        self.refresh_rows()

    def refresh_rows(self) -> None:
        if self._answer is not None and self._answer.is_read:
            self.run_worker(self._load_again(), group="rows", exclusive=True)
        if self._thing is not None and not self.query_one(TextPane).has_class("hidden"):
            shown, found = self._shown, reader(self._offered)
            if shown is not None and found is not None and shown.id:
                self.run_worker(self._read_thing(found, shown), group="thing", exclusive=True)

    def _look_again(self) -> None:
        """As often as was said for each shown page, while somebody looks at it; less often where the site refuses."""
        due = self._looked + self._wait * self._pages
        if monotonic() >= due and self.is_current and self.app.app_focus and not self._loads:
            self.run_worker(self._load_again(), group="rows", exclusive=True)

    async def _load_again(self) -> None:
        answer = self._answer
        if answer is None:
            return
        await self._load_rows(answer.line, self._pages)

    async def _load_rows(self, line: CommandLine, pages: int) -> None:
        self._loads += 1
        self._show_status()
        try:
            table: Table | None = None
            answer = None
            for _ in range(pages):
                answer = await asyncio.to_thread(
                    run_line, self.program.context, self.program, line, self.program.started
                )
                if answer.table is None:
                    break
                table = answer.table if table is None else table.joined_to(answer.table)
                if answer.next is None:
                    break
                line = (self._answer or answer).line.at_page(answer.next)
            if answer is not None and table is not None and self._answer is not None:
                self._answer = answer._replace(line=self._answer.line)
                self.rows.set_table(table)
                self.program.post_message(self.Reread())
            self._wait = self.program.every
        except (CallsheetError, KeyboardInterrupt) as error:
            self._wait = min(self._wait * 2, _LONGEST)
            if isinstance(error, CallsheetError):
                self.program.show_message(error_text(error), is_error=True)
        finally:
            self._loads -= 1
            self._looked = monotonic()
            self._show_status()

    def on_row_list_last_pointed(self, event: RowList.LastPointed) -> None:
        """The next page, when its rows are come to."""
        answer = self._answer
        if answer is not None and answer.next and not self._loads and not self.rows.text:
            self.run_worker(self._load_more(answer, answer.next), group="rows", exclusive=True)

    async def _load_more(self, answer: CommandAnswer, page: str) -> None:
        self._loads += 1
        self._show_status()
        try:
            more = await self.program.answer_of(answer.line.at_page(page))
            if more is not None and more.table is not None:
                self._pages += 1
                self._answer = more._replace(line=answer.line)
                self.rows.set_table(self.rows.table.joined_to(more.table))
        except RateLimited:
            pass
        finally:
            self._loads -= 1
            self._show_status()

    # Keys

    def action_filter(self) -> None:
        line = self.query_one(Input)
        line.remove_class("hidden")
        line.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.rows.filter_rows(event.value)
        self._show_status()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.rows.focus()

    def action_close(self) -> None:
        """The filter, then the thing, then the list."""
        line, pane = self.query_one(Input), self.query_one(TextPane)
        if line.has_focus or self.rows.text:
            line.value = ""
            line.add_class("hidden")
            self.rows.focus()
        elif not pane.has_class("hidden"):
            pane.add_class("hidden")
            self._thing = self._shown = None
            self._arrange_panes()
            self.rows.focus()
        elif self._answer is not None:
            self.app.pop_screen()

    def action_other_pane(self) -> None:
        pane = self.query_one(TextPane)
        if not pane.has_class("hidden") and self.rows.styles.display != "none":
            (self.rows if pane.has_focus else pane).focus()

    @property
    def _acted_on(self) -> ShownRow | None:
        """The thing that is looked at: the one shown in full, unless the list beside it has the focus."""
        return self._shown if self._shown is not None and not self.rows.has_focus else self.rows.pointed_row

    def action_actions(self) -> None:
        self.offer_actions(self._acted_on)

    def offer_actions(self, row: ShownRow | None) -> None:
        """A menu of what can be done with a thing of the list."""
        if row is None or not row.id or not self._offered:
            self.program.show_message("there is no command for this")
            return
        labels = [(each.words, each.definition["help"]) for each in self._offered]
        self.app.push_screen(ChoiceDialog(plain_line(row.id), labels), partial(self._act_on_row, row))

    def _act_on_row(self, row: ShownRow, chosen: int | None) -> None:
        if chosen is not None:
            self.program.run_command(_action_line(self._offered[chosen], row))

    def action_move_row(self, by: int) -> None:
        self.move_row(self.rows, by)

    def move_row(self, rows: RowList, by: int) -> None:
        """Before the row above the one that is pointed at, or after the one below."""
        answer, row, other = self._answer, rows.pointed_row, rows.neighbor(by)
        reorder = answer.definition.get("reorder") if answer is not None and answer.definition else None
        if answer is None or reorder is None:
            self.program.show_message("this list is in no order that people make")
        elif row is None or other is None or not row.id or not other.id:
            self.app.bell()
        else:
            self.program.run_change(answer, reorder["after" if by > 0 else "before"], row, other.id)

    def action_browse(self) -> None:
        if address := self._row_address():
            context = self.program.context
            self.run_worker(partial(context.show_in_browser, address), thread=True)

    def action_copy(self) -> None:
        if address := self._row_address():
            self.app.copy_to_clipboard(address)
            self.program.show_message(f"copied {address}")

    def _row_address(self) -> str | None:
        row, context = self._acted_on, self.program.context
        web = self._answer.view.get("web") if self._answer and self._answer.view else None
        if row is None or web is None or not row.id:
            self.program.show_message("this has no address")
            return None
        return context.web_address(web, row.id)


def _action_line(command: OfferedCommand, row: ShownRow) -> CommandLine:
    """The thing's word is a value: whatever it starts with, it is no option and no file."""
    return CommandLine(tuple(command.words.split()), {command.param: row.id})


# A list as a board: a column for each value, and cards that a command moves from one to another.


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
        Binding("K,shift+up", "rank_card(-1)", "Move the card up"),
        Binding("J,shift+down", "rank_card(1)", "Move the card down"),
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
        keys = " h l column  < > K J move the card  b another board  x actions  : commands  ? keys  q back"
        yield Static(keys, classes="status", markup=False)

    async def on_mount(self) -> None:
        await self.show_rows()

    async def show_rows(self) -> None:
        """What the list has now; the card that was pointed at stays so."""
        focused = self._pointed_card()
        definition = self._columns[self._by]
        column, formats = from_definition(definition), self._page.answer.formats if self._page.answer else None
        if formats is None:
            return
        cards: dict[str, list[ShownRow]] = {name: [] for name in self._places}  # one that got empty stays
        order = list(formats.palette(column.palette)) if column.palette and formats.palette else []
        for row in self._page.rows.table.rows:
            name = str(column.cell_of(row.item, formats)) or _NOTHING
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

    def _focused_list(self) -> RowList | None:
        return self.focused if isinstance(self.focused, RowList) else None

    def _pointed_card(self) -> ShownRow | None:
        rows = self._focused_list()
        return rows.pointed_row if rows is not None else None

    def action_go(self, by: int) -> None:
        lists, here = list(self.query(RowList)), self._focused_list()
        if here is not None:
            lists[max(min(lists.index(here) + by, len(lists) - 1), 0)].focus()

    def action_move_card(self, by: int) -> None:
        """As a command of its own, with its questions and its undo."""
        here, row, answer = self._focused_list(), self._pointed_card(), self._page.answer
        if here is None or row is None or not row.id or answer is None:
            return
        place = list(self.query(RowList)).index(here) + by
        if not 0 <= place < len(self._names) or self._names[place] == _NOTHING:
            self.app.bell()
            return
        self._page.program.run_change(answer, self._columns[self._by]["change"], row, self._names[place])

    def action_rank_card(self, by: int) -> None:
        """Before the card above, or after the one below."""
        if (here := self._focused_list()) is not None:
            self._page.move_row(here, by)

    async def action_next_board(self) -> None:
        self._by, self._places = (self._by + 1) % len(self._columns), {}
        await self.show_rows()

    def action_actions(self) -> None:
        self._page.offer_actions(self._pointed_card())

    def action_refresh_rows(self) -> None:
        self._page.refresh_rows()

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """The thing in full."""
        event.stop()
        if (line := self._page.line_to_read(event.row)) is not None:
            self._page.program.run_command(line)
