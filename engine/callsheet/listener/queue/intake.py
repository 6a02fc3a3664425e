"""Genuine events into a queue: the sender is answered when its event is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..dispatch.verdict import ACCEPTED, DUPLICATE, DispatchVerdict
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
            put = self.queue.put(event, has_jobs=bool(jobs) or self.worker is None, run_here=run_here)
        except QueueFailed as failed:
            return _refusal(failed)
        loop = asyncio.get_running_loop()
        verdict: asyncio.Future[DispatchVerdict] = loop.create_future()
        self._pending += run_here
        put.add_done_callback(partial(self._on_put, event, jobs if run_here else None, verdict))
        timer = loop.call_later(self.timeout, self._on_timeout, verdict)
        try:
            return await verdict
        finally:
            timer.cancel()

    def _on_put(
        self,
        event: Event,
        jobs: Sequence[Job] | None,
        verdict: asyncio.Future[DispatchVerdict],
        put: asyncio.Future[PutResult],
    ) -> None:
        """One callback for both that wait: whoever runs the event, and its sender. `jobs` are those to run here."""
        self._pending -= jobs is not None
        error = QueueFailed("interrupted") if put.cancelled() else put.exception()
        if error is None and jobs is not None and self.worker is not None and (lease := put.result().lease) is not None:
            self.worker.run_event(lease, event, jobs)
        if verdict.done():
            return
        if error is None:
            verdict.set_result(ACCEPTED if put.result().stored else DUPLICATE)
        elif isinstance(error, QueueFailed):
            verdict.set_result(_refusal(error))
        else:
            verdict.set_exception(error)

    def _on_timeout(self, verdict: asyncio.Future[DispatchVerdict]) -> None:
        if not verdict.done():
            verdict.set_result(DispatchVerdict(503, "inbox_failed", f"not kept within {self.timeout:g} s"))


def _refusal(failed: QueueFailed) -> DispatchVerdict:
    status, outcome = (413, "too_large") if isinstance(failed, TooLarge) else (503, "inbox_failed")
    return DispatchVerdict(status, outcome, str(failed))
