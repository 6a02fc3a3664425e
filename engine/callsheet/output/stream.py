"""Writing to standard output: a pipe that ends early, a full disk, an old console, a pager for long text."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TextIO

from ..errors import CallsheetError
from ..terminal import escape_but_styles, is_terminal, unguarded_stream


class Stream:
    """Where the result goes, and what it can show. `width` is None where nothing is to be cut.

    Styles are shown where a terminal understands them, or as `color` says.
    """

    __slots__ = ("_stream", "styles", "terminal", "width")

    def __init__(self, stream: TextIO | None, *, color: bool | None = None, width: int | None = None) -> None:
        self._stream = stream if stream is None else unguarded_stream(stream)
        self.terminal = is_terminal(stream)
        self.styles = self.terminal and _understands_styles() if color is None else color
        self.width = width if width is not None or not self.terminal else terminal_size(stream).columns
        _prepare_stream(stream, self.terminal)

    def write(self, chunks: Iterable[str], *, flush: bool = False) -> None:
        """Write everything; `flush` lets a reader have each chunk as it comes.

        Raises `BrokenPipeError` when nobody reads any more, `CallsheetError` when it cannot be written.
        """
        if self._stream is None:
            return
        if self.terminal:
            chunks = map(escape_but_styles, chunks)
        if self.terminal and sys.stdout and self._stream is unguarded_stream(sys.stdout):
            chunks = self._page_long_output(chunks)
        for chunk in chunks:
            _write_text(self._stream, chunk, flush=flush)
        _write_text(self._stream, "", flush=True)

    def _page_long_output(self, chunks: Iterable[str]) -> Iterator[str]:
        """The chunks when they fit the screen, nothing when a pager has shown them."""
        height = terminal_size(self._stream).lines
        shown: list[str] = []
        lines = 0
        source = iter(chunks)
        for chunk in source:
            shown.append(chunk)
            lines += chunk.count("\n")
            if lines >= height:
                from click import echo_via_pager

                # Styles only where the pager is known to show them, which it decides by its own settings.
                echo_via_pager(chain(shown, source), color=None if self.styles else False)
                return
        yield from shown


def _write_text(stream: TextIO, text: str, *, flush: bool) -> None:
    try:
        stream.write(text)
        if flush:
            stream.flush()
    except OSError as error:
        if _is_closed_pipe(error):
            # Without a number, on which click would exit with 1; a reader that has enough is no failure.
            raise BrokenPipeError("nobody reads the result any more") from None
        raise CallsheetError(f"cannot write the result: {error.strerror or error}") from None
    except ValueError as error:
        if stream.closed:
            return
        raise CallsheetError(f"cannot write the result: {error}") from None


def _is_closed_pipe(error: OSError) -> bool:
    return isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL)


def _prepare_stream(stream: TextIO | None, terminal: bool) -> None:
    """Files and pipes get UTF-8 whatever the locale; a console shows a mark for what it lacks."""
    encoding = (getattr(stream, "encoding", None) or "utf-8").lower().replace("-", "")
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None or encoding == "utf8":
        return
    if terminal:
        reconfigure(errors="replace")
    else:
        reconfigure(encoding="utf-8")


def _understands_styles() -> bool:
    if os.environ.get("TERM") == "dumb":
        return False
    return os.name != "nt" or bool(os.environ.get("WT_SESSION") or os.environ.get("TERM"))


def terminal_size(stream: TextIO | None) -> os.terminal_size:
    """The size of the terminal behind the stream; `COLUMNS` and `LINES` win where they are set."""
    try:
        size = os.get_terminal_size(stream.fileno()) if stream is not None else os.terminal_size((80, 24))
    except (OSError, ValueError, AttributeError):
        size = os.terminal_size((80, 24))
    columns, lines = (_positive_number(os.environ.get(name)) for name in ("COLUMNS", "LINES"))
    return os.terminal_size((columns or size.columns or 80, lines or size.lines or 24))


def _positive_number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 0
