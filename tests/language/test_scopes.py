"""The names an expression takes from its scope, and only those."""

from __future__ import annotations

import pytest

from callsheet.language.scopes import names_in, root_names


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("a", {"a"}),
        ("a.b.c", {"a"}),
        ("not_null(title, page.title)", {"title", "page"}),
        ("a[?b == `1`].c", {"a"}),
        ("map(&quoted(@), status)", {"status"}),
        ("{x: a, y: b.c}", {"a", "b"}),
        ("a && !b || c == d", {"a", "b", "c", "d"}),
        ("[a, b][]", {"a", "b"}),
        ("a | b", {"a"}),
        ("`null`", set()),
        ("@", set()),
    ],
)
def test_roots(expression: str, names: set[str]) -> None:
    assert set(root_names(expression)) == names


def test_names_in_nested_values_and_none_in_literal_braces() -> None:
    assert set(names_in({"a": ["{x.y}", {"b": "{{z}} {w}"}], "c": 1})) == {"x", "w"}
