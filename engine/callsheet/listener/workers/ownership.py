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

EVENT_MESSAGE = "event"
RETRY_DELAYS = (0.1, 0.4, 1.0)  # a worker that died is there again after about a second


class Dispatcher(Protocol):
    def try_immediately(self, event: Event, jobs: list[Job]) -> Verdict | None: ...

    async def handle(self, event: Event, jobs: list[Job]) -> Verdict: ...


class OwnerDispatcher:
    """Hands events to their owners; `local` handles those of this worker."""

    def __init__(
        self,
        local: Dispatcher,
        channel: Channel,
        count: int,
        sources: Mapping[str, Source],
        routing_table: Callable[[], RoutingTable],
    ) -> None:
        self._local = local
        self._channel = channel
        self._count = count
        self._sources = sources
        self._routing_table = routing_table

    def owner(self, event: Event) -> int:
        return zlib.crc32(event.key.encode("utf-8", "backslashreplace")) % self._count

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> Verdict | None:
        if jobs and self.owner(event) != self._channel.index:
            return None
        return self._local.try_immediately(event, list(jobs))

    async def handle(self, event: Event, jobs: Sequence[Job]) -> Verdict:
        owner = self.owner(event)
        if owner == self._channel.index:
            return await self._local.handle(event, list(jobs))
        for delay in (*RETRY_DELAYS, None):
            try:
                return Verdict(
                    *await self._channel.request(owner, _encode_event(event), event.data + _separate_text(event))
                )
            except Unreachable as error:
                if delay is None:
                    return Verdict(503, "saturated", f"worker {owner} cannot be reached: {error}")
                await asyncio.sleep(delay)
        raise AssertionError  # the last round returns

    async def handle_remote(self, message: dict[str, Any], data: bytes) -> list[Any]:
        """The verdict on an event that another worker received and proved genuine."""
        source = self._sources[message["source"]]
        raw, text = data[: message["length"]], data[message["length"] :]
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in message["headers"]]
        text = text or raw
        event = Event(source, parse_payload(text), headers, message["query"].encode("latin-1"), raw, text)
        routing_table = self._routing_table()
        jobs = routing_table.jobs(routing_table.plan(event), event)
        verdict = self._local.try_immediately(event, jobs) or await self._local.handle(event, jobs)
        # A handler may word its failure with half of a surrogate pair, which no frame can carry.
        return [verdict.status, verdict.outcome, verdict.detail.encode("utf-8", "backslashreplace").decode()]


def _encode_event(event: Event) -> dict[str, Any]:
    return {
        "kind": EVENT_MESSAGE,
        "source": event.source.name,
        "headers": [(name.decode("latin-1"), value.decode("latin-1")) for name, value in event.headers],
        "query": event.query.decode("latin-1"),
        "length": len(event.data),
    }


def _separate_text(event: Event) -> bytes:
    """The payload's own text where it is not what was sent: the claims of a token."""
    return b"" if event.text == event.data else event.text
