"""Genuine events into a queue: the sender is answered when its event is kept."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ..deadlines import Deadlines
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
        self._pending = 0
        self._deadlines = Deadlines(timeout, self._on_timeout)

    def dispatch(self, event: Event, jobs: Sequence[Job]) -> asyncio.Future[DispatchVerdict]:
        """What is kept after the sender was told that it is not is run all the same; a repetition is a duplicate."""
        loop = asyncio.get_running_loop()
        verdict: asyncio.Future[DispatchVerdict] = loop.create_future()
        run_here = self.worker is not None and bool(jobs) and self.worker.free_slots > self._pending
        try:
            put = self.queue.put(event, has_jobs=bool(jobs) or self.worker is None, run_here=run_here)
        except QueueFailed as failed:
            verdict.set_result(_refusal(failed))
            return verdict
        self._pending += run_here
        put.add_done_callback(partial(self._on_put, event, jobs if run_here else None, verdict))
        self._deadlines.add(verdict, loop)
        return verdict

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
        detail = f"not kept within {self._deadlines.time_limit:g} s"
        verdict.set_result(DispatchVerdict(503, "inbox_failed", detail))


def _refusal(failed: QueueFailed) -> DispatchVerdict:
    status, outcome = (413, "too_large") if isinstance(failed, TooLarge) else (503, "inbox_failed")
    return DispatchVerdict(status, outcome, str(failed))
