"""Handling events while their sender waits: the answer tells whether all handlers succeeded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .claims import INTERRUPTED, Claims
from .verdict import ACCEPTED, DUPLICATE, Verdict, failure

if TYPE_CHECKING:
    from ..routing.route import Job
    from ..verify.event import Event
    from .runner import Runner


class SynchronousDispatcher:
    def __init__(self, claims: Claims, runner: Runner) -> None:
        self.claims = claims
        self.runner = runner

    def try_immediately(self, event: Event, jobs: Sequence[Job]) -> Verdict | None:
        """The verdict where nothing has to be waited for."""
        if self.claims.is_done(event.key):
            return DUPLICATE
        if not jobs:
            self.claims.mark_done(event.key)
            return ACCEPTED
        return None

    async def handle(self, event: Event, jobs: Sequence[Job]) -> Verdict:
        """Run what has not succeeded yet. A second delivery of an event under way waits and gets its verdict."""
        claim = await self.claims.claim(event.key)
        if isinstance(claim, Verdict):
            return claim
        succeeded: set[str] = set()
        failed: Verdict | None = INTERRUPTED
        try:
            result = await self.runner.run(event, [job for job in jobs if job.id not in claim.succeeded])
            succeeded, failed = result.succeeded, failure(result) if result.failed else None
        finally:
            self.claims.settle(event.key, succeeded, failed)
        return failed or ACCEPTED
