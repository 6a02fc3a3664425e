"""Times as people write them, and as a service wants them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from callsheet.errors import UsageError
from callsheet.language.dates import parsed, written


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "31.1.2026", "next week"])
def test_what_is_not_a_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid time") as caught:
        parsed(text)
    assert "2026-01-31T09:30" in (caught.value.hint or "")


def test_a_misspelt_day_names_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match="'frday' is not a valid time, did you mean 'friday'"):
        parsed("frday")


@pytest.mark.parametrize(("word", "days"), [("today", 0), ("tomorrow", 1), ("yesterday", -1), (" Today ", 0)])
def test_days_by_name_begin_at_midnight_here(word: str, days: int) -> None:
    found = parsed(word)
    assert (found.hour, found.minute, found.second, found.microsecond) == (0, 0, 0, 0)
    assert found.date() - datetime.now().astimezone().date() == timedelta(days=days)


def test_a_time_without_a_zone_is_the_local_one() -> None:
    assert parsed("2026-01-31T09:30") == datetime(2026, 1, 31, 9, 30).astimezone()
    assert parsed("2026-01-31T09:30+00:00") == datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


def test_now_is_now() -> None:
    before = datetime.now(UTC)
    assert before <= parsed("now") <= datetime.now(UTC)


def test_it_is_written_in_the_letters_of_strftime_with_milliseconds() -> None:
    assert written("2026-01-31T09:30:05.123456+00:00", "%Y-%m-%dT%H:%M:%S.%f%z") == "2026-01-31T09:30:05.123+0000"


def test_the_day_of_a_name_is_the_next_one_or_of_what_has_been_the_last_one() -> None:
    today = datetime.now().astimezone().date()
    for name in ("monday", "tue", "Wednesday", "thu", "friday", "sat", "sunday"):
        ahead, behind = parsed(name).date() - today, today - parsed(name, past=True).date()
        assert timedelta(days=1) <= ahead <= timedelta(days=7)
        assert (ahead + behind).days == 7
    assert parsed(f"{today:%A}", past=True).date() == today
