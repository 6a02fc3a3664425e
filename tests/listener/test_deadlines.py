"""One timer for many that wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from callsheet.listener.asyncio_helpers import Deadlines

LIMIT = 10.0


class Clock(asyncio.SelectorEventLoop):
    """A loop whose time is told, and whose timers are called when it is."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def time(self) -> float:
        return self.moment

    def call_at(self, when: float, callback: Any, *args: Any, context: Any = None) -> Any:
        del context
        self.timers.append((when, lambda: callback(*args)))
        return object()

    def go(self, moment: float) -> None:
        """Timers that are made meanwhile are called too."""
        while due := [timer for timer in self.timers if timer[0] <= moment]:
            timer = min(due, key=lambda each: each[0])
            self.timers.remove(timer)
            self.moment = max(self.moment, timer[0])
            timer[1]()
        self.moment = moment


@given(
    added=st.lists(st.floats(0, 50), min_size=1, max_size=12).map(sorted),
    done_after=st.lists(st.one_of(st.none(), st.floats(0, 9.5)), min_size=12, max_size=12),
)
def test_each_that_is_not_done_in_time_expires_once_and_then(
    added: list[float], done_after: list[float | None]
) -> None:
    loop = Clock()
    expired: dict[int, float] = {}
    futures: list[asyncio.Future[None]] = []

    def expire(future: asyncio.Future[None]) -> None:
        assert not future.done()
        expired[futures.index(future)] = loop.moment
        future.set_result(None)

    deadlines = Deadlines(LIMIT, expire)
    finished = [
        (start + after, number)
        for number, (start, after) in enumerate(zip(added, done_after, strict=False))
        if after is not None
    ]
    steps = sorted([(start, -1) for start in added] + finished)
    for moment, number in steps:
        loop.go(moment)
        if number < 0:
            futures.append(loop.create_future())
            deadlines.add(futures[-1], loop)
            assert len(loop.timers) <= 1, "one timer for all"
        else:
            futures[number].set_result(None)
    loop.go(1000.0)
    late = {number: start + LIMIT for number, start in enumerate(added) if done_after[number] is None}
    assert expired == late
    assert loop.timers == []
    loop.close()


def test_what_is_done_is_not_kept() -> None:
    loop = Clock()
    deadlines = Deadlines(LIMIT, lambda _: None)
    for _ in range(100):
        future: asyncio.Future[None] = loop.create_future()
        deadlines.add(future, loop)
        future.set_result(None)
    assert len(deadlines._waiting) == 1
    loop.close()
