"""A handler's target: how often it is tried, when again after a failure, and when it is left alone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

from ...durations import duration_seconds
from ...errors import count_of
from . import CannotSend, HandlerFailed
from .concurrency_limits import Saturated

if TYPE_CHECKING:
    from ...language.shape.listener import CircuitDefinition


class RetrySchedule(NamedTuple):
    """Attempts before a target is given up, and seconds between them: doubling up to a bound, with jitter.

    `give_up_after` is the age in seconds that an event may have when it is tried once more.
    """

    max_attempts: int = 12
    backoff: float = 5.0
    backoff_max: float = 3600.0
    give_up_after: float = float("inf")

    def changed_by(self, table: Mapping[str, Any]) -> RetrySchedule:
        """With the keys that a definition has."""
        given = {name: table[name] for name in self._fields if name in table}
        seconds: dict[str, Any] = {
            name: duration_seconds(value) if isinstance(value, str) else value for name, value in given.items()
        }
        return self._replace(**seconds)

    def delay_after(self, attempts: int, age: float) -> float | None:
        """Seconds until an event of that age is tried again; nothing where it is given up."""
        delay = min(self.backoff_max, self.backoff * 2.0 ** min(attempts - 1, 60)) * random.uniform(0.5, 1.0)  # noqa: S311 - spreads load
        return None if attempts >= self.max_attempts or age + delay > self.give_up_after else delay


class TargetBusy(HandlerFailed):
    """It was not tried, and may be in so many seconds."""

    def __init__(self, text: str, delay: float) -> None:
        super().__init__(text)
        self.delay = delay


_TRIED_AGAIN = 0.5  # seconds


class Circuit:
    """Of one handler in one process. Closed, every run is made; open, none; after the pause one, which decides.

    `note` is told of each change.
    """

    def __init__(self, definition: CircuitDefinition, job: str, note: Callable[[str], None]) -> None:
        self._most = definition["failures"]
        self._pause = duration_seconds(definition["pause"])
        self._job = job
        self._note = note
        self._failures = 0
        self._open_until: float | None = None
        self._is_tried = False

    @property
    def is_open(self) -> bool:
        return self._open_until is not None

    def check_closed(self) -> None:
        """Raises `TargetBusy` where a run would not be made now."""
        if self._open_until is None:
            return
        left = self._open_until - monotonic()
        if left > 0 or self._is_tried:
            when = f"tried again in {left:.0f} s" if left > 0 else "tried just now"
            delay = max(left, _TRIED_AGAIN) * random.uniform(1.0, 1.2)  # noqa: S311 - spreads load
            raise TargetBusy(f"not run: {count_of(self._failures, 'failure')} in a row, {when}", delay)

    @contextmanager
    def watch_run(self) -> Iterator[None]:
        """Around a run that has its place. Raises `TargetBusy` instead of making it."""
        self.check_closed()
        decides = self._is_tried = self.is_open
        try:
            yield
        except (Saturated, CannotSend, asyncio.CancelledError):  # which say nothing about the target
            raise
        except Exception:
            self._on_failure(decides=decides)
            raise
        else:
            self._on_success(decides=decides)
        finally:
            if decides:
                self._is_tried = False

    def _on_failure(self, *, decides: bool) -> None:
        self._failures += 1
        if decides or (not self.is_open and self._failures >= self._most):
            if not self.is_open:
                self._note(
                    f"{self._job}: {count_of(self._failures, 'failure')} in a row: not run for {self._pause:g} s"
                )
            self._open_until = monotonic() + self._pause

    def _on_success(self, *, decides: bool) -> None:
        """One that began before the circuit opened says nothing about now."""
        if self.is_open and not decides:
            return
        if self.is_open:
            self._note(f"{self._job}: succeeded again")
        self._failures, self._open_until = 0, None


# What a target that was slow to take its turns may make up for, in seconds: timers are not exact.
_CREDIT = 0.1


class RateLimit:
    """Runs spread evenly: `100/m` is one each 0.6 s. Each of several processes gets its part."""

    def __init__(self, text: str, processes: int) -> None:
        count, _, period = text.partition("/")
        self.interval = processes * duration_seconds(period if period[0].isdigit() else f"1{period}") / int(count)
        self._next = 0.0

    @property
    def seconds_left(self) -> float:
        return self._next - monotonic()

    async def take_turn(self) -> None:
        while (left := self.seconds_left) > 0:  # noqa: ASYNC110 - others may take the turn meanwhile
            await asyncio.sleep(left)
        self._next = max(self._next, monotonic() - _CREDIT) + self.interval


# Seconds that a run from an inbox waits here for a target that has no place. One that is slow is not waited for.
PATIENCE = 0.25
_LONGEST_DELAY = 30.0  # a target that is slow now may be quick then
_WEIGHT = 1 / 16


class HandlerTarget:
    """What a handler sends events to, as this process knows it. `table` is the handler's."""

    def __init__(
        self, table: Mapping[str, Any], job: str = "", note: Callable[[str], None] = lambda _: None, processes: int = 1
    ) -> None:
        self.retry = table
        self.circuit = Circuit(table["circuit"], job, note) if "circuit" in table else None
        self.rate = RateLimit(table["rate"], processes) if "rate" in table else None
        self._started: dict[object, float] = {}
        self._usual_duration = 0.0
        self._next_turn = 0.0

    @property
    def needs_watching(self) -> bool:
        return self.circuit is not None or self.rate is not None

    @property
    def patience(self) -> float:
        """How long a run may wait for a place of it."""
        oldest = next(iter(self._started.values()), None)
        running = 0.0 if oldest is None else monotonic() - oldest
        return 0.0 if max(self._usual_duration, running) > PATIENCE else PATIENCE

    def busy(self) -> TargetBusy:
        """For a run that is put off: those that wait for this target get their turns one after the other."""
        now = monotonic()
        if self.rate is not None:
            self._next_turn = max(self._next_turn + self.rate.interval, now + self.rate.seconds_left)
            return TargetBusy("not run: its rate is reached", self._next_turn - now)
        spacing = (self._usual_duration or PATIENCE) / max(1, len(self._started))
        self._next_turn = min(max(self._next_turn, now) + spacing, now + _LONGEST_DELAY)
        return TargetBusy("not run: its earlier runs have not ended", self._next_turn - now)

    @contextmanager
    def watch_run(self) -> Iterator[None]:
        """Around a run that has its place. Raises `TargetBusy` instead of making it."""
        run, started = object(), monotonic()
        self._started[run] = started
        try:
            with nullcontext() if self.circuit is None else self.circuit.watch_run():
                yield
        finally:
            del self._started[run]
            self._usual_duration += (monotonic() - started - self._usual_duration) * _WEIGHT
