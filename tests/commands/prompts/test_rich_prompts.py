"""Menus and lines with the keys of a real terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput
from prompt_toolkit.renderer import Renderer

from callsheet.commands import rich_prompts

PEOPLE = ["Robin Sample", "Kim Example", "Noor Specimen"]
UP, DOWN, ENTER, BACKSPACE, CONTROL_C = "\x1b[A", "\x1b[B", "\r", "\x7f", "\x03"

Type = Callable[[str], None]


@pytest.fixture
def press(monkeypatch: pytest.MonkeyPatch) -> Iterator[Type]:
    monkeypatch.setattr(rich_prompts, "create_output", lambda stdout: DummyOutput())
    with create_pipe_input() as keys, create_app_session(input=keys, output=DummyOutput()):
        yield keys.send_text


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (ENTER, 0),
        (DOWN + DOWN + ENTER, 2),
        (UP + ENTER, 2),
        ("kim" + ENTER, 1),
        ("jk" + BACKSPACE * 3 + ENTER, 0),
        ("KIMO" + BACKSPACE + ENTER, 1),
    ],
)
def test_one_is_chosen_by_arrows_or_by_typing_a_part_of_it(press: Type, keys: str, place: int) -> None:
    press(keys)
    assert rich_prompts.choose_in_menu("Who?", PEOPLE, color=True) == place


@pytest.mark.parametrize("nothing", ["Zed", "é", "\x1b[200~Zed\x1b[201~", "kimono", "robin\x1b[200~s\x1b[201~"])
def test_enter_chooses_nothing_while_the_filter_matches_nothing(press: Type, nothing: str) -> None:
    typed = re.sub(r"\x1b\[20[01]~", "", nothing)
    press(nothing + ENTER + ENTER + BACKSPACE * len(typed) + "noor" + ENTER)
    assert rich_prompts.choose_in_menu("Who?", PEOPLE, color=True) == 2
    press(nothing + ENTER + DOWN + DOWN + ENTER)  # an arrow key points at an entry again
    assert rich_prompts.choose_in_menu("Who?", PEOPLE, color=True) == 1
    press(nothing + ENTER + CONTROL_C)
    with pytest.raises(KeyboardInterrupt):
        rich_prompts.choose_in_menu("Who?", PEOPLE, color=True)


@pytest.mark.parametrize("keys", ["Özl", "\x1b[200~Özlem\n\x1b[201~", "\x1b[200~ö\x1b[201~zlem"])
def test_letters_of_every_language_and_pasted_ones_filter(press: Type, keys: str) -> None:
    press(keys + ENTER)
    assert rich_prompts.choose_in_menu("Who?", [*PEOPLE, "Özlem Beispiel"], color=True) == 3


@pytest.mark.parametrize("sent", ["\x1b[5;1R", "\x1b[15~", "\x1bOP", "\x1b[3~", "\x1b[1;5C", "\x1b[200~\x1b[201~"])
def test_what_a_terminal_sends_for_itself_and_for_keys_without_a_letter_does_not_filter(press: Type, sent: str) -> None:
    """A terminal that is asked where the pointer stands answers as if it typed."""
    press("kim" + sent + ENTER)
    assert rich_prompts.choose_in_menu("Who?", PEOPLE, color=True) == 1


def test_where_the_pointer_stands_is_taken_note_of(press: Type, monkeypatch: pytest.MonkeyPatch) -> None:
    rows: list[int] = []
    monkeypatch.setattr(Renderer, "report_absolute_cursor_row", lambda _, row: rows.append(row))
    press("\x1b[5;1R" + ENTER)
    rich_prompts.choose_in_menu("Who?", PEOPLE, color=True)
    assert rows == [5]


def test_a_line_can_be_edited(press: Type) -> None:
    press("Swept\x7fp" + ENTER)
    assert rich_prompts.ask_text("Summary", "", color=False) == "Swepp"
    press(ENTER)
    assert rich_prompts.ask_text("Type", "Task", color=True) == "Task"


def test_control_c_interrupts(press: Type) -> None:
    press(CONTROL_C)
    with pytest.raises(KeyboardInterrupt):
        rich_prompts.choose_in_menu("Who?", PEOPLE, color=True)
    press(CONTROL_C)
    with pytest.raises(KeyboardInterrupt):
        rich_prompts.ask_text("Summary", "", color=True)
