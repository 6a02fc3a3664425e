"""Faults on demand: failures at a rate, latency, and a limit of requests."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import NamedTuple

from ..errors import UsageError, did_you_mean

CUT, SLOW, PAGE = "break", "slow", "html"
WORDS = (CUT, SLOW, PAGE)
_MINUTE = 60.0
_LIMIT = 100  # what a 429 that was asked for says of a limit that nobody set


class Fault(NamedTuple):
    """`word` is the status of an answer, or what happens to it; `rate` is between 0 and 1."""

    word: str
    rate: float

    @property
    def status(self) -> int | None:
        return int(self.word) if self.word.isdigit() else None


def fault(text: str) -> Fault:
    """`503:0.1`, `break:0.05`; raises `UsageError`."""
    word, separator, number = text.partition(":")
    try:
        rate = float(number) if separator else 1.0
    except ValueError:
        rate = -1.0
    if not 0 <= rate <= 1:
        raise UsageError(f"--fail {text!r}: the rate is a number from 0 to 1", hint="for example --fail 503:0.1")
    if word.isdigit() and 400 <= int(word) <= 599:
        return Fault(word, rate)
    if word in WORDS:
        return Fault(word, rate)
    raise UsageError(
        f"--fail {text!r}: expected a status from 400 to 599, or one of {', '.join(WORDS)}{did_you_mean(word, WORDS)}"
    )


class Faults:
    """Decides what happens to a request; `rate_limit` is a number of requests a minute, 0 for none."""

    def __init__(
        self,
        wanted: list[Fault],
        latency: float = 0.0,
        rate_limit: int = 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.wanted = wanted
        self.latency = latency
        self.rate_limit = rate_limit
        self._clock = clock
        self._recent: deque[float] = deque()

    def chosen(self) -> Fault | None:
        for each in self.wanted:
            if random.random() < each.rate:  # noqa: S311  nothing secret hangs on it
                return each
        return None

    def limited(self) -> Mapping[str, object] | None:
        """What a 429 tells, where too many requests came within a minute."""
        if not self.rate_limit:
            return None
        now = self._clock()
        while self._recent and self._recent[0] <= now - _MINUTE:
            self._recent.popleft()
        if len(self._recent) < self.rate_limit:
            self._recent.append(now)
            return None
        return self.too_many(max(1, round(self._recent[0] + _MINUTE - now)))

    def too_many(self, seconds: int = 1) -> Mapping[str, object]:
        """What a 429 tells of the limit, and of the seconds until requests pass again."""
        reset = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
        return {"seconds": seconds, "limit": self.rate_limit or _LIMIT, "reset": reset}
