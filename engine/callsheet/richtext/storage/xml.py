"""Storage fragments as elements: parsed without any external or declared entity, written back well-formed."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from html.entities import html5
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from ...errors import UsageError
from ..tree import MAX_DEPTH

KNOWN_TO_XML = ("amp", "lt", "gt", "quot", "apos")
ENTITY = re.compile(r"<!\[CDATA\[.*?\]\]>|<!--.*?-->|&([A-Za-z][A-Za-z0-9]*);", re.DOTALL)
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
ROOT = "<fragment>"


@dataclass(slots=True)
class Element:
    name: str
    attrs: dict[str, str] = field(default_factory=dict)
    children: list[Element | str] = field(default_factory=list)

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


def parse(source: str) -> Element:
    """The fragment under one root; raises UsageError with line and column where it is not well-formed."""
    if bad := NOT_XML.search(source):
        line = source.count("\n", 0, bad.start()) + 1
        column = bad.start() - source.rfind("\n", 0, bad.start())
        raise UsageError(f"storage format: {line}:{column}: a character that XML does not have: U+{ord(bad[0]):04X}")
    builder = _Builder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.words
    try:
        parser.Parse(ROOT + ENTITY.sub(_entity, source) + "</fragment>", True)  # noqa: FBT003 -- expat takes it by position
    except expat.ExpatError as error:
        raise UsageError(f"storage format: {_position(source, error)}: {expat.ErrorString(error.code)}") from None
    return builder.root


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
    """Elements deeper than the limit are left out around their text."""

    def __init__(self) -> None:
        self.root = Element("")
        self.stack: list[Element] = []
        self.depth = 0

    def start(self, name: str, attrs: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            return
        element = Element(name, attrs)
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)

    def end(self, _name: str) -> None:
        if self.depth <= MAX_DEPTH:
            self.stack.pop()
        self.depth -= 1

    def words(self, words: str) -> None:
        self.stack[-1].children.append(words)


def escaped(words: str) -> str:
    return NOT_XML.sub("", words).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def cdata(words: str) -> str:
    return "<![CDATA[" + NOT_XML.sub("", words).replace("]]>", "]]]]><![CDATA[>") + "]]>"


def tag(name: str, attrs: dict[str, str], inner: str = "") -> str:
    said = "".join(f" {key}={quoteattr(NOT_XML.sub('', value))}" for key, value in attrs.items())
    return f"<{name}{said}>{inner}</{name}>" if inner else f"<{name}{said} />"


def written(element: Element) -> str:
    inner = "".join(escaped(child) if isinstance(child, str) else written(child) for child in element.children)
    return tag(element.name, element.attrs, inner)


def well_formed(source: str) -> bool:
    try:
        parse(source)
    except UsageError:
        return False
    return True
