"""Lines of text to a stream that may be slow, stopped or gone: the server never waits for its own log."""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Callable
from typing import TextIO

from ...files import locked_file
from ...terminal import escape_text, unguarded_stream

MAX_WAITING = 4 * 1024 * 1024
OVERHEAD = 64  # what a line costs beside its text
PAUSE = 0.1
_PERMANENT_ERRORS = (errno.EPIPE, errno.EBADF)


class LineWriter:
    """Written by a thread of its own, many at a time. What a blocked stream cannot take is dropped and counted."""

    def __init__(self, stream: TextIO, missing: Callable[[int], str] | None = None, *, lock: str | None = None) -> None:
        """`missing` words how many lines are not there, once lines can be written again.

        `lock` is a file that is locked while lines are written, where several processes write to the stream.
        """
        self.dropped = 0
        self._missing = missing
        self._lines_lost = 0
        self._line_broken = False
        self._stream = unguarded_stream(stream)
        self._lock_path = lock
        self._waiting: list[str] = []
        self._size = 0
        self._closed_by_reader = False
        self._closing = False
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="lines", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """A whole line without its end, in which others' text must not be able to begin another."""
        if self._size > MAX_WAITING or self._closed_by_reader:
            self.dropped += 1
            self._lines_lost += 1
            return
        with self._lock:
            self._waiting.append(line)
            self._size += len(line) + OVERHEAD
        if len(self._waiting) == 1:
            self._wake.set()

    def _run(self) -> None:
        write_out = self._writer()
        while not self._closing or self._waiting:
            self._wake.wait(None if not self._closing else 0)
            if not self._closing:
                # Not at once: the lines of many events go out in one write, and the server's thread runs undisturbed.
                time.sleep(PAUSE)
            self._wake.clear()
            with self._lock:
                lines, self._waiting, self._size = self._waiting, [], 0
            if lines:
                with self._output_lock():
                    write_out(escape_text(self._preamble() + "\n".join(lines) + "\n"))

    def _output_lock(self) -> contextlib.AbstractContextManager[None]:
        return (
            contextlib.nullcontext() if self._lock_path is None else locked_file(self._lock_path, patience=float("inf"))
        )

    def _writer(self) -> Callable[[str], None]:
        """Straight to the descriptor where there is one: no lock of the stream is held while it blocks."""
        try:
            descriptor = self._stream.fileno()
            self._stream.flush()
        except (OSError, ValueError, AttributeError):
            return self._write_text
        return lambda text: self._write_bytes(descriptor, text)

    def _preamble(self) -> str:
        """What stands before the first line after some that could not be written."""
        end = "\n" if self._line_broken else ""
        return f"{end}{self._missing(self._lines_lost)}\n" if self._lines_lost and self._missing else end

    def _write_bytes(self, descriptor: int, text: str) -> None:
        data = text.encode("utf-8", "backslashreplace")
        size = len(data)
        try:
            while data:
                data = data[self._write_some(descriptor, data) :]
        except OSError as error:
            self._on_error(error, data.count(b"\n"))
            self._line_broken = self._line_broken or len(data) < size
        else:
            self._lines_lost, self._line_broken = 0, False

    def _write_some(self, descriptor: int, data: bytes) -> int:
        try:
            return os.write(descriptor, data)
        except BlockingIOError:  # somebody made it non-blocking, and it is full
            if self._closing:
                raise
            time.sleep(PAUSE)
            return 0

    def _write_text(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except ValueError:
            self._closed_by_reader = True
        except OSError as error:
            self._on_error(error, text.count("\n"))
        else:
            self._lines_lost, self._line_broken = 0, False

    def _on_error(self, error: OSError, lines_lost: int) -> None:
        """A full disk has room again one day; a pipe without a reader stays one."""
        self.dropped += lines_lost
        self._lines_lost += lines_lost
        self._closed_by_reader = error.errno in _PERMANENT_ERRORS

    def close(self, wait: float = 1.0) -> None:
        """Write what waits, but no longer than `wait` seconds."""
        self._closing = True
        self._wake.set()
        self._thread.join(wait)
