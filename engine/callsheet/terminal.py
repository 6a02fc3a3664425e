r"""All text for a terminal: control characters in it are escaped, so that others' text cannot act on the screen.

What others wrote (answers, events, definitions, file names, arguments) may hold control characters: they move the
cursor, hide text, turn its direction, set the window's title or the clipboard. Here they become visible, as `\u001b`,
which also leaves JSON the same value. Standard error always passes, standard output where it is a terminal; a pipe gets
the result as it is.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Mapping
from typing import Any, TextIO, cast

from .patterns import lazy_pattern

# C0, DEL and C1; line and paragraph separators; marks that turn the direction of text; byte-order marks, annotations;
# halves of surrogate pairs, which are what Python makes of bytes that are no UTF-8.
_ACTIVE = "\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff"
_IN_LINE = lazy_pattern(f"[\x00-\x1f{_ACTIVE}]")
_IN_TEXT = lazy_pattern(f"[\x00-\x08\x0b-\x1f{_ACTIVE}]")
# What acts in ASCII. Deleting bytes is the fastest way to see whether there are any.
_ASCII_IN_LINE = bytes((*range(0x20), 0x7F))
_SHORT = 60  # up to here `isprintable`, which says the same of ASCII, is faster
_ASCII_IN_TEXT = _ASCII_IN_LINE.translate(None, b"\t\n")
# What the program itself says to a terminal: styles and their end, and how a progress bar draws over itself. Only the
# base colors: every terminal's own palette makes them readable on its background.
STYLES = {
    name: f"\x1b[{code}m"
    for name, code in (
        *(("bold", 1), ("dim", 2), ("italic", 3), ("underline", 4)),
        *(("red", 31), ("green", 32), ("yellow", 33), ("blue", 34), ("magenta", 35), ("cyan", 36)),
    )
}
PLAIN = "\x1b[0m"
_STYLES = lazy_pattern(r"(\x1b\[(?:[0-4]|3[1-6])m)")
_DRAWING = lazy_pattern(r"(\r|\x1b\[\?25[lh]|\x1b\[K)")


def escape_line(text: str) -> str:
    r"""The text with everything that acts, line breaks and tabs too, written as `\uXXXX`."""
    return text if is_plain_line(text) else _IN_LINE.sub(_visible_character, text)


def escape_text(text: str) -> str:
    """The same, with line breaks and tabs kept."""
    if text.isascii() and _has_none(text, _ASCII_IN_TEXT):
        return text
    return _IN_TEXT.sub(_visible_character, text.replace("\r\n", "\n"))


def is_plain_line(text: str) -> bool:
    """Whether nothing in it acts or breaks the line. False for some texts in which nothing does."""
    is_fast = len(text) > _SHORT and text.isascii()
    return _has_none(text, _ASCII_IN_LINE) if is_fast else text.isprintable()


def _has_none(text: str, unwanted: bytes) -> bool:
    data = text.encode()
    return len(data.translate(None, unwanted)) == len(data)


def escape_but_styles(text: str) -> str:
    """The same, with styles kept: for text whose parts have been cleaned before they got theirs."""
    return _escape_all_but(_STYLES, text)


def painted_text(text: str, style: str) -> str:
    """The text in a style of `STYLES`; as it is where that is empty."""
    return f"{STYLES[style]}{text}{PLAIN}" if style and text else text


def wants_color(chosen: str | None, environ: Mapping[str, str]) -> bool | None:
    """Whether styles are shown, by an option (always, never, auto) and the environment; None: on a terminal.

    Follows no-color.org and bixense.com/clicolors; the option wins.
    """
    if chosen in ("always", "never"):
        return chosen == "always"
    if chosen is None and environ.get("NO_COLOR"):
        return False
    if environ.get("CLICOLOR_FORCE", "0") not in ("", "0"):
        return True
    return False if environ.get("CLICOLOR") == "0" else None


def _escape_all_but(own: re.Pattern[str], text: str) -> str:
    return "".join(part if place % 2 else escape_text(part) for place, part in enumerate(own.split(text)))


def _visible_character(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


class SafeStream:
    """A text stream in front of another; there is no way to its bytes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(escape_text(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name in {"buffer", "detach", "raw"}:
            raise AttributeError(name)
        return getattr(self.stream, name)


class _Drawing(SafeStream):
    def write(self, text: str) -> int:
        self.stream.write(_escape_all_but(_DRAWING, text))
        return len(text)


def guarded_stream(stream: TextIO, *, always: bool = False) -> TextIO:
    r"""The gate to a stream that is a terminal, to any stream with `always`; else the stream itself."""
    if isinstance(stream, SafeStream) or not (always or is_terminal(stream)):
        return stream
    return cast("TextIO", SafeStream(stream))


def guard_standard_streams() -> None:
    """Of this process: the gates to a terminal, and UTF-8 for programs, whatever the locale."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    if sys.stdout:
        sys.stdout = guarded_stream(sys.stdout)
    if sys.stderr:
        sys.stderr = guarded_stream(sys.stderr, always=True)


def drawing_stream(stream: TextIO) -> TextIO:
    """A gate that lets a progress bar draw; its label must be one line already."""
    return cast("TextIO", _Drawing(unguarded_stream(stream)))


def unguarded_stream(stream: TextIO) -> TextIO:
    return stream.stream if isinstance(stream, SafeStream) else stream


def is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except (ValueError, AttributeError):  # closed, or nothing but a writer
        return False
