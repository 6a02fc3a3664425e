"""Every example of the CommonMark specification: valid, whole, of the right structure, and stable."""

from __future__ import annotations

import html
import json
import os
import re

import pytest

from support import document_schema, html_outline
from support.richtext import squeezed, to_adf, to_markdown, visible

pytestmark = [
    pytest.mark.published,
    pytest.mark.skipif(not document_schema.present(), reason="the published examples are not here"),
]
# HTML is shown as a browser shows it: no tags, no comments, no scripts.
TAGS = re.compile(
    r"(?s)<(script|style)\b.*?</\1>|<!--.*?-->|<!-->|<!--->|<!\[CDATA\[.*?\]\]>|<[!?].*?>"
    r"|</?[A-Za-z][\w-]*(?:\s+[\w:-]+(?:\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s\"'=<>`]+))?)*\s*/?>"
)


@pytest.fixture(scope="module")
def examples():
    with open(os.path.join(document_schema.FOLDER, "commonmark.json"), encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.slow
def test_every_example_is_valid_by_both_schemas(examples) -> None:
    broken = [
        (one["example"], found) for one in examples if (found := document_schema.problems(to_adf(one["markdown"])))
    ]
    assert broken == []


@pytest.mark.slow
def test_every_example_keeps_its_text(examples) -> None:
    lost = []
    for one in examples:
        seen = visible(to_adf(one["markdown"]))
        shown = TAGS.sub(" ", re.sub(r'<img[^>]*alt="([^"]*)"[^>]*>', r" \1 ", one["html"]))
        missing = [word for word in html.unescape(shown).split() if squeezed(word) not in seen]
        lost += [(one["example"], missing)] if missing else []
    # The example is a style sheet without end.
    assert lost == [(173, ["foo"])]


@pytest.mark.slow
def test_structure_is_that_of_the_specifications_html(examples) -> None:
    wrong, compared = [], 0
    for one in examples:
        try:
            expected = html_outline.of_html(one["html"], one["markdown"])
        except html_outline.RawHtml:
            continue
        compared += 1
        if expected != html_outline.of_document(to_adf(one["markdown"])):
            wrong.append(one["example"])
    assert compared > 500
    # Bare addresses become links, which the specification leaves to extensions.
    assert wrong == [602, 608, 611]


@pytest.mark.slow
@pytest.mark.parametrize("lossless", [False, True])
def test_a_round_trip_changes_nothing(examples, lossless: bool) -> None:
    changed = []
    for one in examples:
        document = to_adf(one["markdown"])
        if to_adf(to_markdown(document, lossless=lossless)) != document:
            changed.append(one["example"])
    assert changed == []
