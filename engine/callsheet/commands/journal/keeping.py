"""Which changes are kept in a journal, and what is told of one."""

from __future__ import annotations

import shlex
from typing import Any, Protocol

_MANY = 20  # items


class JournalOwner(Protocol):
    """The run whose changes these are."""

    program: str

    def site(self) -> Any: ...


class Journaling:
    """As the person set it: of changes to more than 20 items, of all or of none."""

    def __init__(self, context: JournalOwner) -> None:
        self._context = context

    @property
    def setting(self) -> str:
        """`always`, `many` or `never`."""
        return str(self._context.site().setting("journal") or "many")

    def keeps(self, items: int, *, has_undo: bool) -> bool:
        """Whether a journal is kept of a change to so many items, where none was asked for."""
        few = self.setting == "always" and has_undo and items > 0
        return few or (self.setting != "never" and items > _MANY)

    def note(self, path: str, *, has_undo: bool) -> str:
        """What is told of a journal."""
        return f"journal: {path}; {self._to_undo(path) if has_undo else 'this cannot be undone'}"

    def _to_undo(self, path: str) -> str:
        return f"`{self._context.program} undo {shlex.quote(path)}` takes the change back"
