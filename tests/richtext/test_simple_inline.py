"""The quick way through simple inline content gives what the parser gives."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from callsheet.richtext.markdown.block_reader import BlockReader
from callsheet.richtext.markdown.inline_writer import SIGN_LEVEL, SpanWriter
from callsheet.richtext.node_rules import Rules
from callsheet.richtext.tree import Losses, Mark, Node, merge_runs, text_node
from support.richtext import nodes

READER = BlockReader(Rules(nodes()), Losses())
READER.read_blocks('[ref]: /x\n[a]: https://e.org/a&b "A B"\n\n[^n]: y\n')
INLINE_READER = READER.inline
WITH_LINES = BlockReader(Rules(nodes()), Losses(), soft_break="break")
CONSTRUCTS = [
    *("[a](b)", "[t](https://e.org/x?y=1#z)", '[t](x "T")', "**b**", "*e*", "_u_", "`c`", "` c `", ":tada:", "[^n]"),
    *("{status:green|X}", "https://e.org/a_b", "my_var", "__init__", "[x](page:T)", "[ref]", "{a=b}", "[x](a~b)"),
    *("**a:**", "*(b)*", "__c__", "[`d`](e)", "[**f**](g)", "**h [i](j) `k`**", "[l][ref]", "[a][]", "[m][n]", "[o] p"),
    *("![i](j/k)", "[![l](m)](n)", "\\*", "\\[", "\\\n", "  \n", "[a\nb](c)", "*d\ne*", "https://e.org/?f=g&h=1:2"),
    *(
        "[a](https://e.org:80/b?c=d&e=f)",
        "[a](http://e.org/&amp;)",
        "[g](https://e.org/h_(i))",
        "(*j*)",
        "*k*, ",
        "<l",
        "[a](http://b/c_(d))",
        "[a](http://b/c_(d)",
    ),
    *("[a](%41/b%zz)", "[h](mailto:a@b.c)", "[q](//x/y)", "[s](http://E.org:80/)", "[j](javascript:x)", "![i](j)"),
]
SIGNS = [*"*_`[]()!&<~$\\.,{}@#-'\"1/ ", "**", "``", "](", "a", "word", "\n", "é", "日本", "\u00a0", "  ", " \n"]
CONTENT = st.lists(st.sampled_from(CONSTRUCTS) | st.sampled_from(SIGNS), max_size=7).map("".join)


@settings(max_examples=600)
@given(CONTENT.map(str.strip).filter(bool))
@example("a *b* **c** `d` [e](f) _g_")
@example("*a*b*c*")
def test_simple_content_reads_as_the_parser_reads_it(content: str) -> None:
    found = INLINE_READER.simple.read(content, INLINE_READER.parser.references)
    parsed = INLINE_READER.read_by_parser(content)
    assert found is None or merge_runs(found) == parsed
    assert INLINE_READER.read_inline(content) == parsed
    found = WITH_LINES.inline.simple.read(content, WITH_LINES.parser.references)
    assert found is None or merge_runs(found) == WITH_LINES.inline.read_by_parser(content)


def test_what_is_plainly_simple_takes_the_quick_way() -> None:
    for content in (
        *("a **b** `c`", "see [the page](https://e.org/a_b).", "*one* and _two_", "snake_case: fine!", "[x] y\\\nz"),
        *("**Note:** the [`code`](https://e.org/a?b=c&d=1) *(here)*", "![a](b) [![c](d)](e) [g][ref] \\* h  \ni"),
    ):
        assert INLINE_READER.simple.read(content, INLINE_READER.parser.references) is not None


MARKS = [
    (),
    (),
    *(
        tuple(Mark(kind, {}) for kind in kinds)
        for kinds in (["strong"], ["em"], ["strike"], ["codespan"], ["underline"])
    ),
]
LINK = Mark("link", {"href": "https://e.org/a_b"})
WORDS = (
    st.lists(
        st.sampled_from(
            [*"*_`[]()!&<~$\\.,{}@#-'\"1/ :|", "a", "word", "é", "https://e.org/a_b", ":tada:", "{status:green|X}"]
        ),
        min_size=1,
        max_size=4,
    )
    .map("".join)
    .filter(str.strip)
)
LINKED = [(LINK,), *((LINK, *marks) for marks in MARKS[2:]), (*MARKS[2], LINK), (*MARKS[6], *MARKS[2])]
RUNS = st.builds(text_node, WORDS, st.sampled_from([*MARKS, *LINKED]))
NODES = [Node("break"), *INLINE_READER.read_inline(":tada:"), *INLINE_READER.read_inline("{status:green|X}")]
WRITER = SpanWriter(Rules(nodes()), Losses(), lossless=False)


@settings(max_examples=600)
@given(content=st.lists(RUNS | RUNS | st.sampled_from(NODES), min_size=1, max_size=4), single=st.booleans())
@example(content=[text_node("A note:", MARKS[2]), text_node(" b")], single=False)
@example(content=[text_node("a^"), text_node("b", (LINK,))], single=False)
def test_what_is_certain_reads_back_as_it_is(content: list[Node], *, single: bool) -> None:
    words, certain = WRITER._spans(content, SIGN_LEVEL, single=single)
    edges = any(
        space in f"\n{words}\n" for space in ("\n ", " \\\n", " \n", " <br>", "<br> ", " `<br>", "<br>` ")
    )  # left out by Markdown
    if certain and not edges:
        assert INLINE_READER.read_inline(words) == content


SIGNED = st.lists(
    st.sampled_from([*"*_`[]()!&<>~$\\^.,{}@#+-='\"1/ :|\n\u0085\u2028", "a", "word", "é", "://", "https://e.org/a_b"])
    | st.sampled_from([":tada:", "{status:green|X}", "{date:2026-01-31}", "[~u]", "[~accountid:1]", "{#a}", "{a=b}"]),
    max_size=7,
).map("".join)


@settings(max_examples=600)
@given(words=SIGNED.map(str.strip).filter(bool))
@example(words="$\n$*")
@example(words="a $\u2028b$")
def test_a_line_of_words_reads_back_as_these_words(words: str) -> None:
    written = WRITER.write_inline([text_node(words)])
    assert WRITER.reader.read_inline(written) == [text_node(words)]


def test_most_lines_are_certain() -> None:
    for words in (
        *("**Note:** use `a`, [`b`](https://e.org/c) or *d*.", "(*e*)", "see https://e.org/f.", "**[g](h)** i"),
        *("[j **k**](l)", "m :tada:, {status:green|X}", "a**b**c", "**n `o`:**", "`$p` `$q`"),
    ):
        content = INLINE_READER.read_inline(words)
        assert WRITER._spans(content, SIGN_LEVEL, single=False) == (words, True)
