"""`$name` in expressions: a name of the whole scope, wherever it stands."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.language.compiled_jmespath import compile_fast, first_names
from callsheet.language.scopes import names_of_items, root_names
from callsheet.language.template import TemplateError, evaluate

SCOPE: dict[str, Any] = {
    "label": "a",
    "items": [{"id": 1, "tags": ["a"]}, {"id": 2, "tags": ["b"]}],
    "box": {"id": 2},
    "$odd": 1,
}
CASES = [
    ("items[?contains(tags, $label)].id", [1], {"items", "label"}),
    ("items[?id == $box.id].tags", [["b"]], {"items", "box"}),
    ("map(&contains(tags, $label), items)", [True, False], {"items", "label"}),
    ("items | [?contains(tags, $label)] | [0].id", 1, {"items", "label"}),
    ("items[].{id: id, mine: $label} | [0]", {"id": 1, "mine": "a"}, {"items", "label"}),
    ("items[].[id, $label] | [1]", [2, "a"], {"items", "label"}),
    ("sort_by(items, &id)[-1].id", 2, {"items"}),
    ("$label", "a", {"label"}),
    ("$box.id", 2, {"box"}),
    ("items[?id == $nothing]", [], {"items", "nothing"}),
    ('"$odd"', 1, {"$odd"}),
    ("items[?contains(tags, '$label')]", [], {"items"}),
]


@pytest.mark.parametrize(("expression", "value", "names"), CASES, ids=[case[0] for case in CASES])
def test_it_means_the_whole_scope_everywhere(expression: str, value: Any, names: set[str]) -> None:
    assert evaluate(expression, SCOPE) == value
    assert compile_fast(expression)(SCOPE) == value
    assert set(root_names(expression)) == names
    assert first_names(expression) >= names


@pytest.mark.parametrize(
    ("expression", "told"),
    [
        ("a.$b", "no dot can stand before $b"),
        ("items[?$ == `1`]", "a name has to follow $"),
        ("a $b", "Unexpected token: $b"),
        ("a$b", "Unexpected token: $b"),
        ("$1", "a name has to follow $"),
    ],
)
def test_a_dollar_sign_that_means_nothing_is_refused(expression: str, told: str) -> None:
    with pytest.raises(TemplateError, match=told.replace("$", r"\$")):
        evaluate(expression, {})


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("items[?contains(tags, label)]", {"tags", "label"}),
        ("items[?tag]", {"tag"}),
        ("items[?@.tag == $tag]", set()),
        ("items[].tag", set()),
        ("items[].tag.name[0]", set()),
        ("items[].{id: id, n: name.first}", set()),
        ("items[].{n: not_null(a, b)}", {"a", "b"}),
        ("items[].sub[?x]", {"x"}),
        ("items[?a].{b: c[?d]}", {"a", "d"}),
        ("items | not_null(a)", {"a"}),
        ("sort_by(items, &name)", set()),
        ("map(&join('', [name, @.x]), items)", set()),
        ("not_null(a, b.c)", set()),
        ("a || b && c == d", set()),
        ("{x: a, y: b}", set()),
        ("[a, b][?c]", {"c"}),
    ],
)
def test_names_that_are_looked_up_in_an_item_are_found(expression: str, names: set[str]) -> None:
    assert set(names_of_items(expression)) == names


NAMES = st.sampled_from(["a", "b", "c"])


@settings(max_examples=60)
@given(outer=NAMES, inner=NAMES, value=st.integers(0, 3), data=st.data())
def test_a_marked_name_is_what_the_same_name_is_outside(outer: str, inner: str, value: int, data: Any) -> None:
    """Whatever the items hold under that name."""
    item = st.dictionaries(NAMES, st.integers(0, 3))
    scope = {"a": value, "b": 2, "c": 3, "items": data.draw(st.lists(item, max_size=4))}
    found = evaluate(f"items[?{inner} == ${outer}]", scope)
    assert found == [each for each in scope["items"] if each.get(inner) == scope[outer]]
