"""`append`: one line of JSON at the end of a file."""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import time
from typing import TYPE_CHECKING

from . import HandlerContext, HandlerFailed
from .base_handler import Base
from .threads import ThreadPool

if TYPE_CHECKING:
    from ...language.shape import listener as shape
    from ..verify.event import Event

# A pipe that nobody reads must not hold a thread for ever. It means nothing for ordinary files.
_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0)


class Append(Base):
    keys = frozenset({"file", "input"})
    required_key = "file"

    def __init__(self, table: shape.HandlerDefinition, context: HandlerContext) -> None:
        super().__init__(table, context)
        self.path = os.path.join(context.folder, table["file"])
        self.pool = ThreadPool(table.get("concurrency", 64))

    async def run(self, event: Event, job: str) -> None:
        del job
        line = self.input_of(event)
        await self.pool.run(lambda: self._append(line if line.endswith(b"\n") else line + b"\n"), self.timeout)

    def _append(self, line: bytes) -> None:
        try:
            opened = os.open(self.path, _FLAGS, 0o600)
            try:
                if stat.S_ISREG(os.fstat(opened).st_mode):
                    _append_to_file(opened, line)
                else:
                    _write_to_pipe(opened, line, time.monotonic() + self.timeout)
            finally:
                os.close(opened)
        except OSError as error:
            raise HandlerFailed(f"{self.path}: {_reason(error)}") from None


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


def _reason(error: OSError) -> str:
    if error.errno == errno.ENXIO:
        return "a pipe that nobody reads"
    return "a pipe that is read too slowly" if error.errno == errno.EAGAIN else str(error.strerror)
