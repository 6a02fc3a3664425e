from __future__ import annotations

import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.language.template import TemplateError, evaluate, expressions_in_text, fill_template

SCOPE: dict[str, Any] = {
    "key": "A-1",
    "count": 3,
    "flag": True,
    "none": None,
    "names": ["x", "y"],
    "page": {"version": {"number": 7}, "title": "Old {key}"},
}

FILLED = [
    ("plain", "plain"),
    ("{key}", "A-1"),
    ("{count}", 3),
    ("{flag}", True),
    ("{names}", ["x", "y"]),
    ("is {key}, {count}, {flag}", "is A-1, 3, true"),
    ("{names}!", '["x", "y"]!'),
    ("{none}", None),
    ("<{none}>", "<>"),
    ("{{key}}", "{key}"),
    ("{page.version.number}", 7),
    ("{sum([page.version.number, `1`])}", 8),
    ("{not_null(none, page.title)}", "Old {key}"),
    ("{ {a: key} }", {"a": "A-1"}),
    ("{slug(page.title)}", "old-key"),
    ("{names[?@ == '}']}", []),
    ("", ""),
    ({"a": "{none}", "b": "{key}"}, {"b": "A-1"}),
    ({"a": {"b": "{none}"}, "c": {}}, {"c": {}}),
    ({"a": {"b": "{none}"}}, None),
    (["{none}", "{key}", []], ["A-1", []]),
    (5, 5),
]


@pytest.mark.parametrize(("value", "expected"), FILLED, ids=[str(value) for value, _ in FILLED])
def test_fill(value: Any, expected: Any) -> None:
    assert fill_template(value, SCOPE) == expected


@pytest.mark.parametrize("text", ["{", "}", "a {key", "key}", "{ 'x }", "{a[}", "{||}"])
def test_what_does_not_parse_is_refused(text: str) -> None:
    with pytest.raises(TemplateError):
        fill_template(text, SCOPE)


def test_an_expression_that_fails_on_its_value_names_itself() -> None:
    with pytest.raises(TemplateError, match=r"^sum\(key\): "):
        evaluate("sum(key)", SCOPE)


def test_expressions_of_a_text() -> None:
    assert expressions_in_text("{a} and {b.c} {{d}}") == ("a", "b.c")


@given(st.text())
def test_values_are_never_searched_for_placeholders(text: str) -> None:
    assert fill_template("{value}", {"value": text}) == text
    assert fill_template("<{value}>", {"value": text}) == f"<{text}>"


@given(st.text())
def test_any_text_can_be_written_literally(text: str) -> None:
    assert fill_template(text.replace("{", "{{").replace("}", "}}"), {}) == text


def test_plain_names_need_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jmespath", None)
    assert fill_template("{just_a_name}", {"just_a_name": 1}) == 1
