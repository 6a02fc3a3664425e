"""Durations as they are written and as they are shown."""

from __future__ import annotations

import pytest

from callsheet.durations import compact_duration, duration_seconds, in_words, largest_unit, parse_typed_duration


@pytest.mark.parametrize(
    ("text", "length"), [("250ms", 0.25), ("10s", 10), ("5m", 300), ("1h", 3600), ("2d", 172_800), ("1.5h", 5400)]
)
def test_a_definition_writes_a_number_and_a_unit(text: str, length: float) -> None:
    assert duration_seconds(text) == pytest.approx(length)
    assert parse_typed_duration(text) == pytest.approx(length)


@pytest.mark.parametrize("text", ["", "s", "-1s", "1w", "inf", "nan", "1e999", "an hour"])
def test_other_words_are_not_durations(text: str) -> None:
    assert parse_typed_duration(text) is None


def test_a_person_may_leave_the_unit_away() -> None:
    assert parse_typed_duration(" 30 ") == 30


@pytest.mark.parametrize(
    ("length", "said", "short", "whole"),
    [
        (0, "1 s", "0s", None),
        (0.4, "1 s", "0s", None),
        (59, "59 s", "59s", None),
        (725, "12 min 5 s", "12m 5s", "12m"),
        (7800, "2 h 10 min", "2h 10m", "2h"),
        (90_061, "1 d 1 h", "1d 1h", "1d"),
        (2_629_800, "30 d 10 h", "30d 10h", "1mo"),
        (63_115_200, "730 d 12 h", "730d 12h", "2y"),
    ],
)
def test_the_two_largest_units_are_said(length: float, said: str, short: str, whole: str | None) -> None:
    assert (in_words(length), compact_duration(length), largest_unit(length)) == (said, short, whole)


def test_a_time_that_lies_behind_has_a_sign() -> None:
    assert compact_duration(-90) == "-1m 30s"
    assert compact_duration(-0.2) == "0s"
