"""Where links and images stand: a text in which each address is replaced reads as before, but for the addresses."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from callsheet.richtext.markdown.places import PlaceReader, replace_ranges

LINKS = (
    "[a](x.md)",
    "![a](x.png)",
    "[a](<x y.md> 'title')",
    '[*a* `b`](x.md#y "t")',
    "[![i](x.png)](y.md)",
    "[a][ref]",
    "![a][ref]",
    "[ref]",
    '<a href="x.md">a</a>',
    "<img alt='i' src='x&amp;y.png'>",
    "`[no](no.md)`",
    "\\[no](no.md)",
    "<!-- [no](no.md) -->",
    "[a](\n  x.md\n)",
    "a | b \\| c",
    "words^[a note]",
    "**[b](x(1).md)**",
    "[a](x\\_y.md)",
    "[no] (no.md)",
)
BLOCKS = (
    "{}\n",
    "# {}\n",
    "## {} ##\n",
    "{}\n====\n",
    "> {}\n> more {}\n",
    "- {}\n\n  {}\n- {}\n",
    "1. {}\n   > {}\n",
    "\t- {}\n",
    "| {} | {} |\n|---|---|\n| {} | {} |\n",
    "!!! note\n    {}\n",
    ":::tip\n{}\n:::\n",
    "<div>\n{}\n</div>\n",
    "<details>\n<summary>x</summary>\n\n{}\n\n</details>\n",
    "```\n{}\n```\n",
    "    {}\n",
    "[ref]: <a b.md> 'x'\n",
    "> [ref]: ref.md\n",
    "[^1]: {}\n\n    {}\n",
    "Term\n:   {}\n",
    "é ünïcode {} 😀 {}\n",
)
READER = PlaceReader()


@st.composite
def texts(draw: st.DrawFn) -> str:
    blocks = draw(st.lists(st.sampled_from(BLOCKS), max_size=8))
    link = st.lists(st.sampled_from(LINKS), min_size=1, max_size=3).map(" ".join)
    parts = [block.format(*(draw(link) for _ in range(block.count("{}")))) for block in blocks]
    return draw(st.sampled_from(("\n", ""))).join(parts)


@given(texts())
@example("| a \\| [b](c.md) |\n|---|\n")
def test_each_address_can_be_replaced(source: str) -> None:
    found = READER.find_places(source).addresses
    spans = [(address.start, address.end) for address in found]
    assert spans == sorted(set(spans))
    assert replace_ranges(source, [(start, end, source[start:end]) for start, end in spans]) == source
    other = replace_ranges(source, [(start, end, f"new{n}.md") for n, (start, end) in enumerate(spans)])
    again = READER.find_places(other).addresses
    assert [address.address for address in again] == [f"new{n}.md" for n in range(len(found))]
    assert [address.image for address in again] == [address.image for address in found]
    assert not any("no.md" in address.address for address in found)


@given(texts())
def test_headings_and_fences_stand_where_they_are_said_to(source: str) -> None:
    found = READER.find_places(source)
    for heading in found.headings:
        assert heading.start < heading.words_end <= heading.end <= len(source)
    named = replace_ranges(source, [(h.words_end, h.words_end, f" {{#h{n}}}") for n, h in enumerate(found.headings)])
    assert [h.name for h in READER.find_places(named).headings] == [f"h{n}" for n in range(len(found.headings))]
    for fence in found.fences:
        assert source[fence.start : fence.end].startswith("```")
