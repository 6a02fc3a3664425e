"""Handling events while their sender waits: the answer tells whether all handlers succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .grants import INTERRUPTED, Grants
from .verdict import ACCEPTED, DUPLICATE, DispatchVerdict, failure

if TYPE_CHECKING:
    from ..routing.route import Job
    from ..verify.event import Event
    from .runner import Runner


class SynchronousDispatcher:
    def __init__(self, grants: Grants, runner: Runner) -> None:
        self.grants = grants
        self.runner = runner

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> DispatchVerdict | None:
        """The verdict where nothing has to be waited for."""
        if not jobs:
            return ACCEPTED if self.grants.mark_done(event.key) else DUPLICATE
        return DUPLICATE if self.grants.is_done(event.key) else None

    def begin(self, event: Event, jobs: Sequence[Job]) -> None:
        """Nothing: handlers need a task."""
        del event, jobs

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
        return failed or ACCEPTED
