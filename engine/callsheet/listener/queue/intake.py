"""Genuine events into a queue: the sender is answered when its event is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..dispatch.verdict import ACCEPTED, DUPLICATE, DispatchVerdict
from ..handlers.done_within import done_within
from .port import PutResult, Queue, QueueFailed, TooLarge

if TYPE_CHECKING:
    from ..routing.route import Job
    from ..verify.event import Event
    from .worker import Worker


class Intake:
    """`timeout` is the longest wait for the queue, in seconds. Without a worker, others handle what is kept."""

    def __init__(self, queue: Queue, worker: Worker | None, timeout: float) -> None:
        self.queue = queue
        self.worker = worker
        self.timeout = timeout
        self._pending = 0

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> DispatchVerdict | None:
        """Nothing: the queue is always waited for."""
        del event, jobs
        return None

    async def handle(self, event: Event, jobs: Sequence[Job]) -> DispatchVerdict:
        """What is kept after the sender was told that it is not is run all the same; a repetition is a duplicate."""
        run_here = self.worker is not None and bool(jobs) and self.worker.free_slots > self._pending
        try:
            future = self.queue.put(event, has_jobs=bool(jobs) or self.worker is None, run_here=run_here)
            if run_here:
                self._pending += 1
                future.add_done_callback(partial(self._on_stored, event, jobs))
            if not await done_within(future, self.timeout):
                future.add_done_callback(_consume_exception)
                return DispatchVerdict(503, "inbox_failed", f"not kept within {self.timeout:g} s")
            return ACCEPTED if future.result().stored else DUPLICATE
        except TooLarge as failed:
            return DispatchVerdict(413, "too_large", str(failed))
        except QueueFailed as failed:
            return DispatchVerdict(503, "inbox_failed", str(failed))

    def _on_stored(self, event: Event, jobs: Sequence[Job], future: asyncio.Future[PutResult]) -> None:
        self._pending -= 1
        if future.cancelled() or future.exception() is not None:
            return
        lease = future.result().lease
        if lease is not None and self.worker is not None:
            self.worker.run_event(lease, event, jobs)


def _consume_exception(future: asyncio.Future[PutResult]) -> None:
    if not future.cancelled():
        future.exception()
