"""Which files were found to be sound, remembered where an emptied cache does not take it along.

Of a program of ten thousand operations the checks are two thirds of what its catalog takes to be made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterable, Mapping

from ..errors import CallsheetError
from ..files import changeable_by_others, write_atomically
from ..language.layers import Layer, files_of
from ..paths import state_directory


def digest_of_files(found: Iterable[Layer], engine: str = "") -> str:
    """The same for the same files, wherever they are, as one engine reads them."""
    digest = hashlib.sha256(engine.encode())
    for layer in found:
        files = [(os.path.relpath(path, layer.directory), path, depth) for path, depth in files_of(layer)]
        for name, path, depth in files:
            with open(path, "rb") as file:
                data = file.read()
            digest.update(f"{name}\n{depth} {layer.shipped} {len(data)}\n".encode())
            digest.update(data)
        digest.update(b"\n" if files else b"")  # directories that are not there are none
    return digest.hexdigest()


def remembered_digest(program: str, environ: Mapping[str, str]) -> str:
    """Of the files of a program that were found to be sound last; empty where none is known, or others wrote it."""
    path = record_of_checks(program, environ)
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(path) and changeable_by_others(path) is None:
            with open(path, encoding="ascii") as file:
                return file.read(100).strip()
    return ""


def remember_digest(program: str, environ: Mapping[str, str], digest: str) -> None:
    """Where nothing can be written, the checks are made again another time."""
    with contextlib.suppress(CallsheetError):
        write_atomically(record_of_checks(program, environ), digest.encode(), sync=False)


def record_of_checks(program: str, environ: Mapping[str, str]) -> str:
    return os.path.join(state_directory(environ), "checked", program)
