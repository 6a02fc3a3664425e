"""What an operator reads: one structured line per delivery, to a stream that may be slow, stopped or gone."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TextIO

from ...files import locked_file
from ...jsontext import dump_json
from ...language.template import to_text
from ...terminal import escape_line, escape_text, is_plain_line, unguarded_stream

if TYPE_CHECKING:
    from ..verify.event import Event

# Lines of text to a stream that may be slow, stopped or gone: the server never waits for its own log.

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
        self._thread = threading.Thread(target=self._write_waiting, name="lines", daemon=True)
        self._thread.start()

    def write_line(self, line: str) -> None:
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

    def _write_waiting(self) -> None:
        write_out = self._descriptor_writer()
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
                    write_out(escape_text(self._lost_lines_notice() + "\n".join(lines) + "\n"))

    def _output_lock(self) -> contextlib.AbstractContextManager[None]:
        return (
            contextlib.nullcontext() if self._lock_path is None else locked_file(self._lock_path, patience=float("inf"))
        )

    def _descriptor_writer(self) -> Callable[[str], None]:
        """Straight to the descriptor where there is one: no lock of the stream is held while it blocks."""
        try:
            descriptor = self._stream.fileno()
            self._stream.flush()
        except (OSError, ValueError, AttributeError):
            return self._write_text
        return lambda text: self._write_bytes(descriptor, text)

    def _lost_lines_notice(self) -> str:
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


# What an operator reads: one structured line per delivery, or whole events where that was asked for.

_PLAIN = re.compile(r"[A-Za-z0-9_.:/@+-]{1,200}\Z")
_MAX_FIELD = 400
_LINE_FEED, _RETURN, _TAB, _DELETE = b"\n\r\t\x7f"


class Log:
    """`out` takes whole events, `err` all else. Where `out` is absent no body is written anywhere."""

    def __init__(self, err: LineWriter, out: LineWriter | None) -> None:
        self.err = err
        self.out = out
        self._second = -1
        self._stamp = ""

    def time_text(self) -> str:
        moment = time.time()
        second = int(moment)
        if second != self._second:
            self._second = second
            self._stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        return f"{self._stamp}.{int((moment - second) * 1000):03d}Z"

    def write_note(self, text: str) -> None:
        self.err.write_line(f"{self.time_text()} {escape_line(text)}")

    def log_delivery(
        self, status: int, outcome: str, client: str, event: Event, duration: float, detail: str = ""
    ) -> None:
        """One line about an event: status, what became of it, whose it is, milliseconds.

        None about one that is accepted, where that is printed whole.
        """
        if self.out is not None and outcome == "accepted":
            return
        if event.log_fields is None:  # with an inbox, two lines are about one event
            event.log_fields = f"source={event.source.name} type={_type_field(event.type)} id={log_field(event.id)}"
        took = f"duration_ms={duration * 1000:.1f}"
        line = f"{self.time_text()} {status} {outcome} {event.log_fields} client={client} {took}"
        self.err.write_line(f"{line} reason={log_field(detail)}" if detail else line)

    def log_rejection(self, status: int, outcome: str, client: str, detail: str) -> None:
        self.err.write_line(f"{self.time_text()} {status} {outcome} client={client} reason={log_field(detail)}")

    def log_event(self, event: Event, outcome: str) -> None:
        """Time, type, id and payload, a line each."""
        if self.out is None:
            return
        moment = event.time
        shown = to_text(moment) if moment is not None else datetime.now(UTC).isoformat(timespec="milliseconds")
        mark = "" if outcome == "accepted" else f"\nNote: {outcome}"
        self.out.write_line(
            f"Time: {escape_line(shown)}\nType: {escape_line(event.type)}\nID: {escape_line(to_text(event.id))}{mark}\n"
            f"Body: {_json_line(event)}"
        )


def _json_line(event: Event) -> str:
    """The payload as it was sent where that is one line in which nothing acts: that costs little. Else written anew."""
    data = event.text.strip()
    if data.isascii():
        # Of all that acts JSON has only these as they are. To look for them takes a fifth of looking for everything.
        if not (_LINE_FEED in data or _RETURN in data or _TAB in data or _DELETE in data):
            return data.decode()
    else:
        with contextlib.suppress(UnicodeDecodeError):
            text = data.decode()
            if is_plain_line(text):
                return text
    return escape_line(dump_json(event.payload))


def log_field(value: Any) -> str:
    """A value that is one word, or else a JSON text, so that no value can be taken for two fields."""
    if value is None:
        return "-"
    text = value if isinstance(value, str) else str(value)
    if _PLAIN.match(text):
        return text
    return escape_line(json.dumps(text[:_MAX_FIELD], ensure_ascii=False))


# The types of events are few.
_type_field = lru_cache(maxsize=1024)(log_field)
