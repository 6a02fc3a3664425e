"""What must hold for any value: nothing is lost in json, yaml and csv, and nothing harmful reaches a terminal."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from wcwidth import wcswidth

from callsheet import jsontext
from callsheet.errors import CallsheetError
from callsheet.output import Output
from callsheet.output.clean_text import clean_lines, describe_error, error_object, one_line, spreadsheet_cell
from callsheet.output.table import display_width, shortened_cell, table_lines

NUMBERS = st.one_of(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
WORDS = "yes y Off 1e3 0o7 12:30:45 1_000 2026-01-31 null ~ << = # .5 +.inf 0x1F 😀 \x1b[1m \u202e --- ... *a !x \ufeff"
TRICKY = st.sampled_from([*WORDS.split(" "), "- a", "a: b", "é\n", "a\n b\n", "\n", " x", "x ", "\x85", "\u2028", "\t"])
TEXTS = st.one_of(TRICKY, st.text(max_size=12), st.text("\x1b\x9b\x9d[]0;m\x07\\ a\r\n\t='+-@日é\u200d", max_size=12))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXTS, inner, max_size=4)),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(TEXTS, VALUES, max_size=3), max_size=4)


def items_printed(items: list[Any], form: str, **options: Any) -> str:
    stream = io.StringIO()
    Output(form, stream=stream, id="id", text="name || title", **options).print_items(iter(items))
    return stream.getvalue()


@settings(max_examples=80)
@given(st.lists(VALUES, max_size=4))
def test_json_and_ndjson_read_back(items: list[Any]) -> None:
    assert json.loads(items_printed(items, "json")) == items
    assert items_printed(items, "json") == json.dumps(items, indent=2, ensure_ascii=False) + "\n"
    assert [json.loads(line) for line in items_printed(items, "ndjson").split("\n")[:-1]] == items


@settings(max_examples=100)
@given(st.lists(VALUES, max_size=3))
@example(["a\n\nb", "a\n", "\n", "a \nb", "#\n-", "x\n\n\n", "...", "a\n...\nb", "a\n---\n", "😀\n\u202e"])
@example([{"yes": 1, "n": 2, "1": 3, "a\nb": 4, "": 5, "x" * 200: {"y" * 300: []}}])
def test_yaml_reads_back(items: list[Any]) -> None:
    text = items_printed(items, "yaml")
    assert same(yaml.safe_load(text), items)
    assert same(yaml.load(text, yaml.CSafeLoader), items)


@pytest.mark.slow
@settings(max_examples=80)
@given(st.lists(VALUES, max_size=3))
@example(["0o7", "1e3", "yes", "012", "1_0", "12:30:45", "0b1", 1e22, 1e-7, -0.0])
def test_yaml_1_2_reads_back(items: list[Any]) -> None:
    ruamel = pytest.importorskip("ruamel.yaml")
    reader = ruamel.YAML(typ="safe", pure=True)
    assert same(reader.load(items_printed(items, "yaml")), items)


def same(found: Any, given: Any) -> bool:
    if isinstance(given, list):
        return isinstance(found, list) and len(found) == len(given) and all(map(same, found, given))
    if isinstance(given, dict):
        return (
            isinstance(found, dict)
            and list(found) == list(given)
            and all(same(found[key], given[key]) for key in given)
        )
    return type(found) is type(given) and found == given


@pytest.mark.slow
@settings(max_examples=80)
@given(OBJECTS)
def test_csv_reads_back_and_holds_no_formula(items: list[dict[str, Any]]) -> None:
    rows = list(csv.reader(io.StringIO(items_printed(items, "csv"), newline=""), strict=True))
    assert len({len(row) for row in rows}) <= 1
    assert len(rows) in (0, len(items) + 1)
    assert not [cell for row in rows for cell in row if runs(cell)]
    assert not [cell for row in rows for cell in row if controls(cell)]


@settings(max_examples=200)
@given(TEXTS)
@example("=1+1")
@example("\t=1")
@example("  @x")
@example("\uff1d1")
@example("\u200b=1")
@example("-2+3")
def test_a_csv_cell_is_the_text_or_the_text_after_a_quote(text: str) -> None:
    cell = spreadsheet_cell(text)
    assert cell.removeprefix("'") == one_line(text).removeprefix("'")
    assert not runs(cell)


def runs(cell: str) -> bool:
    bare = unicodedata.normalize("NFKC", cell.strip("\u200b\u200c\u200d\u2060 \t\r")).strip()
    try:
        float(bare.replace("_", "x"))
    except ValueError:
        return bare[:1] in tuple("=+-@")
    return False


@pytest.mark.parametrize("number", ["-5", "+5", "-1.5", "1e5", "-1.5e-10", "0"])
def test_a_number_stays_a_number_for_a_spreadsheet(number: str) -> None:
    assert spreadsheet_cell(number) == number


@pytest.mark.slow
@settings(max_examples=80)
@given(OBJECTS, st.one_of(st.none(), st.integers(10, 60)))
def test_a_table_holds_no_control_character_and_is_aligned(items: list[dict[str, Any]], width: int | None) -> None:
    out = items_printed(items, "table", width=width)
    printed = out.split("\n")[:-1]
    assert len(printed) in (0, len(items) + 1)
    assert not [line for line in printed if controls(line) or line != line.rstrip()]


@settings(max_examples=150)
@example([("\u0903a", "\U000119dc", "|"), ("b", "a\u0301", "|")], 21)
@example([("a", "\u200d", "|"), ("\u200db", "日\u200d\u200d", "|")], 21)
@given(
    st.lists(st.tuples(TEXTS.map(one_line), TEXTS.map(one_line), st.just("|")), min_size=1, max_size=4),
    st.integers(21, 40),
)
def test_columns_start_at_the_same_width_everywhere(rows: list[tuple[str, str, str]], width: int) -> None:
    for limit in (None, width):
        ends = {wcswidth(line.rstrip("\n")) for line in table_lines(("a", "b", "|"), rows, width=limit)}
        assert len(ends) == 1
        assert limit is None or ends.pop() <= limit


@pytest.mark.parametrize(
    ("text", "width", "cut"),
    [
        ("abcdef", 4, "abc…"),
        ("abcd", 4, "abcd"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("👨‍👩‍👧👨‍👩‍👧x", 4, "👨‍👩‍👧…"),
        ("e\u0301e\u0301e\u0301", 2, "e\u0301…"),
        ("日", 1, "…"),
    ],
)
def test_cut_between_whole_characters(text: str, width: int, cut: str) -> None:
    assert shortened_cell(text, width) == cut
    assert display_width(cut) <= width


@pytest.mark.parametrize(
    ("text", "harmless"),
    [
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x1b]8;;https://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;title\x07rest", "rest"),
        ("a\x1b]52;c;AAAA", "a"),
        ("a\x1b]0;open\nnext", "a next"),
        ("\x9b2Jx\x9d0;t\x9cy\x90q\x1b\\z", "xyz"),
        ("\x1bPq#0\x1b\\a\x1bcb\x1b(Bc\x1b", "abc"),
        ("\x1b[38;5;1", ""),
        ("a\x00\x08\x7f\x85\u2028b", "a  b"),
        ("\u202eevil\u2066x\u2069\u200f", "evilx"),
        ("a\r\nb\tc\rd", "a b c d"),
        ("half \ud83d pair", "half \ufffd pair"),
        ("👨‍👩‍👧 e\u0301 עברית", "👨‍👩‍👧 e\u0301 עברית"),
    ],
)
def test_terminal_sequences_and_controls_are_taken_out(text: str, harmless: str) -> None:
    assert one_line(text) == harmless
    assert not controls(clean_lines(text).replace("\n", ""))


@pytest.mark.slow
@settings(max_examples=300)
@given(TEXTS)
def test_cleaning_twice_changes_nothing(text: str) -> None:
    for clean in (one_line, clean_lines):
        assert clean(clean(text)) == clean(text)
        assert not controls(clean(text).replace("\n", ""))


def controls(text: str) -> bool:
    return any(
        unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in "\u202a\u202e\u2066"
        for character in text
    )


@settings(max_examples=100)
@given(TEXTS, TEXTS, TEXTS)
def test_an_error_reads_harmlessly_and_its_json_is_complete(message: str, detail: str, hint: str) -> None:
    error = CallsheetError(message, details=[detail], hint=hint, status=404, trace_id="t\x1b[1m1")
    described = describe_error(error)
    assert not controls(described.replace("\n", ""))
    assert "  - trace id: t1" in described
    form = json.loads(jsontext.dump_json(error_object(error)))
    assert form == {
        "error": {
            "code": "error",
            "status": 404,
            "message": message,
            "details": [detail],
            "hint": hint,
            "trace_id": "t\x1b[1m1",
        }
    }


def test_an_error_without_more_is_one_line() -> None:
    assert describe_error(CallsheetError("no")) == "error: no"
    assert set(error_object(CallsheetError("no"))["error"]) == {
        "code",
        "status",
        "message",
        "details",
        "hint",
        "trace_id",
    }
