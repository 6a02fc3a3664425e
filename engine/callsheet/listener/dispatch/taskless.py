"""A run that needs no task of the loop: its handler calls back when it has ended. A task costs more than a line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from ..handlers import HandlerFailed, failure_of
from ..handlers.limits import ConcurrencyLimit, acquire_immediately

if TYPE_CHECKING:
    from ..routing.route import Job
    from ..verify.event import Event


class HandlerObserver(Protocol):
    def __call__(self, job: str, duration: float, *, succeeded: bool) -> None: ...


class TasklessRun:
    """`ended` gets what failed, or nothing, once."""

    __slots__ = ("_ended", "_event", "_job", "_limits", "_observe", "_started")

    def __init__(
        self,
        event: Event,
        job: Job,
        limits: Sequence[ConcurrencyLimit],
        observe: HandlerObserver,
        ended: Callable[[HandlerFailed | None], None],
    ) -> None:
        self._event = event
        self._job = job
        self._limits = limits
        self._observe = observe
        self._ended = ended
        self._started = perf_counter()

    def begin(self, *, may_wait: bool) -> bool:
        """At once, or when there is a place. False where it may not wait, or would have to for several places."""
        if acquire_immediately(self._limits):
            self._start()
        elif may_wait and len(self._limits) == 1:
            self._limits[0].call_when_free(self._start)
        else:
            return False
        return True

    def _start(self) -> None:
        try:
            self._job.handler.begin(self._event, self._job.id, self._end)
        except Exception as error:  # noqa: BLE001 - one broken handler must not take the others down
            self._end(failure_of(error))

    def _end(self, failure: HandlerFailed | None) -> None:
        for limit in self._limits:
            limit.release()
        self._observe(self._job.id, perf_counter() - self._started, succeeded=failure is None)
        self._ended(failure)
