"""Journals of changes: the folder that they are in, how one is written, and what one says of each item."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, BinaryIO, NamedTuple, Self, cast

from ..errors import CallsheetError, UsageError
from ..files import (
    PRIVATE,
    locked_file,
    make_private_directory,
    open_regular,
    read_private_if_there,
    refuse_changeable,
    refuse_irregular,
    write_atomically,
)
from ..jsontext import JSONError, dump_json, parse_json
from ..paths import state_directory

# Where journals are kept that nobody gave a place, and which there are.


ENDING = ".jsonl"
_LAST = "last-change.json"  # what is known of it, with a journal or without one
_KEPT = timedelta(days=90)
_MOST = 2000
_TIME = "%Y%m%d-%H%M%S-%f"  # the name of a later one sorts behind that of an earlier one
_OURS = re.compile(r"\d{8}-\d{6}-[a-z0-9-]*\.jsonl")


def journal_folder(environ: Mapping[str, str], program: str) -> str:
    """It need not exist."""
    return os.path.join(state_directory(environ), "journals", program)


def fresh_path(environ: Mapping[str, str], program: str, command: str) -> str:
    """A name that sorts by time and says which command it was."""
    when = datetime.now(UTC).strftime(_TIME)
    words = re.sub(r"[^a-z0-9]+", "-", command.casefold()).strip("-")
    return os.path.join(journal_folder(environ, program), f"{when}-{words}-{os.urandom(2).hex()}{ENDING}")


def remove_old(environ: Mapping[str, str], program: str) -> None:
    """Remove those that got their names here and are too old, or more than are kept."""
    earliest = (datetime.now(UTC) - _KEPT).strftime(_TIME)
    ours = [path for path in kept_journals(environ, program) if _OURS.fullmatch(os.path.basename(path))]
    for place, path in enumerate(ours):
        if place >= _MOST or os.path.basename(path) < earliest:
            with contextlib.suppress(OSError):
                os.remove(path)


def is_kept_name(word: str) -> bool:
    """Whether a word can be the name, without its folder, of a journal that nobody gave a place."""
    return _OURS.fullmatch(word) is not None


def kept_journals(environ: Mapping[str, str], program: str) -> Iterator[str]:
    """The paths of those that are there, the latest first."""
    folder = journal_folder(environ, program)
    try:
        names = sorted(os.listdir(folder), reverse=True)
    except OSError:
        return
    yield from (os.path.join(folder, name) for name in names if name.endswith(ENDING))


def found_journal(environ: Mapping[str, str], program: str, word: str) -> str:
    """The name of a kept one, a path, or `last` for that of the last change; raises `UsageError` where it has none."""
    if os.path.exists(word):
        return word
    if word != "last":
        kept = os.path.join(journal_folder(environ, program), word)
        return kept if is_kept_name(word) and os.path.exists(kept) else word
    change = _last_change(environ, program)
    latest = change["journal"] if change else next(kept_journals(environ, program), None)
    if latest is None:
        always = f"{program} config set journal always keeps one of every change that can be undone"
        hint = f"{always}; --journal FILE keeps one of this change"
        if not change:
            raise UsageError("no journal was kept yet", hint=hint)
        earlier = f"{program} journals list shows those of earlier changes"
        what = f"`{change['command']}` of {change['time']}"
        if not change.get("can_undo", True):
            raise UsageError(f"the last change cannot be undone: {what}", hint=earlier)
        raise UsageError(f"the last change has no journal: {what}", hint=f"{hint}; {earlier}")
    if change and not os.path.exists(latest):
        raise UsageError(f"the journal of the last change is gone: {shlex.quote(latest)}")
    return str(latest)


def remember_last(
    environ: Mapping[str, str], program: str, command: str, journal: str | None, *, can_undo: bool
) -> None:
    """Write down which change was the last one, lest an earlier one is taken for it.

    `can_undo`: a journal of such a change can put back what was there.
    """
    time = datetime.now(UTC).isoformat(timespec="seconds")
    change = {"command": command, "time": time, "journal": journal, "can_undo": can_undo}
    with contextlib.suppress(CallsheetError):
        write_atomically(os.path.join(journal_folder(environ, program), _LAST), dump_json(change).encode())


def _last_change(environ: Mapping[str, str], program: str) -> dict[str, Any] | None:
    """None where nothing is known."""
    path = os.path.join(journal_folder(environ, program), _LAST)
    content = read_private_if_there(path, "the note of the last change")
    if content is None:
        return None
    try:
        change = parse_json(content)
    except JSONError:
        return None
    known = isinstance(change, dict) and {"command", "time", "journal"} <= change.keys()
    return change if known else None


class MadeThing(NamedTuple):
    """A thing that was not there before. `parents` are ids by the resources that it belongs to."""

    resource: str
    id: str
    parents: dict[str, str]
    name: str | None

    @property
    def words(self) -> str:
        return self.name or " of ".join([self.id, *list(self.parents.values())[:1]])


# Writing a journal: JSON lines in a private file, each of them on its way to the disk before the next request.


VERSION = 1
_AT_ONCE = 1.0  # seconds that another process gets to let go of the file


class Journal:
    """A file that is being written. Safe with many threads.

    A line is handed to the system whole and at once, so that a process that is killed loses none of them. Raises
    `CallsheetError` where the file cannot be written: nothing may then be changed any more.
    """

    def __init__(self, path: str, descriptor: int) -> None:
        self.path = path
        self._descriptor = descriptor
        self._writing = threading.Lock()
        self._fault: OSError | None = None  # why a line is missing: none may follow it

    def write_head(self, head: dict[str, Any], items: Sequence[Any]) -> None:
        """What is to be done: it is on the disk before anything is."""
        self._write_lines({"journal": VERSION, **head}, {"items": list(items)})
        self.settle()

    def item_started(self, number: int, item: Any, kept: dict[str, Any]) -> None:
        """`kept` has what the item `was`, where that is kept."""
        self._write_lines({"n": number, "item": item, "state": "started", **kept})

    def item_done(self, number: int, item: Any) -> None:
        self._write_lines({"n": number, "item": item, "state": "done"})

    def item_failed(self, number: int, item: Any, why: str, *, known: bool = True) -> None:
        """`known`: it is certain that nothing was changed."""
        self._write_lines({"n": number, "item": item, "state": "failed" if known else "unknown", "why": why})

    def write_states(self, values: Iterable[tuple[int, Any, Any]]) -> None:
        """What items are after the change: the number, the item and the value of each."""
        self._write_lines(*({"n": number, "item": item, "now": value} for number, item, value in values))

    def thing_made(self, thing: MadeThing, now: Any = None) -> None:
        """`now` is what it is after the change."""
        self._write_lines({"made": thing._asdict(), **({} if now is None else {"now": now})})

    def write_counts(self, **counts: int) -> None:
        self._write_lines({"ended": time_of_entry(), **counts})
        self.settle()

    def settle(self) -> None:
        # Only the first and the last line are worth the milliseconds: those between survive a killed process without.
        with _errors_in_words(self.path):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Threads that are still at work write nothing more: the number may stand for another file by then."""
        with self._writing:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write_lines(self, *lines: dict[str, Any]) -> None:
        data = memoryview("".join(dump_json(line) + "\n" for line in lines).encode("utf-8", "surrogatepass"))
        with self._writing, _errors_in_words(self.path):
            if self._fault is not None:
                raise self._fault
            length = len(data)
            try:
                while data:  # where a disk is nearly full, a part may be written
                    data = data[os.write(self._descriptor, data) :]
            except OSError as fault:
                self._fault = fault
                with contextlib.suppress(OSError):  # what is there of it is no line
                    os.ftruncate(self._descriptor, os.fstat(self._descriptor).st_size - (length - len(data)))
                raise


