"""Moments that queries name: dates, spans back from now, and where days, weeks, months and years start and end."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

_SPAN = re.compile(r"(?P<sign>[+-]?)(?P<number>\d{1,6})(?P<unit>[yMwdhm]?)")
_UNITS = {"w": timedelta(weeks=1), "d": timedelta(days=1), "h": timedelta(hours=1), "m": timedelta(minutes=1)}
_DATE = re.compile(r"(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?:[ T](\d{1,2}):(\d{2})(?::\d{2})?)?\Z")


def parse_item_time(text: str) -> datetime:
    """A time as items keep it (ISO 8601); a bare date is its first minute."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        match = re.match(r"(.*[+-]\d\d)(\d\d)\Z", text)
        found = datetime.fromisoformat(f"{match[1]}:{match[2]}" if match else text)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def moment_of_word(text: str, now: datetime) -> datetime:
    """What a query writes as a date: `2026-01-31`, `2026/01/31 09:30`, `-7d`, `4w 2d`; raises `ValueError`."""
    written = text.strip()
    match = _DATE.match(written)
    if match:
        year, month, day, hour, minute = (int(part) if part else 0 for part in match.groups())
        return datetime(year, month, day, hour, minute, tzinfo=now.tzinfo)
    if written.isdigit() and len(written) > 6:
        return datetime.fromtimestamp(int(written) / 1000, tz=UTC)
    return now + parse_time_span(written, "m")


def parse_time_span(text: str, usual: str) -> timedelta:
    """`-7d`, `4w 2d`, `1d 12h`: one sign for all parts; raises `ValueError`."""
    total, position = timedelta(), 0
    sign = -1 if text.startswith("-") else 1
    compact = text.replace(" ", "")
    while position < len(compact):
        match = _SPAN.match(compact, position)
        unit = (match["unit"] or usual) if match else ""
        if match is None or unit not in _UNITS or (match["sign"] and position):
            raise ValueError(text)
        total += int(match["number"]) * _UNITS[unit]
        position = match.end()
    if not compact:
        raise ValueError(text)
    return sign * total


def edge_of_period(unit: str, *, end: bool, now: datetime, shift: str = "") -> datetime:
    """Where the day, week (from Sunday), month or year of now starts or ends, moved by `-1`, `+2w` and the like."""
    start = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        start -= timedelta(days=(start.weekday() + 1) % 7)
    elif unit == "month":
        start = start.replace(day=1)
    elif unit == "year":
        start = start.replace(month=1, day=1)
    start = _shifted(start, shift, unit)
    return _shifted(start, "1", unit) - timedelta(milliseconds=1) if end else start


def _shifted(start: datetime, shift: str, unit: str) -> datetime:
    if not shift:
        return start
    match = _SPAN.fullmatch(shift.strip())
    if match is None:
        raise ValueError(shift)
    number = int(match["number"]) * (-1 if match["sign"] == "-" else 1)
    letter = match["unit"] or {"day": "d", "week": "w", "month": "M", "year": "y"}[unit]
    if letter in _UNITS:
        return start + number * _UNITS[letter]
    months = start.year * 12 + start.month - 1 + (number * 12 if letter == "y" else number)
    return start.replace(year=months // 12, month=months % 12 + 1)
