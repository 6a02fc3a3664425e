"""Words of a document that a dialect of Markdown has a meaning for stay words, wherever they stand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.richtext import squeezed, to_adf, to_markdown, visible
from support.sampled import sampled

KINDS = ["paragraph", "heading", "bulletList"]
SIGNS = [
    *("???", "!!!", ":::", "===", "$$", "$x^2$", ":", "~", "[TOC]", "[[_TOC_]]", "${toc}", "{.cls}", "{#id}"),
    *("{k=v}", "+++", "---", "^[a b]", ":tada:", "[x]:", "[^1]:", "[^1]", "1)", "&amp;", "<b>", "<!--", "-->"),
    *("{status:green|X}", "{date:2020-01-01}", "{anchor:x}", "@[Jo](accountid:1)", "[~jo]", "\\", "- [ ]"),
    *("[ ]", "> [!NOTE]", "*", "__a__", "~~", "`", "|", "#", "![", "](", "<https://e.org>", "```", "word"),
    *("a", "<>", "tip", '"t"', "é"),
]


def block(kind: str, words: str) -> dict[str, Any]:
    paragraph = {"type": "paragraph", "content": [{"type": "text", "text": words}]}
    if kind == "heading":
        return {"type": "heading", "attrs": {"level": 2}, "content": paragraph["content"]}
    return (
        paragraph if kind == "paragraph" else {"type": kind, "content": [{"type": "listItem", "content": [paragraph]}]}
    )


def stays(kind: str, words: str) -> None:
    document = {"type": "doc", "version": 1, "content": [block("paragraph", "Term"), block(kind, words)]}
    back = to_adf(to_markdown(document))
    assert [found["type"] for found in back["content"]] == ["paragraph", kind], to_markdown(document)
    assert visible(back) == "Term" + squeezed(words), to_markdown(document)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("sign", sampled(SIGNS, 3))
def test_one_sign(sign: str, kind: str) -> None:
    stays(kind, sign)
    stays(kind, f"{sign} word")
    stays(kind, f"word {sign}")


@settings(max_examples=100)
@given(
    st.sampled_from(["paragraph", "heading", "bulletList"]), st.lists(st.sampled_from(SIGNS), min_size=1, max_size=5)
)
def test_several(kind: str, signs: list[str]) -> None:
    stays(kind, " ".join(signs))
