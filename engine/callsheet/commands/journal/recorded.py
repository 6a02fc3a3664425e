"""Reading a journal. What items were stays in the file until it is wanted: there may be very many of them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Self, cast

from ...errors import UsageError
from ...files import open_regular, refuse_changeable
from ...jsontext import JSONError, parse_json
from .writer import VERSION

LEFT, STARTED, DONE, FAILED, UNKNOWN = "left", "started", "done", "failed", "unknown"
UNDER_WAY = (STARTED, UNKNOWN)  # the change may have been made
_LONGEST = 64 << 20  # bytes of a line
_DEEPEST = 200
_HEAD: dict[str, Callable[[Any], bool]] = {
    "program": lambda value: isinstance(value, str),
    "command": lambda value: isinstance(value, str),
    "site": lambda value: isinstance(value, str),
    "started": lambda value: isinstance(value, str),
    "step": lambda value: type(value) is int and value >= 0,
    "values": lambda value: isinstance(value, dict),
    "undo": lambda value: isinstance(value, bool),
}


@dataclass(slots=True)
class JournalEntry:
    """How far one item came, and where in the file it stands what it `was` and is `now`; -1: nowhere."""

    state: str = LEFT
    why: str = ""
    was_at: int = -1
    now_at: int = -1


class Recorded:
    """A journal as it was found, of `size` bytes, `length` of them in whole lines. Safe with many threads."""

    def __init__(self, path: str, file: BinaryIO) -> None:
        self.path = path
        self._file = file
        self._reading = threading.Lock()
        lines = self._lines()
        self.head: dict[str, Any] = _head(path, next(lines, None))
        self.items: list[Any] = _items(path, next(lines, None))
        self.entries = [JournalEntry() for _ in self.items]
        self.ended: str | None = None
        for line in lines:
            self._take(*line)
        self.size = self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def words(self) -> str:
        """The command that it is a journal of, with the name of its program."""
        return f"{self.head['program']} {self.head['command']}"

    def count(self, *states: str) -> int:
        return sum(entry.state in states for entry in self.entries)

    def was(self, number: int) -> Any:
        return self._at(self.entries[number].was_at).get("was")

    def now(self, number: int) -> Any:
        return self._at(self.entries[number].now_at).get("now")

    def _at(self, place: int) -> dict[str, Any]:
        with self._reading:
            self._file.seek(place)
            return cast("dict[str, Any]", parse_json(self._file.readline()))

    def _lines(self) -> Iterator[tuple[int, int, Any]]:
        """Number, place and value of each whole line; one without an end was not finished."""
        self.length = 0
        number = 0
        while (line := self._file.readline(_LONGEST)).endswith(b"\n"):
            number += 1
            try:
                yield number, self.length, parse_json(line, _DEEPEST)
            except JSONError as error:
                raise _unreadable(self.path, number, str(error)) from None
            self.length += len(line)
        if len(line) == _LONGEST:
            raise _unreadable(self.path, number + 1, f"longer than {_LONGEST >> 20} MiB")

    def _take(self, number: int, place: int, line: Any) -> None:
        if isinstance(line, dict) and "ended" in line:
            self.ended = str(line["ended"])
            return
        self.ended = None
        which = line.get("n") if isinstance(line, dict) else None
        if type(which) is not int or not 0 <= which < len(self.entries):
            raise _unreadable(self.path, number, f"expected n, a number below {len(self.entries)}")
        entry = self.entries[which]
        self.items[which] = line.get("item", self.items[which])  # what is made gets its id on the way
        if "now" in line:
            entry.now_at = place
        elif line.get("state") in (STARTED, DONE, FAILED, UNKNOWN):
            _advance(entry, line, place)
        else:
            raise _unreadable(self.path, number, f"expected a state: {STARTED}, {DONE}, {FAILED} or {UNKNOWN}")


def _advance(entry: JournalEntry, line: dict[str, Any], place: int) -> None:
    """Of an item that was under way when a run was killed, what it was before counts, not what it may be since."""
    if "was" in line and (entry.was_at < 0 or entry.state not in UNDER_WAY):
        entry.was_at = place
    entry.state = line["state"]
    entry.why = str(line.get("why", ""))


def read_journal(path: str) -> Recorded:
    """Raises `UsageError` for a file that is no journal, `NotAllowed` for one that others could have written."""
    refuse_changeable(path, "the journal")
    try:
        file = open_regular(path)
    except (OSError, ValueError) as error:
        reason = error.strerror or str(error) if isinstance(error, OSError) else "not a valid file name"
        raise UsageError(f"cannot read {path}: {reason.lower()}") from None
    try:
        return Recorded(path, file)
    except BaseException:
        file.close()
        raise


def _head(path: str, line: tuple[int, int, Any] | None) -> dict[str, Any]:
    head = line[2] if line else None
    if not isinstance(head, dict) or "journal" not in head:
        raise UsageError(f"{path} is not a journal", hint="`{program} journals list` shows those that were kept")
    if head["journal"] != VERSION:
        raise UsageError(f"{path} was written by another version: journal {head['journal']}, expected {VERSION}")
    for key, fits in _HEAD.items():
        if not fits(head.get(key)):
            raise _unreadable(path, 1, f"{key} is missing or not what it should be")
    return head


def _items(path: str, line: tuple[int, int, Any] | None) -> list[Any]:
    if line is None or not isinstance(line[2], dict) or not isinstance(line[2].get("items"), list):
        raise UsageError(f"{path} ends before its list of items: nothing was changed")
    return cast("list[Any]", line[2]["items"])


def _unreadable(path: str, number: int, why: str) -> UsageError:
    return UsageError(f"{path}:{number}: not a line of a journal: {why}")
