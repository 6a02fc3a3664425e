"""Which columns give way on a narrow terminal, and what goes on in the next line."""

from __future__ import annotations

import io
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.output import Output
from callsheet.output.table import broken_lines, display_width, table_lines


def test_a_limit_holds_only_where_room_is_short() -> None:
    rows = [["A-1", "x" * 70, "open"]]
    assert "x" * 70 in "".join(table_lines(None, rows, limits=[None, 60, None], width=100))
    assert "x" * 59 + "…" in "".join(table_lines(None, rows, limits=[None, 60, None], width=71))
    at_75 = "".join(table_lines(None, rows, limits=[None, 60, None], width=75))
    assert display_width(at_75.rstrip("\n")) == 75  # what is left goes to what was limited


def test_without_a_terminal_nothing_is_cut_or_broken() -> None:
    rows = [["A-1", "word " * 40]]
    assert (
        "".join(table_lines(None, rows, limits=[None, 10], wrapped=[False, True]))
        == f"A-1  {'word ' * 40}".rstrip() + "\n"
    )


def test_the_other_columns_stay_where_they_are_beside_lines_that_go_on() -> None:
    shown = "".join(table_lines(["A", "B", "C"], [["1", "one two three", "x"]], wrapped=[False, True, False], width=12))
    assert shown == "A  B         C\n1  one two   x\n   three\n"


@given(st.text(st.sampled_from("ab 日é"), max_size=60), st.integers(min_value=4, max_value=30))
def test_what_is_broken_into_lines_loses_nothing(text: str, width: int) -> None:
    lines = broken_lines(text, width)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(display_width(line) <= width for line in lines)


@pytest.mark.parametrize("width", [20, 40, 80])
def test_an_address_in_a_narrow_column_keeps_its_end(width: int) -> None:
    url = "https://demo.example/" + "x" * 90 + "/end"
    assert "".join(broken_lines(f"see {url}", width)).endswith("/end")


def test_items_side_by_side_fit_the_terminal_each_below_its_heading() -> None:
    view = {
        "columns": [],
        "detail": [
            {
                "title": "Columns",
                "items": "cards",
                "line": [{"name": "KEY", "value": "key"}, {"name": "TITLE", "value": "title"}],
                "across": {"heads": "heads", "head": "at", "lane": "lane"},
            }
        ],
    }
    cards = [
        {"key": "A-1", "title": "a long title of a card", "at": "doing", "lane": "Kim"},
        {"key": "A-2", "title": "\x1b[1mshort", "at": "todo", "lane": "Jan"},
        {"key": "A-3", "title": "stands nowhere", "at": "elsewhere", "lane": "Jan"},
    ]
    stream = io.StringIO()
    thing = {"cards": cards, "heads": [["todo", "TO DO 1"], ["doing", "DOING 1"], ["done", "DONE 0"]]}
    Output("table", stream=stream, view=view, width=40).print_one(thing)  # type: ignore[arg-type]
    assert stream.getvalue() == (
        "Columns\n"
        "  TO DO 1      DOING 1      DONE 0\n"
        "\n"
        "  Jan\n"
        "  A-2 short\n"
        "\n"
        "  Kim\n"
        "               A-1 a long\n"
        "               title of a\n"
        "               card\n"
    )


HOSTILE = [{"name": "<script>&\x1b[2J\x07 ends", "note": "]]></text></svg>"}, {"name": "舞台", "note": None}]


@pytest.mark.parametrize("color", [None, False])
def test_a_picture_is_one_document_that_shows_texts_and_runs_nothing(color: bool | None) -> None:
    told = io.StringIO()
    Output("svg", stream=told, color=color).print_items(HOSTILE)
    root = ET.fromstring(told.getvalue())
    shown = ["".join(line.itertext()) for line in root.iter("{http://www.w3.org/2000/svg}text")]
    assert [line.split()[0] for line in shown] == ["NAME", "<script>&", "舞台"]
    assert "]]></text></svg>" in shown[1]
    assert {each.tag.rpartition("}")[2] for each in root.iter()} <= {"svg", "style", "text", "tspan"}
    assert ("tspan" in told.getvalue()) is (color is None)
