"""Handling events while their sender waits: the answer tells whether all handlers succeeded."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from .event_table import DONE, FAILED, RUNNING, SATURATED, EventEntry, EventTable, TableBusy
from .runner import Runner, RunResult
from .verdict import ACCEPTED, DUPLICATE, INTERRUPTED, DispatchVerdict, failure, verdict_of

if TYPE_CHECKING:
    from ..handlers import HandlerFailed
    from ..routing.route import Job
    from ..verify.event import Event

# Seconds between looks at an event that another delivery has: often at first, and then so that a thousand that wait
# take a few hundredths of a core.
FIRST_LOOK, LONGEST_LOOK = 0.002, 0.1
BUSY_DELAY, BUSY_TIMEOUT = 0.001, 1.5
_ELSEWHERE = "another delivery of this event was under way"
_FAILED_ELSEWHERE = DispatchVerdict(500, "failed", _ELSEWHERE)
_SATURATED_ELSEWHERE = DispatchVerdict(503, "saturated", _ELSEWHERE)


class SynchronousDispatcher:
    """One delivery of an event runs at a time, and none once it is done: the table says so, for all workers."""

    def __init__(self, table: EventTable, runner: Runner) -> None:
        self.table = table
        self.runner = runner

    def dispatch(self, event: Event, jobs: Sequence[Job]) -> DispatchVerdict | asyncio.Future[DispatchVerdict]:
        """The verdict, or what will have it where a handler or another delivery has to be waited for."""
        entry = self._try_claim(event.key, RUNNING if jobs else DONE)
        if entry is not None:
            if entry.state == DONE:
                return ACCEPTED if entry.slot else DUPLICATE
            if entry.slot and not entry.attempt and len(jobs) == 1:
                verdict: asyncio.Future[DispatchVerdict] = asyncio.get_running_loop().create_future()
                if self.runner.begin(event, jobs[0], partial(self._on_ended, entry, jobs[0].id, verdict)):
                    return verdict
        return asyncio.ensure_future(self._run_or_wait(event, jobs, entry))

    def _try_claim(self, key: str, state: int = RUNNING) -> EventEntry | None:
        try:
            return self.table.claim(key, monotonic(), state)
        except TableBusy:
            return None

    def _on_ended(
        self, entry: EventEntry, job: str, verdict: asyncio.Future[DispatchVerdict], failed: HandlerFailed | None
    ) -> None:
        ended = ACCEPTED if failed is None else failure(RunResult({job: str(failed)}))
        self._release(entry, ended)
        if not verdict.done():
            verdict.set_result(ended)

    def _release(self, entry: EventEntry, verdict: DispatchVerdict) -> None:
        failed = SATURATED if verdict.outcome == _SATURATED_ELSEWHERE.outcome else FAILED
        self.table.release(entry, DONE if verdict.outcome == ACCEPTED.outcome else failed)

    async def _run_or_wait(self, event: Event, jobs: Sequence[Job], entry: EventEntry | None) -> DispatchVerdict:
        while entry is None or not entry.slot:
            if entry is None and (entry := await self._claim_when_not_busy(event.key)) is None:
                return DispatchVerdict(503, "saturated", "what is known of the event cannot be read")
            if entry.state == DONE:
                return DUPLICATE
            if not entry.slot:
                if (verdict := await self._verdict_of_other(event.key, entry)) is not None:
                    return verdict
                entry = self._try_claim(event.key)
        verdict = INTERRUPTED
        try:
            verdict = await self._run_missing(event, jobs, entry)
        finally:
            self._release(entry, verdict)
        return verdict

    async def _claim_when_not_busy(self, key: str, state: int = RUNNING) -> EventEntry | None:
        patience = monotonic() + BUSY_TIMEOUT
        while monotonic() < patience:
            await asyncio.sleep(BUSY_DELAY)
            if (entry := self._try_claim(key, state)) is not None:
                return entry
        return None

    async def _verdict_of_other(self, key: str, entry: EventEntry) -> DispatchVerdict | None:
        """What became of the attempt that another delivery makes; nothing where its process is gone."""
        delay = FIRST_LOOK
        found = entry
        while found.state == RUNNING and found.attempt == entry.attempt:
            await asyncio.sleep(delay)
            delay = min(1.5 * delay, LONGEST_LOOK)
            found = self.table.look_up(key, monotonic())
        ends = {DONE: DUPLICATE, SATURATED: _SATURATED_ELSEWHERE, FAILED: _FAILED_ELSEWHERE}
        return ends.get(found.state, _FAILED_ELSEWHERE if found.state == RUNNING else None)

    async def _run_missing(self, event: Event, jobs: Sequence[Job], entry: EventEntry) -> DispatchVerdict:
        """Run the jobs that have not succeeded in an earlier attempt. What succeeds of a failed one is noted."""
        if entry.attempt:
            now = monotonic()
            jobs = [job for job in jobs if self.table.look_up(_job_key(event, job.id), now).state != DONE]
        result = await self.runner.run(event, jobs)
        for job in result.succeeded if result.failed else ():
            await self._note_success(_job_key(event, job))
        return verdict_of(result)

    async def _note_success(self, key: str) -> None:
        if self._try_claim(key, DONE) is None:
            await self._claim_when_not_busy(key, DONE)


def _job_key(event: Event, job: str) -> str:
    """No event has such a key: theirs begin with the name of a source."""
    return f"\0{job}\0{event.key}"
