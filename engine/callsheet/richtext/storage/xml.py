"""Storage fragments as elements: parsed without any external or declared entity, written back well-formed."""

from __future__ import annotations

import html
import re
import sys
from dataclasses import dataclass, field
from html.entities import html5
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from ...errors import UsageError
from ..tree import MAX_DEPTH

KNOWN_TO_XML = ("amp", "lt", "gt", "quot", "apos")
# A section or comment that is not closed reaches to the end, so that a text full of openings is read once.
ENTITY = re.compile(r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|&([A-Za-z][A-Za-z0-9]*);", re.DOTALL)
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
ROOT = "<fragment>"
MARKUP = re.compile(
    r"<!\[CDATA\[(?P<cdata>.*?)\]\]>|(?P<comment><!--.*?-->|<\?.*?\?>)|</(?P<close>[^\s>]+)\s*>"
    r"|<(?P<open>[^\s/>]+)(?P<attrs>(?:[^>\"']|\"[^\"]*\"|'[^']*')*?)(?P<empty>/?)>|(?P<words>[^<]+)",
    re.DOTALL,
)
ATTRIBUTE = re.compile(r"([^\s=]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")


class Words(str):
    """Text, and where in the source it stands."""

    __slots__ = ("end", "start")

    start: int
    end: int

    @classmethod
    def source_place(cls, words: str, start: int, end: int) -> Words:
        made = cls(words)
        made.start, made.end = start, end
        return made


@dataclass(slots=True)
class Element:
    """An element, and where in the source it starts, its content starts and ends, and it ends.

    A comment is an element of the name `!`. Without `places` in `parse` none is known.
    """

    name: str
    attrs: dict[str, str] = field(default_factory=dict)
    children: list[Element | Words] = field(default_factory=list)
    start: int = 0
    inner: int = 0
    close: int = 0
    end: int = 0
    deep: bool = False  # it holds elements beyond the limit, of which only the text is here

    def elements(self) -> list[Element]:
        return [child for child in self.children if isinstance(child, Element)]

    def child(self, name: str | None) -> Element | None:
        return next((child for child in self.elements() if child.name == name), None)

    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


def _entity(match: re.Match[str]) -> str:
    name = match[1]
    if name is None or name in KNOWN_TO_XML:
        return match[0]
    sign = html5.get(name + ";")
    return match[0] if sign is None else html.escape(sign)


def parse_fragment(source: str, *, places: bool = True) -> Element:
    """The fragment under one root; raises UsageError with line and column where it is not well-formed.

    Without `places` nothing knows where it stands, which takes a third of the memory.
    """
    if bad := NOT_XML.search(source):
        line = source.count("\n", 0, bad.start()) + 1
        column = bad.start() - source.rfind("\n", 0, bad.start())
        raise UsageError(f"storage format: {line}:{column}: a character that XML does not have: U+{ord(bad[0]):04X}")
    parser = expat.ParserCreate()
    try:
        parser.Parse(ROOT + ENTITY.sub(_entity, source) + "</fragment>", True)  # noqa: FBT003 -- expat takes it by position
    except expat.ExpatError as error:
        raise UsageError(f"storage format: {_position(source, error)}: {expat.ErrorString(error.code)}") from None
    return _Builder(places=places).built(source)


def _position(source: str, error: expat.ExpatError) -> str:
    """Line and column in the text as given, before its entities were replaced."""
    lines = source.split("\n")
    line = min(error.lineno, len(lines))
    if error.lineno > len(lines):
        return f"{line}:{len(lines[-1]) + 1}"
    column = error.offset - (len(ROOT) if line == 1 else 0)
    for match in ENTITY.finditer(lines[line - 1]):
        if match.start() < column:
            column += len(match[0]) - len(_entity(match))
    return f"{line}:{max(1, min(column, len(lines[line - 1])) + 1)}"


class _Builder:
    """Elements of a source that is well-formed; those deeper than the limit are left out around their text."""

    def __init__(self, *, places: bool) -> None:
        self.stack: list[Element] = []
        self.depth = 1
        self.places = places

    def built(self, source: str) -> Element:
        root = Element("", end=len(source), close=len(source))
        self.stack = [root]
        for match in MARKUP.finditer(source):
            if match["open"]:
                self._start(match)
            elif match["close"]:
                self._end(match)
            elif match["comment"]:
                self.stack[-1].children.append(Element("!", start=match.start(), end=match.end()))
            else:
                words = html.unescape(match["words"]) if match["cdata"] is None else match["cdata"]
                if words:
                    words = words.replace("\r\n", "\n")
                    self.stack[-1].children.append(
                        Words.source_place(words, *match.span()) if self.places else Words(words)
                    )
        return root

    def _start(self, match: re.Match[str]) -> None:
        self.depth += not match["empty"]
        if self.depth > MAX_DEPTH:
            self.stack[-1].deep = True
            return
        said = ATTRIBUTE.finditer(match["attrs"]) if match["attrs"] else ()
        attrs = {m[1]: html.unescape(m[2] if m[3] is None else m[3]) for m in said}
        element = Element(sys.intern(match["open"]), attrs, [])
        if self.places:
            element.start, element.inner, element.close, element.end = match.start(), *[match.end()] * 3
        self.stack[-1].children.append(element)
        if not match["empty"]:
            self.stack.append(element)

    def _end(self, match: re.Match[str]) -> None:
        if self.depth <= MAX_DEPTH:
            element = self.stack.pop()
            if self.places:
                element.close, element.end = match.span()
        self.depth -= 1


def escape_xml(words: str) -> str:
    return NOT_XML.sub("", words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cdata_section(words: str) -> str:
    return "<![CDATA[" + NOT_XML.sub("", words).replace("]]>", "]]]]><![CDATA[>") + "]]>"


def xml_tag(name: str, attrs: dict[str, str], inner: str = "") -> str:
    said = "".join(f" {key}={quoteattr(NOT_XML.sub('', value))}" for key, value in attrs.items())
    return f"<{name}{said}>{inner}</{name}>" if inner else f"<{name}{said} />"


def inner_xml(child: Element | Words) -> str:
    return escape_xml(child) if isinstance(child, str) else write_element(child)


def write_element(element: Element) -> str:
    if element.name == "!":
        return ""
    return xml_tag(element.name, element.attrs, "".join(map(inner_xml, element.children)))


def well_formed(source: str) -> bool:
    try:
        parse_fragment(source)
    except UsageError:
        return False
    return True
