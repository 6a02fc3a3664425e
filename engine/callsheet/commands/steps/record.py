"""What becomes of the items of a list, into a journal: before the change, when it is made, and what came of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, NetworkError, counted
from ..journal.recorded import UNDER_WAY, Recorded
from .bulk import OutcomeUnknown
from .each import Numbered
from .snapshot import MISSING, Snapshots

if TYPE_CHECKING:
    from ..context import Context
    from ..journal.writer import Journal

_PATIENCE = 3.0  # seconds that requests under way get after Ctrl-C
_NAP = 0.05
_SERVER_ERROR = 500


class JournalRecord:
    """`snapshots` where it is kept what items were, `again` where they can be put back.

    `found` is the journal of an earlier run that this one goes on with.
    """

    def __init__(
        self,
        context: Context,
        journal: Journal,
        snapshots: Snapshots | None = None,
        found: Recorded | None = None,
        *,
        again: bool = True,
    ) -> None:
        self.journal = journal
        self.was: dict[int, Any] = {}  # of the group that is at work
        self._context = context
        self._snapshots = snapshots
        self._found = found
        self._again = again
        self._under_way: set[int] = set()
        self._changing = threading.Lock()
        self.done = self.failed = 0

    def before(self, items: Sequence[Numbered]) -> None:
        """Read what they are, but for those that an earlier run may have changed."""
        if self._snapshots is None:
            return
        known = (
            {each.number: self._found.was(each.number) for each in items if self._is_known(each)} if self._found else {}
        )
        fresh = [each for each in items if each.number not in known]
        values = self._snapshots.read_states([each.item for each in fresh]) if fresh else []
        read = zip(fresh, values, strict=True)
        self.was = known | {each.number: value for each, value in read if value is not MISSING}

    def _is_known(self, each: Numbered) -> bool:
        entry = self._found.entries[each.number] if self._found else None
        return entry is not None and entry.state in UNDER_WAY and entry.was_at >= 0

    def started(self, item: Numbered) -> None:
        kept = {"was": self.was[item.number]} if item.number in self.was else {}
        self.journal.started(item.number, item.item, kept)
        with self._changing:
            self._under_way.add(item.number)

    def ended(self, item: Numbered, error: CallsheetError | None) -> None:
        if error is None:
            self.journal.done(item.number, item.item)
        else:
            self.journal.failed(item.number, item.item, error.message, known=not _may_be_done(error))
        with self._changing:
            self._under_way.discard(item.number)
            self.done += error is None
            self.failed += error is not None

    def after(self, items: Sequence[Numbered]) -> None:
        """Read what they are now, by which an undo can tell whether somebody changed them since."""
        if self._snapshots is None or not self._again:
            return
        try:
            values = self._snapshots.read_states([each.item for each in items])
        except CallsheetError as error:
            number = counted(len(items), "item")
            self._context.note(f"{number} could not be read again after the change: {error.message}")
            return
        read = zip(items, values, strict=True)
        self.journal.now((each.number, each.item, value) for each, value in read if value is not MISSING)

    def interrupted(self) -> None:
        """Wait a moment for what is under way."""
        end = time.monotonic() + _PATIENCE
        while self._under_way and time.monotonic() < end:
            time.sleep(_NAP)


def _may_be_done(error: CallsheetError) -> bool:
    """Whether the change may have been made in spite of the failure."""
    return isinstance(error, NetworkError | OutcomeUnknown) or (error.status or 0) >= _SERVER_ERROR
