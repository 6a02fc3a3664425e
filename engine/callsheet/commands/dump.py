"""A long list in a file, so that one that was cut off can go on where it was."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from ..errors import CallsheetError, UsageError, count_of
from ..language.template import evaluate
from ..output_files import output_file
from ..registry import OUTPUT_FORMATS
from ..terminal import guarded_stream

if TYPE_CHECKING:
    from ..client.pagination.page_walk import Page
    from ..client.pagination.paging_plan import PagePlan
    from .context import Context

_ENDINGS = {**{name: name for name in OUTPUT_FORMATS}, "jsonl": "ndjson", "yml": "yaml"}
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)


class Dump:
    """What of a list is in `FILE.part`, and in `FILE.resume` how far that goes, page by page.

    `seen` are the ids of the items that are there, `next` is where the page after them starts.
    """

    def __init__(self, path: str, mark: str, *, resume: bool) -> None:
        """`mark` tells one list from another: a dump is only continued by the command that began it."""
        self.path = os.path.realpath(path)
        self.part, self._state_path = f"{self.path}.part", f"{self.path}.resume"
        self.seen: list[Any] = []
        self.next: str | None = None
        self.count = 0
        size = self._read_state(mark) if resume else None
        self.continues = size is not None
        self._file = _open_own_file(self.part, new=not self.continues)
        self._state = _open_own_file(self._state_path, new=not self.continues)
        if size is None:
            self._write_state({"list": mark})
        else:
            self._file.truncate(size)
            self._file.seek(size)
            self._state.seek(0, os.SEEK_END)
        self.stream = io.TextIOWrapper(self._file, encoding="utf-8", newline="")

    def add_page(self, page: Page, plan: PagePlan) -> None:
        """What was written of this page stays written, whatever ends the program now."""
        self.stream.flush()
        id = plan.fetch["id"] if plan.fetch else plan.unique
        ids = [evaluate(id, item) for item in page.items] if id else []
        self.count += len(page.items)
        self.next = page.next
        self._write_state({"size": self._file.tell(), "count": self.count, "next": page.next, "ids": ids})

    def finish_file(self) -> None:
        """The whole list is what `path` names now."""
        self.stream.flush()
        os.fsync(self._file.fileno())
        mine, there = os.fstat(self._file.fileno()), os.lstat(self.part)
        if (mine.st_ino, mine.st_dev) != (there.st_ino, there.st_dev):
            raise CallsheetError(f"another run is writing {self.path}; nothing was written")
        self._close_file()
        with suppress(OSError):
            os.chmod(self.part, os.stat(self.path).st_mode & 0o777)
        os.replace(self.part, self.path)
        os.remove(self._state_path)

    def leave_unfinished(self) -> None:
        """Keep what came, and nothing where nothing did."""
        with suppress(OSError, ValueError):
            self._close_file()
        if not self.count:
            for path in (self.part, self._state_path):
                with suppress(OSError):
                    os.remove(path)

    def _close_file(self) -> None:
        self._state.close()
        self.stream.close()

    def _write_state(self, line: dict[str, Any]) -> None:
        self._state.write(json.dumps(line).encode() + b"\n")
        self._state.flush()

    def _read_state(self, mark: str) -> int | None:
        """How many bytes of the part are known to be good; None where there is nothing to go on with."""
        try:
            with _open_own_file(self._state_path, new=False) as file:
                lines = list(_whole_lines(file))
            length = os.path.getsize(self.part)
        except FileNotFoundError:
            return None
        if not lines:
            return None
        if lines[0].get("list") != mark:
            hint = f"give the same options, or remove {self._state_path} to begin anew"
            raise UsageError(f"{self.part} was begun by another command or for another site", hint=hint)
        pages = [line for line in lines[1:] if line["size"] <= length]
        if not pages:
            return None
        self.seen = [id for line in pages for id in line["ids"]]
        self.next, self.count = pages[-1]["next"], pages[-1]["count"]
        return int(pages[-1]["size"])


@contextmanager
def dump_to_file(context: Context, path: str, mark: str, *, resume: bool, can_resume: bool) -> Iterator[Dump | None]:
    """The result goes to `path` inside the block. None where it is not written line by line, and appears whole."""
    special = os.path.exists(path) and not os.path.isfile(path)
    if resume and (special or not can_resume):
        hint = "csv needs --columns where the command has no columns of its own"
        raise UsageError(
            f"--resume works with -o ndjson, csv, markdown or id and a regular file, not for {path}", hint=hint
        )
    if special or not can_resume:
        with output_file(path) as file:
            text = io.TextIOWrapper(file, encoding="utf-8", newline="")
            with _in_place_of_output(context, text):
                yield None
            text.detach()
        return
    dump = _begin_dump(path, mark, resume=resume)
    try:
        with _in_place_of_output(context, dump.stream):
            yield dump
        _finish_dump(dump)
    except BaseException:
        dump.leave_unfinished()
        if dump.count:
            context.note(
                f"{dump.part} holds {count_of(dump.count, 'item')}: run the same command with --resume to continue"
            )
        raise
    context.note(f"wrote {count_of(dump.count, 'item')} to {path}")


def format_of(path: str) -> str | None:
    """The format that the ending of a file's name says."""
    return _ENDINGS.get(os.path.splitext(path)[1][1:].lower())


def mark_of(*parts: Any) -> str:
    """A mark that says nothing of what it was made of."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()


@contextmanager
def _in_place_of_output(context: Context, stream: io.TextIOWrapper) -> Iterator[None]:
    before = context.streams.out
    context.streams.out = guarded_stream(stream)
    try:
        yield
        stream.flush()
    finally:
        context.streams.out = before


def _begin_dump(path: str, mark: str, *, resume: bool) -> Dump:
    try:
        return Dump(path, mark, resume=resume)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot write {path}: {_error_reason(error)}") from None


def _finish_dump(dump: Dump) -> None:
    try:
        dump.finish_file()
    except OSError as error:
        raise CallsheetError(f"cannot write {dump.path}: {_error_reason(error)}") from None


def _error_reason(error: OSError | ValueError) -> str:
    return (getattr(error, "strerror", None) or str(error)).lower()


def _open_own_file(path: str, *, new: bool) -> IO[bytes]:
    """Never through a link that somebody put there; what is there already must be this person's own."""
    if new:
        with suppress(FileNotFoundError):
            os.remove(path)
    flags = os.O_RDWR | _NOFOLLOW | _BINARY | ((os.O_CREAT | os.O_EXCL) if new else 0)
    file = os.fdopen(os.open(path, flags, 0o666), "r+b")
    if not new and os.name != "nt" and os.fstat(file.fileno()).st_uid != os.geteuid():
        file.close()
        raise PermissionError(1, "it belongs to somebody else")
    return file


def _whole_lines(file: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Whole lines; the last one may have been cut off."""
    for line in file:
        try:
            found = json.loads(line)
        except ValueError:
            return
        if isinstance(found, dict):
            yield found
