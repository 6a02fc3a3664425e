"""Points in time that a person writes."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from ..errors import UsageError, did_you_mean

_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_FROM_NOW = re.compile(r"(?:(\S+) )?([+-]?)(\d{1,5})\s*(m|h|d|w)")
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}


def written_moment(text: str | None, form: str, *, past: bool = False) -> str:
    """A point in time, in the letters of strftime: see `parsed`.

    `%f` is milliseconds here. A time without zone is local; what is of the `past` is written in local time. Raises
    `UsageError`.
    """
    moment = parsed(text or "now", past=past)
    moment = moment.astimezone() if past else moment
    return moment.strftime(form.replace("%f", f"{moment.microsecond // 1000:03d}"))


_MOST_DAYS = 1000
_FORMS = {"date": "%Y-%m-%d", "date-time": "%Y-%m-%dT%H:%M:%SZ"}
_WORDY = re.compile(r"[A-Za-z ]+|[+-]?\d{1,5}\s*[A-Za-z]")


def iso_moment(text: str, form: str) -> str:
    """A word for a point in time (`today`, `-7d`) as a `date` or `date-time`; what is written out stays as it is.

    Raises `UsageError`.
    """
    if not _WORDY.fullmatch(text.strip()):
        return text
    moment = parsed(text)
    return (moment.astimezone(UTC) if form == "date-time" else moment).strftime(_FORMS[form])


def list_days(first: str, last: str) -> list[str]:
    """Each day from the first to the last, in local time, both included; at most 1000. Raises `UsageError`."""
    start, end = (parsed(text, past=True).astimezone().date() for text in (first, last))
    return [str(start + timedelta(days=n)) for n in range(min((end - start).days + 1, _MOST_DAYS))]


def parsed(text: str, *, past: bool = False) -> datetime:
    """An ISO date or time, `now`, `today`, `tomorrow`, the next day of a name (`friday`), or so far from now (`+3d`).

    So far may stand behind another time, too: `monday +2w`. Of what is `past`, the day of a name is the last one, today
    included. Raises `UsageError`.
    """
    word = text.strip().lower()
    now = datetime.now(UTC).astimezone()
    if word == "now":
        return now
    days = _DAYS.get(word, _until(word, now, past=past))
    if days is not None:
        return now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=days)
    try:
        if match := _FROM_NOW.fullmatch(word):
            start = parsed(match[1].upper(), past=past) if match[1] else now
            length = int(match[3]) * _UNITS[match[4]]
            return start - length if match[2] == "-" else start + length
        moment = datetime.fromisoformat(text.strip())
        return moment if moment.tzinfo else moment.astimezone()
    except (ValueError, OverflowError):
        hint = "expected 2026-01-31, 2026-01-31T09:30, now, today, yesterday, tomorrow, friday, +3d or -2h"
        near = did_you_mean(word, [*_DAYS, "now", *_WEEKDAYS])
        raise UsageError(f"{text!r} is not a valid time{near}", hint=hint) from None


def _until(word: str, now: datetime, *, past: bool) -> int | None:
    """Days until the next day of that name, or of its first three letters; a week where that is today."""
    found = [place for place, name in enumerate(_WEEKDAYS) if word in (name, name[:3])]
    if not found:
        return None
    return -((now.weekday() - found[0]) % 7) if past else (found[0] - now.weekday() - 1) % 7 + 1
