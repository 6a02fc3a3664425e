"""Whatever is typed: a valid document, all words, and the same again after a round trip."""

from __future__ import annotations

import re
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given, reject, settings
from hypothesis import strategies as st

from callsheet.errors import UsageError
from callsheet.richtext.tree import NO_ATTRS, NO_CONTENT
from support import document_schema
from support.richtext import converted, to_adf, to_markdown, visible

QUICK = settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
PIECES = [
    "a",
    "word",
    " ",
    "\n",
    "\n\n",
    "  ",
    "    ",
    "*",
    "**",
    "_",
    "`",
    "```",
    "~~",
    "[",
    "]",
    "(",
    ")",
    "<",
    ">",
    "!",
    "#",
    "# ",
    "- ",
    "* ",
    "1. ",
    "2) ",
    "> ",
    "| ",
    "|-|",
    "|a|b|\n|-|-|\n|c|d|\n",
    "---\n",
    "===\n",
    "\\",
    "&amp;",
    "&",
    ":smile:",
    "@",
    "[x](y)",
    "![a](b)",
    '![a](b "c")',
    "[ ] ",
    "[x] ",
    "<> ",
    "- [ ] t\n",
    "> [!NOTE]\n",
    "[!TIP]\n",
    "<details>\n<summary>s</summary>\n\n",
    "</details>\n\n",
    "<b>",
    "</b>",
    "<br>",
    "<sub>",
    "</sub>",
    "<div>\n",
    "</div>\n",
    "<!-- -->\n",
    "{status:green|x}",
    "{date:2026-01-31}",
    "[~accountid:1]",
    "@[N](accountid:1)",
    "https://e.org/x",
    "\t",
    "\r",
    "\0",
    "é",
    "日本",
    "\u00a0",
    "\u2028",
    "x" * 9,
    "<table>\n<tr>\n<td>\n\n",
    "\n\n</td>\n</tr>\n</table>\n\n",
    '<!-- callsheet {"kind":"panel"} -->\n\n',
    "<!-- /callsheet -->\n\n",
    '<span data-callsheet="{}">',
    "</span>",
    '<!-- callsheet {"kind":"layout","open":1} -->\n\n',
]
MARKDOWN = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=40).map("".join)


def of_markdown(source: str):
    """A document of Markdown in which no comment of ours is damaged; such Markdown is refused with a line."""
    try:
        return to_adf(source)
    except UsageError as error:
        refused = error.message
    if re.match(r"line \d+: .* (is damaged|stands for a part)", refused, re.DOTALL):
        reject()
    raise AssertionError(refused)


def whole(document, names=document_schema.NAMES) -> None:
    if document_schema.present():
        assert document_schema.problems(document, names) == []


@pytest.mark.slow
@QUICK
@given(MARKDOWN)
@example("- <br>\n\n  x\n")
@example("*a `_`*")
@example("![a](b)\n===\n")
@example("$<b>$A")
@example("$HOME/*a*/$USER and $x^2$")
def test_markdown_gives_valid_documents_that_stay(source: str) -> None:
    document = of_markdown(source)
    whole(document)
    once = to_markdown(document)
    again = to_adf(once)
    whole(again)
    assert to_adf(to_markdown(again)) == again


@QUICK
@given(MARKDOWN)
def test_lossless_markdown_says_the_same_document(source: str) -> None:
    document = of_markdown(source)
    assert to_adf(to_markdown(document, lossless=True)) == document


@QUICK
@given(st.text(alphabet="ab \n*_-#|~`[]()<>\\", max_size=60))
def test_letters_are_never_lost(source: str) -> None:
    document = to_adf(source)
    letters = [sign for sign in source if sign in "ab"]
    links = {"ab"} & set(visible(document))
    shown = [sign for sign in visible(document) if sign in "ab"]
    assert len(shown) <= len(letters) or links
    assert visible(to_adf(to_markdown(document))) == visible(document)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
