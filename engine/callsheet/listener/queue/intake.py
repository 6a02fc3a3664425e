"""Genuine events into a queue: the sender is answered when its event is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..dispatch.verdict import ACCEPTED, DUPLICATE, Verdict
from .port import Put, Queue, QueueFailed, TooLarge

if TYPE_CHECKING:
    from ..routing.route import Job
    from ..verify.event import Event
    from .worker import Worker


class Intake:
    """`patience` is the longest wait for the queue, in seconds. Without a worker, others handle what is kept."""

    def __init__(self, queue: Queue, worker: Worker | None, patience: float) -> None:
        self.queue = queue
        self.worker = worker
        self.patience = patience
        self._coming = 0

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> Verdict | None:
        """Nothing: the queue is always waited for."""
        del event, jobs
        return None

    async def handle(self, event: Event, jobs: Sequence[Job]) -> Verdict:
        """What is kept after the sender was told that it is not is run all the same; a repetition is a duplicate."""
        own = self.worker is not None and bool(jobs) and self.worker.free > self._coming
        try:
            kept = self.queue.put(event, wanted=bool(jobs) or self.worker is None, own=own)
            if own:
                self._coming += 1
                kept.add_done_callback(partial(self._kept, event, jobs))
            await asyncio.wait((kept,), timeout=self.patience)
            if not kept.done():
                kept.add_done_callback(_forget)
                return Verdict(503, "inbox_failed", f"not kept within {self.patience:g} s")
            return ACCEPTED if kept.result().stored else DUPLICATE
        except TooLarge as failed:
            return Verdict(413, "too_large", str(failed))
        except QueueFailed as failed:
            return Verdict(503, "inbox_failed", str(failed))

    def _kept(self, event: Event, jobs: Sequence[Job], kept: asyncio.Future[Put]) -> None:
        self._coming -= 1
        if kept.cancelled() or kept.exception() is not None:
            return
        lease = kept.result().lease
        if lease is not None and self.worker is not None:
            self.worker.start(lease, event, jobs)


def _forget(kept: asyncio.Future[Put]) -> None:
    if not kept.cancelled():
        kept.exception()
