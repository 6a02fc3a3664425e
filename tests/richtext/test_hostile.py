"""Input made to hang or to crash: bounded work, a valid result, no text lost where it is text."""

from __future__ import annotations

import json
import sys

import pytest

from callsheet.errors import UsageError
from support.richtext import converted, to_adf, to_markdown, visible

MANY = 8_000
HOSTILE = {
    "brackets": "[" * 30_000,
    "bracket pairs": "[" * MANY + "]" * MANY,
    "images": "![" * MANY,
    "quotes": "> " * 1000 + "end",
    "lists": "".join("  " * level + f"- level{level}\n" for level in range(1000)),
    "numbered": "".join("   " * level + f"1. level{level}\n" for level in range(400)),
    "emphasis": "*a **b " * 5000,
    "backticks": "".join("`" * count + " " for count in range(400)),
    "one line": "a" * 1_000_000,
    "tags": "<b>" * MANY + "x" + "</b>" * MANY,
    "crossing tags": "<b><i>" * 5000 + "x" + "</b>" * 5000 + "</i>" * 5000,
    "details": "<details>\n\n" * 1000 + "end\n\n" + "</details>\n\n" * 1000,
    "open details": "<details>\n\n" * 3000,
    "cells": "<td>\n\n" * 3000,
    "alerts": "> [!NOTE]\n" * 1000,
    "addresses": "https://a" * 10_000,
    "parentheses": "https://a/" + ")" * 50_000,
    "carried": '<!-- callsheet {"kind":"panel","open":1} -->\n\n' * 15 + "x\n\n" + "<!-- /callsheet -->\n\n" * 15,
    "templates": "{status:" * MANY,
    "wide table": "|a" * 500 + "|\n" + "|-" * 500 + "|\n" + "|a\n" * 20,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_is_converted(name: str) -> None:
    document = to_adf(HOSTILE[name])
    json.dumps(document)
    assert document["content"]
    to_markdown(document)


def test_tags_that_never_end_are_words_at_once() -> None:
    """Looked for each by itself, their ends would take minutes."""
    assert visible(to_adf("<div " * 20_000)).count("<div") == 20_000


DAMAGED = {
    "never closed": ("a\n\n" + '<!-- callsheet {"kind":"panel","open":1} -->\n\n' * 1000, 3),
    "never opened": ("a\n\nb\n\n<!-- /callsheet -->\n", 5),
    "deep json": ("<!-- callsheet " + '{"kind":"panel","content":[' * 3000 + "]}" * 3000 + " -->", 1),
    "cut off": ('a\n\n<!-- callsheet {"kind":"macro","attrs":{"na -->\n', 3),
    "no known kind": ('<!-- callsheet {"kind":"nothing"} -->\n', 1),
    "words for JSON": ("a\n<!-- callsheet my own words -->\n", 2),
    "a span without an end": ('a\n\nb <span data-callsheet="{}">c\n', 3),
    "a span of rubbish": ('a\n\n- b <span data-callsheet="x y">c</span>\n', 3),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_comments_are_refused_with_their_line(name: str) -> None:
    source, line = DAMAGED[name]
    with pytest.raises(UsageError, match=rf"line {line}: .* is damaged or incomplete"):
        to_adf(source)


def test_what_stands_for_a_part_of_a_document_means_nothing_without_it() -> None:
    with pytest.raises(UsageError, match=r"line 3: .*toc 3f2a9c1d.* stands for a part of the document"):
        to_adf("a\n\n<!-- callsheet toc 3f2a9c1d / -->\n")


@pytest.mark.parametrize("name", ["quotes", "lists", "numbered", "details"])
def test_text_beyond_any_depth_is_kept(name: str) -> None:
    seen = visible(to_adf(HOSTILE[name]))
    words = ["end"] if "end" in HOSTILE[name] else [f"level{n}" for n in range(HOSTILE[name].count("level"))]
    assert [word for word in words if word not in seen] == []


@pytest.mark.parametrize("levels", [200, 100_000])
@pytest.mark.parametrize("target", ["markdown", "storage", "wiki", "adf"])
def test_deep_documents_are_converted_or_refused(levels: int, target: str) -> None:
    inner = '{"type":"bulletList","content":[{"type":"listItem","content":['
    source = f'{{"type":"doc","version":1,"content":[{inner * levels}{{"type":"text","text":"end"}}{"]}]}" * levels}]}}'
    try:
        result = json.dumps(converted(source, "adf", target).value)
    except UsageError as error:
        result = error.message if levels > sys.getrecursionlimit() else ""
    assert "end" in result or "deep" in result


@pytest.mark.parametrize(
    "source", ["<p>" * 50_000 + "end" + "</p>" * 50_000, "<p>" + "<b>" * 30_000 + "end" + "</b>" * 30_000 + "</p>"]
)
@pytest.mark.parametrize("target", ["markdown", "adf"])
def test_deep_storage_is_converted(source: str, target: str) -> None:
    assert "end" in json.dumps(converted(source, "storage", target).value)


@pytest.mark.parametrize(
    "source",
    [
        "*" * MANY,
        "*a " * MANY,
        "[" * MANY,
        "{panel}" * 5001,
        "{quote}{info}" * 2000,
        "{code}" * 5001,
        "*" * 1000 + " deep",
        "!" * MANY,
        "|" * MANY,
        "{color:red}" * 5000,
        "\\" * MANY,
        "{{" * MANY,
        "[a|b" * 5000,
    ],
    ids=range(13),
)
def test_wiki_markup_is_converted(source: str) -> None:
    assert converted(source, "wiki", "markdown").value


@pytest.mark.slow
def test_no_entity_is_declared_or_fetched() -> None:
    bomb = '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b SYSTEM "file:///etc/passwd">]><p>&a;&b;</p>'
    with pytest.raises(UsageError, match=r"storage format: 1:\d+"):
        converted(bomb, "storage", "markdown")
