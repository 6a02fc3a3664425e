"""Grants on events whose repetitions may arrive at different workers.

A table that all share says of each event which worker has it, or that it is done. So the worker that receives a new
event runs it without a word to the others. They hear of each other only where one has what another needs: the event is
under way there, or some of its handlers succeeded there in an earlier attempt. Then that worker is asked for the grant,
and told what became of it. Only events that have handlers are in the table; all else is settled where it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from collections.abc import Set as AbstractSet
from time import monotonic
from typing import Any, Protocol

from ..dispatch.grants import INTERRUPTED, Grant, LocalGrants, verdict_of
from ..dispatch.verdict import DUPLICATE, DispatchVerdict
from .channel import Unreachable
from .event_table import DONE, FREE, KEPT, EventTable, TableBusy

ACQUIRE_MESSAGE = "acquire"
SETTLE_MESSAGE = "settle"
RETRY_DELAYS = (0.1, 0.4, 1.0)  # what a worker had that died is free as soon as the supervisor knows it
BUSY_DELAY = 0.001
BUSY_TIMEOUT = 1.5
_ELSEWHERE = [1]  # the answer of a worker that does not have the event any more


class WorkersChannel(Protocol):
    """The channel, as far as grants need it."""

    index: int

    async def request(self, index: int, message: dict[str, Any]) -> Any: ...
    def tell(self, index: int, message: dict[str, Any]) -> None: ...


class SharedGrants:
    """Grants on all events; `local` holds those of the events that this worker has."""

    def __init__(self, local: LocalGrants, channel: WorkersChannel, table: EventTable) -> None:
        self._local = local
        self._channel = channel
        self._table = table
        self._lent: dict[object, set[str]] = {}
        self._borrowed: dict[str, int] = {}

    @property
    def lends(self) -> bool:
        """Whether other workers hold grants for events of this one."""
        return bool(self._lent)

    def is_done(self, key: str) -> bool:
        return self._local.is_done(key)

    def mark_done(self, key: str) -> bool:
        return self._local.mark_done(key)

    def try_acquire_new(self, key: str) -> Grant | None:
        """What the table cannot say at this moment is known to nobody."""
        try:
            if self._local.knows(key) or self._table.claim(key, monotonic()) != self._channel.index:
                return None
        except TableBusy:
            return None
        found = self._acquire_here(key)
        return found if isinstance(found, Grant) else None

    async def acquire(self, key: str) -> Grant | DispatchVerdict:
        delays = iter(RETRY_DELAYS)
        while True:
            if (under_way := self._local.under_way(key)) is not None:  # perhaps lent by a worker that is gone by now
                return await verdict_of(under_way)
            try:
                holder = await self._claim(key)
                if holder is None:
                    return DUPLICATE
                if holder == self._channel.index:
                    found = self._acquire_here(key)
                    return await verdict_of(found) if isinstance(found, asyncio.Future) else found
                answer = await self._channel.request(holder, {"kind": ACQUIRE_MESSAGE, "key": key})
            except TableBusy as error:
                return DispatchVerdict(503, "saturated", f"the table of events is not free: {error}")
            except Unreachable as error:
                if (delay := next(delays, None)) is None:
                    return DispatchVerdict(503, "saturated", f"another worker has the event: {error}")
                await asyncio.sleep(delay)
            else:
                if answer != _ELSEWHERE:
                    return self._borrow(key, holder, *answer)

    async def _claim(self, key: str) -> int | None:
        patience = monotonic() + BUSY_TIMEOUT
        while True:
            now = monotonic()
            try:
                return self._table.claim(key, now)
            except TableBusy:
                if now > patience:
                    raise
            await asyncio.sleep(BUSY_DELAY)

    def _acquire_here(self, key: str) -> Grant | DispatchVerdict | asyncio.Future[DispatchVerdict | None]:
        """Of an event that the table has given to this worker."""
        found = self._local.try_acquire(key)
        if isinstance(found, DispatchVerdict):
            self._table.release(key, DONE)
        return found

    def _borrow(self, key: str, holder: int, status: int, *rest: str) -> Grant | DispatchVerdict:
        """A status of 0 is a grant; what follows are the jobs that succeeded. Repetitions here wait here."""
        if status:
            return DispatchVerdict(status, *rest)
        self._borrowed[key] = holder
        self._local.try_acquire(key)
        return Grant(frozenset(rest))

    def settle(self, key: str, succeeded: AbstractSet[str], failed: DispatchVerdict | None) -> None:
        if self._borrowed and (holder := self._borrowed.pop(key, None)) is not None:
            told = {"succeeded": list(succeeded), "failed": None if failed is None else _encode(failed)}
            self._channel.tell(holder, {"kind": SETTLE_MESSAGE, "key": key, **told})
        self._settle_here(key, succeeded, failed)

    def _settle_here(self, key: str, succeeded: AbstractSet[str], failed: DispatchVerdict | None) -> None:
        self._local.settle(key, succeeded, failed)
        state = DONE if failed is None else KEPT if self._local.succeeded(key) else FREE
        self._table.release(key, state)

    def lend(self, borrower: object, key: str) -> list[Any] | Awaitable[list[Any]]:
        """The answer to another worker that asks for a grant. `borrower` is the connection it asks by."""
        holder = self._table.claim(key, monotonic())
        if holder is None:
            return _encode(DUPLICATE)
        if holder != self._channel.index:
            return _ELSEWHERE
        found = self._acquire_here(key)
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
            self._settle_here(key, frozenset(succeeded), None if failed is None else DispatchVerdict(*failed))

    def on_disconnected(self, borrower: object) -> None:
        """The worker died, so the events that it ran may be granted again."""
        for key in self._lent.pop(borrower, ()):
            self._settle_here(key, frozenset(), INTERRUPTED)


def _encode(verdict: DispatchVerdict) -> list[Any]:
    """A handler may word its failure with half of a surrogate pair, which no frame can carry."""
    return [verdict.status, verdict.outcome, verdict.detail.encode("utf-8", "backslashreplace").decode()]


async def _encode_later(under_way: asyncio.Future[DispatchVerdict | None]) -> list[Any]:
    return _encode(await verdict_of(under_way))
