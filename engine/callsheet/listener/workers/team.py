"""What one worker has to do with the others: grants for events, and metrics of all."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any

from .channel import Channel, Unreachable
from .event_table import EventTable
from .shared_grants import ACQUIRE_MESSAGE, HEARD_MESSAGE, SETTLE_MESSAGE, SharedGrants

if TYPE_CHECKING:
    from ..dispatch.grants import LocalGrants
    from ..telemetry.metrics import Metrics
    from .assignment import WorkerAssignment

METRICS_MESSAGE = "metrics"
METRICS_TIMEOUT = 2.0  # seconds that the metrics of another worker are waited for


class Team:
    def __init__(self, assignment: WorkerAssignment, metrics: Metrics) -> None:
        self.assignment = assignment
        self.channel = Channel(assignment.directory, assignment.number)
        self._metrics = metrics
        self._grants: SharedGrants | None = None
        self._has_started = False

    def grants(self, local: LocalGrants, size: int, window: float) -> SharedGrants:
        """Those of all workers, which remember at least the last `size` events, for `window` seconds."""
        assigned = self.assignment
        table = EventTable(assigned.memory, assigned.number, assigned.generation, size, window)
        self._grants = SharedGrants(local, self.channel, table, size)
        return self._grants

    @property
    def idle(self) -> bool:
        """Whether no other worker runs an event that this one has to know the end of."""
        return self._grants is None or not self._grants.lends

    def has_started(self) -> bool:
        """Whether all workers have served by now."""
        if not self._has_started:
            self._has_started = not os.path.exists(self.assignment.starting)
        return self._has_started

    async def start(self) -> None:
        await self.channel.start(self._handle_message, self._on_disconnected)

    def _handle_message(self, sender: object, message: dict[str, Any]) -> list[Any] | Awaitable[list[Any]] | None:
        kind = message.pop("kind")
        if kind == METRICS_MESSAGE:
            return self._metrics.families()
        if self._grants is not None and kind == ACQUIRE_MESSAGE:
            return self._grants.lend(sender, **message)
        if self._grants is not None and kind == SETTLE_MESSAGE:
            self._grants.give_back(sender, **message)
            return None
        if kind == HEARD_MESSAGE:
            return None
        raise ValueError(kind)

    def _on_disconnected(self, sender: object) -> None:
        if self._grants is not None:
            self._grants.on_disconnected(sender)

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
