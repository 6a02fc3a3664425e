"""Sums over things that are alike."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callsheet.language.functions import sum_alike

WORDS = st.sampled_from(["a", "b", None])


@given(st.lists(st.fixed_dictionaries({"who": WORDS, "day": WORDS, "seconds": st.integers(-9, 9)}), max_size=12))
def test_nothing_is_lost_and_no_two_sums_are_alike(items: list[dict[str, Any]]) -> None:
    for names in (["who", "day"], ["who"], []):
        found = sum_alike(items, names, "seconds")
        assert sum(each["seconds"] for each in found) == sum(each["seconds"] for each in items)
        marks = [tuple(each[name] for name in names) for each in found]
        assert marks == list(dict.fromkeys(tuple(each[name] for name in names) for each in items))


def test_what_is_no_number_or_no_object_counts_as_nothing() -> None:
    assert sum_alike([{"a": 1, "n": "x"}, 5, {"a": 1, "n": True}, {"a": True, "n": 2}], ["a"], "n") == [
        {"a": 1, "n": 0},
        {"a": True, "n": 2},
    ]
