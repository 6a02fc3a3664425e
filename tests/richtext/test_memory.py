"""Documents take little memory: nodes share their keys, and the tree goes as they are written."""

from __future__ import annotations

import json
import platform
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.richtext import convert_rich_text
from callsheet.richtext.shared_keys import blank_keys, share_keys
from support.memory import call_alone, peak_of
from support.richtext import nodes

EVERYTHING = """# Title

- [ ] box

1. **bold** [link](https://example.org "title")

> quote {date:2026-01-31} ![image](https://example.org/a.png "caption")

| a | b |
|---|---|
| c | `d` |
"""
# Bytes of memory for each byte of Markdown: 20, and 30 MiB for the 0.4 MB that people call long, are 98.
MOST = 98
DENSE = {
    "items": "- word\n",
    "tasks": "- [ ] word\n",
    "rows": "| word | word |\n",
    "quotes": "> word\n\n",
    "headings": "# word\n\n",
    "paragraphs": "word\n\n",
    "links": "[word](https://example.org/a)\n\n",
    "dates in one paragraph": "{date:2026-01-31} ",
    "definitions": "word\n: word\n\n",
    "images in one paragraph": "![a](b.c) ",
    "words in one paragraph": "a word <- ",
}
# A paragraph of nothing but signs, each of which the parser looks at.
SIGNS = {
    "stars that open": "*a ",
    "stars that close": "a* ",
    "brackets": "[",
    "escapes": "\\*",
    "entities": "&amp;",
    "tags": "<b>",
    "tags in pairs": "<b>a</b>",
    "ends of lines": "a\\\n",
    "exclamation marks": "!",
    "ampersands": "& ",
}


def dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
        for child in value.values():
            yield from dicts(child)
    for child in value if isinstance(value, list) else ():
        yield from dicts(child)


@pytest.mark.skipif(platform.python_implementation() != "CPython", reason="others store keys as they like")
def test_every_node_shares_its_keys() -> None:
    document = convert_rich_text(EVERYTHING, "markdown", "adf", nodes=nodes()).value
    found = [one for one in dicts(document["content"]) if one]
    assert len(found) > 40
    assert [one for one in found if sys.getsizeof(one) >= sys.getsizeof(dict(one.items()))] == []


def test_what_shares_keys_is_a_dictionary_of_its_own() -> None:
    first, second = share_keys({"a": 1, "b": 2}), share_keys({"a": 1, "b": 2})
    first["a"] = 5
    first["c"] = 3
    del first["b"]
    assert (first, second, blank_keys("a", "b")) == ({"a": 5, "c": 3}, {"a": 1, "b": 2}, {"a": None, "b": None})
    assert json.dumps(second) == '{"a": 1, "b": 2}'


def peak_of_reading(source: str) -> int:
    """Bytes that reading takes beside the source, at most."""
    convert_rich_text(source, "markdown", "adf", nodes=nodes())  # what is made only once
    return peak_of(lambda: convert_rich_text(source, "markdown", "adf", nodes=nodes()))


SOURCES = {
    **{shape: ("| a | b |\n|---|---|\n" if shape == "rows" else "") + text * 600 for shape, text in DENSE.items()},
    **{shape: text * (8000 // len(text)) for shape, text in SIGNS.items()},
}


def all_peaks() -> dict[str, int]:
    return {shape: peak_of_reading(source) for shape, source in SOURCES.items()}


@pytest.fixture(scope="module")
def peaks() -> dict[str, int]:
    found: dict[str, int] = call_alone("richtext.test_memory", "all_peaks")
    return found


@pytest.mark.slow
@pytest.mark.parametrize("shape", SOURCES)
def test_memory_of_dense_markdown(shape: str, peaks: dict[str, int]) -> None:
    assert peaks[shape] / len(SOURCES[shape]) < MOST
