"""Times as people write them, and as a service wants them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from callsheet.errors import UsageError
from callsheet.language.functions import parse_moment, written_moment


@pytest.mark.parametrize("text", ["", "soon", "soon +2w", "now +2w +2w", "2026-13-01", "31.1.2026", "next week"])
def test_what_is_not_a_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(UsageError, match="is not a valid time") as caught:
        parse_moment(text)
    assert "2026-01-31T09:30" in (caught.value.hint or "")


def test_a_misspelt_day_names_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match="'frday' is not a valid time, did you mean 'friday'"):
        parse_moment("frday")


def on_one_day(ask: Callable[[], Any]) -> tuple[date, Any]:
    """Today, and what is found out on it: asked again where midnight comes between the two."""
    while True:
        today, found = datetime.now().astimezone().date(), ask()
        if today == datetime.now().astimezone().date():
            return today, found


@pytest.mark.parametrize(("word", "days"), [("today", 0), ("tomorrow", 1), ("yesterday", -1), (" Today ", 0)])
def test_days_by_name_begin_at_midnight_here(word: str, days: int) -> None:
    today, found = on_one_day(lambda: parse_moment(word))
    assert (found.hour, found.minute, found.second, found.microsecond) == (0, 0, 0, 0)
    assert found.date() - today == timedelta(days=days)


def test_a_time_without_a_zone_is_the_local_one() -> None:
    assert parse_moment("2026-01-31T09:30") == datetime(2026, 1, 31, 9, 30).astimezone()
    assert parse_moment("2026-01-31T09:30+00:00") == datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize(("text", "days"), [("2026-01-05T12:00Z +2w", 14), ("2026-01-05T12:00Z -1 d", -1)])
def test_so_far_from_another_time(text: str, days: int) -> None:
    assert parse_moment(text) == datetime(2026, 1, 5 + days if days > 0 else 4, 12, tzinfo=UTC)


def test_now_is_now() -> None:
    before = datetime.now(UTC)
    assert before <= parse_moment("now") <= datetime.now(UTC)


def test_it_is_written_in_the_letters_of_strftime_with_milliseconds() -> None:
    assert (
        written_moment("2026-01-31T09:30:05.123456+00:00", "%Y-%m-%dT%H:%M:%S.%f%z") == "2026-01-31T09:30:05.123+0000"
    )


def test_the_day_of_a_name_is_the_next_one_or_of_what_has_been_the_last_one() -> None:
    for name in ("monday", "tue", "Wednesday", "thu", "friday", "sat", "sunday"):
        today, (coming, last) = on_one_day(
            lambda name=name: (parse_moment(name).date(), parse_moment(name, past=True).date())
        )
        assert timedelta(days=1) <= coming - today <= timedelta(days=7)
        assert (coming - last).days == 7
    today, last = on_one_day(lambda: parse_moment(f"{datetime.now().astimezone():%A}", past=True))
    assert last.date() == today
