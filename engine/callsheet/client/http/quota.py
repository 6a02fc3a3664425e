"""Rate limits: what quota headers and `--rps` allow."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from .retry import FAR, number, retry_after, server_time

if TYPE_CHECKING:
    from ...language.shape.rest import Quota


# The turns of `--rps`.


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


# Rate limits: each endpoint is asked no faster than its quota headers, and `--rps`, allow.


_NEAR = 0.2  # of the limit: below this the rest is spread over the window
_LONGEST_PACE = 5.0
_MILLISECONDS_FROM = 1e11
_EPOCH_FROM = 1e8


@dataclass(frozen=True, slots=True)
class QuotaState:
    """What one answer says about its endpoint's quota; times are seconds from now."""

    limit: float | None = None
    remaining: float | None = None
    reset: float | None = None
    refill: float | None = None
    near: bool = False
    reason: str | None = None
    wait: float | None = None

    @property
    def resets_in(self) -> float | None:
        """The wait asked for, or the time to the reset."""
        return self.wait if self.wait is not None else self.reset

    @property
    def pace(self) -> float:
        """Seconds to leave between requests so that the rest of the window lasts."""
        low = self.limit and self.remaining is not None and self.remaining < _NEAR * self.limit
        if not (self.near or low):
            return 0.0
        if self.refill:
            return min(self.refill, _LONGEST_PACE)
        spread = (self.reset or 1.0) / max(self.remaining or 1.0, 1.0)
        return min(spread, _LONGEST_PACE)


def moment(text: str, now: float) -> float | None:
    """Seconds from `now` to a moment: ISO 8601 (seconds may be absent), epoch seconds or milliseconds, or seconds."""
    value = number(text)
    if value is None:
        return _iso(text, now)
    if value >= _MILLISECONDS_FROM:
        return max(value / 1000 - now, 0.0)
    return max(value - now if value >= _EPOCH_FROM else value, 0.0)


def _iso(text: str, now: float) -> float | None:
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(aware.timestamp() - now, 0.0)


def read_quota(headers: Mapping[str, str], quota: Quota, now: float) -> QuotaState:
    """Read the quota headers that the service's definition names."""
    now = server_time(headers, now)

    def header(name: str | None) -> str | None:
        return headers.get(name.lower()) if name else None

    reset = header(quota.get("reset"))
    refill, interval = number(header(quota.get("refill"))), number(header(quota.get("interval")))
    return QuotaState(
        limit=number(header(quota.get("limit"))),
        remaining=number(header(quota.get("remaining"))),
        reset=moment(reset, now) if reset else None,
        refill=interval / refill if refill and interval else None,
        near=(header(quota.get("near_limit")) or "").strip().lower() == "true",
        reason=header(quota.get("reason")),
        wait=retry_after(headers, now),
    )


def resets_too_late(state: QuotaState, quota: Quota) -> bool:
    """Waiting is useless: the reason says so, or the reset is more than a minute away."""
    return state.reason in quota.get("stop", []) or (state.resets_in or 0.0) > FAR


class Turn(NamedTuple):
    """Seconds to wait before a request; `by_option` where it is `--rps` that makes it wait."""

    wait: float
    by_option: bool


class _Endpoint(NamedTuple):
    """When it may be asked next, the seconds between two requests, and until when it has refused all."""

    free: float = 0.0
    pace: float = 0.0
    refused: float = 0.0


class RateLimiter:
    """Keeps a free moment for each endpoint, and one for all by `rps`. Safe with many threads."""

    def __init__(self, rps: float | None, clock: Callable[[], float]) -> None:
        self._pace = Pace(rps) if rps else None
        self._clock = clock
        self._lock = threading.Lock()
        self._endpoints: dict[str, _Endpoint] = {}

    def reserve(self, endpoint: str) -> Turn:
        """When this request may be sent; the turn is taken."""
        with self._lock:
            now = self._clock()
            known = self._endpoints.get(endpoint, _Endpoint())
            start = turn = max(now, known.free)
            if self._pace is not None:
                start = max(turn, self._pace.next(now))
                self._pace.take(start, now)
            if endpoint in self._endpoints:
                self._endpoints[endpoint] = known._replace(free=start + known.pace)
            return Turn(start - now, by_option=start > turn)

    def update(self, endpoint: str, state: QuotaState, *, limited: bool = False) -> None:
        """Learn from an answer, `limited` when it was refused: wait for the reset, or slow down when little is left."""
        now = self._clock()
        pace = state.pace
        free = now + pace
        if state.remaining is not None and state.remaining <= 0 and state.reset:
            free = now + state.reset
        if limited:
            free = now + (state.resets_in or 0.0)
        with self._lock:
            known = self._endpoints.get(endpoint, _Endpoint())
            refused = free if limited else known.refused
            if pace or free > now:
                self._endpoints[endpoint] = _Endpoint(max(free, known.free), pace, refused)
            elif refused > now:  # the answer is to a request that was under way when another one was refused
                self._endpoints[endpoint] = _Endpoint(refused, pace, refused)
            else:
                self._endpoints.pop(endpoint, None)
