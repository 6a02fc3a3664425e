"""A text from elsewhere as the name of a file."""

from __future__ import annotations

import os
import re

_FOREIGN = re.compile(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+')
# Devices of Windows, with any ending, and what programs that get the name as a word read as an option or a home.
_SPECIAL = re.compile(r"(?:con(?:in\$|out\$)?|prn|aux|nul|com[\d¹²³]|lpt[\d¹²³]) *(?:\.|\Z)|[-~]", re.IGNORECASE)
_LONGEST = 200  # bytes: below the 255 of most file systems there is room for a number
_ENDING = 20


def file_name(text: str) -> str:
    """A name that stays inside its directory, is no device and no option, and is short enough; its ending is kept."""
    plain = _FOREIGN.sub("_", text).lstrip(".").rstrip(". ") or "unnamed"
    if _SPECIAL.match(plain):
        plain = f"_{plain}"
    stem, ending = os.path.splitext(plain)
    if len(ending) > _ENDING:
        stem, ending = plain, ""
    return _cut(stem, _LONGEST - len(ending.encode())) + ending


def _cut(text: str, size: int) -> str:
    """The text cut between characters, to so many bytes."""
    return text.encode()[:size].decode(errors="ignore")
