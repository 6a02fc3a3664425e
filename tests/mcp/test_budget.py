"""Answers that are cut: nothing is lost, and no part is larger than it may be."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.errors import UsageError
from callsheet.mcp import answers as budget
from callsheet.mcp.answers import Rests, cut_text, cut_to_budget, json_size, rendered_value

TEXTS = st.text(st.sampled_from("ab \n\u00e9\U0001f600|"), max_size=400)
THINGS = st.dictionaries(
    st.sampled_from(["key", "summary", "text", "labels"]), TEXTS | st.lists(TEXTS, max_size=3), max_size=4
)


@given(TEXTS, st.integers(1, 200))
def test_a_text_is_cut_between_characters_and_loses_only_the_blank_it_is_cut_at(text: str, budget: int) -> None:
    head, rest = cut_text(text, max(4, budget))
    assert len(head.encode()) <= max(4, budget)
    assert text in {head + rest, f"{head}\n{rest}", f"{head} {rest}"}


@given(st.lists(THINGS, max_size=6), st.integers(300, 3000))
def test_the_items_that_fit_come_first_and_the_rest_follows(items: list[Any], budget: int) -> None:
    now, rest = cut_to_budget(items, budget)
    if json_size(items) <= budget:
        assert (now, rest) == (items, "")
        return
    if len(now) > 1 or now[0] == items[0]:
        assert now == items[: len(now)]
        assert json_size(now) <= budget
        assert rest == rendered_value(items[len(now) :])


def test_the_longest_value_of_a_thing_gives_way() -> None:
    thing = {"key": "A-1", "text": "word " * 2000, "notes": ["x"]}
    now, rest = cut_to_budget(thing, 2000)
    assert json_size(now) <= 2000
    assert now["key"] == "A-1"
    assert now["notes"] == ["x"]
    said = now["text"] + " " + rest.partition("continued\n\n")[2]
    assert said.split() == thing["text"].split()


def test_a_rest_is_read_part_by_part() -> None:
    rests = Rests(1000)
    text = "\n".join(f"line {number}" for number in range(1000))
    handle, parts = rests.put_rest(text), []
    while handle is not None:
        part, handle = rests.take_part(handle)
        assert len(part.encode()) <= 1000
        parts.append(part)
    assert "\n".join(parts) == text
    assert rests.put_rest("") is None


def test_old_rests_are_forgotten_and_no_handle_is_like_another() -> None:
    rests = Rests()
    handles = [rests.put_rest(f"text {number}") for number in range(100)]
    assert len(set(handles)) == 100
    assert rests.take_part(str(handles[-1])) == ("text 99", None)
    for unknown in (str(handles[0]), "", "0" * 12):
        with pytest.raises(UsageError, match="unknown or expired handle"):
            rests.take_part(unknown)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([], "nothing found"),
        ([{"key": "A-1", "name": "a|b"}, {"key": "A-2"}], "| key | name |\n| --- | --- |\n| A-1 | a\\|b |\n| A-2 |  |"),
        ([{"key": "A-1", "text": "one\ntwo"}], "key: A-1\n\n## text\n\none\ntwo"),
        ({"key": "A-1", "parts": [{"id": "1"}]}, "key: A-1\n\n## parts\n\n| id |\n| --- |\n| 1 |"),
        ({"a": {"b": 1}}, '{"a": {"b": 1}}'),
        ([1, "x", None], "1\nx\n"),
        ({"text": "only\nthis"}, "only\nthis"),
    ],
    ids=lambda value: json.dumps(value)[:40],
)
def test_records_read_as_markdown(value: Any, text: str) -> None:
    assert rendered_value(value) == text


def test_the_rests_of_large_answers_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "_KEPT_SIZE", 1000)
    rests = Rests()
    handles = [str(rests.put_rest(letter * 400)) for letter in "abcd"]
    assert [rests.take_part(handle)[0][0] for handle in handles[2:]] == ["c", "d"]
    for handle in handles[:2]:
        with pytest.raises(UsageError):
            rests.take_part(handle)
    assert rests.take_part(str(rests.put_rest("e" * 5000)))[0] == "e" * 5000  # the last one stays, however large it is
