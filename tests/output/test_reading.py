"""Markdown on a terminal: nothing is lost that was to be read, and lines fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.output.reading import readable_lines
from callsheet.output.table import display_width
from callsheet.terminal import PLAIN, STYLES

SIGNS = {STYLES["bold"]: "<", STYLES["underline"]: "_", STYLES["cyan"]: "`", STYLES["italic"]: "/", PLAIN: ">"}


def shown(text: str, width: int | None = 60) -> str:
    seen = "\n".join(readable_lines(text, width, styles=True))
    for style, sign in SIGNS.items():
        seen = seen.replace(style, sign)
    return seen


SHOWN = [
    ("## The steps", "<The> <steps>"),
    ("Looks **very good**, @[Robin Sample](accountid:a1)", "Looks <very> <good>, <@Robin> <Sample>"),
    ("see [the plan](https://demo.example/p) and [below](#x)", "see the plan (_https://demo.example/p>) and below"),
    ("[https://demo.example](https://demo.example)", "_https://demo.example>"),
    ("<https://demo.example> and [](page:The%20plan)", "_https://demo.example> and The plan"),
    (r"snake\_case and `a  b` stay", "snake_case and `a>  `b> stay"),
    ("*soft* and _so on_, not 2*3*4 or a_b_c", "/soft> and /so> /on>, not 2*3*4 or a_b_c"),
    ("```sh\n**echo** # no heading\n```\nafter", "    **echo** # no heading\nafter"),
    ("| a | **b** |\n|---|---|\n| one | two |", "<a>    <b>\none  two"),
    ("|  |  |\n|---|---|\n| a | b \\| c |", "a  b | c"),
    ("```\n| a | b |\n```", "    | a | b |"),
    ("---", "─" * 40),
    ("- [ ] one two three four five", "- [ ] one two three four five"),
    ("2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c"),
]


@pytest.mark.parametrize(("text", "seen"), SHOWN)
def test_signs_become_what_they_mean(text: str, seen: str) -> None:
    assert shown(text) == seen


def test_the_cells_of_a_table_go_on_below_themselves() -> None:
    text = "| key | what it does |\n|---|---|\n| a | one two three four five |"
    assert shown(text, 20) == "<key>  <what it does>\na    one two three\n     four five"


def test_without_a_width_nothing_is_broken() -> None:
    assert shown("word " * 60 + "**end**", None) == "word " * 60 + "<end>"


def test_what_goes_on_stands_below_its_beginning() -> None:
    assert shown("- one two three four five six seven", 24) == "- one two three four\n  five six seven"
    assert shown("> one two three four five six seven", 24) == "> one two three four\n> five six seven"


@given(st.text(st.sampled_from("ab *_`[]()#>-1.|日\n"), max_size=120), st.integers(min_value=30, max_value=80))
def test_no_letter_is_lost_and_lines_fit(text: str, width: int) -> None:
    lines = list(readable_lines(text, width, styles=False))
    kept = [each for each in "".join(lines) if each in "ab日"]
    assert sorted(kept) == sorted(each for each in text if each in "ab日") or "](" in text or "```" in text
    assert all(display_width(line) <= width or max(map(display_width, line.split(" "))) > width // 2 for line in lines)
