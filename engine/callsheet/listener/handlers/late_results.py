"""Results of runs that nobody waited for to their end, for the next attempt at the same."""

from __future__ import annotations

import asyncio
import time
from typing import Any

KEPT = 7200.0  # seconds; attempts at one event are an hour apart at most
MOST = 10_000


class LateResults:
    def __init__(self) -> None:
        self._results: dict[str, tuple[asyncio.Future[Any], float]] = {}

    def keep(self, name: str, result: asyncio.Future[Any]) -> None:
        if not name:
            return
        self._results[name] = (result, time.monotonic())
        if len(self._results) > MOST:
            self._drop_oldest()

    def take(self, name: str) -> asyncio.Future[Any] | None:
        """The future of a run that has not ended, or ended a while ago."""
        result, since = self._results.pop(name, (None, 0.0))
        is_old = result is not None and result.done() and time.monotonic() - since > KEPT
        return None if is_old else result

    def _drop_oldest(self) -> None:
        oldest = next((name for name, (result, _) in self._results.items() if result.done()), None)
        if oldest is not None:
            del self._results[oldest]
