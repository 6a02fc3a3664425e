"""How many events a process takes, by how long their runs take."""

from __future__ import annotations

import pytest

from callsheet.listener.queue.queue_port import Lease
from callsheet.listener.queue.queue_worker import LeasedEvents


def held(places: int, count: int, saving: int = 0) -> LeasedEvents:
    found = LeasedEvents(places)
    found.leases = {number: Lease(number, 1) for number in range(count)}
    found.saving = saving
    return found


@pytest.mark.parametrize(
    ("count", "saving", "slow", "quick"),
    [(0, 0, 4, 16), (4, 0, 0, 12), (6, 2, 0, 10), (6, 4, 2, 10), (16, 16, 0, 0), (20, 20, 0, 0)],
)
def test_quick_runs_have_room_for_more(count: int, saving: int, slow: int, quick: int) -> None:
    here = held(4, count, saving)
    assert here.free_places == slow, "nothing is known yet"
    here.note_duration(0.001)
    assert here.free_places == quick
    here.note_duration(5.0)
    assert here.free_places == slow


def test_one_slow_run_among_many_quick_ones_does_not_last() -> None:
    here = held(4, 4)
    here.note_duration(0.2)
    for _ in range(100):
        here.note_duration(0.001)
    assert here.free_places == 12
