"""Which expressions become functions of their own: the usual ones, since each event is matched against many."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from callsheet.language.compiled_jmespath import compile_condition, compile_fast, compile_node, equal_values, is_true
from callsheet.language.functions import parse_expression
from callsheet.language.template import TemplateError, compile_expression

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
        ("contains(t, 'x')", True),
        ("contains(l, `1`)", True),
        ("contains(l, 'x')", False),
        ("starts_with(t, 'y')", False),
        ("ends_with(t, t) && !contains(t, 'z')", True),
    ],
)
def test_the_usual_expressions_are_compiled(expression: str, value: Any) -> None:
    compiled = compile_node(parse_expression(expression).parsed)
    assert compiled is not None
    assert compiled(SCOPE) == value


@pytest.mark.parametrize(
    "expression",
    [
        "l[0]",
        "l[?a]",
        "length(t)",
        "a.*",
        "t || length(t)",
        "not_null(l[0])",
        "[n, t]",
        "not_null(n, contains(n, t))",
        "contains(l[*], n)",
    ],
)
def test_the_others_are_left_to_the_library(expression: str) -> None:
    assert compile_node(parse_expression(expression).parsed) is None


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
    assert equal_values(left, right) is same


VALUES = ["t", "l", "n", "none", "yes", "a", "missing", "'x'", "`1`", "`true`", '`["x", 1, true]`', "`null`", "`1.0`"]


@pytest.mark.parametrize("function", ["contains", "starts_with", "ends_with"])
@pytest.mark.parametrize("around", ["{}", "{} || n", "n && {}", "!{}", "missing && {}"])
def test_functions_give_and_refuse_what_the_library_does(function: str, around: str) -> None:
    def outcome(evaluate: Any) -> Any:
        try:
            return evaluate(SCOPE)
        except TemplateError as error:
            return str(error)

    failed = set()
    for first, second in product(VALUES, VALUES):
        expression = around.format(f"{function}({first}, {second})")
        try:
            expected = outcome(compile_expression(expression))
        except TemplateError:  # whatever the values are
            continue
        assert outcome(compile_fast(expression)) == expected, expression
        failed.add(isinstance(expected, str))
        assert compile_condition(expression)(SCOPE) == (is_true(expected) and not isinstance(expected, str)), expression
    assert failed == ({False} if "missing" in around else {False, True})
