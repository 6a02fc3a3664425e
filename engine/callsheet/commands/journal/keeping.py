"""Which changes are kept in a journal, and what is told of one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, Protocol

from ...errors import UsageError, did_you_mean

_MANY = 20  # items
_SETTINGS = ("always", "many", "never")


class JournalOwner(Protocol):
    """The run whose changes these are."""

    program: str
    environ: Mapping[str, str]

    @property
    def definition(self) -> Any: ...

    def site(self) -> Any: ...


class Journaling:
    """As the person set it: of changes to more than 20 items, of all or of none."""

    def __init__(self, context: JournalOwner) -> None:
        self._context = context
        self.path: str | None = None  # of the journal that was kept of this run
        self.can_undo = False  # whether a journal of what this run changes can put it back
        self.usual = "many"  # what holds where the person set nothing

    @property
    def setting(self) -> str:
        """`always`, `many` or `never`: as the program's variable in the environment says, else the site's settings."""
        name = f"{self._context.definition['prefix']}_JOURNAL"
        if not (said := self._context.environ.get(name, "").strip()):
            return str(self._context.site().setting("journal") or self.usual)
        if said not in _SETTINGS:
            raise UsageError(f"{name}: expected always, many or never, not {said!r}{did_you_mean(said, _SETTINGS)}")
        return said

    def keeps(self, items: int, *, has_undo: bool) -> bool:
        """Whether a journal is kept of a change to so many items, where none was asked for."""
        self.can_undo = self.can_undo or has_undo
        few = self.setting == "always" and has_undo and items > 0
        return few or (self.setting != "never" and items > _MANY)

    def note(self, path: str, *, has_undo: bool) -> str:
        """What is told of a journal."""
        return f"journal: {path}; {self._to_undo(path) if has_undo else 'this cannot be undone'}"

    def _to_undo(self, path: str) -> str:
        return f"`{self._context.program} undo {shlex.quote(path)}` takes the change back"
