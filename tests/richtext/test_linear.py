"""The work for a text grows with its length, whatever its shape: counted in calls, which no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from callsheet.richtext import convert_rich_text
from callsheet.richtext.editing import Editing
from support.richtext import nodes
from support.sampled import sampled
from support.shapes import MARKDOWN, STORAGE

PIECES, TIMES, MOST = 60, 3, 1.5  # more pieces than anything may be nested in one another


def calls(work: Callable[[str], Any], text: str) -> int:
    """How many functions are called, of the engine and of the libraries, those in C too."""
    count = 0

    def counted(_frame: Any, event: str, _arg: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        work(text)
    finally:
        sys.setprofile(None)
    return count


def grows(work: Callable[[str], Any], made: Callable[[int], str]) -> float:
    """How much more the calls grow than the text; what is constant is left out."""
    texts = [made(pieces) for pieces in (1, PIECES, PIECES * TIMES)]
    work(texts[0])
    none, one, more = (calls(work, text) for text in texts)
    return (more - none) / max(one - none, 200) / (len(texts[2]) / len(texts[1]))


@pytest.mark.parametrize("shape", sampled(MARKDOWN, 3))
def test_markdown(shape: str) -> None:
    assert grows(lambda text: convert_rich_text(text, "markdown", "adf", nodes=nodes()), MARKDOWN[shape]) < MOST


@pytest.mark.parametrize("shape", sampled(STORAGE, 3))
def test_a_page_that_is_edited(shape: str) -> None:
    def edited(source: str) -> None:
        edit = Editing(source, "storage", nodes())
        edit.edited(edit.markdown() + "\n\nnew\n")

    assert grows(edited, STORAGE[shape]) < MOST


def test_nodes_in_frames_in_one_another() -> None:
    """Each level once: a level that is written twice doubles the work of those below it."""
    start = '<ac:adf-extension><ac:adf-node type="bodied-extension"><ac:adf-attribute key="extension-key">k'
    start += '</ac:adf-attribute><ac:adf-attribute key="extension-type">t</ac:adf-attribute><ac:adf-content>'
    end = "</ac:adf-content></ac:adf-node></ac:adf-extension>"

    def written(levels: int) -> int:
        source = start * levels + "<p>x</p>" + end * levels
        return calls(lambda text: convert_rich_text(text, "storage", "storage", nodes=nodes()), source)

    written(1)
    none, few, more = (written(levels) for levels in (1, 5, 10))
    assert (more - none) / (few - none) < 3.5
