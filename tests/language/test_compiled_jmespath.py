"""Which expressions become functions of their own: the usual ones, since each event is matched against many."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.language.compiled_jmespath import compile_node, equal, is_true
from callsheet.language.functions import parse

SCOPE = {"a": {"b": {"c": 3}}, "n": 2, "t": "x", "empty": "", "none": None, "yes": True, "l": [1]}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("n", 2),
        ("a.b.c", 3),
        ("a.b.x", None),
        ("t.b", None),
        ("(none || a).b.c", 3),
        ("empty || t", "x"),
        ("none || empty", ""),
        ("t && n", 2),
        ("empty && n", ""),
        ("!empty", True),
        ("!n", False),
        ("not_null(none, empty, t)", ""),
        ("not_null(none)", None),
        ("n == `2`", True),
        ("n != `2`", False),
        ("yes == `1`", False),
        ("n < `3`", True),
        ("n < `2`", False),
        ("n > `2`", False),
        ("n <= `1`", False),
        ("n >= `3`", False),
        ("n <= `2`", True),
        ("n >= `2`", True),
        ("t > 'a'", True),
        ("t > `1`", None),
        ("yes > `0`", None),
        ("@.n", 2),
        ('`{"k": 1}`', {"k": 1}),
        ("'raw'", "raw"),
    ],
)
def test_the_usual_expressions_are_compiled(expression: str, value: Any) -> None:
    compiled = compile_node(parse(expression).parsed)
    assert compiled is not None
    assert compiled(SCOPE) == value


@pytest.mark.parametrize(
    "expression", ["l[0]", "l[?a]", "length(t)", "a.*", "t || length(t)", "not_null(l[0])", "[n, t]"]
)
def test_the_others_are_left_to_the_library(expression: str) -> None:
    assert compile_node(parse(expression).parsed) is None


@pytest.mark.parametrize(
    ("value", "true"),
    [
        (None, False),
        (False, False),
        ("", False),
        ([], False),
        ({}, False),
        (0, True),
        (0.0, True),
        (True, True),
        ("a", True),
    ],
)
def test_what_counts_as_true(value: Any, true: bool) -> None:
    assert is_true(value) is true


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [(True, 1, False), (0, False, False), (True, True, True), (1, 1.0, True), ("1", 1, False)],
)
def test_a_boolean_is_no_number(left: Any, right: Any, same: bool) -> None:
    assert equal(left, right) is same
