"""Constructs of documentation tools put into the Markdown that a renderer without them shows as they mean it.

So that a comparison with such a renderer counts what is read wrongly, and not what the renderer does not know.
"""

from __future__ import annotations

import re
from collections import Counter

FENCE = re.compile(r"^[ \t>]*(```+|~~~+)")
BOX = re.compile(
    r"^([ \t]*)(?:(?:!!!|\?\?\?\+?)[ \t]+[\w -]+?(?:[ \t]+\"(?P<title>[^\"]*)\")?"
    r"|===[!+]?[ \t]+\"(?P<tab>[^\"]*)\")[ \t]*$"
)
CONTAINER = re.compile(r"^[ \t]*:{3,}[ \t]*(?:\{?\.?[\w-]+\}?[ \t]*(?P<title>[^{\n]*))?.*$")
LIST = r"\{:?[ \t]*(?:[#.][\w:.-]+|[\w:-]+=(?:\"[^\"\n]*\"|'[^'\n]*'|[^\s{}\"']+))[^{}\n]*\}"
HEADING = re.compile(rf"^([ \t>]*#{{1,6}}[ \t].*?)[ \t]*{LIST}[ \t]*$")
ALONE = re.compile(rf"^[ \t]*{LIST}[ \t]*$")
BEHIND = re.compile(rf"(?<=[)`\]]){LIST}")
SCRIPT = re.compile(r"^<(script|style)\b")


def plain(markdown: str, found: Counter[str] | None = None) -> str:
    """The text without what only its own tool knows; `found` counts the constructs."""
    count: Counter[str] = Counter()
    result = _lines(markdown.split("\n"), count)
    if found is not None:
        found.update(dict.fromkeys(count, 1))
    return "\n".join(result)


def _counted(count: Counter[str], what: str, words: str) -> str:
    count[what] += 1
    return words


def _lines(lines: list[str], count: Counter[str]) -> list[str]:
    result: list[str] = []
    fence = ""
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        opened = FENCE.match(line)
        if fence:
            fence = "" if opened and opened[1].startswith(fence) else fence
            result.append(line)
        elif opened:
            fence = opened[1]
            result.append(line)
        elif box := BOX.match(line):
            inner, place = _inside(lines, place, len(box[1].expandtabs(4)) + 4)
            count["tabs" if box["tab"] is not None else "boxes"] += 1
            title = box["tab"] if box["tab"] is not None else box["title"]
            body = [box[1] + one if one else "" for one in _lines(inner, count)]
            result += ["", *([f"{box[1]}**{title}**", ""] if title else []), *body, ""]
        elif script := SCRIPT.match(line):
            count["scripts"] += 1
            while f"</{script[1]}>" not in line and place < len(lines):
                line = lines[place]
                place += 1
        elif line.lstrip().startswith(":::"):
            match = CONTAINER.match(line)
            title = match["title"].strip() if match and match["title"] else ""
            result += ["", _counted(count, "containers", f"**{title}**" if title else ""), ""]
        else:
            result.append(_line(line, count))
    return result


def _inside(lines: list[str], place: int, width: int) -> tuple[list[str], int]:
    """What is indented below a line, and where it ends."""
    start = place
    while place < len(lines) and (not lines[place].strip() or lines[place][:width].isspace()):
        place += 1
    while place > start and not lines[place - 1].strip():
        place -= 1
    return [line[width:] for line in lines[start:place]], place


def _line(line: str, count: Counter[str]) -> str:
    short = HEADING.sub(r"\1", line)
    if short != line:
        count["names of headings"] += 1
    if ALONE.match(short):
        return _counted(count, "lists of attributes", "")
    shorter = BEHIND.sub("", short)
    if shorter != short:
        count["lists of attributes"] += 1
    return shorter
