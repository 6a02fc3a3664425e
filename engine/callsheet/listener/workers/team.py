"""What one worker has to do with the others: owners of events, and metrics of all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .channel import Channel, Unreachable
from .ownership import KIND, OwnerDispatcher

if TYPE_CHECKING:
    from ..dispatch.synchronous import SynchronousDispatcher
    from ..routing.route import RoutingTable
    from ..telemetry.metrics import Metrics
    from ..verify.source import Source
    from .assignment import Assignment

METRICS = "metrics"
PATIENCE = 2.0  # seconds that the metrics of another worker are waited for


class Team:
    def __init__(self, part: Assignment, metrics: Metrics) -> None:
        self.part = part
        self.channel = Channel(part.directory, part.number)
        self._metrics = metrics
        self._owners: OwnerDispatcher | None = None
        self._handling = 0

    def dispatcher(
        self, inner: SynchronousDispatcher, sources: Mapping[str, Source], plans: Callable[[], RoutingTable]
    ) -> OwnerDispatcher:
        self._owners = OwnerDispatcher(inner, self.channel, self.part.workers, sources, plans)
        return self._owners

    @property
    def idle(self) -> bool:
        """Whether no event of another worker is being handled here."""
        return self._handling == 0

    async def start(self) -> None:
        await self.channel.start(self._answer)

    async def _answer(self, table: dict[str, Any], data: bytes) -> Any:
        if table["kind"] == METRICS:
            return self._metrics.families()
        if table["kind"] == KIND and self._owners is not None:
            self._handling += 1
            try:
                return await self._owners.answer(table, data)
            finally:
                self._handling -= 1
        raise ValueError(table["kind"])

    async def metrics_page(self, accept: str) -> tuple[bytes, str]:
        """What the whole listener counted, as far as its workers answer now."""
        others = [index for index in range(self.part.workers) if index != self.part.number]
        answers = await asyncio.gather(*(self._metrics_of(index) for index in others))
        told = {self.part.number: self._metrics.families(), **dict(zip(others, answers, strict=True))}
        return self._metrics.merged_page(accept, told)

    async def _metrics_of(self, index: int) -> list[Any]:
        try:
            async with asyncio.timeout(PATIENCE):
                found: list[Any] = await self.channel.ask(index, {"kind": METRICS})
        except (Unreachable, TimeoutError):
            return []
        return found
