"""Random documents made from the vendor's schema: to Markdown and back."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest

from callsheet.errors import UsageError
from support import document_schema, random_document
from support.readable import readable, skeleton
from support.richtext import converted, texts, to_adf, to_markdown, visible
from support.sampled import sampled
from support.wrong_parts import ODD, places, with_part

pytestmark = [
    pytest.mark.published,
    pytest.mark.skipif(not document_schema.present(), reason="the published schemas are not here"),
]
COUNT = 160


@pytest.fixture(scope="module")
def documents():
    return random_document.documents(COUNT)


@pytest.mark.slow
def test_readable_markdown_keeps_text_and_structure(documents) -> None:
    invalid, lost, same = [], [], 0
    for number, one in enumerate(documents):
        back = to_adf(to_markdown(one))
        invalid += document_schema.problems(back)
        seen = visible(back)
        lost += [(number, text) for text in texts(one) if text not in seen]
        same += skeleton(readable(one)) == skeleton(back)
    assert (invalid, lost) == ([], [])
    assert same / COUNT >= 0.98


def test_lossless_markdown_restores_them_exactly(documents) -> None:
    assert [number for number, one in enumerate(documents) if to_adf(to_markdown(one, lossless=True)) != one] == []


@pytest.mark.slow
def test_newer_documents_are_restored_too() -> None:
    newer = random_document.documents(80, document_schema.NAMES[0])
    assert [number for number, one in enumerate(newer) if to_adf(to_markdown(one, lossless=True)) != one] == []


@pytest.mark.slow
@pytest.mark.parametrize("target", ["storage", "wiki"])
def test_every_document_has_a_form_elsewhere(documents, target: str) -> None:
    for one in documents[:100]:
        written = converted(one, "adf", target).value
        back = converted(written, target, "adf").value
        assert document_schema.problems(back) == []
        seen = visible(back)
        assert [text for text in texts(one) if text not in seen] == []


@pytest.mark.parametrize("number", sampled(range(12), 4))
def test_a_document_with_a_wrong_part_is_converted_or_refused(documents, number: int) -> None:
    chance = random.Random(number)
    document = documents[number]
    every = list(places(document))
    for path in [(), ("type",), ("content",), *chance.sample(every, min(30, len(every)))]:
        wrong = with_part(document, path, chance.choice(ODD))
        for target, lossless in (("markdown", False), ("markdown", True), ("storage", False), ("adf", False)):
            with suppress(UsageError):
                converted(wrong, "adf", target, lossless=lossless)


@pytest.mark.parametrize("type", [[], {}, ["doc"], None, 5, True])
@pytest.mark.parametrize("target", ["markdown", "storage", "wiki", "adf"])
def test_a_document_whose_type_is_none(type, target: str) -> None:
    with pytest.raises(UsageError, match='expected an object with "type": "doc"'):
        converted({"type": type, "version": 1, "content": []}, "adf", target)
