"""A target that fails again and again is left alone for a while, so that it takes no place from others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

from ...durations import duration_seconds
from ...errors import count_of
from . import CannotSend, HandlerFailed
from .concurrency_limits import Saturated

if TYPE_CHECKING:
    from ...language.shape.listener import CircuitDefinition


class CircuitOpen(HandlerFailed):
    """It was not tried."""


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
        """Raises `CircuitOpen` where a run would not be made now."""
        if self._open_until is None:
            return
        left = self._open_until - monotonic()
        if left > 0 or self._is_tried:
            when = f"tried again in {left:.0f} s" if left > 0 else "tried just now"
            raise CircuitOpen(f"not run: {count_of(self._failures, 'failure')} in a row, {when}")

    @contextmanager
    def watch_run(self) -> Iterator[None]:
        """Around a run that has its place. Raises `CircuitOpen` instead of making it."""
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
