"""Documents read as Markdown, edited and given back: only what was touched changes, and the text wins."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from callsheet.errors import Conflict, UsageError
from callsheet.richtext.editing import Editing
from support import document_schema, random_document
from support.richtext import nodes, texts
from support.storage_bodies import bodies

QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
NEW = "Zzyzx"


def editing(source: Any, section: str | None = None) -> Editing:
    return Editing(source, "storage" if isinstance(source, str) else "adf", nodes(), section)


@QUICK
@given(bodies())
def test_a_body_that_is_not_edited_stays_byte_for_byte(made) -> None:
    body, _ = made
    edit = editing(body)
    assert edit.edited(edit.markdown()) == body


@QUICK
@given(bodies(), st.randoms(use_true_random=False))
def test_an_edited_word_changes_and_nothing_else(made, random) -> None:
    body, count = made
    if not count:
        return
    word = f"word{random.randrange(count)}x"
    text = editing(body).markdown()
    assert text.count(word) == 1
    assert editing(body).edited(text.replace(word, NEW)) == body.replace(word, NEW)


@pytest.mark.slow
@QUICK
@given(bodies(), st.randoms(use_true_random=False))
def test_blocks_that_are_moved_or_left_out_keep_their_source(made, random) -> None:
    """Whatever becomes of the order, the result says what the text says."""
    body, _ = made
    blocks = editing(body).markdown().split("\n\n")
    random.shuffle(blocks)
    text = "\n\n".join(blocks[: random.randrange(len(blocks) + 1)])
    try:
        result = editing(body).edited(text)
    except UsageError:
        return  # half of a pair
    assert seen(editing(result).markdown()) == seen(text)


@pytest.mark.parametrize(
    "body",
    [
        "<hr /><p>a: b</p><hr /><p>c</p>",
        '<p><a href="https://e.org/<x y" title="a\ufffdb">c</a></p>'.replace("<x", "&lt;x"),
        "<ul><ul><li>a</li></ul></ul>",
        "<li>a</li>",
        "<p>1. a</p><p># b</p><p>---</p><p>[x]: y</p>",
    ],
)
def test_what_reads_like_something_else_stays(body: str) -> None:
    edit = editing(body)
    assert edit.edited(edit.markdown()) == body


def test_a_place_that_the_page_does_not_have_is_refused() -> None:
    with pytest.raises(UsageError, match="line 3: <!-- callsheet toc 00000000 / --> stands for a part"):
        editing("<p>a</p>").edited("a\n\n<!-- callsheet toc 00000000 / -->\n")


def seen(text: str) -> list[str]:
    """The words and the names in a text, in order."""
    return re.findall(r"word\d+x|[0-9a-f]{8}", text)


def documents() -> list[Any]:
    return random_document.documents(100) if document_schema.present() else []


@pytest.mark.slow
@pytest.mark.published
@pytest.mark.skipif(not document_schema.present(), reason="the published schemas are not here")
def test_documents_stay_but_for_the_edited_word() -> None:
    edits = exact = 0
    for document in documents():
        edit = editing(document)
        text = edit.markdown()
        assert edit.edited(text) == document
        words = [word for words in texts(document) for word in re.findall(r"[a-z]{4,}", words)]
        plain = json.dumps(document, ensure_ascii=False, sort_keys=True)
        for word in [word for word in words if text.count(word) == 1 == plain.count(word)][:2]:
            edits += 1
            changed = editing(document).edited(text.replace(word, NEW))
            assert document_schema.problems(changed) == []
            exact += json.dumps(changed, ensure_ascii=False, sort_keys=True) == plain.replace(word, NEW)
    assert edits > 20
    assert exact == edits


@pytest.mark.slow
@QUICK
@given(bodies(), st.randoms(use_true_random=False))
def test_what_two_people_changed_in_different_words_is_put_together(made, random) -> None:
    """Each change stands in the result and nothing else differs, or the edit is refused."""
    body, count = made
    if count < 2:
        return
    mine, theirs = (f"word{number}x" for number in random.sample(range(count), 2))
    there = body.replace(theirs, "Theirs")
    text = editing(body).markdown().replace(mine, NEW)
    try:
        result = editing(there).merged(editing(body), text)
    except Conflict:
        return  # both in one block
    assert result == there.replace(mine, NEW)


@pytest.mark.slow
@QUICK
@given(bodies(), bodies())
def test_a_side_that_changed_nothing_takes_all_of_the_other(made, other) -> None:
    (body, _), (there, _) = made, other
    assert editing(there).merged(editing(body), editing(body).markdown()) == there
