"""The events that a process holds, and how many more it may take."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

from .port import Lease

_MOST: Final = 4  # for each place for a handler
_QUICK: Final = 0.02
_WEIGHT: Final = 1 / 16


class HeldEvents:
    """`places` is how many handlers run at a time; `leases` are by what runs them; `saving` counts those that ended.

    Where runs end quickly, more events are held than there are places. They wait here for a moment, and need not be
    read from the queue again. Where runs take their time, others may have a place sooner.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self.leases: dict[Hashable, Lease] = {}
        self.saving = 0
        self._usual_duration: float | None = None

    @property
    def room(self) -> int:
        """An event whose end is being saved takes no place, up to a bound."""
        most = _MOST * self.places
        is_quick = self._usual_duration is not None and self._usual_duration < _QUICK
        return max(0, (most if is_quick else min(self.places + self.saving, most)) - len(self.leases))

    def note_duration(self, seconds: float) -> None:
        """Of a run, with what it waited for its place."""
        usual = seconds if self._usual_duration is None else self._usual_duration
        self._usual_duration = usual + (seconds - usual) * _WEIGHT
