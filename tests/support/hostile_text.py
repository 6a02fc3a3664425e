"""Text that acts on a terminal, and whether some still does in what was printed."""

from __future__ import annotations

import re

TEXTS = {
    "bell and backspace": "safe\x07\x08\x08\x08\x08evil",
    "null": "safe\x00evil",
    "carriage return": "safe\rEVIL",
    "form feed and vertical tab": "a\x0cb\x0bc",
    "clear the screen": "\x1b[2J\x1b[Hevil",
    "colour": "\x1b[31mevil\x1b[0m",
    "unfinished sequence": "evil\x1b[",
    "lone escape": "evil\x1b",
    "full reset": "\x1bcevil",
    "title": "\x1b]0;evil\x07",
    "link": "\x1b]8;;http://evil.example/\x1b\\click\x1b]8;;\x1b\\",
    "clipboard": "\x1b]52;c;ZXZpbA==\x07",
    "device control": "\x1bP$qm\x1b\\evil",
    "application command": "\x1b_Gevil\x1b\\",
    "C1 sequence": "\x9b31mevil",
    "C1 title": "\x9d0;evil\x9c",
    "C1 next line": "safe\x85EVIL",
    "delete": "safe\x7f\x7fevil",
    "right to left override": "safe\u202elive\u202c",
    "isolate": "\u2066evil\u2069",
    "direction marks": "a\u200eb\u200fc\u061cd",
    "separators": "safe\u2028EVIL\u2029EVIL",
    "byte order mark": "sa\ufefffe",
    "lone surrogate": "evil\ud800",
    "escaped byte": "evil\udc9b31m",  # what Python makes of a C1 byte in a file name or an argument
}
EVERYTHING = " ".join(TEXTS.values())

_STYLES = re.compile(r"\x1b\[(?:0|1|2|4|22|24|3[0-7]|39)?m")
_ACTS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def acts(printed: str, *, styles: bool = False) -> list[str]:
    """The characters that a terminal would act on, but for line breaks, tabs and, with `styles`, bold and colour."""
    return _ACTS.findall(_STYLES.sub("", printed) if styles else printed)
