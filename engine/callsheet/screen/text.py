"""Others' text on the screen: no control character and no markup in it acts."""

from __future__ import annotations

import re

from rich.style import Style
from rich.text import Text

from ..terminal import PLAIN, STYLES, escape_line, escape_text

_CODES = {code: name for name, code in STYLES.items()}
_PARTS = re.compile("(" + "|".join(map(re.escape, (*STYLES.values(), PLAIN))) + ")")
# The base colors alone, which a terminal makes readable on its ground.
_RICH = {name: Style.parse(name) for name in STYLES}


def style_of(name: str) -> Style:
    """Of a name that a palette or a view gives; nothing for an empty one."""
    return _RICH.get(name, Style.null())


def plain(text: str) -> Text:
    return Text(escape_text(text).expandtabs(), end="")


def plain_line(text: str) -> str:
    return escape_line(text)


def styled_text(lines: str) -> Text:
    """Text that the engine made for a terminal: its own styles are kept, nothing else is interpreted."""
    found, now = Text(end=""), Style.null()
    for part in _PARTS.split(lines):
        if part == PLAIN:
            now = Style.null()
        elif part in _CODES:
            now += _RICH[_CODES[part]]
        elif part:
            found.append(escape_text(part).expandtabs(), now)
    return found
