"""Durations of definitions in seconds."""

from __future__ import annotations

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def seconds(text: str) -> float:
    """`250ms`, `10s`, `5m`, `1h` or `2d` in seconds; the shape of definitions has checked the form."""
    number = text.rstrip("mshd")
    return float(number) * _UNITS[text[len(number) :]]
