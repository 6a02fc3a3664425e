"""A reply's body to a file or a stream, piece by piece."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import IO, TYPE_CHECKING

from ...output_files import output_file
from ...terminal import drawing_stream, escape_line

if TYPE_CHECKING:
    from ..request.http_request import Request
    from .http_client import Client
    from .reply import Incoming


def save_to(client: Client, request: Request, path: str, *, named: bool = True) -> int:
    """Write the body to `path` and return its length. A file appears whole or not at all.

    Unless a person `named` it, no link is followed that stands there.
    Raises `UsageError`, before anything is sent, where it cannot be written.
    """
    with output_file(path, named=named) as file, client.stream(request) as incoming:
        return _copy_body(incoming, file, os.path.basename(path))


def write_to(client: Client, request: Request, stream: IO[bytes]) -> int:
    """Write the body to an open stream and return its length; raises `BrokenPipeError` where nobody reads any more."""
    try:
        with client.stream(request) as incoming:
            count = _copy_body(incoming, stream, "download")
        stream.flush()
    except BrokenPipeError:
        # Without a number, on which click would exit with 1; a reader that has enough is no failure.
        raise BrokenPipeError("nobody reads the result any more") from None
    return count


def _copy_body(incoming: Incoming, file: IO[bytes], label: str) -> int:
    count = 0
    for chunk in _with_progress(incoming, label):
        file.write(chunk)
        count += len(chunk)
    return count


def _with_progress(incoming: Incoming, label: str) -> Iterator[bytes]:
    """The chunks, with a progress bar where a person watches."""
    if not sys.stderr.isatty() or not incoming.length:
        yield from incoming.chunks()
        return
    import click

    with click.progressbar(length=incoming.length, label=escape_line(label), file=drawing_stream(sys.stderr)) as bar:
        for chunk in incoming.chunks():
            yield chunk
            bar.update(len(chunk))
