"""Units of time: reading durations that definitions and people write, and showing them."""

from __future__ import annotations

HOUR, DAY = 3600, 86_400  # seconds
_SECONDS = {"y": 31_557_600.0, "mo": 2_629_800.0, "d": float(DAY), "h": float(HOUR), "m": 60.0, "s": 1.0, "ms": 0.001}
_WRITTEN = ("ms", "s", "m", "h", "d")
_COUNTED = ("d", "h", "m", "s")
_SPOKEN = {"m": "min"}  # beside other words `m` could be metres or months


def duration_seconds(text: str) -> float:
    """`250ms`, `10s`, `5m`, `1h` or `2d` in seconds; the shape of definitions has checked the form."""
    number = text.rstrip("mshd")
    return float(number) * _SECONDS[text[len(number) :]]


def parse_typed_duration(text: str) -> float | None:
    """Seconds of what a person wrote, also without a unit: `30`, `90s`; None where it is not a duration."""
    text = text.strip()
    unit = next((unit for unit in _WRITTEN if text.endswith(unit)), "")
    try:
        found = float(text.removesuffix(unit)) * _SECONDS[unit or "s"]
    except ValueError:
        return None
    return found if 0 <= found < float("inf") else None


def in_words(length: float) -> str:
    """`45 s`, `12 min 5 s`, `2 h 10 min`: the two largest units, at least a second."""
    parts = _counted_units(max(round(length), 1))
    return " ".join(f"{count} {_SPOKEN.get(unit, unit)}" for unit, count in parts)


def compact_duration(length: float) -> str:
    """`2h 30m`: the two largest units; `0s`."""
    text = " ".join(f"{count}{unit}" for unit, count in _counted_units(abs(round(length))))
    return f"-{text}" if length < 0 and text else text or "0s"


def largest_unit(length: float) -> str | None:
    """`3d`: whole units of the largest kind, minutes at least; None for less."""
    for unit in ("y", "mo", "d", "h", "m"):
        if length >= _SECONDS[unit]:
            return f"{int(length // _SECONDS[unit])}{unit}"
    return None


def _counted_units(rest: int) -> list[tuple[str, int]]:
    parts: list[tuple[str, int]] = []
    for unit in _COUNTED:
        count, rest = divmod(rest, int(_SECONDS[unit]))
        if count:
            parts.append((unit, count))
    return parts[:2]
