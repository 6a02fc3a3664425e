"""The turns of `--rps`."""

from __future__ import annotations

from collections import deque

_CATCH_UP = 0.2  # seconds


class Pace:
    """So many turns a second, evenly spaced. Turns that went by unused just now come later, closer together.

    There are never more than so many in any second. Times are of one clock, whatever it counts from.
    """

    def __init__(self, rps: float) -> None:
        self._gap = 1.0 / rps
        count = max(int(rps), 1)
        self._taken: deque[float] = deque(maxlen=count)
        self._window = count * self._gap
        self._next: float | None = None

    def next(self, now: float) -> float:
        """When the next turn is, at `now` or later."""
        full = len(self._taken) == self._taken.maxlen
        return max(now, self._due(now), self._taken[0] + self._window if full else now)

    def take(self, start: float, now: float) -> None:
        """The turn is taken by a request that is sent at `start`."""
        self._next = (self._due(now) if start <= now else start) + self._gap
        self._taken.append(start)

    def _due(self, now: float) -> float:
        return now if self._next is None else max(self._next, now - _CATCH_UP)
