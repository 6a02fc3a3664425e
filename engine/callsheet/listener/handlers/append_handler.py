"""`append`: one line of JSON at the end of a file."""

from __future__ import annotations

import asyncio
import errno
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ..asyncio_helpers import Deadlines
from . import Ended, HandlerContext, HandlerFailed, failure_of
from .base_handler import Base
from .event_content import check_written_out
from .thread_pool import ThreadPool

if TYPE_CHECKING:
    from ...language.shape.listener import AppendsEvent
    from ..verify.event import Event

# A pipe that nobody reads must not hold a thread for ever. It means nothing for ordinary files.
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)


class _Line:
    """One line that is to be written. `ended` is told how that went, unless nobody waits for it any more."""

    __slots__ = ("_ended", "_is_done", "data", "deadline", "is_given_up")

    def __init__(self, data: bytes, deadline: float, ended: Ended) -> None:
        self.data = data
        self.deadline = deadline
        self.is_given_up: Callable[[], bool] | None = None
        self._ended = ended
        self._is_done = False

    def done(self) -> bool:
        return self._is_done or (self.is_given_up is not None and self.is_given_up())

    def end_line(self, failure: HandlerFailed | None) -> None:
        if not self.done():
            self._is_done = True
            self._ended(failure)


class Append(Base):
    """Lines that come while others are written go into the file together, in one write."""

    shape = ".language.shape.listener:AppendsEvent"
    needs_task = False

    def __init__(self, table: AppendsEvent, context: HandlerContext) -> None:
        super().__init__(table, context)
        check_written_out("append", "file", table["file"])
        self.path = os.path.join(context.folder, table["file"])
        self._pool = ThreadPool(1)
        self._deadlines = Deadlines(self.timeout, self._expire_line)
        self._waiting: list[_Line] = []
        self._is_writing = False

    def configuration_warnings(self) -> list[str]:
        """A place where no line could be written now."""
        if os.path.isdir(self.path):
            return [f"file: {self.path!r} is a folder"]
        folder = os.path.dirname(self.path)
        return [] if os.path.isdir(folder or ".") else [f"file: there is no folder {folder!r}"]

    async def run(self, event: Event, job: str) -> None:
        del job
        written: asyncio.Future[HandlerFailed | None] = asyncio.get_running_loop().create_future()
        self._add_line(event, written.set_result).is_given_up = written.cancelled
        if (failure := await written) is not None:
            raise failure

    def start_without_task(self, event: Event, job: str, ended: Ended) -> None:
        del job
        self._add_line(event, ended)

    def _add_line(self, event: Event, ended: Ended) -> _Line:
        text = self.input_of(event)
        if self.envelope is not None:  # what an event says must not begin a line
            text = text.removesuffix(b"\n").replace(b"\r", b"\\r").replace(b"\n", b"\\n")
        data = text if text.endswith(b"\n") else text + b"\n"
        line = _Line(data, time.monotonic() + self.timeout, ended)
        loop = asyncio.get_running_loop()
        self._waiting.append(line)
        if not self._is_writing:
            self._is_writing = True
            loop.call_soon(self._write_waiting)
        self._deadlines.add(line, loop)
        return line

    def _expire_line(self, line: _Line) -> None:
        """The line will be tried again, so it is not written any more."""
        line.end_line(HandlerFailed(f"no result after {self.timeout:g} s"))

    def _write_waiting(self) -> None:
        lines, self._waiting = self._waiting, []
        work = self._pool.submit_call(lambda: self._write_lines([line for line in lines if not line.done()]))
        work.add_done_callback(lambda done: self._on_written(lines, done))

    def _on_written(self, lines: Sequence[_Line], work: asyncio.Future[dict[_Line, HandlerFailed]]) -> None:
        error = work.exception()
        failed = work.result() if error is None else dict.fromkeys(lines, failure_of(error))
        if self._waiting:
            self._write_waiting()
        else:
            self._is_writing = False
        for line in lines:
            line.end_line(failed.get(line))

    def _write_lines(self, lines: Sequence[_Line]) -> dict[_Line, HandlerFailed]:
        """In a thread. What was not written, and why."""
        if not lines:
            return {}
        try:
            opened = os.open(self.path, _FLAGS, 0o600)
            try:
                if stat.S_ISREG(os.fstat(opened).st_mode):
                    _append_to_file(opened, b"".join(line.data for line in lines))
                    return {}
                return self._write_each(lines, lambda line: _write_to_pipe(opened, line.data, line.deadline))
            finally:
                os.close(opened)
        except OSError as error:
            if len(lines) > 1:  # what is too large for the disk must not keep the others out
                return {line: failed for each in lines for line, failed in self._write_lines([each]).items()}
            return {line: HandlerFailed(f"{self.path}: {_reason_of_os_error(error)}") for line in lines}

    def _write_each(self, lines: Sequence[_Line], write: Callable[[_Line], None]) -> dict[_Line, HandlerFailed]:
        failed = {}
        for line in lines:
            try:
                write(line)
            except OSError as error:
                failed[line] = HandlerFailed(f"{self.path}: {_reason_of_os_error(error)}")
        return failed


def _append_to_file(opened: int, line: bytes) -> None:
    """In one write, so that lines of several processes do not mix; a torn one (disk full) is taken back."""
    written = os.write(opened, line)
    if written < len(line):
        os.ftruncate(opened, os.fstat(opened).st_size - written)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _write_to_pipe(opened: int, line: bytes, deadline: float) -> None:
    """As fast as it is read, but not for longer than the handler may take."""
    while line:
        if not _is_writable(opened, deadline - time.monotonic()):
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        line = line[os.write(opened, line) :]


if sys.platform == "win32":

    def _is_writable(opened: int, seconds: float) -> bool:  # noqa: ARG001 - a write waits there
        return True

else:

    def _is_writable(opened: int, seconds: float) -> bool:
        poll = select.poll()
        poll.register(opened, select.POLLOUT)
        return bool(poll.poll(max(0.0, seconds) * 1000))


def _reason_of_os_error(error: OSError) -> str:
    if error.errno == errno.ENXIO:
        return "a pipe that nobody reads"
    return "a pipe that is read too slowly" if error.errno == errno.EAGAIN else str(error.strerror)
