"""Pages of text, questions on the screen, and commands that are run beside them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar
from weakref import WeakSet

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Input, Static

from ..commands.prompts import edit_in_editor
from ..errors import CallsheetError, RateLimited
from ..output.columns import Columns
from ..output.printer import Manner, detail_lines, sections_of
from ..output.table import Cell
from .call import CommandAnswer, CommandLine, ScreenCall, error_text, line_to_change, run_line
from .row_list import RowList, ShownRow, Table, plain_line, plain_text, styled_text

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult
    from textual.events import Resize

    from ..commands.context import Context
    from ..language.shape.commands import ChangeByCommand


# A page of text: one thing in full, the help of a command, the keys.


_SUGGESTED = 20  # columns of a thing that no view describes


class TextPane(VerticalScroll, can_focus=True):
    """Text that is longer than its room."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,down", "scroll_lines(1)", "Down", show=False),
        Binding("k,up", "scroll_lines(-1)", "Up", show=False),
        Binding("ctrl+d,pagedown,space", "scroll_lines(15)", "Page down", show=False),
        Binding("ctrl+u,pageup", "scroll_lines(-15)", "Page up", show=False),
        Binding("g,home", "scroll_far(False)", "First", show=False),
        Binding("G,end", "scroll_far(True)", "Last", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def show(self, text: Text) -> None:
        self.query_one(Static).update(text)

    def action_scroll_lines(self, by: int) -> None:
        self.scroll_relative(y=by, animate=False)

    def action_scroll_far(self, last: bool) -> None:
        self.scroll_to(y=self.max_scroll_y if last else 0, animate=False)


class TextPage(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,h,left", "app.back", "Back")]

    def __init__(self, answer: CommandAnswer | None = None, *, title: str = "", text: Text | None = None) -> None:
        super().__init__()
        self._answer = answer
        self._title = title or (" ".join(answer.line.words) if answer else "")
        self._text = text

    @classmethod
    def of_keys(cls, screen: Screen[object]) -> TextPage:
        """What each key does where one is."""
        known: dict[str, list[str]] = {}
        for key, active in screen.active_bindings.items():
            if active.binding.description:
                shown = active.binding.key_display or screen.app.get_key_display(active.binding)
                known.setdefault(active.binding.description, []).append(shown or key)
        lines = [f"  {', '.join(dict.fromkeys(keys)):<20} {description}" for description, keys in known.items()]
        return cls(title="keys", text=plain_text("\n".join(lines)))

    def compose(self) -> ComposeResult:
        yield Static(plain_line(f" {self._title}"), classes="title", markup=False)
        yield TextPane(classes="detail")

    def on_mount(self) -> None:
        self._fill()
        self.query_one(TextPane).focus()

    def on_resize(self, event: Resize) -> None:
        self._fill()

    def _fill(self) -> None:
        if self._text is not None:
            found = self._text
        elif self._answer is not None and self._answer.thing is not None:
            found = thing_text(self._answer, max(self.app.size.width - 3, 20))
        else:
            found = plain_text(self._answer.text if self._answer else "")
        self.query_one(TextPane).show(found)


def thing_text(answer: CommandAnswer, width: int) -> Text:
    """One thing as its view shows it in full, with rich text as it reads."""
    if answer.formats is None or not isinstance(answer.thing, dict):
        return plain_text(str(answer.thing))
    columns = Columns(answer.view, None, answer.formats)
    shown = columns.all_columns or columns.resolve_columns([answer.thing], _SUGGESTED)
    manner = Manner(width, styles=True)
    return styled_text("".join(detail_lines(answer.thing, shown, sections_of(answer.view), answer.formats, manner)))


# What a dialog gives where the person turned away from it.
TURNED_AWAY = None


class Dialog(ModalScreen[Any]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,ctrl+c", "turn_away", "Cancel", priority=True)]

    def __init__(self, question: str) -> None:
        super().__init__()
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static(plain_text(self._question), classes="question", markup=False)
            yield from self.body()

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def action_turn_away(self) -> None:
        self.dismiss(TURNED_AWAY)


class TextDialog(Dialog):
    """Gives what was typed."""

    def __init__(self, question: str, default: str, *, hidden: bool = False) -> None:
        super().__init__(question)
        self._default = default
        self._hidden = hidden

    def body(self) -> ComposeResult:
        yield Input(self._default, password=self._hidden, compact=True, select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class AgreeDialog(Dialog):
    """Gives whether the person agreed."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("y", "answer(True)", "Yes"), Binding("n", "answer(False)", "No")]

    def body(self) -> ComposeResult:
        yield Static("y yes   n no", classes="keys", markup=False)

    def action_answer(self, agreed: bool) -> None:
        self.dismiss(agreed)


class ChoiceDialog(Dialog):
    """A menu that narrows as one types. Gives the place of the chosen label.

    With `free`, a line that is more than a label is given as it was typed: it starts with one.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,ctrl+n", "move(1)", "Down", priority=True, show=False),
        Binding("up,ctrl+p", "move(-1)", "Up", priority=True, show=False),
        Binding("tab", "take", "Take into the line", priority=True, show=False),
    ]

    def __init__(self, question: str, labels: Sequence[Sequence[str]], *, typed: str = "", free: bool = False) -> None:
        super().__init__(question)
        header = ("",) * max(map(len, labels), default=1)
        rows = [
            ShownRow(tuple(Cell(each) for each in label), str(place), None, "\n".join(label).casefold())
            for place, label in enumerate(labels)
        ]
        self._table = Table(header, rows, whole=[True])
        self._typed = typed
        self._free = free

    def body(self) -> ComposeResult:
        yield Input(self._typed, compact=True, select_on_focus=False)
        rows = RowList(headers=False)
        rows.can_focus = False
        yield rows

    def on_mount(self) -> None:
        rows = self.query_one(RowList)
        rows.styles.height = min(max(len(self._table.rows), 1), max(self.app.size.height - 8, 3))
        rows.set_table(self._table)
        rows.filter_rows(self._typed)

    def on_input_changed(self, event: Input.Changed) -> None:
        rows = self.query_one(RowList)
        rows.filter_rows(event.value)
        rows.action_move_to(self._start(event.value))

    def _start(self, typed: str) -> int:
        """What is typed comes before a label that begins with it, and that before one that only has it somewhere."""
        folded = typed.casefold().strip()
        labels = [row.cells[0].casefold() for row in self.query_one(RowList).shown]
        fitting = [
            *(label for label in labels if label == folded),
            *filter(lambda each: each.startswith(folded), labels),
        ]
        return labels.index(fitting[0]) if fitting else 0

    def on_input_submitted(self, event: Input.Submitted) -> None:
        pointed = self.query_one(RowList).pointed_row
        if self._free and event.value.strip() and (pointed is None or self._is_longer(event.value)):
            self.dismiss(event.value.strip())
        elif pointed is not None:
            self.dismiss(int(pointed.id))
        else:
            self.app.bell()

    def _is_longer(self, typed: str) -> bool:
        """Whether a label and more was typed."""
        return any(typed.strip() != row.cells[0] and typed.startswith(f"{row.cells[0]} ") for row in self._table.rows)

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        event.stop()
        self.dismiss(int(event.row.id))

    def action_move(self, by: int) -> None:
        self.query_one(RowList).action_move(by)

    def action_take(self) -> None:
        """The pointed label into the line, to be gone on with."""
        pointed, line = self.query_one(RowList).pointed_row, self.query_one(Input)
        if pointed is not None and self._free:
            line.value = f"{pointed.cells[0]} "
            line.cursor_position = len(line.value)

    def on_click(self, event: events.Click) -> None:
        if event.widget is self:
            self.action_turn_away()


# An application that runs commands beside what it shows, and asks on the screen what they ask.


class CommandApp(App[None]):
    """Commands run in threads, so that the screen never waits. `every` are the seconds between two looks at a list."""

    def __init__(self, context: Context, *, every: float) -> None:
        super().__init__(ansi_color=True)
        self.context = context
        self.every = every
        self._waiting: set[Future[Any]] = set()  # questions that are on the screen
        self._calls: WeakSet[ScreenCall] = WeakSet()
        self._has_ended = False

    def on_load(self) -> None:
        self._own_loop = asyncio.get_running_loop()

    def show_answer(self, answer: CommandAnswer) -> None:
        raise NotImplementedError

    def run_command(self, line: CommandLine) -> None:
        """Run it, and show its answer."""
        self.run_worker(self._run_and_show(line), group="command")

    def run_change(self, answer: CommandAnswer, change: ChangeByCommand, row: ShownRow, value: str) -> None:
        """Give the thing of a row another value, with the command's own questions and its undo."""
        line = line_to_change(self.context.catalog, answer, change, row.id, value)
        if line is None:
            self.show_message(f"{change['command']} takes no such thing", is_error=True)
        else:
            self.run_command(line)

    async def answer_of(self, line: CommandLine) -> CommandAnswer | None:
        """What a command answers; None where it failed, which the person is told, or was turned away from."""
        try:
            return await asyncio.to_thread(run_line, self.context, self, line, self.started)
        except KeyboardInterrupt:
            self.show_message("nothing was done")
        except CallsheetError as error:
            if not self._has_ended:
                self.show_message(error_text(error), is_error=True)
            if isinstance(error, RateLimited):
                raise
        return None

    def started(self, call: ScreenCall) -> None:
        self._calls.add(call)

    async def _run_and_show(self, line: CommandLine) -> None:
        try:
            answer = await self.answer_of(line)
        except RateLimited:
            return
        if answer is not None:
            self.show_answer(answer)

    def show_message(self, text: str, *, is_error: bool = False) -> None:
        """A message for a while. It is text: no markup is read."""
        shown = plain_text(text).plain
        if shown.strip():
            timeout = 12 if is_error else 5
            self.notify(shown, severity="error" if is_error else "information", timeout=timeout, markup=False)

    # Questions, which threads ask

    def ask_text(self, question: str, default: str, *, hidden: bool = False) -> str:
        return str(self._ask_dialog(TextDialog(question, default, hidden=hidden)))

    def ask_choice(self, question: str, labels: Sequence[str]) -> int:
        return int(self._ask_dialog(ChoiceDialog(question, [[plain_line(label)] for label in labels])))

    def ask_agreement(self, question: str) -> bool:
        return bool(self._ask_dialog(AgreeDialog(question)))

    def edit_text(self, text: str, name: str) -> str:
        answer: Future[str] = Future()
        self._wait_for(answer, partial(self._run_editor, answer, text, name))
        return answer.result()

    def _run_editor(self, answer: Future[str], text: str, name: str) -> None:
        """The editor has the terminal until it ends."""
        try:
            with self.suspend():
                answer.set_result(edit_in_editor(text, name, self.context.environ))
        except (CallsheetError, OSError) as error:
            answer.set_exception(error)
        self.refresh(layout=True)

    def _ask_dialog(self, dialog: Dialog) -> Any:
        answer: Future[Any] = Future()
        self._wait_for(answer, partial(self.push_screen, dialog, partial(_set_answer, answer)))
        found = answer.result()
        if found is None:
            raise KeyboardInterrupt
        return found

    def _wait_for(self, answer: Future[Any], show: Callable[[], Any]) -> None:
        if self._has_ended:
            raise KeyboardInterrupt
        self._waiting.add(answer)
        answer.add_done_callback(self._waiting.discard)
        self._own_loop.call_soon_threadsafe(self.call_later, show)

    @property
    def is_asking(self) -> bool:
        """Whether a command waits for an answer."""
        return bool(self._waiting)

    def end_calls(self) -> None:
        """Nothing waits for a person who left, or for a site."""
        self._has_ended = True
        for answer in list(self._waiting):
            _set_answer(answer, None)
        for call in list(self._calls):
            call.hang_up()


def _set_answer(answer: Future[Any], value: Any) -> None:
    if not answer.done():
        answer.set_result(value)
