"""Writing a journal: JSON lines in a private file, each of them on its way to the disk before the next request."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from ...errors import CallsheetError, UsageError
from ...files import PRIVATE, locked_file, make_private_directory, refuse_changeable, refuse_irregular
from ...jsontext import dump_json

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

    def head(self, head: dict[str, Any], items: Sequence[Any]) -> None:
        """What is to be done: it is on the disk before anything is."""
        self._write({"journal": VERSION, **head}, {"items": list(items)})
        self.settle()

    def started(self, number: int, item: Any, kept: dict[str, Any]) -> None:
        """`kept` has what the item `was`, where that is kept."""
        self._write({"n": number, "item": item, "state": "started", **kept})

    def done(self, number: int, item: Any) -> None:
        self._write({"n": number, "item": item, "state": "done"})

    def failed(self, number: int, item: Any, why: str, *, known: bool = True) -> None:
        """`known`: it is certain that nothing was changed."""
        self._write({"n": number, "item": item, "state": "failed" if known else "unknown", "why": why})

    def now(self, values: Iterable[tuple[int, Any, Any]]) -> None:
        """What items are after the change: the number, the item and the value of each."""
        self._write(*({"n": number, "item": item, "now": value} for number, item, value in values))

    def ended(self, **counts: int) -> None:
        self._write({"ended": time_of_entry(), **counts})
        self.settle()

    def settle(self) -> None:
        with _worded(self.path):
            os.fsync(self._descriptor)

    def close(self) -> None:
        """Threads that are still at work write nothing more: the number may stand for another file by then."""
        with self._writing:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, *lines: dict[str, Any]) -> None:
        data = memoryview("".join(dump_json(line) + "\n" for line in lines).encode("utf-8", "surrogatepass"))
        with self._writing, _worded(self.path):
            if self._fault is not None:
                raise self._fault
            length = len(data)
            try:
                while data:
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
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags, PRIVATE)
    except FileExistsError:
        raise UsageError(f"{path} already exists", hint="name a new file, or continue this one with --resume") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {_reason(error)}") from None
    with _held(path, descriptor) as journal:
        yield journal


@contextlib.contextmanager
def continued(path: str, length: int, size: int) -> Iterator[Journal]:
    """The file again, from `length` of its `size` bytes on: what a killed process left of a last line is cut off.

    Raises `UsageError` where it has another size by now, `CallsheetError` where another process writes to it.
    """
    refuse_changeable(path, "the journal")
    try:
        refuse_irregular(path)
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
    except OSError as error:
        raise UsageError(f"cannot write {path}: {_reason(error)}") from None
    with _held(path, descriptor) as journal:
        if os.fstat(descriptor).st_size != size:
            raise UsageError(f"another process has just written to {path}")
        with _worded(path):
            os.ftruncate(descriptor, length)
        yield journal


@contextlib.contextmanager
def _held(path: str, descriptor: int) -> Iterator[Journal]:
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
def _worded(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise CallsheetError(
            f"cannot write the journal {path}: {_reason(error)}",
            hint="no further item was changed; once the file can be written, continue with --resume",
        ) from None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else "not a valid file name"
