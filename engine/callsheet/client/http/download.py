"""A reply's body to a file or a stream, piece by piece."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING

from ...errors import CallsheetError, UsageError

if TYPE_CHECKING:
    from ..request.model import Request
    from .client import Client
    from .incoming import Incoming


def save(client: Client, request: Request, path: str) -> int:
    """Write the body to `path` and return its length. The file appears whole or not at all."""
    if os.path.isdir(path):
        raise UsageError(f"{path}: is a directory, expected the name of a file")
    with client.stream(request) as incoming, _replacing(path) as file:
        return _copy(incoming, file, os.path.basename(path))


def pour(client: Client, request: Request, stream: IO[bytes]) -> int:
    """Write the body to an open stream and return its length."""
    with client.stream(request) as incoming:
        count = _copy(incoming, stream, "download")
    stream.flush()
    return count


def _copy(incoming: Incoming, file: IO[bytes], label: str) -> int:
    count = 0
    for chunk in _shown(incoming, label):
        file.write(chunk)
        count += len(chunk)
    return count


def _shown(incoming: Incoming, label: str) -> Iterator[bytes]:
    """The chunks, with a progress bar where a person watches."""
    if not sys.stderr.isatty() or not incoming.length:
        yield from incoming.chunks()
        return
    import click

    with click.progressbar(length=incoming.length, label=label, file=sys.stderr) as bar:
        for chunk in incoming.chunks():
            yield chunk
            bar.update(len(chunk))


@contextmanager
def _replacing(path: str) -> Iterator[IO[bytes]]:
    """A new file beside `path`, moved there when the block ends well and removed when it does not."""
    beside = f"{path}.{os.urandom(6).hex()}.part"
    try:
        with open(beside, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except OSError as error:
        raise CallsheetError(f"cannot write {path}: {(error.strerror or str(error)).lower()}") from None
    finally:
        with suppress(OSError):
            os.remove(beside)
