"""Lists of things as trees, whatever they say of themselves."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callsheet.language.functions import indented_tree

NUMBERS = st.integers(min_value=0, max_value=6)


@given(st.lists(st.fixed_dictionaries({"id": NUMBERS, "above": NUMBERS}), max_size=12))
def test_every_item_is_there_once_even_below_itself(items: list[dict[str, Any]]) -> None:
    found = [{key: item[key] for key in ("id", "above")} for item in indented_tree(items, "id", "above")]
    assert sorted(map(sorted, map(dict.items, found))) == sorted(map(sorted, map(dict.items, items)))


def test_an_item_stands_behind_what_it_is_below_in_the_order_of_the_list() -> None:
    items = [{"id": 3, "above": 2}, {"id": 1, "above": 0}, {"id": 2, "above": 1}, {"id": 4, "above": 2}]
    assert [(item["id"], item["indent"]) for item in indented_tree(items, "id", "above")] == [
        (1, ""),
        (2, "  "),
        (3, "    "),
        (4, "    "),
    ]
