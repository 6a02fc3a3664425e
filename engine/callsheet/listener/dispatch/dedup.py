"""Which events were handled already, and which are being handled: a second delivery runs nothing twice."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .verdict import DispatchVerdict


class Attempt:
    """An event under way, or one whose last attempt failed: what of it succeeded must not run again."""

    __slots__ = ("succeeded", "verdict")

    def __init__(self) -> None:
        self.succeeded: set[str] = set()
        self.verdict: asyncio.Future[DispatchVerdict | None] | None = None


class Deduplicator:
    """Bounded in number and time. `now` is any clock that only goes forward, in seconds."""

    def __init__(self, size: int, window: float) -> None:
        self.size = size
        self.window = window
        self._done: set[str] = set()
        self._order: deque[tuple[float, str]] = deque()
        self._attempts: OrderedDict[str, Attempt] = OrderedDict()

    def __len__(self) -> int:
        return len(self._done)

    def is_done(self, key: str, now: float) -> bool:
        self._expire(now)
        return key in self._done

    def mark_done(self, key: str, now: float) -> bool:
        """Whether it was not done before."""
        self._expire(now)
        if self._attempts:
            self._attempts.pop(key, None)
        if key in self._done:
            return False
        self._done.add(key)
        self._order.append((now, key))
        if len(self._order) > self.size:
            self._done.discard(self._order.popleft()[1])
        return True

    def _expire(self, now: float) -> None:
        order, oldest = self._order, now - self.window
        while order and order[0][0] < oldest:
            self._done.discard(order.popleft()[1])

    def attempt(self, key: str) -> Attempt:
        """The state of an event that is not done. Failed ones are forgotten, oldest first, when there are too many."""
        attempt = self._attempts.get(key)
        if attempt is None:
            attempt = self._attempts[key] = Attempt()
            self._evict_failed()
        return attempt

    def has_attempt(self, key: str) -> bool:
        return key in self._attempts

    def _evict_failed(self) -> None:
        while len(self._attempts) > self.size:
            key, attempt = next(iter(self._attempts.items()))
            if attempt.verdict is not None and not attempt.verdict.done():
                self._attempts.move_to_end(key)
                return
            del self._attempts[key]
