"""Whole numbers read from untrusted text."""

from __future__ import annotations

_DIGITS = 18  # what counts things, bytes or seconds has no more


def parse_whole_number(text: str) -> int | None:
    """The number that a text is, of ASCII digits only and of no absurd length; None for every other text.

    `isdigit` alone also takes `²`, which `int` does not, nor does it take thousands of digits.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None
