"""Menus and lines with the keys of a real terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from prompt_toolkit.application import create_app_session
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from callsheet.commands.prompts import rich_prompts

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
    [(ENTER, 0), (DOWN + DOWN + ENTER, 2), (UP + ENTER, 2), ("kim" + ENTER, 1), ("jk" + BACKSPACE * 2 + ENTER, 0)],
)
def test_one_is_chosen_by_arrows_or_by_typing_a_part_of_it(press: Type, keys: str, place: int) -> None:
    press(keys)
    assert rich_prompts.choose("Who?", PEOPLE, color=True) == place


def test_a_line_can_be_edited(press: Type) -> None:
    press("Swept\x7fp" + ENTER)
    assert rich_prompts.ask_text("Summary", "", color=False) == "Swepp"
    press(ENTER)
    assert rich_prompts.ask_text("Type", "Task", color=True) == "Task"


def test_control_c_interrupts(press: Type) -> None:
    press(CONTROL_C)
    with pytest.raises(KeyboardInterrupt):
        rich_prompts.choose("Who?", PEOPLE, color=True)
    press(CONTROL_C)
    with pytest.raises(KeyboardInterrupt):
        rich_prompts.ask_text("Summary", "", color=True)
