"""A list that something splits which it must not hold: its parts go on counting."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.richtext import convert_rich_text
from support.richtext import nodes


def split_list(start: int, items: list[bool]) -> list[Any]:
    """The lists of a document made of one numbered list; `True` is an item with a table, which an item cannot hold."""
    table = "\n\n   | x |\n   |---|\n   | y |\n"
    source = "\n".join(f"{start + place}. item{table if split else ''}" for place, split in enumerate(items))
    document = convert_rich_text(source, "markdown", "adf", nodes=nodes()).value
    return [node for node in document["content"] if node["type"] == "orderedList"]


def test_the_third_part_goes_on_where_the_second_ended() -> None:
    parts = split_list(1, [False, True, True, False])
    assert [part.get("attrs", {}).get("order", 1) for part in parts] == [1, 3, 4]


@settings(max_examples=40)
@given(st.integers(1, 9), st.lists(st.booleans(), min_size=1, max_size=8))
def test_every_item_keeps_its_number(start: int, items: list[bool]) -> None:
    number, expected = start, []
    for part in split_list(start, items):
        expected.append(part.get("attrs", {}).get("order", 1) == number)
        number += len(part["content"])
    assert all(expected)
    assert number == start + len(items)
