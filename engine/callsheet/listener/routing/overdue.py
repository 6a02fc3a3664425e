"""Runs that exceeded their time and cannot be ended: how many, and what is done where they keep every place."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .route import Job
    from .route_set import RouteSet

INTERVAL = 1.0


class OverdueRuns:
    """`rules` gives the routes of the moment. `restart` is there where another process takes over from this one."""

    def __init__(
        self, rules: Callable[[], RouteSet], note: Callable[[str], None], restart: Callable[[], None] | None
    ) -> None:
        self._rules = rules
        self._note = note
        self._restart = restart

    def _jobs(self) -> Iterator[Job]:
        return (job for route in self._rules().routes for job in route.jobs)

    def counts(self) -> dict[str, float]:
        """Overdue runs by job, of those that have any."""
        return {job.id: float(job.handler.overdue) for job in self._jobs() if job.handler.overdue}

    def stuck(self) -> set[str]:
        """The jobs that can handle nothing until such a run ends."""
        return {job.id for job in self._jobs() if job.handler.is_stuck}

    async def watch(self) -> None:
        told: set[str] = set()
        while True:
            await asyncio.sleep(INTERVAL)
            stuck = self.stuck()
            for job in sorted(stuck - told):
                self._note(f"{job}: runs that exceeded their time keep all its places: none is free")
            for job in sorted(told - stuck):
                self._note(f"{job}: has a free place again")
            told = stuck
            if stuck and self._restart is not None:
                self._note("this process ends its work and is started again")
                self._restart()
                return
