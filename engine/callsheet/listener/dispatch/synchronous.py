"""Handling events while their sender waits: the answer tells whether all handlers succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING

from .verdict import ACCEPTED, DUPLICATE, Verdict, failure

if TYPE_CHECKING:
    from ..routing.route import Job
    from ..verify.event import Event
    from .dedup import Attempt, Deduplicator
    from .runner import Runner


class SynchronousDispatcher:
    def __init__(self, dedup: Deduplicator, runner: Runner) -> None:
        self.dedup = dedup
        self.runner = runner

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> Verdict | None:
        """The verdict where nothing has to be waited for."""
        now = monotonic()
        if self.dedup.is_done(event.key, now):
            return DUPLICATE
        if not jobs:
            self.dedup.mark_done(event.key, now)
            return ACCEPTED
        return None

    async def handle(self, event: Event, jobs: Sequence[Job]) -> Verdict:
        """Run what has not succeeded yet. A second delivery of an event under way waits and gets its verdict.

        An event that was under way when it was looked at may be done by now: other work of the loop came in between.
        """
        if self.dedup.is_done(event.key, monotonic()):
            return DUPLICATE
        attempt = self.dedup.attempt(event.key)
        if attempt.verdict is not None and not attempt.verdict.done():
            failed = await asyncio.shield(attempt.verdict)
            return DUPLICATE if failed is None else failed
        attempt.verdict = asyncio.get_running_loop().create_future()
        verdict: Verdict | None = Verdict(500, "failed", "interrupted")
        try:
            verdict = await self._run(event, jobs, attempt)
        finally:
            attempt.verdict.set_result(verdict)
        return verdict or ACCEPTED

    async def _run(self, event: Event, jobs: Sequence[Job], attempt: Attempt) -> Verdict | None:
        """Nothing where all succeeded."""
        result = await self.runner.run(event, [job for job in jobs if job.id not in attempt.succeeded])
        attempt.succeeded |= result.succeeded
        if result.failed:
            return failure(result)
        self.dedup.mark_done(event.key, monotonic())
        return None
