"""Lengths of time as a person says them."""

from __future__ import annotations

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def spoken(seconds: float) -> str:
    """`45 s`, `12 min 5 s`, `2 h 10 min`: the two largest units."""
    rest = max(round(seconds), 1)
    parts: list[str] = []
    for size, unit in _UNITS:
        count, rest = divmod(rest, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2])
