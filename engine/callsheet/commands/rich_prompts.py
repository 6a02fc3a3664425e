"""Questions with editing, menus and filters, by questionary. Loaded with the first question."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import questionary
from prompt_toolkit.filters import Condition, is_done
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent, merge_key_bindings
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout import ConditionalContainer, FormattedTextControl, HSplit, Window
from prompt_toolkit.output import ColorDepth, create_output
from questionary.prompts.common import InquirerControl

from ..terminal import unguarded_stream

_NOWHERE = -1  # where the pointer stands while it stands at no entry
# The base colors alone: they are readable on every background.
_STYLE = questionary.Style(
    [
        ("qmark", "fg:ansigreen bold"),
        ("question", "bold"),
        ("answer", "fg:ansicyan nobold"),
        ("pointer", "fg:ansicyan bold"),
        ("highlighted", "fg:ansicyan"),
        ("selected", ""),
        ("instruction", ""),
        ("search_success", "fg:ansicyan"),
        ("search_none", "fg:ansired"),
    ]
)


def ask_text(question: str, default: str, *, color: bool) -> str:
    answer: str = questionary.text(question, default=default, **_prompt_settings(color=color)).unsafe_ask()
    return answer


def choose_in_menu(question: str, labels: Sequence[str], *, color: bool) -> int:
    """The place of the entry that the pointer stands at when Enter is pressed.

    A filter that matches nothing takes the pointer away, and Enter then waits for another filter or an arrow key.
    """
    choices = [questionary.Choice(title=label, value=place) for place, label in enumerate(labels)]
    asked = questionary.select(
        question,
        choices,
        use_jk_keys=False,
        instruction="(arrow keys, or type to filter)",
        **_prompt_settings(color=color),
    )
    screen = asked.application
    menu = next(each for each in screen.layout.find_all_controls() if isinstance(each, InquirerControl))
    screen.key_bindings = merge_key_bindings([screen.key_bindings or KeyBindings(), _menu_keys(menu)])
    screen.layout.container = HSplit([screen.layout.container, _nothing_matches(menu)])
    place: int = asked.unsafe_ask()
    return place


def _menu_keys(menu: InquirerControl) -> KeyBindings:
    """Keys that filter, and one that chooses.

    questionary's own take ASCII alone, ignore what is pasted, and choose the first entry of all where none matches.
    """
    keys = KeyBindings()

    @keys.add(Keys.Any, eager=True)
    @keys.add(Keys.BracketedPaste, eager=True)
    def filter_further(event: KeyPressEvent) -> None:
        pressed = event.key_sequence[-1].key
        if pressed is Keys.BracketedPaste or not isinstance(pressed, Keys):  # a key without a letter has a name there
            narrow(menu.search_filter or "", event.data)

    @keys.add(Keys.CPRResponse, eager=True)
    def pointer_reported(event: KeyPressEvent) -> None:
        """The terminal's answer, which it sends as if it was typed."""
        event.app.renderer.report_absolute_cursor_row(int(event.data[2:-1].partition(";")[0]))

    @keys.add(Keys.Backspace, eager=True)
    def filter_less(_event: KeyPressEvent) -> None:
        narrow((menu.search_filter or "")[:-1], "")

    @keys.add(Keys.ControlM, eager=True)
    def choose_pointed(event: KeyPressEvent) -> None:
        if menu.pointed_at == _NOWHERE:
            event.app.output.bell()
            return
        menu.is_answered = True
        event.app.exit(result=menu.get_pointed_at().value)

    def narrow(before: str, typed: str) -> None:
        menu.search_filter = before + "".join(filter(str.isprintable, typed)) or None
        menu.pointed_at = 0 if menu.filtered_choices and _has_match(menu) else _NOWHERE

    return keys


def _nothing_matches(menu: InquirerControl) -> ConditionalContainer:
    line = FormattedTextControl(lambda: [("class:search_none", f"nothing matches {menu.search_filter!r}")])
    return ConditionalContainer(Window(line, height=1), Condition(lambda: not _has_match(menu)) & ~is_done)


def _has_match(menu: InquirerControl) -> bool:
    """As of the time when the menu last worked out its entries: it then shows all of them where none matches."""
    return menu.search_filter is None or bool(menu.found_in_search)


def _prompt_settings(*, color: bool) -> dict[str, Any]:
    """Standard output holds the result, so questions stand on standard error."""
    depth = ColorDepth.DEPTH_4_BIT if color else ColorDepth.DEPTH_1_BIT
    return {"output": create_output(stdout=unguarded_stream(sys.stderr)), "color_depth": depth, "style": _STYLE}
