"""Storage bodies for properties: every word once, and around the words all sorts of things that Markdown cannot say."""

# ruff: noqa: E501 -- bodies as they are stored

from __future__ import annotations

from hypothesis import strategies as st

ATOMS = [
    '<ac:structured-macro ac:name="widget" ac:macro-id="1"><ac:parameter ac:name="key">A-1</ac:parameter></ac:structured-macro>',
    '<ac:emoticon ac:name="blue-star" ac:emoji-shortname=":rocket:" ac:emoji-id="1f680" ac:emoji-fallback="🚀" />',
    '<ac:emoticon ac:name="tick" />',
    '<ac:link><ri:user ri:account-id="7" /></ac:link>',
    '<ac:link ac:anchor="there"><ri:page ri:space-key="S" ri:content-title="T" /></ac:link>',
    '<ac:image ac:width="30"><ri:attachment ri:filename="a.png"><ri:page ri:content-title="P" /></ri:attachment></ac:image>',
    '<time datetime="2026-01-31" />',
    '<ac:structured-macro ac:name="status" ac:macro-id="2"><ac:parameter ac:name="title">DONE</ac:parameter></ac:structured-macro>',
    "<br />",
    "<!-- a comment -->",
    "<em></em>",
    "&nbsp;",
    "&mdash;",
    " * ",
    "_",
    "[x]",
    "&lt;b&gt;",
]
WRAPPERS = [
    "<strong>{}</strong>",
    "<em>{}</em>",
    "<u>{}</u>",
    "<code>{}</code>",
    '<span style="color: rgb(255,0,0);">{}</span>',
    '<span class="kept">{}</span>',
    "<big>{}</big>",
    '<a href="https://example.org/a_b" data-x="1">{}</a>',
    "<a>{}</a>",
    '<ac:inline-comment-marker ac:ref="r">{}</ac:inline-comment-marker>',
    '<ac:link><ri:attachment ri:filename="f.txt" /><ac:link-body>{}</ac:link-body></ac:link>',
    '<ac:link><ri:page ri:content-title="T" ri:space-key="S" /><ac:link-body>{}</ac:link-body></ac:link>',
]
INSIDE = [
    "#",
    "# #",
    '#<ac:emoticon ac:name="smile" ac:emoji-shortname=":wave:" ac:emoji-fallback=":wave:" />#',
    '<ac:structured-macro ac:name="status"><ac:parameter ac:name="title">DONE</ac:parameter></ac:structured-macro>#',
    "#<strong>#</strong> #",
    '#<ac:emoticon ac:name="blue-star" ac:emoji-id="atlassian-one" ac:emoji-fallback="one" />#',
    '# <time datetime="2026-01-31" /> #',
    "<em></em>#",
]
SPACES = ["", " ", "\n  "]
BLOCKS = [
    "<p>{}</p>",
    '<p style="text-align: center;">{}</p>',
    '<h2 id="x">{}</h2>',
    '<ul class="c"><li>{}</li><li><p>{}</p></li></ul>',
    '<ol start="3"><li>{}<ul><li>{}</li></ul></li></ol>',
    "<blockquote><p>{}</p></blockquote>",
    '<div class="wide"><p>{}</p></div>',
    (
        '<table data-layout="wide"><colgroup><col style="width: 9px;" /></colgroup><tbody><tr><th>{}</th><th><p>{}</p></th></tr>'
        '<tr><td class="k"><p>{}</p></td><td><p>{}</p></td></tr></tbody></table>'
    ),
    "<table><thead><tr><th>{}</th></tr></thead>\n<tbody><tr><td><p>{}</p><p>{}</p></td></tr></tbody></table>",
    (
        '<ac:structured-macro ac:name="info" ac:macro-id="3"><ac:parameter ac:name="icon">false</ac:parameter>'
        "<ac:rich-text-body><p>{}</p></ac:rich-text-body></ac:structured-macro>"
    ),
    '<ac:structured-macro ac:name="excerpt"><ac:rich-text-body><p>{}</p></ac:rich-text-body></ac:structured-macro>',
    (
        '<ac:structured-macro ac:name="expand"><ac:parameter ac:name="title">more</ac:parameter><ac:rich-text-body><p>{}</p>'
        "</ac:rich-text-body></ac:structured-macro>"
    ),
    (
        '<ac:layout><ac:layout-section ac:type="two_equal"><ac:layout-cell><p>{}</p></ac:layout-cell><ac:layout-cell><p>{}</p>'
        "</ac:layout-cell></ac:layout-section></ac:layout>"
    ),
    (
        "<ac:task-list><ac:task><ac:task-id>7</ac:task-id><ac:task-status>incomplete</ac:task-status><ac:task-body>"
        '<span class="placeholder-inline-tasks">{}</span></ac:task-body></ac:task></ac:task-list>'
    ),
    '<ac:image ac:width="30"><ri:attachment ri:filename="a.png" /><ac:caption><p>{}</p></ac:caption></ac:image>',
    '<ac:structured-macro ac:name="toc" ac:schema-version="1" />',
    "<hr />",
    "<p></p>",
    "<p>&nbsp;</p>",
    "{}",
]
PLAIN = [
    (
        '<ac:structured-macro ac:name="code"><ac:parameter ac:name="theme">x</ac:parameter>'
        "<ac:plain-text-body><![CDATA[{} < 1\n  {}]]></ac:plain-text-body></ac:structured-macro>"
    ),
    "<pre>{}</pre>",
]


@st.composite
def words(draw: st.DrawFn) -> str:
    """Inline content; `#` stands for a word."""
    parts = draw(
        st.lists(
            st.sampled_from([*SPACES, *ATOMS])
            | st.just("#")
            | st.builds(
                lambda wrapper, inner: wrapper.format(inner), st.sampled_from(WRAPPERS), st.sampled_from(INSIDE)
            ),
            max_size=6,
        )
    )
    return "#" + "".join(parts)


@st.composite
def bodies(draw: st.DrawFn) -> tuple[str, int]:
    """A body, and how many words it has: word0, word1 and so on."""
    parts = []
    for _ in range(draw(st.integers(1, 5))):
        template = draw(st.sampled_from([*BLOCKS, *PLAIN]))
        count = template.count("{}")
        inner = ["#"] * count if template in PLAIN else [draw(words()) for _ in range(count)]
        parts += [template.format(*inner), draw(st.sampled_from(["", "\n", "\n\n  "]))]
    pieces = "".join(parts).split("#")
    body = pieces[0] + "".join(f"word{number}x{piece}" for number, piece in enumerate(pieces[1:]))
    return body, len(pieces) - 1
