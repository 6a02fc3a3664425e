"""Markdown as a person reads it on a terminal: wrapped to its width, with styles in the place of signs.

The text must have been cleaned of what acts on a terminal. Code stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from urllib.parse import unquote

from ..terminal import PLAIN, STYLES, painted_text
from .table import display_width, table_lines

_STYLE = re.compile("|".join(map(re.escape, (*STYLES.values(), PLAIN))))
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r"#{1,6}\s+(.*?)\s*#*\s*\Z")
_RULE = re.compile(r"\s*([-*_])(?:\s*\1){2,}\s*\Z")
_ROW = re.compile(r"\s*\|(?P<cells>.*)\|\s*\Z")
_DIVIDER = re.compile(r"[\s|:-]*-[\s|:-]*\Z")
_BETWEEN_CELLS = re.compile(r"(?<!\\)\|")
_START = re.compile(r"\s*(?:(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?|>\s?)*")
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<ticks>`+)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
    r"|@\[(?P<person>[^\]\n]+)\]\([^)\s]*\)"
    r"|!?\[(?P<label>[^\]\n]*)\]\((?P<address>[^)\s]+)[^)\n]*\)"
    r"|<(?P<link>https?://[^>\s]+)>"
    r"|\*\*(?P<strong>[^*\n]+)\*\*"
    r"|(?<![\w*])(?P<sign>[*_])(?P<em>[^\s*_](?:[^*_\n]*[^\s*_])?)(?P=sign)(?![\w*])"
)
_LEAST = 20  # on a narrower terminal nothing is wrapped
_LONGEST_RULE = 40


def readable_lines(text: str, width: int | None, *, styles: bool) -> Iterator[str]:
    """The lines of a text, none wider than `width` where that can be; with `styles` headings and links stand out."""
    fence = ""
    rows: list[str] = []
    for line in text.split("\n"):
        mark = _FENCE.match(line)
        if not fence and _ROW.match(line):
            rows.append(line)
            continue
        if rows:
            yield from _table_lines(rows, width, styles=styles)
            rows = []
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif fence:
            yield f"    {line}"
        elif not line.strip():
            yield line
        else:
            yield from _paragraph_lines(line, width, styles=styles)
    if rows:
        yield from _table_lines(rows, width, styles=styles)


def _table_lines(rows: list[str], width: int | None, *, styles: bool) -> Iterator[str]:
    """The rows with aligned columns, their text wrapped; without a head when it is empty."""
    cells = [_table_cells(row) for row in rows if not _DIVIDER.fullmatch(row)]
    most = max(map(len, cells), default=0)
    for place, row in enumerate(cells):
        cells[place] = [_inline_text(cell, styles=False) for cell in row] + [""] * (most - len(row))
    has_head = len(rows) > 1 and bool(_DIVIDER.fullmatch(rows[1]))
    head = cells.pop(0) if has_head and cells else None
    shown = head if head and any(head) else None
    if most:
        lines = table_lines(shown, cells, wrapped=[True] * most, width=width, styles=styles)
        yield from (line.rstrip("\n") for line in lines)


def _table_cells(row: str) -> list[str]:
    match = _ROW.match(row)
    return [cell.strip() for cell in _BETWEEN_CELLS.split(match["cells"])] if match else []


def _paragraph_lines(line: str, width: int | None, *, styles: bool) -> Iterator[str]:
    if heading := _HEADING.fullmatch(line):
        yield from wrapped_lines(
            _painted_words(_inline_text(heading[1], styles=False), "bold", styles=styles), width, ""
        )
        return
    if _RULE.fullmatch(line):
        yield "─" * min(width or _LONGEST_RULE, _LONGEST_RULE)
        return
    start = _START.match(line)
    first = start[0] if start else ""
    following = "".join(each if each in " >" else " " for each in first)
    yield from wrapped_lines(_inline_text(line[len(first) :], styles=styles), width, following, first)


def wrapped_lines(text: str, width: int | None, following: str, first: str = "") -> Iterator[str]:
    """The words of a styled text in lines, the first behind `first`, the others behind `following`."""
    room = 0 if width is None else width - display_width(first)
    if width is None or width < _LEAST or room < _LEAST // 2:
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


def _inline_text(text: str, *, styles: bool) -> str:
    def shown(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        if kind == "escaped":
            return match["escaped"]
        if match["code"]:
            return _painted_words(match["code"].strip() or match["code"], "cyan", styles=styles)
        if match["address"]:
            return _link_text(match["label"], match["address"], styles=styles)
        said = f"@{match['person']}" if match["person"] else match["link"] or match["strong"] or match["em"]
        return _painted_words(said, _STYLE_OF[kind], styles=styles)

    return _INLINE.sub(shown, text)


_STYLE_OF = {"person": "bold", "link": "underline", "strong": "bold", "em": "italic"}


def _link_text(label: str, address: str, *, styles: bool) -> str:
    """Its words, and the address where they do not show it."""
    label = label or unquote(address.removeprefix("page:"))
    if address in (label, f"mailto:{label}"):
        return _painted_words(label, "underline", styles=styles)
    if "://" not in address:
        return label
    return f"{label} ({_painted_words(address, 'underline', styles=styles)})"


def _painted_words(text: str, style: str, *, styles: bool) -> str:
    """Each word on its own, because a pager ends styles with a line."""
    if not styles:
        return text
    return " ".join(painted_text(word, style) for word in text.split(" "))
