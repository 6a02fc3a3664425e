"""The elements of HTML: which there are, and which of them end others. Facts of the HTML standard.

Names that people also write for something to be filled in, such as `<path>` or `<output>`, are not among the elements:
their tags are markup only where they have attributes or come in pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..tree import Mark, Node


def _names(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Those of the standard and those that browsers know from before it: their tags are markup wherever they stand.
ELEMENTS = _names("""
    a abbr acronym address article aside audio b basefont bdi bdo big blink blockquote body br button
    caption center cite code col colgroup dd del details dfn dialog dir div dl dt em embed
    fieldset figcaption figure font footer frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i
    iframe img ins kbd legend li main mark marquee menu meta nav nobr noframes noscript ol p picture pre
    q rp rt ruby s samp script small span strike strong sub summary sup svg table tbody td template
    textarea tfoot th thead tr tt u ul video wbr
    """)
VOID = _names("area base br col embed frame hr img input link meta param source track wbr")
HIDDEN = _names("head script select style svg template title")  # what they hold is not shown
SHOWN_BY_ADDRESS = _names("video audio source iframe embed")
CARRY = "!"  # the name of what a carried comment opens: no element
# Inside of these an end tag closes nothing outside, except the tags of what is around.
SCOPES: dict[str, frozenset[str]] = {
    "table": _names("table details"),
    "td": _names("td th tr table tbody thead tfoot details"),
    "th": _names("td th tr table tbody thead tfoot details"),
    "details": _names("details"),
    CARRY: frozenset({CARRY}),
}
# A start tag closes the open elements of these names, up to the one they are parts of.
BLOCKS = _names("""
    address article aside blockquote center details dir div dl fieldset figure footer form h1 h2 h3 h4 h5 h6 header
    hr main menu nav ol p pre section summary table ul
    """)
CLOSES: dict[str, frozenset[str]] = {
    **dict.fromkeys(BLOCKS, _names("p")),
    "li": _names("li p"),
    "dt": _names("dt dd p"),
    "dd": _names("dt dd p"),
    "tr": _names("tr td th p caption colgroup"),
    "td": _names("td th p"),
    "th": _names("td th p"),
    "a": _names("a"),
    "table": _names("p table"),
}
# Tags that are read as blocks also in the middle of a line, where the words around them would run together.
LINE_BLOCKS = _names("""
    blockquote center dd details div dl dt h1 h2 h3 h4 h5 h6 hr li ol p pre summary table td th tr ul
    """)
# Blocks that say nothing themselves: what they hold begins and ends with them.
GROUPS = _names("address article aside center dir div fieldset footer form header main menu nav section")
STOPS = _names("ul ol dl table div section blockquote details menu dir") | {CARRY}


@dataclass(slots=True)
class HtmlElement:
    """An open tag: a block with content of its own, marks for what it encloses, or neither."""

    name: str
    node: Node | None = None
    marks: tuple[Mark, ...] = ()
    around: tuple[Mark, ...] = ()  # put on the blocks it encloses
    content: list[Node] = field(default_factory=list)


def surround(node: Node, elements: list[HtmlElement]) -> None:
    """Puts the marks of the innermost element that has some on a block that has none."""
    if not (node.kept or node.marks) and node.kind in ("paragraph", "heading"):
        node.marks = next((element.around for element in reversed(elements) if element.around), ())
