"""Points in time that a person writes."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from ..errors import UsageError

_DAYS = {"today": 0, "yesterday": -1, "tomorrow": 1}


def written(text: str | None, form: str) -> str:
    """An ISO date or time, `now`, `today`, `yesterday` or `tomorrow`, in the letters of strftime.

    `%f` is milliseconds here; a time without zone is local. Raises `UsageError`.
    """
    moment = parsed(text or "now")
    return moment.strftime(form.replace("%f", f"{moment.microsecond // 1000:03d}"))


def parsed(text: str) -> datetime:
    word = text.strip().lower()
    now = datetime.now(UTC).astimezone()
    if word == "now":
        return now
    if word in _DAYS:
        midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight + timedelta(days=_DAYS[word])
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"{text!r} is not a valid time", hint="expected 2026-01-31, 2026-01-31T09:30, now or today"
        ) from None
    return moment if moment.tzinfo else moment.astimezone()
