"""Requests that `--rps` holds back: as many as it says, and never more in any second."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.client.http.retry import Pace


def starts(pace: Pace, moments: list[float]) -> list[float]:
    """When requests are sent that are ready at these moments."""
    found = []
    for now in moments:
        start = pace.next_turn(now)
        pace.take_turn(start, now)
        found.append(start)
    return found


def test_turns_are_evenly_spaced_from_the_first_one_on() -> None:
    assert starts(Pace(4), [9.0] * 4) == [9.0, 9.25, 9.5, 9.75]
    assert starts(Pace(0.5), [0.0] * 3) == [0.0, 2.0, 4.0]


def test_turns_that_went_by_just_now_are_made_up_for() -> None:
    """A run that stops for a moment every hundred requests still keeps its pace."""
    assert starts(Pace(10), [0.0, 0.25, 0.25, 0.25, 0.25]) == pytest.approx([0.0, 0.25, 0.25, 0.3, 0.4])


def test_no_more_than_a_moment_is_made_up_for() -> None:
    assert starts(Pace(10), [0.0] + [60.0] * 5) == pytest.approx([0.0, 60.0, 60.0, 60.0, 60.1, 60.2])


@given(st.sampled_from([0.5, 1, 3, 4, 10, 64]), st.lists(st.sampled_from([0.0, 0.01, 0.2, 0.7, 5.0]), max_size=150))
def test_there_are_never_more_in_a_second(rps: float, pauses: list[float]) -> None:
    now = 0.0
    found: list[float] = []
    pace = Pace(rps)
    for pause in pauses:
        now = max(now, found[-1] if found else 0.0) + pause
        found += starts(pace, [now])
    count = max(int(rps), 1)
    window = count / rps
    assert all(late - early >= window - 1e-9 for early, late in zip(found, found[count:], strict=False))
    assert all(late >= early for early, late in pairwise(found))
