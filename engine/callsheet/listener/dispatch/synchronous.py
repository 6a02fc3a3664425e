"""Handling events while their sender waits: the answer tells whether all handlers succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from .grants import INTERRUPTED, Grants
from .runner import Runner, RunResult
from .verdict import ACCEPTED, DUPLICATE, DispatchVerdict, failure

if TYPE_CHECKING:
    from ..handlers import HandlerFailed
    from ..routing.route import Job
    from ..verify.event import Event


class SynchronousDispatcher:
    def __init__(self, grants: Grants, runner: Runner) -> None:
        self.grants = grants
        self.runner = runner

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> DispatchVerdict | None:
        """The verdict where nothing has to be waited for."""
        if not jobs:
            return ACCEPTED if self.grants.mark_done(event.key) else DUPLICATE
        return DUPLICATE if self.grants.is_done(event.key) else None

    def begin(self, event: Event, jobs: Sequence[Job]) -> asyncio.Future[DispatchVerdict] | None:
        """The same as `handle` where nothing but one handler is waited for, and that needs no task."""
        if len(jobs) != 1 or not self.runner.begins_at_once(jobs[0]):
            return None
        if self.grants.try_acquire_new(event.key) is None:
            return None
        verdict: asyncio.Future[DispatchVerdict] = asyncio.get_running_loop().create_future()
        self.runner.begin(event, jobs[0], partial(self._on_ended, event.key, jobs[0].id, verdict))
        return verdict

    def _on_ended(
        self, key: str, job: str, verdict: asyncio.Future[DispatchVerdict], failed: HandlerFailed | None
    ) -> None:
        if failed is None:
            self.grants.settle(key, {job}, None)
            verdict.set_result(ACCEPTED)
        else:
            why = failure(RunResult({job: str(failed)}))
            self.grants.settle(key, frozenset(), why)
            verdict.set_result(why)

    async def handle(self, event: Event, jobs: Sequence[Job]) -> DispatchVerdict:
        """Run what has not succeeded yet. A second delivery of an event under way waits and gets its verdict."""
        grant = await self.grants.acquire(event.key)
        if isinstance(grant, DispatchVerdict):
            return grant
        succeeded: set[str] = set()
        failed: DispatchVerdict | None = INTERRUPTED
        try:
            result = await self.runner.run(event, [job for job in jobs if job.id not in grant.succeeded])
            succeeded, failed = result.succeeded, failure(result) if result.failed else None
        finally:
            self.grants.settle(event.key, succeeded, failed)
        if failed is not None and grant.heard is not None:  # a delivery that answers this failure is to be a new run
            await grant.heard()
        return failed or ACCEPTED
