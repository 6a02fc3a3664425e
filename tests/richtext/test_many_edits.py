"""Edits of several places at once: every node that no edit touched stays as it was, and nobody's words are lost."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from callsheet.errors import Conflict
from callsheet.richtext.editing import Editing
from support.edited_pages import Pages, said
from support.richtext import nodes

WORD = re.compile(r"w\d+x")
SEEDS = range(40)


@pytest.mark.parametrize("format", ["storage", "adf"])
@pytest.mark.parametrize("seed", SEEDS)
def test_several_edits_change_what_they_are_about_and_nothing_else(seed: int, format: str) -> None:
    pages = Pages(seed, format)
    page = pages.page()
    source = pages.rendered(page)
    wanted = pages.rendered(pages.edited(page, pages.random.randint(2, 6))[0])
    text = Editing(wanted, format, nodes()).markdown()
    assert said(Editing(source, format, nodes()).edited(text)) == said(wanted)


@pytest.mark.parametrize("format", ["storage", "adf"])
@pytest.mark.parametrize("seed", SEEDS)
def test_what_two_people_changed_is_put_together(seed: int, format: str) -> None:
    """They edited different blocks: both edits are there, and no word of either is lost or twice."""
    pages = Pages(seed, format)
    base = pages.page()
    touched: set[int] = set()
    mine, theirs = (pages.edited(base, pages.random.randint(1, 4), touched)[0] for _ in range(2))
    old, own, other = (Editing(pages.rendered(page), format, nodes()) for page in (base, mine, theirs))
    result = said(other.merged(old, own.markdown()))
    was, one, two = (Counter(WORD.findall(said(pages.rendered(page)))) for page in (base, mine, theirs))
    wanted = {word for word in was | one | two if one[word] + two[word] - was[word] > 0}
    assert Counter(WORD.findall(result)) == Counter(wanted)


def test_two_people_who_changed_different_words_of_a_line() -> None:
    body = '<p data-n="1">one <strong>two</strong> three four</p>'
    theirs = body.replace("four", "five")
    text = Editing(body, "storage", nodes()).markdown().replace("one", "eins")
    result = Editing(theirs, "storage", nodes()).merged(Editing(body, "storage", nodes()), text)
    assert result == '<p data-n="1">eins <strong>two</strong> three five</p>'


def test_two_people_who_changed_the_same_word() -> None:
    body = "<p>one two</p>"
    text = Editing(body, "storage", nodes()).markdown().replace("two", "zwei")
    with pytest.raises(Conflict):
        Editing(body.replace("two", "deux"), "storage", nodes()).merged(Editing(body, "storage", nodes()), text)
