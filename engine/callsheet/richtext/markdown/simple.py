"""Inline content that can be read without weighing anything: plain words, code, emphasis of plain words, plain links.

Most paragraphs are no more than that, and one pass with a pattern reads them several times as fast as the parser does.
What could mean anything else (signs beside one another, escapes, entities, tags, brackets in brackets) is not matched,
and the parser reads the whole paragraph. A property of the tests holds the two ways to the same result.
"""

from __future__ import annotations

import re

from ..tree import Mark, Node, text
from .patterns import Patterns

LETTER = r"[^\W_]"
WORDS = r"[^\\`*_\[\]!<&~$\n{}]"  # inside of emphasis and links: nothing that begins something
INNER = rf"(?={LETTER}){WORDS}*(?<={LETTER})"
ADDRESS = r"(?:https?://[A-Za-z0-9.-]+(?=[/:?#)\s]))?(?:[A-Za-z0-9/?=#+,;@._~-]++|%[0-9A-Fa-f]{2})+"
END = r"(?![`*_~{(\[])"  # nothing right behind that could belong to it
SEGMENT = re.compile(
    rf"""
    (?P<plain>(?:[^\\`*_\[\]!<&~$^\n]++|[!^](?!\[)|&(?![#A-Za-z])|<(?![A-Za-z/!?])|(?<=[a-zA-Z0-9])_+(?=[a-zA-Z0-9]))++)
    |(?P<line>\n(?![\s]))
    |(?<!`)`(?P<code>[^`\n]+)`(?!`){END}
    |(?<![*_])\*\*(?P<strong>{INNER})\*\*{END}
    |(?<![*_])\*(?P<em>{INNER})\*{END}
    |(?<![\w*])_(?P<under>{INNER})_(?!\w){END}
    |\[(?P<label>{WORDS}+)\]\((?P<href>{ADDRESS})(?:[ ]"(?P<title>[^"\\&\n<>`*_\[\]]*)")?\){END}
    """,
    re.VERBOSE,
)
STRONG, EM, CODE = Mark("strong", {}), Mark("em", {}), Mark("codespan", {})


def read(content: str, patterns: Patterns, schemes: tuple[str, ...], *, lines: bool) -> list[Node] | None:
    """The inline content, not merged; None where the parser must read it. `lines`: line ends are no spaces."""
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
        if kind == "line":
            if lines or plain.endswith("  "):
                return None
            plain = plain.rstrip(" ") + " "
            continue
        if plain:
            found += patterns.nodes(plain, ())
            plain = ""
        if kind == "code":
            found.append(text(_code(match["code"]), (CODE,)))
        elif kind == "strong":
            found += patterns.nodes(match["strong"], (STRONG,))
        elif kind in ("em", "under"):
            found += patterns.nodes(match[kind], (EM,))
        else:
            href = match["href"]
            if href.startswith(schemes):
                return None
            title = " ".join((match["title"] or "").split())
            mark = Mark("link", {"href": href, "title": title} if title else {"href": href})
            found += patterns.nodes(match["label"], (mark,))
    if plain:
        found += patterns.nodes(plain, ())
    return found


def _code(words: str) -> str:
    """The words of a code span without the space that sets backticks in it apart from its own."""
    return words[1:-1] if words[0] == words[-1] == " " and words.strip(" ") else words
