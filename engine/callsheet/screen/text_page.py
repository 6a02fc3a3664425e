"""A page of text: one thing in full, the help of a command, the keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widgets import Static

from ..output.columns import Columns
from ..output.detail import Manner, detail, sections_of
from .call import CommandAnswer
from .row_list import plain, plain_line, styled_text

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.events import Resize

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
        return cls(title="keys", text=plain("\n".join(lines)))

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
            found = plain(self._answer.text if self._answer else "")
        self.query_one(TextPane).show(found)


def thing_text(answer: CommandAnswer, width: int) -> Text:
    """One thing as its view shows it in full, with rich text as it reads."""
    if answer.formats is None or not isinstance(answer.thing, dict):
        return plain(str(answer.thing))
    columns = Columns(answer.view, None, answer.formats)
    shown = columns.all_columns or columns.resolve([answer.thing], _SUGGESTED)
    manner = Manner(width, styles=True)
    return styled_text("".join(detail(answer.thing, shown, sections_of(answer.view), answer.formats, manner)))
