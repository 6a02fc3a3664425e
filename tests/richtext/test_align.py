"""Which words of a text are which of another, also where the same words come again and again."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.richtext.editing import Editing
from callsheet.richtext.editing import block_matching as align
from support.richtext import nodes

LETTERS = st.lists(st.sampled_from("abc"), max_size=12)


def longest(old: list[str], new: list[str]) -> int:
    """How many letters two lists can have in common, in order."""
    row = [0] * (len(new) + 1)
    for one in old:
        last = row
        row = [0]
        for place, other in enumerate(new):
            row.append(last[place] + 1 if one == other else max(row[-1], last[place + 1]))
    return row[-1]


@pytest.mark.parametrize("few", [0, align.FEW])
@given(old=LETTERS, new=LETTERS)
def test_pairs_are_equal_and_in_order(few: int, old: list[str], new: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(align, "FEW", few)
        pairs = align.equal_pairs(old, new)
    assert all(old[a] == new[b] for a, b in pairs)
    assert all(a < c and b < d for (a, b), (c, d) in pairwise(pairs))
    if not few:
        assert len(pairs) == longest(old, new)


def test_what_differs_too_much_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(align, "FEW", 0)
    monkeypatch.setattr(align, "EDITS", 3)
    assert align.equal_pairs(list("abcab"), list("acb")) == [(0, 0), (2, 1), (4, 2)]
    assert align.equal_pairs(list("xabcay"), list("xdcdedy")) == [(0, 0), (5, 6)]


def test_many_edits_among_words_that_come_again() -> None:
    link = '<a href="https://example.org/" class="c">{}</a> x '
    body = "<p>" + link.format("one") * 300 + "</p>"
    edit = Editing(body, "storage", nodes())
    text = edit.markdown().replace("[one]", "[one two]")
    assert edit.edited(text) == "<p>" + link.format("one two") * 300 + "</p>"
