"""Composed queries keep what the person's own query says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.language.query_text import narrow_query, quote_query_text, split_tail

ORDER = "ORDER BY"


@pytest.mark.parametrize(
    ("query", "conditions", "expected"),
    [
        (None, [], None),
        ("", [None], None),
        (None, ["a = 1"], "a = 1"),
        ("b = 2", [], "b = 2"),
        ("b = 2 or c = 3", ["a = 1"], "(b = 2 or c = 3) AND a = 1"),
        ("b = 2 order  by c", ["a = 1", None, "d = 4"], "(b = 2) AND a = 1 AND d = 4 order  by c"),
        ("ORDER BY c DESC", ["a = 1"], "a = 1 ORDER BY c DESC"),
        ("ORDER BY c DESC", [], "ORDER BY c DESC"),
        ('t ~ "x ORDER BY y"', ["a = 1"], '(t ~ "x ORDER BY y") AND a = 1'),
        ("t ~ 'x \\' ORDER BY y' ORDER BY z", ["a = 1"], "(t ~ 'x \\' ORDER BY y') AND a = 1 ORDER BY z"),
        ("reorder by_x = 1", ["a = 1"], "(reorder by_x = 1) AND a = 1"),
    ],
)
def test_conditions_are_added_before_the_clause_at_the_end(
    query: str | None, conditions: list[str | None], expected: str | None
) -> None:
    assert narrow_query(query, conditions, ORDER) == expected


@given(st.text(max_size=40))
def test_a_quoted_text_never_ends_early(text: str) -> None:
    literal = quote_query_text(text)
    assert split_tail(f"t ~ {literal} ORDER BY x", ORDER) == (f"t ~ {literal}", "ORDER BY x")
    assert "\n" not in literal
