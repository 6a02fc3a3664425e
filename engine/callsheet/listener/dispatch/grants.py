"""Who may run an event: one delivery of it at a time, and none once it is done."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from collections.abc import Set as AbstractSet
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple, Protocol

from .verdict import DUPLICATE, DispatchVerdict

if TYPE_CHECKING:
    from .dedup import Deduplicator


class Grant(NamedTuple):
    """The right to run an event, but not the jobs that succeeded in an earlier run. It ends with `settle`.

    `heard` waits until all who would answer for the event know how it ended, where these are not all in this process.
    """

    succeeded: AbstractSet[str]
    heard: Callable[[], Awaitable[None]] | None = None


INTERRUPTED = DispatchVerdict(500, "failed", "interrupted")


class Grants(Protocol):
    """Events go by their keys."""

    def is_done(self, key: str) -> bool:
        """As far as is known without waiting."""
        ...

    def mark_done(self, key: str) -> bool:
        """Of an event that there is nothing to do with: whether it was not done before, as far as is known."""
        ...

    def try_acquire_new(self, key: str) -> Grant | None:
        """At once, of an event of which nothing is known. Else `acquire` says what is."""
        ...

    async def acquire(self, key: str) -> Grant | DispatchVerdict:
        """The verdict where it need not be run. While another delivery of it is under way, that one's is waited for."""
        ...

    def settle(self, key: str, succeeded: AbstractSet[str], failed: DispatchVerdict | None) -> None:
        """What became of a grant: jobs that succeeded now, and why the others did not."""
        ...


class LocalGrants:
    """Those of one process."""

    def __init__(self, dedup: Deduplicator) -> None:
        self._dedup = dedup

    def is_done(self, key: str) -> bool:
        return self._dedup.is_done(key, monotonic())

    def mark_done(self, key: str) -> bool:
        return self._dedup.mark_done(key, monotonic())

    def try_acquire(self, key: str) -> Grant | DispatchVerdict | asyncio.Future[DispatchVerdict | None]:
        """While another delivery of it is under way, the future has its verdict, or nothing where all succeeded.

        An event that was under way when it was looked at may be done by now: other work of the loop came in between.
        """
        if self.is_done(key):
            return DUPLICATE
        attempt = self._dedup.attempt(key)
        if attempt.verdict is not None and not attempt.verdict.done():
            return attempt.verdict
        attempt.verdict = asyncio.get_running_loop().create_future()
        return Grant(attempt.succeeded)

    def try_acquire_new(self, key: str) -> Grant | None:
        """Not of an event that is under way or failed before."""
        found = None if self._dedup.has_attempt(key) else self.try_acquire(key)
        return found if isinstance(found, Grant) else None

    async def acquire(self, key: str) -> Grant | DispatchVerdict:
        found = self.try_acquire(key)
        return await verdict_of(found) if isinstance(found, asyncio.Future) else found

    def settle(self, key: str, succeeded: AbstractSet[str], failed: DispatchVerdict | None) -> None:
        attempt = self._dedup.attempt(key)
        attempt.succeeded |= succeeded
        if failed is None:
            self.mark_done(key)
        if attempt.verdict is not None:
            attempt.verdict.set_result(failed)


async def verdict_of(under_way: asyncio.Future[DispatchVerdict | None]) -> DispatchVerdict:
    """That of a delivery of the same event. A sender that leaves meanwhile takes nobody along."""
    return await asyncio.shield(under_way) or DUPLICATE
