"""The standard streams of one run, and reading them whole."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Mapping
from typing import TextIO

from ..errors import UsageError
from ..terminal import guarded_stream

# What is read whole takes several times its size in memory.
MOST_INPUT = 64 << 20  # bytes
_OFF = ("", "0", "false")


class Streams:
    """The three standard streams of one run, with the gate before what goes out.

    A run inside another process brings its own.
    One that was closed before the start takes and gives nothing.
    """

    __slots__ = ("err", "input", "out")

    def __init__(self, input: TextIO | None = None, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.input = input or sys.stdin or _empty_input()
        self.out = guarded_stream(out or sys.stdout or _empty_input())
        self.err = guarded_stream(err or sys.stderr or _empty_input(), always=True)


def is_attended(streams: Streams, environ: Mapping[str, str]) -> bool:
    """Whether a person reads and types: both streams are terminals, and this is no build server."""
    return streams.input.isatty() and streams.err.isatty() and environ.get("CI", "").lower() in _OFF


def is_piped(streams: Streams) -> bool:
    """Whether something of this process's own is read from a pipe or a file."""
    try:
        mode = os.fstat(streams.input.fileno()).st_mode if streams.input is sys.stdin else 0
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISREG(mode)


def read_file(path: str) -> bytes:
    """Raises `UsageError` for what cannot be read, or is larger than `MOST_INPUT`."""
    try:
        with open(path, "rb") as file:
            return _limit_content(file.read(MOST_INPUT + 1), path)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError:
        raise UsageError(f"cannot read {path!r}: not a valid file name") from None


def read_all(stream: TextIO) -> bytes:
    """The same for standard input."""
    binary = getattr(stream, "buffer", None)
    given = binary.read(MOST_INPUT + 1) if binary is not None else stream.read(MOST_INPUT + 1).encode()
    return _limit_content(given, "standard input")


def input_lines(stream: TextIO) -> Iterator[str]:
    """The lines of standard input without their ends."""
    while line := stream.readline(MOST_INPUT + 1):
        if len(line) > MOST_INPUT:
            raise UsageError(f"a line of standard input is longer than {MOST_INPUT >> 20} MiB")
        yield line.rstrip("\n")


def _limit_content(content: bytes, where: str) -> bytes:
    if len(content) > MOST_INPUT:
        hint = "a larger file can be sent with --file, where the operation takes one"
        raise UsageError(f"{where} is larger than {MOST_INPUT >> 20} MiB", hint=hint)
    return content


def _empty_input() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_RDWR), "r+", encoding="utf-8")
