"""Each event has one worker that handles it, whichever of them receives it.

Repetitions of an event may arrive at different processes. What must be known of it (done, under way, which of its
handlers succeeded already) is in the memory of one process, so that process handles all of its deliveries. The
owner is found from the event's key alone. Only events that have handlers are passed on; all else is settled where
it arrives.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..dispatch.verdict import Verdict
from ..verify.event import Event
from ..verify.payload import parse_payload
from .channel import Unreachable

if TYPE_CHECKING:
    from ..routing.route import Job, RoutingTable
    from ..verify.source import Source
    from .channel import Channel

KIND = "event"
PAUSES = (0.1, 0.4, 1.0)  # a worker that died is there again after about a second


class Dispatcher(Protocol):
    def try_immediately(self, event: Event, jobs: list[Job]) -> Verdict | None: ...

    async def handle(self, event: Event, jobs: list[Job]) -> Verdict: ...


class OwnerDispatcher:
    """Hands events to their owners; `inner` handles those of this worker."""

    def __init__(
        self,
        inner: Dispatcher,
        channel: Channel,
        count: int,
        sources: Mapping[str, Source],
        plans: Callable[[], RoutingTable],
    ) -> None:
        self._inner = inner
        self._channel = channel
        self._count = count
        self._sources = sources
        self._plans = plans

    def owner(self, event: Event) -> int:
        return zlib.crc32(event.key.encode("utf-8", "backslashreplace")) % self._count

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> Verdict | None:
        if jobs and self.owner(event) != self._channel.index:
            return None
        return self._inner.try_immediately(event, list(jobs))

    async def handle(self, event: Event, jobs: Sequence[Job]) -> Verdict:
        owner = self.owner(event)
        if owner == self._channel.index:
            return await self._inner.handle(event, list(jobs))
        for pause in (*PAUSES, None):
            try:
                return Verdict(*await self._channel.ask(owner, _table(event), event.data + _other_text(event)))
            except Unreachable as error:
                if pause is None:
                    return Verdict(503, "saturated", f"worker {owner} cannot be reached: {error}")
                await asyncio.sleep(pause)
        raise AssertionError  # the last round returns

    async def answer(self, table: dict[str, Any], data: bytes) -> list[Any]:
        """The verdict on an event that another worker received and proved genuine."""
        source = self._sources[table["source"]]
        raw, text = data[: table["length"]], data[table["length"] :]
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in table["headers"]]
        text = text or raw
        event = Event(source, parse_payload(text), headers, table["query"].encode("latin-1"), raw, text)
        plans = self._plans()
        jobs = plans.jobs(plans.plan(event), event)
        return list(self._inner.try_immediately(event, jobs) or await self._inner.handle(event, jobs))


def _table(event: Event) -> dict[str, Any]:
    return {
        "kind": KIND,
        "source": event.source.name,
        "headers": [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers],
        "query": event.query.decode("latin-1"),
        "length": len(event.data),
    }


def _other_text(event: Event) -> bytes:
    """The payload's own text where it is not what was sent: the claims of a token."""
    return b"" if event.text == event.data else event.text
