"""Each event has one worker that decides who runs it, whichever of them receives it.

Repetitions of an event may arrive at different processes. What must be known of it (done, under way, which of its
handlers succeeded already) is in the memory of one process, its owner, which is found from the event's key alone. The
worker that received an event asks its owner for the grant, runs the event, and tells what became of it. Only events
that have handlers are asked for; all else is settled where it arrives.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Awaitable, Iterable
from collections.abc import Set as AbstractSet
from typing import Any, Protocol

from ..dispatch.grants import INTERRUPTED, Grant, LocalGrants, verdict_of
from ..dispatch.verdict import DispatchVerdict
from .channel import Unreachable

ACQUIRE_MESSAGE = "acquire"
SETTLE_MESSAGE = "settle"
RETRY_DELAYS = (0.1, 0.4, 1.0)  # a worker that died is there again after about a second


class OwnersChannel(Protocol):
    """The channel, as far as grants need it."""

    index: int

    async def request(self, index: int, message: dict[str, Any]) -> Any: ...
    def tell(self, index: int, message: dict[str, Any]) -> None: ...


class OwnedGrants:
    """Grants on all events; `local` holds those of the events that this worker owns."""

    def __init__(self, local: LocalGrants, channel: OwnersChannel, count: int) -> None:
        self._local = local
        self._channel = channel
        self._count = count
        self._lent: dict[object, set[str]] = {}

    def owner(self, key: str) -> int:
        return zlib.crc32(key.encode()) % self._count

    @property
    def lends(self) -> bool:
        """Whether other workers hold grants for events of this one."""
        return bool(self._lent)

    def is_done(self, key: str) -> bool:
        return self._local.is_done(key)

    def mark_done(self, key: str) -> bool:
        return self._local.mark_done(key)

    async def acquire(self, key: str) -> Grant | DispatchVerdict:
        owner = self.owner(key)
        if owner == self._channel.index:
            return await self._local.acquire(key)
        for delay in (*RETRY_DELAYS, None):
            try:
                return _decode(*await self._channel.request(owner, {"kind": ACQUIRE_MESSAGE, "key": key}))
            except Unreachable as error:
                if delay is None:
                    return DispatchVerdict(503, "saturated", f"worker {owner} cannot be reached: {error}")
                await asyncio.sleep(delay)
        raise AssertionError  # the last round returns

    def settle(self, key: str, succeeded: AbstractSet[str], failed: DispatchVerdict | None) -> None:
        owner = self.owner(key)
        if owner == self._channel.index:
            self._local.settle(key, succeeded, failed)
        else:
            told = {"succeeded": list(succeeded), "failed": None if failed is None else _encode(failed)}
            self._channel.tell(owner, {"kind": SETTLE_MESSAGE, "key": key, **told})

    def lend(self, borrower: object, key: str) -> list[Any] | Awaitable[list[Any]]:
        """The answer to another worker that asks for a grant. `borrower` is the connection it asks by."""
        found = self._local.try_acquire(key)
        if isinstance(found, Grant):
            self._lent.setdefault(borrower, set()).add(key)
            return [0, *found.succeeded]
        return _encode(found) if isinstance(found, DispatchVerdict) else _encode_later(found)

    def give_back(self, borrower: object, key: str, succeeded: Iterable[str], failed: list[Any] | None) -> None:
        """A grant that ended with its connection was settled by that."""
        keys = self._lent.get(borrower, set())
        if key in keys:
            keys.discard(key)
            if not keys:
                del self._lent[borrower]
            self._local.settle(key, frozenset(succeeded), None if failed is None else DispatchVerdict(*failed))

    def on_disconnected(self, borrower: object) -> None:
        """The worker died, so the events that it ran may be granted again."""
        for key in self._lent.pop(borrower, ()):
            self._local.settle(key, frozenset(), INTERRUPTED)


def _encode(verdict: DispatchVerdict) -> list[Any]:
    """A handler may word its failure with half of a surrogate pair, which no frame can carry."""
    return [verdict.status, verdict.outcome, verdict.detail.encode("utf-8", "backslashreplace").decode()]


async def _encode_later(under_way: asyncio.Future[DispatchVerdict | None]) -> list[Any]:
    return _encode(await verdict_of(under_way))


def _decode(status: int, *rest: str) -> Grant | DispatchVerdict:
    """A status of 0 is a grant; what follows are the jobs that succeeded."""
    return DispatchVerdict(status, *rest) if status else Grant(frozenset(rest))
