"""What one worker has to do with the others: the table of events that they share, and the metrics of all."""

from __future__ import annotations

import asyncio
import contextlib
import os
from typing import TYPE_CHECKING, Any

from msgspec import MsgspecError, msgpack

from ..dispatch.event_table import EventTable, Heartbeats

if TYPE_CHECKING:
    from ..telemetry.metrics import Metrics
    from .assignment import WorkerAssignment

METRICS_TIMEOUT = 2.0  # seconds that the metrics of another worker are waited for
BEAT_EVERY = 0.5  # seconds


class Team:
    """Each worker says what it counted to whoever connects to its socket. Only its user can enter the directory."""

    def __init__(self, assignment: WorkerAssignment, metrics: Metrics) -> None:
        self.assignment = assignment
        self._metrics = metrics
        self._server: asyncio.Server | None = None
        self._beating: asyncio.Task[None] | None = None
        self._has_started = False

    def event_table(self, size: int, window: float) -> EventTable:
        """That of all workers, which remembers at least the last `size` events, for `window` seconds."""
        assigned = self.assignment
        return EventTable(size, window, assigned.memory, assigned.number, assigned.generation)

    def has_started(self) -> bool:
        """Whether all workers have served by now."""
        if not self._has_started:
            self._has_started = not os.path.exists(self.assignment.starting)
        return self._has_started

    async def start(self) -> None:
        self._beating = asyncio.create_task(self._beat_forever())
        path = self._socket_of(self.assignment.number)
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)  # of a worker that died
        self._server = await asyncio.start_unix_server(self._write_metrics, path)

    async def _beat_forever(self) -> None:
        """In the loop that serves, so that the supervisor learns where that is held up."""
        heartbeats = Heartbeats(self.assignment.memory)
        while True:
            heartbeats.increase(self.assignment.number)
            await asyncio.sleep(BEAT_EVERY)

    def close(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
        if self._server is not None:
            self._server.close()

    async def _write_metrics(self, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            writer.write(msgpack.encode(self._metrics.families()))
            await writer.drain()
        writer.close()

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
        """Nothing where that worker is not there, hangs, or goes away before it has said all."""
        writer: asyncio.StreamWriter | None = None
        try:
            async with asyncio.timeout(METRICS_TIMEOUT):
                reader, writer = await asyncio.open_unix_connection(self._socket_of(index))
                families: list[Any] = msgpack.decode(await reader.read())
        except (OSError, TimeoutError, MsgspecError):
            return []
        finally:
            if writer is not None:
                writer.close()
        return families

    def _socket_of(self, index: int) -> str:
        return os.path.join(self.assignment.directory, f"{index}.sock")
