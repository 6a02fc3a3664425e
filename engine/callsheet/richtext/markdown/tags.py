"""What the tags of HTML in Markdown are and mean, by the definitions."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as slot
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from markdown_it.common.normalize_url import normalizeLink, validateLink

from ..attribute_fields import AttrField, attribute_fields, spelt_color
from ..node_rules import Rules
from ..tree import Attrs, Mark, Node
from .parser_rules import InlineToken

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


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
    content: list[Node] = slot(default_factory=list)


def mark_block(node: Node, elements: list[HtmlElement]) -> None:
    """Puts the marks of the innermost element that has some on a block that has none."""
    if not (node.kept or node.marks) and node.kind in ("paragraph", "heading"):
        node.marks = next((element.around for element in reversed(elements) if element.around), ())


TAG = re.compile(r"<(/?)([A-Za-z][A-Za-z0-9-]*)([^>]*?)/?>", re.DOTALL)
ATTRIBUTE = re.compile(r"([\w-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+))")


def tag_attributes(words: str) -> dict[str, str]:
    return {m[1].lower(): html.unescape(m[2] or m[3] or m[4] or "") for m in ATTRIBUTE.finditer(words)}


def shown_address(tag: str) -> str:
    """The address that stands for what a tag shows, such as a film; empty for any other."""
    match = TAG.fullmatch(tag)
    if match is None or match[1] or match[2].lower() not in SHOWN_BY_ADDRESS:
        return ""
    address = tag_attributes(match[3]).get("src", "").strip()
    return address if address.startswith(("http://", "https://")) else ""


def tag_name(tag: str) -> str:
    match = TAG.fullmatch(tag)
    return match[2].lower() if match else ""


def begins_block(token: InlineToken) -> bool:
    """Whether a token is a tag that starts a block inside of a line."""
    return token.type == "html_inline" and token.content[1:2] != "/" and tag_name(token.content) in LINE_BLOCKS


def pair_tags(tokens: list[InlineToken]) -> None:
    """Tells each HTML start tag where the end tag is that closes it, each pair of the same name."""
    waiting: dict[str, list[int]] = {}
    for index, token in enumerate(tokens):
        match = TAG.fullmatch(token.content) if token.type == "html_inline" else None
        if match:
            name = match[2].lower()
            if not match[1]:
                waiting.setdefault(name, []).append(index)
            elif waiting.get(name):
                start = waiting[name].pop()
                tokens[start].end, token.end = index, start


ADDRESSES = frozenset({"href", "src"})
CONTROL = re.compile(r"[\x00-\x1f\x7f]")

Given = Mapping[str, str | None]  # the attributes of a tag; None for one without a value

EMPTY = frozenset({"alt"})  # attributes that say something when they are empty: an image that only decorates


class Tag:
    """One kind that a tag says, and how its attributes are read."""

    def __init__(self, kind: str, table: shape.HtmlForm) -> None:
        self.kind = kind
        self.set: Attrs = table.get("set", {})
        self.fields: list[AttrField] = attribute_fields(table.get("attrs", {}), renamed=True)

    def attrs(self, given: Given) -> Attrs | None:
        """The neutral attributes; None where one that must be there is not, or is an address that may not be linked."""
        result = dict(self.set)
        for field in self.fields:
            value: Any = given.get(field.outer)
            if value is not None and int in field.types:
                value = int(value) if re.fullmatch(r"\d{1,9}", value) else None
            elif value and field.outer in ADDRESSES:
                value = _address(value)
            if not value and not (value == "" and field.outer in EMPTY):
                if field.needed:
                    return None
                continue
            result |= {field.name: value}
        return result


class Declaration:
    """A mark that a property of CSS, or an attribute of the same meaning, says on any tag."""

    def __init__(self, kind: str, table: shape.HtmlForm, rules: Rules) -> None:
        self.kind = kind
        self.name = table.get("as")
        self.values = table.get("values", {})
        known = rules.forms[kind][0].known if kind in rules.forms else {}
        self.field = next((field for field in known.values() if field.name == self.name), None)

    def mark(self, value: str) -> Mark | None:
        words = spelt_color(value.strip().lower())
        found = self.values.get(words)
        if self.name is None:
            return Mark(self.kind, {}) if found else None
        if found is None and self.field is not None and self.field.pattern and self.field.is_valid(words):
            found = words
        return None if found is None else Mark(self.kind, {self.name: found})


@lru_cache(maxsize=2)
def tags_of(rules: Rules) -> Tags:
    """What tags mean by these definitions: made once for all texts."""
    return Tags(rules)


@lru_cache(maxsize=64)
def alignment_marks(rules: Rules, style: str) -> tuple[Mark, ...]:
    """How what has a style is aligned, as marks of its paragraph."""
    tags = tags_of(rules)
    return tuple(mark for mark in tags.declared({"style": style}) if tags.on_blocks(mark))


class Tags:
    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.known: dict[str, Tag] = {}
        self._styles: dict[str, list[Declaration]] = {}
        self._attrs: dict[str, list[Declaration]] = {}
        for kind, forms in rules.tags.items():
            for form in forms:
                self._learn(kind, form)
        self._declared = frozenset({"style", *self._attrs})

    def _learn(self, kind: str, table: shape.HtmlForm) -> None:
        if "tag" in table:
            self.known.setdefault(table["tag"], Tag(kind, table))
        if "style" in table:
            self._styles.setdefault(table["style"], []).append(Declaration(kind, table, self.rules))
        if "attr" in table:
            self._attrs.setdefault(table["attr"], []).append(Declaration(kind, table, self.rules))

    def is_markup(self, name: str) -> bool:
        return name in self.known or name in ELEMENTS

    def kind(self, name: str) -> str | None:
        tag = self.known.get(name)
        return tag.kind if tag else None

    def of_marks(self, name: str, given: Given) -> tuple[Mark, ...]:
        """The marks of what an element encloses."""
        tag = self.known.get(name)
        attrs = tag.attrs(given) if tag and tag.kind in self.rules.marks else None
        own = (Mark(tag.kind, attrs),) if tag and attrs is not None else ()
        return (*own, *self.declared(given)) if given else own

    def on_blocks(self, mark: Mark) -> bool:
        """Whether a mark stands on paragraphs, not on the words in them."""
        return any(mark.kind in form.marks for form in self.rules.forms.get("paragraph", ()))

    def declared(self, given: Given) -> Iterator[Mark]:
        for name in self._declared.intersection(given):
            if name == "style":
                for declaration in (given["style"] or "").split(";"):
                    prop, _, value = declaration.partition(":")
                    yield from _marks(self._styles.get(prop.strip().lower(), ()), value)
            else:
                yield from _marks(self._attrs[name], given[name] or "")


def _address(value: str) -> str | None:
    """An address as a link in Markdown has it; None for one that would run something."""
    words = CONTROL.sub("", value.strip())
    return normalizeLink(words) if validateLink(words) else None


def _marks(found: Iterable[Declaration], value: str) -> Iterator[Mark]:
    return (mark for one in found if (mark := one.mark(value)))
