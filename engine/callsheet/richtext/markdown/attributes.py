"""Lists of attributes, `{#id .class key=value}`, that some dialects put behind a heading, paragraph, image or link."""

from __future__ import annotations

import re

ITEM = r"(?:[#.][\w:.-]+|[\w:-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"']+))"
LIST = re.compile(rf"\{{(?::?[ \t]*{ITEM}(?:[ \t]+(?:{ITEM}|[\w-]+))*[ \t]*|:[ \t]*)\}}")
NAME = re.compile(r"#([\w:.-]+)")
SPACE = " \t"


def at_end(words: str, *, whole: bool = False) -> tuple[str, str]:
    """A heading without the list at its end, and the name in it; `whole`: only where the list has a line of its own."""
    if not words.endswith("}"):
        return words, ""
    start = words.rfind("{")
    escaped = words[:start].endswith("\\")
    match = LIST.fullmatch(words, start) if start >= 0 and not escaped else None
    if match is None:
        return words, ""
    before = words[:start].rstrip(SPACE)
    if whole and before and not before.endswith("\n"):
        return words, ""
    name = NAME.search(match[0])
    return before.rstrip(), name[1] if name else ""


def at_start(words: str) -> int:
    """The length of the list that a text right behind an image, a link or code starts with."""
    match = LIST.match(words) if words.startswith("{") else None
    return match.end() if match else 0