TYPES = [
    "doc",
    "paragraph",
    "text",
    "table",
    "tableRow",
    "listItem",
    "bulletList",
    "panel",
    "media",
    "mediaSingle",
    "nope",
    "taskList",
    "status",
]
LOOSE = st.deferred(
    lambda: st.fixed_dictionaries(
        {"type": st.sampled_from(TYPES) | JSON},
        optional={
            "text": st.text(max_size=4) | JSON,
            "attrs": JSON | st.fixed_dictionaries({"level": JSON, "panelType": JSON, "url": JSON}),
            "marks": st.lists(
                st.fixed_dictionaries({"type": st.sampled_from(["em", "link", "code", "x"])}) | JSON, max_size=2
            )
            | JSON,
            "content": st.lists(LOOSE, max_size=3) | JSON,
        },
    )
)


@pytest.mark.slow
@QUICK
@given(st.lists(LOOSE, max_size=4))
def test_broken_documents_become_valid_ones(content) -> None:
    document = {"type": "doc", "version": 1, "content": content}
    whole(converted(document, "adf", "adf").value)
    whole(to_adf(to_markdown(document)))
    # What is restored as it was may be what only the newer schema allows.
    whole(to_adf(to_markdown(document, lossless=True)), document_schema.NAMES[:1])


@pytest.mark.slow
@QUICK
@given(MARKDOWN)
def test_markdown_through_storage(source: str) -> None:
    of_markdown(source)
    storage = converted(source, "markdown", "storage").value
    whole(converted(storage, "storage", "adf").value)
    again = converted(converted(storage, "storage", "markdown", lossless=True).value, "markdown", "storage").value
    assert converted(again, "storage", "adf").value == converted(storage, "storage", "adf").value


@QUICK
@given(
    st.lists(
        st.sampled_from(
            ["<p>", "</p>", "<ac:link>", "a", "&nbsp;", "&x;", "<br/>", "<", "]]>", "<td>", "</td>", "\x01"]
        ),
        max_size=9,
    )
)
def test_storage_is_read_or_refused_with_a_place(pieces) -> None:
    try:
        document = converted("".join(pieces), "storage", "adf").value
    except UsageError as error:
        refused = error.message
    else:
        refused = ""
        whole(document)
    assert refused == "" or refused.startswith("storage format: 1:")


WIKI = [
    "h1. ",
    "bq. ",
    "* ",
    "# ",
    "** ",
    "*# ",
    "- ",
    "----\n",
    "||a||b||\n",
    "|c|d|\n",
    "{code}",
    "{code:py}\n",
    "{panel:title=x}",
    "{panel}",
    "{quote}",
    "*b*",
    "_i_",
    "{*}",
    "[a|http://x]",
    "[~u]",
    "!a.png!",
    "{{m}}",
    "\\\\",
    "\\",
    "\n",
    "\n\n",
    "a",
    " ",
    "{color:red}",
    "{color}",
    "{status:colour=Red|title=x}",
    "https://e.org",
    "|",
    "[",
    "]",
    "{",
    "}",
]


@QUICK
@given(st.lists(st.sampled_from(WIKI) | st.text(max_size=3), max_size=25).map("".join))
def test_wiki_markup_gives_valid_documents(source: str) -> None:
    document = converted(source, "wiki", "adf").value
    whole(document)
    again = converted(document, "adf", "wiki").value
    assert isinstance(again, str)


@pytest.mark.parametrize(
    "source", ["my_var_name", "2 * 3 * 4", "a_b_c d_e", "5 < 6 & 7 > 2", "C:\\dir", "100% :)", "[a] (b)"]
)
def test_ordinary_text_stays_text(source: str) -> None:
    document = to_adf(source)
    assert document["content"] == [{"type": "paragraph", "content": [{"type": "text", "text": source}]}]
    assert to_markdown(document).strip().replace("\\", "") == source.replace("\\", "")


@settings(QUICK, max_examples=60)
@given(MARKDOWN, st.sampled_from(["adf", "storage", "wiki", "markdown"]))
def test_what_all_texts_share_stays_empty(markdown: str, to_format: str) -> None:
    with suppress(UsageError):
        converted(markdown, "markdown", to_format)
    assert (NO_ATTRS, NO_CONTENT) == ({}, [])
