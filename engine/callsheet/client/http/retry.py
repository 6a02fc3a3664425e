"""When a request is sent again, and after how long."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS"})
STATUSES = frozenset({429, 502, 503, 504})
FAR = 60.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds: `base` doubles with each try up to `cap`, times a random factor. `least` is waited in any case."""

    retries: int = 4
    base: float = 2.0
    cap: float = 30.0
    jitter: tuple[float, float] = (0.7, 1.3)
    least: float = 1.0
    chance: Callable[[float, float], float] = random.uniform

    def delay(self, attempt: int, asked: float | None) -> float:
        """Before the try after `attempt` failed ones; `asked` is what the service wants waited."""
        if asked is not None:
            return max(asked, self.least)
        return min(self.base * 2.0 ** (attempt - 1), self.cap) * self.chance(*self.jitter)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds asked for by `Retry-After`, given as seconds or as an HTTP date."""
    text = headers.get("retry-after", "").strip()
    seconds = number(text)
    if seconds is None:
        moment = http_date(text)
        seconds = None if moment is None else moment - now
    return None if seconds is None else max(seconds, 0.0)


def number(text: str | None) -> float | None:
    """The finite number that a header holds."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def http_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):  # a year or a time zone beyond all calendars
        return None


def server_time(headers: Mapping[str, str], fallback: float) -> float:
    """The service's own clock, so that a moment it names is not off by what the local clock is."""
    text = headers.get("date")
    moment = http_date(text) if text else None
    return fallback if moment is None else moment
