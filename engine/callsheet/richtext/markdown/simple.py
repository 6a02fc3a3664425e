"""Inline content that can be read without weighing anything: words, code, emphasis, links, images.

Most paragraphs are no more than that, and a pattern reads them several times as fast as the parser does. What could
mean anything else (signs beside one another, entities, tags, brackets in brackets) is not matched, and the parser reads
the whole paragraph. A property of the tests holds the two ways to the same result.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from markdown_it.common.utils import normalizeReference

from ..shared_keys import share_keys
from ..tree import NO_ATTRS, NO_CONTENT, Mark, Node, text_node
from .patterns import Patterns

LETTER = r"[^\W_]"
IN_WORD = r"(?<=[a-zA-Z0-9])_+(?=[a-zA-Z0-9])"
WORDS = rf"(?:[^\\`*_\[\]!^<&~${{}}]++|[!^](?!\[)|{IN_WORD})"  # nothing that begins something
NAME = r"[^\\`*_\[\]!^<&~${}\n]"
CODE = r"(?<!`)`[^`]+`(?!`)"
PART = r"[A-Za-z0-9/?=#+,;@._~-]++|%[0-9A-Fa-f]{2}"
ADDRESS = (
    rf"(?:https?://[A-Za-z0-9.-]+(?=[/:?#)\s])(?:{PART}|[:!$']|&(?![#\w]*;)|\((?:{PART})*\))*"
    rf"|(?!https?:)(?:{PART})+)"
)
TITLE = r"[ ]\"[^\"\\&\n<>`*_\[\]]*\""
LINK = rf"\[(?:{WORDS}|{CODE})+\]\({ADDRESS}(?:{TITLE})?\)"
END = r"(?![`*_~{(\[])"  # nothing right behind that could belong to it


def _emphasis(name: str, sign: str) -> str:
    """A sign beside a letter inside, or between white space and something else, can only open, or only close."""
    before, after = (r"(?<![*_])", "") if "*" in sign else (r"(?<![\w*])", r"(?!\w)")
    opening = rf"{before}(?:{sign}(?={LETTER})|(?<!\S){sign}(?=[^\s*_]))"
    closing = rf"(?:(?<={LETTER}){sign}|(?<=[^\s*_]){sign}(?=[\s.,;:!?)]|\Z)){after}"
    return rf"{opening}(?P<{name}>(?:{WORDS}|{CODE}|{LINK})+){closing}{END}"


SEGMENT = re.compile(
    rf"""
    (?P<plain>(?:[^\\`*_\[\]!<&~$^\n]++|[!^](?!\[)|&(?![#A-Za-z])|<(?![A-Za-z/!?])|{IN_WORD})++)
    |(?P<line>\\?\n[ \t]*(?!\s))
    |\\(?P<sign>[!-%'-/:-@\[-`{{-~])
    |(?<!`)`(?P<code>[^`]+)`(?!`){END}
    |{_emphasis("strong", "[*]{2}")}
    |{_emphasis("em", "[*]")}
    |{_emphasis("strong_", "__")}
    |{_emphasis("em_", "_")}
    |\[(?P<label>(?:{WORDS}|{CODE}|[*]{{2}}{LETTER}(?:{WORDS}*{LETTER})?[*]{{2}})+)\]\((?P<href>{ADDRESS})(?P<title>{TITLE})?\){END}
    |\[!\[(?P<badge>{NAME}*)\]\((?P<shown>{ADDRESS})\)\]\((?P<leads>{ADDRESS})\){END}
    |!\[(?P<alt>{NAME}*)\]\((?P<url>{ADDRESS})\){END}
    |\[(?P<words>{NAME}+)\](?:\[(?P<name>{NAME}*)\])?{END}
    """,
    re.VERBOSE,
)
STRONG, EM, CODESPAN = Mark("strong", {}), Mark("em", {}), Mark("codespan", {})
EMPHASIS = {"strong": STRONG, "strong_": STRONG, "em": EM, "em_": EM}

References = Mapping[str, Mapping[str, str]]


class SimpleReader:
    """`schemes`: what addresses start with that are no links. `lines`: line ends are no spaces."""

    def __init__(self, patterns: Patterns, schemes: tuple[str, ...], *, lines: bool) -> None:
        self.patterns = patterns
        self.schemes = schemes
        self.lines = lines

    def read(self, content: str, references: References, marks: tuple[Mark, ...] = ()) -> list[Node] | None:
        """The inline content, not merged; None where the parser must read it. `references`: links by their names."""
        found: list[Node] = []
        plain = ""
        end = 0
        while end < len(content):
            match = SEGMENT.match(content, end)
            if match is None:
                return None
            end = match.end()
            kind = match.lastgroup
            if kind == "plain":
                plain += match[0]
                continue
            if kind == "line" and not self.lines and match[0][0] == "\n" and not plain.endswith("  "):
                plain = plain.removesuffix(" ") + " "
                continue
            if kind == "words" and normalizeReference(match["words"]) not in references:
                plain += match[0]
                continue
            if plain:
                found += self.patterns.nodes(plain.rstrip(" ") if match[0][0] == "\n" else plain, marks)
                plain = ""
            nodes = self._nodes(match, references, marks)
            if nodes is None:
                return None
            found += nodes
        if plain:
            found += self.patterns.nodes(plain, marks)
        return found

    def _nodes(self, match: re.Match[str], references: References, marks: tuple[Mark, ...]) -> list[Node] | None:
        """What is not plain."""
        kind = match.lastgroup
        if kind == "code":
            return [text_node(_code(match["code"].replace("\n", " ")), (*marks, CODESPAN))]
        if kind == "line":
            return [Node("break", NO_ATTRS, NO_CONTENT, "", marks)]
        if kind == "sign":
            return [text_node(match["sign"], marks)]
        if kind in EMPHASIS:
            return self.read(match[kind], references, (*marks, EMPHASIS[kind]))
        if kind == "url":
            return [_image(match["alt"], match["url"], marks)]
        if kind in ("words", "name"):
            target = references.get(normalizeReference(match["name"] or match["words"]))
            if target is None:
                return None
            label, href, title = match["words"], target["href"], target["title"]
        elif kind == "leads":
            label, href, title = "", match["leads"], ""
        else:
            label, href, title = match["label"], match["href"], (match["title"] or "").strip(' "')
        if href.startswith(self.schemes):
            return None
        title = " ".join(title.split())
        link = (*marks, Mark("link", {"href": href, "title": title} if title else {"href": href}))
        return self.read(label, {}, link) if kind != "leads" else [_image(match["badge"], match["shown"], link)]


def _image(alt: str, url: str, marks: tuple[Mark, ...]) -> Node:
    return Node("image", share_keys({"url": url, "alt": alt} if alt else {"url": url}), [], "", marks)


def _code(words: str) -> str:
    """The words of a code span without the space that sets backticks in it apart from its own."""
    return words[1:-1] if words[0] == words[-1] == " " and words.strip(" ") else words
