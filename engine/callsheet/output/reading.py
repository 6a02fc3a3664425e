"""Markdown as a person reads it on a terminal: wrapped to its width, with styles in the place of signs.

The text must have been cleaned of what acts on a terminal. Tables and code stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..terminal import BOLD, PLAIN
from .table import display_width

_STYLE = re.compile(re.escape(BOLD) + "|" + re.escape(PLAIN))
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*\Z")
_START = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?|>\s?)*")
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|@\[(?P<person>[^\]\n]+)\]\([^)\s]*\)"
    r"|!?\[(?P<label>[^\]\n]+)\]\((?P<address>[^)\s]+)[^)\n]*\)"
    r"|\*\*(?P<strong>[^*\n]+)\*\*"
)
_LEAST = 20  # on a narrower terminal nothing is wrapped


def readable(text: str, width: int, *, styles: bool) -> Iterator[str]:
    """The lines of a text, none wider than `width` where that can be; with `styles` headings stand out."""
    fence = ""
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence:
            yield f"    {line}"
        elif line.lstrip().startswith("|") or not line.strip():
            yield line
        else:
            yield from _paragraph(line, width, styles=styles)


def _paragraph(line: str, width: int, *, styles: bool) -> Iterator[str]:
    if heading := _HEADING.fullmatch(line):
        yield from wrapped(_strong(_inline(heading[1], styles=False), styles=styles), width, "")
        return
    start = _START.match(line)
    first = start[0] if start else ""
    following = "".join(each if each in " >" else " " for each in first)
    yield from wrapped(_inline(line[len(first) :], styles=styles), width, following, first)


def wrapped(text: str, width: int, following: str, first: str = "") -> Iterator[str]:
    """The words of a styled text in lines, the first behind `first`, the others behind `following`."""
    room = width - display_width(first)
    if width < _LEAST or room < _LEAST // 2:
        yield first + text
        return
    line, used = "", 0
    for word in text.split(" "):
        length = display_width(_STYLE.sub("", word))
        if line and used + 1 + length > room:
            yield first + line
            first, line, used = following, "", 0
        line, used = (f"{line} {word}", used + 1 + length) if line else (word, length)
    yield first + line


def _inline(text: str, *, styles: bool) -> str:
    def shown(match: re.Match[str]) -> str:
        if match["escaped"]:
            return match["escaped"]
        if match["code"]:
            return match["code"].strip() or match["code"]
        if match["person"]:
            return _strong(f"@{match['person']}", styles=styles)
        if match["label"]:
            label, address = match["label"], match["address"]
            return label if address in (label, f"mailto:{label}") or "://" not in address else f"{label} ({address})"
        return _strong(match["strong"], styles=styles)

    return _INLINE.sub(shown, text)


def _strong(text: str, *, styles: bool) -> str:
    """Each word on its own, because a pager ends styles with a line."""
    if not styles:
        return text
    return " ".join(f"{BOLD}{word}{PLAIN}" if word else word for word in text.split(" "))
