"""Numbers as the letters of a short link: their bytes, the lowest first, in base64 without the zeros at the end.

So the wiki writes the id of a page in `/x/LETTERS`.
"""

from __future__ import annotations

import base64
import binascii

_PLAIN = str.maketrans("-_", "/+")
_IN_LINKS = str.maketrans("/+", "-_")
_LONGEST = 11  # letters of eight bytes


def number_of(letters: str) -> int | None:
    """None for what no number is written as."""
    if not 0 < len(letters) <= _LONGEST:
        return None
    padded = letters.translate(_PLAIN) + "A" * (-len(letters) % 4)
    try:
        return int.from_bytes(base64.b64decode(padded, validate=True), "little")
    except (binascii.Error, ValueError):
        return None


def letters_of(number: int) -> str:
    data = number.to_bytes(max(1, (number.bit_length() + 7) // 8), "little")
    return base64.b64encode(data).decode().rstrip("=").translate(_IN_LINKS).rstrip("A") or "A"
