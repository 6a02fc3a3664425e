"""Markdown on a terminal: nothing is lost that was to be read, and lines fit."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.output.reading import readable
from callsheet.output.table import display_width
from callsheet.terminal import BOLD, PLAIN


def shown(text: str, width: int = 60) -> str:
    return "\n".join(readable(text, width, styles=True)).replace(BOLD, "<").replace(PLAIN, ">")


SHOWN = [
    ("## The steps", "<The> <steps>"),
    ("Looks **very good**, @[Robin Sample](accountid:a1)", "Looks <very> <good>, <@Robin> <Sample>"),
    ("see [the plan](https://demo.example/p) and [below](#x)", "see the plan (https://demo.example/p) and below"),
    ("[https://demo.example](https://demo.example)", "https://demo.example"),
    (r"snake\_case and `a  b` stay", "snake_case and a  b stay"),
    ("```sh\n**echo** # no heading\n```\nafter", "    **echo** # no heading\nafter"),
    ("| a | **b** |\n|---|---|", "| a | **b** |\n|---|---|"),
    ("- [ ] one two three four five", "- [ ] one two three four five"),
    ("2 * 3 * 4 and a_b_c", "2 * 3 * 4 and a_b_c"),
]


@pytest.mark.parametrize(("text", "seen"), SHOWN)
def test_signs_become_what_they_mean(text: str, seen: str) -> None:
    assert shown(text) == seen


def test_what_goes_on_stands_below_its_beginning() -> None:
    assert shown("- one two three four five six seven", 24) == "- one two three four\n  five six seven"
    assert shown("> one two three four five six seven", 24) == "> one two three four\n> five six seven"


@given(st.text(st.sampled_from("ab *_`[]()#>-1.日\n"), max_size=120), st.integers(min_value=30, max_value=80))
def test_no_letter_is_lost_and_lines_fit(text: str, width: int) -> None:
    lines = list(readable(text, width, styles=False))
    kept = [each for each in "".join(lines) if each in "ab日"]
    assert sorted(kept) == sorted(each for each in text if each in "ab日") or "](" in text or "```" in text
    assert all(display_width(line) <= width or max(map(display_width, line.split(" "))) > width // 2 for line in lines)
