"""Grants on events whose repetitions may arrive at different workers.

A table that all share says of each event which worker has it, or that it is done. So the worker that receives a new
event runs it without a word to the others. They hear of each other only where one has what another needs: the event is
under way there, or some of its handlers succeeded there in an earlier attempt. Then that worker is asked for the grant,
and told what became of it. Only events that have handlers are in the table; all else is settled where it arrives.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Iterable
from collections.abc import Set as AbstractSet
from functools import partial
from time import monotonic
from typing import Any, Protocol

from ..dispatch.grants import INTERRUPTED, Grant, LocalGrants, verdict_of
from ..dispatch.verdict import DUPLICATE, DispatchVerdict
from .channel import Unreachable
from .event_table import DONE, FREE, KEPT, EventTable, TableBusy

ACQUIRE_MESSAGE = "acquire"
SETTLE_MESSAGE = "settle"
HEARD_MESSAGE = "heard"  # answered by who has dealt with all that came before it
RETRY_DELAYS = (0.1, 0.4, 1.0)  # what a worker had that died is free as soon as the supervisor knows it
BUSY_DELAY = 0.001
BUSY_TIMEOUT = 1.5
_NOTHING: frozenset[str] = frozenset()
_ELSEWHERE = [1]  # the answer of a worker that does not have the event any more


class WorkersChannel(Protocol):
    """The channel, as far as grants need it."""

    index: int

    async def request(self, index: int, message: dict[str, Any]) -> Any: ...
    def tell(self, index: int, message: dict[str, Any]) -> None: ...


class SharedGrants:
    """Grants on all events. `local` is for those without handlers.

    Of what succeeded of events that failed, the last `size` are remembered.
    """

    def __init__(self, local: LocalGrants, channel: WorkersChannel, table: EventTable, size: int) -> None:
        self._local = local
        self._channel = channel
        self._table = table
        self._size = size
        self._has_marked = False  # any event without handlers
        self._lent: dict[object, set[str]] = {}
        self._borrowed: dict[str, int] = {}
        self._succeeded: dict[str, set[str]] = {}
        self._waiting: dict[str, asyncio.Future[DispatchVerdict | None]] = {}

    @property
    def lends(self) -> bool:
        """Whether other workers hold grants for events of this one."""
        return bool(self._lent)

    def is_done(self, key: str) -> bool:
        return (self._has_marked and self._local.is_done(key)) or self._table.is_done(key, monotonic())

    def mark_done(self, key: str) -> bool:
        self._has_marked = True
        return self._local.mark_done(key)

    def try_acquire_new(self, key: str) -> Grant | None:
        """What the table cannot say at this moment is known to nobody."""
        if self._is_under_way(key) or key in self._succeeded:
            return None
        try:
            holder = self._table.claim(key, monotonic())
        except TableBusy:
            return None
        return Grant(_NOTHING) if holder == self._channel.index else None

    async def acquire(self, key: str) -> Grant | DispatchVerdict:
        delays = iter(RETRY_DELAYS)
        while True:
            if self._is_under_way(key):
                return await verdict_of(self._verdict(key))
            try:
                try:
                    holder = self._table.claim(key, monotonic())
                except TableBusy:
                    holder = await self._claim_patiently(key)
                if holder is None:
                    return DUPLICATE
                if holder == self._channel.index:
                    return Grant(self._succeeded.get(key, _NOTHING))
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

    async def _claim_patiently(self, key: str) -> int | None:
        patience = monotonic() + BUSY_TIMEOUT
        while True:
            await asyncio.sleep(BUSY_DELAY)
            now = monotonic()
            try:
                return self._table.claim(key, now)
            except TableBusy:
                if now > patience:
                    raise

    def _is_under_way(self, key: str) -> bool:
        """Here, or in the hands of a worker that asked for it."""
        return key in self._table.held or key in self._borrowed

    def _verdict(self, key: str) -> asyncio.Future[DispatchVerdict | None]:
        """That of an event under way, for all that wait for it."""
        found = self._waiting.get(key)
        if found is None:
            found = self._waiting[key] = asyncio.get_running_loop().create_future()
        return found

    def _borrow(self, key: str, holder: int, status: int, *rest: str) -> Grant | DispatchVerdict:
        """A status of 0 is a grant; what follows are the jobs that succeeded."""
        if status:
            return DispatchVerdict(status, *rest)
        self._borrowed[key] = holder
        return Grant(frozenset(rest), partial(self._heard, holder))

    async def _heard(self, holder: int) -> None:
        """One that is gone answers for nothing any more."""
        with contextlib.suppress(Unreachable):
            await self._channel.request(holder, {"kind": HEARD_MESSAGE})

    def settle(self, key: str, succeeded: AbstractSet[str], failed: DispatchVerdict | None) -> None:
        if self._borrowed and (holder := self._borrowed.pop(key, None)) is not None:
            told = {"succeeded": list(succeeded), "failed": None if failed is None else _encode(failed)}
            self._channel.tell(holder, {"kind": SETTLE_MESSAGE, "key": key, **told})
            if failed is None:
                self._note_done(key)
        self._end(key, succeeded, failed)

    def _note_done(self, key: str) -> None:
        """The worker that lent it may be gone: then nobody else does."""
        with contextlib.suppress(TableBusy):
            self._table.claim(key, monotonic())

    def _end(self, key: str, succeeded: AbstractSet[str], failed: DispatchVerdict | None) -> None:
        if failed is None:
            state = DONE
            if self._succeeded:
                self._succeeded.pop(key, None)
        else:
            state = KEPT if self._keep(key, succeeded) else FREE
        self._table.release(key, state)
        if self._waiting and (verdict := self._waiting.pop(key, None)) is not None:
            verdict.set_result(failed)

    def _keep(self, key: str, succeeded: AbstractSet[str]) -> bool:
        """Whether any job of this event has succeeded yet."""
        known = self._succeeded.get(key)
        if known is not None:
            known |= succeeded
        elif succeeded and key in self._table.held:
            self._succeeded[key] = set(succeeded)
            if len(self._succeeded) > self._size:
                del self._succeeded[next(iter(self._succeeded))]
        return key in self._succeeded

    def lend(self, borrower: object, key: str) -> list[Any] | Awaitable[list[Any]]:
        """The answer to another worker that asks for a grant. `borrower` is the connection it asks by."""
        if self._is_under_way(key):
            return _encode_later(self._verdict(key))
        holder = self._table.claim(key, monotonic())
        if holder is None:
            return _encode(DUPLICATE)
        if holder != self._channel.index:
            return _ELSEWHERE
        if self._local.is_done(key):
            self._table.release(key, DONE)
            return _encode(DUPLICATE)
        self._lent.setdefault(borrower, set()).add(key)
        return [0, *self._succeeded.get(key, _NOTHING)]

    def give_back(self, borrower: object, key: str, succeeded: Iterable[str], failed: list[Any] | None) -> None:
        """A grant that ended with its connection was settled by that."""
        keys = self._lent.get(borrower, set())
        if key in keys:
            keys.discard(key)
            if not keys:
                del self._lent[borrower]
            self._end(key, frozenset(succeeded), None if failed is None else DispatchVerdict(*failed))

    def on_disconnected(self, borrower: object) -> None:
        """The worker died, so the events that it ran may be granted again."""
        for key in self._lent.pop(borrower, ()):
            self._end(key, _NOTHING, INTERRUPTED)


def _encode(verdict: DispatchVerdict) -> list[Any]:
    """A handler may word its failure with half of a surrogate pair, which no frame can carry."""
    return [verdict.status, verdict.outcome, verdict.detail.encode("utf-8", "backslashreplace").decode()]


async def _encode_later(under_way: asyncio.Future[DispatchVerdict | None]) -> list[Any]:
    return _encode(await verdict_of(under_way))
