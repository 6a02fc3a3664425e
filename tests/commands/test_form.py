"""Fields above a text: what is shown, and what is read back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.commands.steps.asking import FormField, form_text, read_form
from callsheet.errors import UsageError

FIELDS = [FormField("Labels"), FormField("Severity", required=True, values=["High", "Low"]), FormField("Due: date")]


def filled(*lines: str, text: str = "") -> str:
    return "\n".join(["---", *lines, "---", text])


def test_required_fields_come_first_with_their_values() -> None:
    shown = form_text(FIELDS).splitlines()
    assert shown[0] == "---"
    assert shown[3:] == ["# required; one of: High, Low", "Severity:", "Labels:", "Due: date:", "---", ""]


def test_many_values_are_cut() -> None:
    assert ", v19, ...\n" in form_text([FormField("A", values=[f"v{number}" for number in range(30)])])


def test_what_was_filled_in_is_read_back() -> None:
    lines = ["# a note", "severity: low", "", "Due: date: 2026-01-31", "Labels: a, b"]
    text = filled(*lines, text="\n# Heading\n\n---\nText\n")
    assert read_form(text, FIELDS) == (
        ["Severity=low", "Due: date=2026-01-31", "Labels=a, b"],
        "# Heading\n\n---\nText",
    )


WRONG = [
    (filled("Severity: Hihg"), "line 2: Severity: unknown value 'Hihg', did you mean 'High'?"),
    (filled("Severity: High", "Labls: a"), "line 3: no field 'Labls', did you mean 'Labels'?"),
    (filled("Severity: High", "so"), "line 3: expected NAME: VALUE, not 'so'"),
    (filled("Labels: a"), "a value is needed for Severity"),
    (filled("Severity:"), "a value is needed for Severity"),
    ("no dashes", "between two lines of ---"),
    ("before\n" + filled("Severity: High"), "between two lines of ---"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_what_cannot_be_used_names_its_line(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said.replace("?", r"\?")):
        read_form(text, FIELDS)


@given(st.dictionaries(st.sampled_from("abc"), st.text(st.characters(exclude_categories=["C", "Z"])).map(str.strip)))
def test_every_value_comes_back(values: dict[str, str]) -> None:
    fields = [FormField(name) for name in "abc"]
    lines = [f"{name}: {values.get(name, '')}" for name in "abc"]
    words, text = read_form(filled(*lines, text="x"), fields)
    assert (dict(word.split("=", 1) for word in words), text) == ({n: v for n, v in values.items() if v}, "x")
