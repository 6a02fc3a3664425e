"""The quick way through simple inline content gives what the parser gives."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from callsheet.richtext.markdown.blocks import BlockReader
from callsheet.richtext.node_rules import Rules
from callsheet.richtext.tree import Losses, merge_runs
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
    parsed = INLINE_READER.parsed(content)
    assert found is None or merge_runs(found) == parsed
    assert INLINE_READER.read_inline(content) == parsed
    found = WITH_LINES.inline.simple.read(content, WITH_LINES.parser.references)
    assert found is None or merge_runs(found) == WITH_LINES.inline.parsed(content)


def test_what_is_plainly_simple_takes_the_quick_way() -> None:
    for content in (
        *("a **b** `c`", "see [the page](https://e.org/a_b).", "*one* and _two_", "snake_case: fine!", "[x] y\\\nz"),
        *("**Note:** the [`code`](https://e.org/a?b=c&d=1) *(here)*", "![a](b) [![c](d)](e) [g][ref] \\* h  \ni"),
    ):
        assert INLINE_READER.simple.read(content, INLINE_READER.parser.references) is not None
