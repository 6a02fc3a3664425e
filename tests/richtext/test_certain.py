"""What is written without being read back does read back as it was."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.richtext.markdown.blocks import BlockReader
from callsheet.richtext.markdown.certain import certain
from callsheet.richtext.markdown.spans import SpanWriter
from callsheet.richtext.rules import Rules
from callsheet.richtext.tree import Losses, Mark, Node, merged, text
from support.richtext import nodes

RULES = Rules(nodes())
READER = BlockReader(RULES, Losses())
WRITER = SpanWriter(RULES, READER.inline, Losses(), lossless=False)
PLAIN = [
    *("a", "1.", "- ", " ", "b_c", "(", ")", "x/y", "?", ".", ",", ";", "'", '"', "%", "日本", ":", ": ", "!", "! "),
    *("&", "& ", "#", "+ ", "> ", "`", "*", "=", "lt;", "é", "…"),
]
WORDS = st.sampled_from(PLAIN)
MARKS = st.sampled_from(
    [
        Mark("strong", {}),
        Mark("em", {}),
        Mark("strike", {}),
        Mark("codespan", {}),
        Mark("link", {"href": "https://example.org/a-b/"}),
        Mark("link", {"href": "http://e.org"}),
    ]
)
RUNS = st.tuples(st.lists(WORDS, min_size=1, max_size=5).map("".join), st.none() | MARKS)


@settings(max_examples=300)
@given(st.lists(RUNS, min_size=1, max_size=5))
def test_certain_content_reads_back(runs: list[tuple[str, Mark | None]]) -> None:
    made = merged([text(words, (mark,) if mark else ()) for words, mark in runs])
    made[0] = text(made[0].text.lstrip() or "a", made[0].marks)
    made[-1] = text(made[-1].text.rstrip() or "a", made[-1].marks)
    if not certain(made):
        return
    words = WRITER.write(made)
    back = READER.read(words)
    assert [(node.kind, node.content) for node in back.content] == [("paragraph", made)], words


def test_what_is_certain() -> None:
    strong = (Mark("strong", {}),)
    assert certain([text("some "), text("bold words", strong), text(", and more")])
    assert not certain([text("un"), text("bold", strong)])
    assert not certain([text("bold ", strong), text("more")])
    assert not certain([text("a * b")])
    assert not certain([text("bold", strong), Node("break")])
