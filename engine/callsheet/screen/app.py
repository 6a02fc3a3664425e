"""The application: pages one above the other, the palette of commands, and what is done with their answers."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from ..output.table import Cell
from .call import CommandAnswer, CommandLine, OfferedCommand, command_of, offered_commands, offered_lists, table_of
from .list_page import BoardPage, ListPage, changeable_columns
from .row_list import ShownRow, Table
from .text_page import ChoiceDialog, CommandApp, TextPage

if TYPE_CHECKING:
    from ..commands.context import Context

_CSS = """
Screen { background: ansi_default; color: ansi_default; }
.title, .status { height: 1; text-style: bold; background: ansi_default; color: ansi_default; }
.status { dock: bottom; text-style: dim; }
.filter { dock: bottom; height: 1; border: none; margin-bottom: 1; background: ansi_default; }
RowList, VerticalScroll { background: ansi_default; color: ansi_default; scrollbar-size-vertical: 1; }
RowList { width: 1fr; height: 1fr; overflow-x: hidden; }
.detail { width: 1fr; padding: 0 1; }
.detail.beside { border-left: solid ansi_bright_black; }
.hidden { display: none; }
Dialog { align: center middle; background: transparent; }
.dialog { width: 90%; max-width: 100; height: auto; max-height: 90%; border: round ansi_cyan; padding: 0 1;
          background: ansi_default; }
.dialog Input { height: 1; border: none; background: ansi_default; }
Input > .input--cursor { background: ansi_default; color: ansi_default; text-style: reverse; }
.dialog RowList { height: auto; }
.question { text-style: bold; }
.columns { height: 1fr; }
.column { width: 1fr; border: round ansi_bright_black; }
.column:focus-within { border: round ansi_cyan; }
Toast { background: ansi_default; padding: 0 1; border: round ansi_bright_black; }
Toast.-error { border: round ansi_red; }
"""


class ProgramScreen(CommandApp):
    """`words` are a command whose answer is shown first; without any the lists that there are."""

    CSS = _CSS
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("colon,ctrl+p", "palette", "Commands"),
        Binding("question_mark", "help", "Keys"),
        Binding("u", "undo", "Undo"),
        Binding("b", "board", "Board"),
        Binding("q", "back", "Back"),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
    ]

    def __init__(self, context: Context, words: Sequence[str] = (), *, every: float = 30) -> None:
        super().__init__(context, every=every)
        self._first = list(words)

    def on_mount(self) -> None:
        self.theme = "ansi-dark"
        self.push_screen(ListPage(self._home_table(), title=self.context.program))
        if self._first:
            self.run_command(CommandLine(tuple(self._first)))

    def _home_table(self) -> Table:
        shown = [(each.words, each.definition["help"]) for each in offered_lists(self.context.catalog)]
        rows = [ShownRow(tuple(map(Cell, each)), each[0], None, "\n".join(each).casefold()) for each in shown]
        return Table(("LIST", "SHOWS"), rows, whole=[True])

    def show_answer(self, answer: CommandAnswer) -> None:
        if answer.changed or (answer.definition is not None and not answer.is_read):
            self.show_message(_change_summary(answer))
            for page in self.screen_stack:
                if isinstance(page, ListPage):
                    page.refresh_rows()
        elif answer.table is not None:
            self.push_screen(ListPage(answer.table, title=" ".join(answer.line.words), answer=answer))
        elif answer.thing is not None or answer.text:
            self.push_screen(TextPage(answer))
        self._tell_notes(answer)

    def _tell_notes(self, answer: CommandAnswer) -> None:
        for note in answer.notes:
            self.show_message(note)

    async def action_quit(self) -> None:
        self.end_calls()
        self.exit()

    # Keys

    async def action_back(self) -> None:
        """One page back; from the last one out."""
        if len(self.screen_stack) > 2:
            self.pop_screen()
        else:
            await self.action_quit()

    def action_palette(self, typed: str = "") -> None:
        self.clear_notifications()
        offered = offered_commands(self.context.catalog)
        labels = [(each.words, each.definition["help"]) for each in offered]
        question = f"{self.context.program}: a command (Tab takes it into the line, to go on with what it takes)"
        dialog = ChoiceDialog(question, labels, typed=typed, free=True)
        self.push_screen(dialog, partial(self._run_chosen, offered))

    def _run_chosen(self, offered: list[OfferedCommand], chosen: int | str | None) -> None:
        if chosen is None:
            return
        if isinstance(chosen, int):
            self.run_command(CommandLine(tuple(offered[chosen].words.split())))
            return
        try:
            words = shlex.split(chosen)
        except ValueError as error:
            self.show_message(f"error: {error}", is_error=True)
            return
        words = words[1:] if words[:1] == [self.context.program] else words
        self._run_typed(tuple(words))

    def _run_typed(self, words: tuple[str, ...]) -> None:
        known = command_of(self.context, CommandLine(words))
        if known and known not in {each.words for each in offered_commands(self.context.catalog)}:
            self.show_message(f"error: {known} needs the terminal for itself; run it outside the screen", is_error=True)
        elif words:
            self.run_command(CommandLine(words))

    def action_board(self) -> None:
        """The list as columns, where a command changes what one of its columns shows."""
        page = self.screen
        if isinstance(page, ListPage) and changeable_columns(page.answer):
            self.push_screen(BoardPage(page))
        else:
            self.show_message("this list has no board: no command changes one of its columns")

    async def on_list_page_reread(self) -> None:
        if isinstance(self.screen, BoardPage):
            await self.screen.show_rows()

    def action_undo(self) -> None:
        """Put back the last change; the command asks first."""
        found = (
            each.words for each in offered_commands(self.context.catalog) if each.definition.get("builtin") == "undo"
        )
        words = next(found, None)
        if words is None:
            self.show_message(f"{self.context.program} has no undo", is_error=True)
        else:
            self.run_command(CommandLine((*words.split(), "last")))

    def action_help(self) -> None:
        self.push_screen(TextPage.of_keys(self.screen))


def _change_summary(answer: CommandAnswer) -> str:
    """What a change says of itself: the first cells of what it answers."""
    if answer.table is not None:
        rows = answer.table.rows
    elif answer.thing is not None and answer.formats is not None:
        things = answer.thing if isinstance(answer.thing, list) else [answer.thing]
        rows = table_of(things, answer.view, None, answer.formats).rows
    else:
        return answer.text or f"{answer.command}: done"
    lines = ["  ".join(cell for cell in row.cells if cell) for row in rows[:5]]
    more = [f"and {len(rows) - 5} more"] if len(rows) > 5 else []
    return "\n".join([f"{answer.command}:", *lines, *more])
