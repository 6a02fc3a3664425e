"""What one worker has to do with the others: owners of events, and metrics of all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .channel import Channel, Unreachable
from .ownership import EVENT_MESSAGE, OwnerDispatcher

if TYPE_CHECKING:
    from ..dispatch.synchronous import SynchronousDispatcher
    from ..routing.route import RoutingTable
    from ..telemetry.metrics import Metrics
    from ..verify.source import Source
    from .assignment import Assignment

METRICS_MESSAGE = "metrics"
METRICS_TIMEOUT = 2.0  # seconds that the metrics of another worker are waited for


class Team:
    def __init__(self, assignment: Assignment, metrics: Metrics) -> None:
        self.assignment = assignment
        self.channel = Channel(assignment.directory, assignment.number)
        self._metrics = metrics
        self._dispatcher: OwnerDispatcher | None = None
        self._handling = 0

    def dispatcher(
        self, local: SynchronousDispatcher, sources: Mapping[str, Source], routing_table: Callable[[], RoutingTable]
    ) -> OwnerDispatcher:
        self._dispatcher = OwnerDispatcher(local, self.channel, self.assignment.workers, sources, routing_table)
        return self._dispatcher

    @property
    def idle(self) -> bool:
        """Whether no event of another worker is being handled here."""
        return self._handling == 0

    async def start(self) -> None:
        await self.channel.start(self._handle_message)

    async def _handle_message(self, message: dict[str, Any], data: bytes) -> Any:
        if message["kind"] == METRICS_MESSAGE:
            return self._metrics.families()
        if message["kind"] == EVENT_MESSAGE and self._dispatcher is not None:
            self._handling += 1
            try:
                return await self._dispatcher.handle_remote(message, data)
            finally:
                self._handling -= 1
        raise ValueError(message["kind"])

    async def metrics_page(self, accept: str) -> tuple[bytes, str]:
        """What the whole listener counted, as far as its workers answer now."""
        others = [index for index in range(self.assignment.workers) if index != self.assignment.number]
        answers = await asyncio.gather(*(self._metrics_of(index) for index in others))
        families_by_worker = {
            self.assignment.number: self._metrics.families(),
            **dict(zip(others, answers, strict=True)),
        }
        return self._metrics.merged_page(accept, families_by_worker)

    async def _metrics_of(self, index: int) -> list[Any]:
        try:
            async with asyncio.timeout(METRICS_TIMEOUT):
                families: list[Any] = await self.channel.request(index, {"kind": METRICS_MESSAGE})
        except (Unreachable, TimeoutError):
            return []
        return families