@contextlib.contextmanager
def new_journal(path: str) -> Iterator[Journal]:
    """A file of its own. Raises `UsageError` where something is there already, or where it cannot be."""
    make_private_directory(os.path.dirname(os.path.abspath(path)))
    # O_APPEND: a write goes to the end, also after a line was cut off again. O_BINARY: Windows writes no "\r\n" then.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags, PRIVATE)
    except FileExistsError:
        raise UsageError(f"{path} already exists", hint="name a new file") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {_error_reason(error)}") from None
    with _journal_of_descriptor(path, descriptor) as journal:
        yield journal


@contextlib.contextmanager
def continue_journal(path: str, length: int, size: int) -> Iterator[Journal]:
    """The file again, from `length` of its `size` bytes on: what a killed process left of a last line is cut off.

    Raises `UsageError` where it has another size by now, `CallsheetError` where another process writes to it.
    """
    refuse_changeable(path, "the journal")
    try:
        refuse_irregular(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {_error_reason(error)}") from None
    with _journal_of_descriptor(path, descriptor) as journal:
        if os.fstat(descriptor).st_size != size:
            raise UsageError(f"another process has just written to {path}")
        with _errors_in_words(path):
            os.ftruncate(descriptor, length)
        yield journal


@contextlib.contextmanager
def _journal_of_descriptor(path: str, descriptor: int) -> Iterator[Journal]:
    journal = Journal(path, descriptor)
    try:
        with hold_journal(path):
            yield journal
    finally:
        journal.close()


@contextlib.contextmanager
def hold_journal(path: str) -> Iterator[None]:
    """Nobody else writes to the journal meanwhile; raises `CallsheetError` where somebody does."""
    is_held = False
    try:
        with locked_file(path, _AT_ONCE):
            is_held = True
            yield
    finally:
        if is_held:
            with contextlib.suppress(OSError):
                os.remove(f"{path}.lock")


def time_of_entry() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@contextlib.contextmanager
def _errors_in_words(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CallsheetError(
            f"cannot write the journal {path}: {_error_reason(error)}",
            hint="no further item was changed; once the file can be written, continue with --resume",
        ) from None


def _error_reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else "not a valid file name"


# Reading a journal. What items were stays in the file until it is wanted: there may be very many of them.


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
        lines = self._numbered_lines()
        self.head: dict[str, Any] = _read_head(path, next(lines, None))
        self.items: list[Any] = _read_items(path, next(lines, None))
        self.entries = [JournalEntry() for _ in self.items]
        self.ended: str | None = None
        self.made: dict[tuple[str, str], MadeThing] = {}
        self._states_of_made: dict[tuple[str, str], int] = {}
        for line in lines:
            self._take_line(*line)
        self.size = self._file.seek(0, os.SEEK_END)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    @property
    def command_words(self) -> str:
        """The command that it is a journal of, with the name of its program."""
        return f"{self.head['program']} {self.head['command']}"

    def count_states(self, *states: str) -> int:
        return sum(entry.state in states for entry in self.entries)

    def state_before(self, number: int) -> Any:
        return self._line_at(self.entries[number].was_at).get("was")

    def state_after(self, number: int) -> Any:
        return self._line_at(self.entries[number].now_at).get("now")

    def state_of_made(self, thing: MadeThing) -> Any:
        """What it was after the change; None where that is not known."""
        return self._line_at(self._states_of_made[thing.resource, thing.id]).get("now")

    def _line_at(self, place: int) -> dict[str, Any]:
        with self._reading:
            self._file.seek(place)
            return cast("dict[str, Any]", parse_json(self._file.readline()))

    def _numbered_lines(self) -> Iterator[tuple[int, int, Any]]:
        """Number, place and value of each whole line; one without an end was not finished."""
        self.length = 0
        number = 0
        while (line := self._file.readline(_LONGEST)).endswith(b"\n"):
            number += 1
            try:
                yield number, self.length, parse_json(line, _DEEPEST)
            except JSONError as error:
                raise _unreadable_error(self.path, number, str(error)) from None
            self.length += len(line)
        if len(line) == _LONGEST:
            raise _unreadable_error(self.path, number + 1, f"longer than {_LONGEST >> 20} MiB")

    def _take_line(self, number: int, place: int, line: Any) -> None:
        if isinstance(line, dict) and "ended" in line:
            self.ended = str(line["ended"])
            return
        self.ended = None
        if isinstance(line, dict) and "made" in line:
            made = _made_thing(line["made"])
            if made is None:
                raise _unreadable_error(self.path, number, "expected the resource, id and parents of what was made")
            self.made[made.resource, made.id] = made
            self._states_of_made[made.resource, made.id] = place
            return
        which = line.get("n") if isinstance(line, dict) else None
        if type(which) is not int or not 0 <= which < len(self.entries):
            raise _unreadable_error(self.path, number, f"expected n, a number below {len(self.entries)}")
        entry = self.entries[which]
        self.items[which] = line.get("item", self.items[which])  # what is made gets its id on the way
        if "now" in line:
            entry.now_at = place
        elif line.get("state") in (STARTED, DONE, FAILED, UNKNOWN):
            _advance_entry(entry, line, place)
        else:
            raise _unreadable_error(self.path, number, f"expected a state: {STARTED}, {DONE}, {FAILED} or {UNKNOWN}")


def _made_thing(found: Any) -> MadeThing | None:
    """None for what is no such line."""
    if not isinstance(found, dict) or found.keys() != {*MadeThing._fields}:
        return None
    parents, texts = found["parents"], [found["resource"], found["id"]]
    if not isinstance(parents, dict) or not all(isinstance(text, str) for text in (*texts, *parents.values())):
        return None
    return MadeThing(**found) if isinstance(found["name"], str | None) else None


def _advance_entry(entry: JournalEntry, line: dict[str, Any], place: int) -> None:
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


def _read_head(path: str, line: tuple[int, int, Any] | None) -> dict[str, Any]:
    head = line[2] if line else None
    if not isinstance(head, dict) or "journal" not in head:
        raise UsageError(f"{path} is not a journal", hint="`{program} journals list` shows those that were kept")
    if head["journal"] != VERSION:
        raise UsageError(f"{path} was written by another version: journal {head['journal']}, expected {VERSION}")
    for key, fits in _HEAD.items():
        if not fits(head.get(key)):
            raise _unreadable_error(path, 1, f"{key} is missing or not what it should be")
    return head


def _read_items(path: str, line: tuple[int, int, Any] | None) -> list[Any]:
    if line is None or not isinstance(line[2], dict) or not isinstance(line[2].get("items"), list):
        raise UsageError(f"{path} ends before its list of items: nothing was changed")
    return cast("list[Any]", line[2]["items"])


def _unreadable_error(path: str, number: int, why: str) -> UsageError:
    return UsageError(f"{path}:{number}: not a line of a journal: {why}")
