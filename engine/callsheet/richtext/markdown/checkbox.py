"""Boxes to be ticked that are written as HTML."""

from __future__ import annotations

import re

BOX = re.compile(
    r"<input\b(?=[^<>]*\stype\s*=\s*[\"']?checkbox\b)(?P<checked>[^<>]*\schecked(?=[\s=/>]))?[^<>]*>", re.IGNORECASE
)


def checkbox_sign(tag: str) -> str:
    """The box as Markdown writes it, before what it is for; empty for any other tag."""
    match = BOX.fullmatch(tag)
    return "" if match is None else "[x] " if match["checked"] else "[ ] "


def as_marker(words: str) -> str:
    """The words of an item, with a box that they begin with as Markdown writes it."""
    if not words.startswith("<"):
        return words
    match = BOX.match(words)
    return words if match is None else checkbox_sign(match[0]) + words[match.end() :].lstrip()
