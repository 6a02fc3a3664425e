"""Output files that a person names."""

from __future__ import annotations

import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from .errors import CallsheetError, UsageError

_DESCRIPTOR = re.compile(r"/dev/(?:fd/(\d+)|(stdin|stdout|stderr))|/proc/self/fd/(\d+)")
_STANDARD = {"stdin": 0, "stdout": 1, "stderr": 2}
_RIGHTS = 0o777
_EVERYBODY = 0o666  # what the umask leaves of it is what a new file gets


@contextmanager
def output_file(path: str, *, named: bool = True, mode: int = _EVERYBODY) -> Iterator[IO[bytes]]:
    """A file to write to; when the block ends well, its content is what `path` names.

    A regular file appears whole or stays as it was, and keeps its mode and owner. A link that is named stays a link and
    its target changes. A device, a pipe or an open descriptor (`/dev/stdout`) gets the bytes as they come.
    `mode` are the rights of a new file, of which the umask takes its part.
    Where no person `named` the path, nothing that is there is followed: a new file takes its place.
    Raises `UsageError` before the block when that cannot be written, `CallsheetError` when writing fails.
    """
    if not named:
        with _replacing_file(path, path, None, mode) as file, _worded_errors(path):
            yield file
        return
    status = _status_of_output(path)
    descriptor = _own_descriptor(path)
    if descriptor is not None or (status is not None and not stat.S_ISREG(status.st_mode)):
        with _open_existing(path, descriptor) as file, _worded_errors(path):
            yield file
            file.flush()
    elif status is not None and not _can_be_replaced(os.path.realpath(path), status):
        with _open_existing(path, None, "r+b") as file, tempfile.TemporaryFile() as spool, _worded_errors(path):
            yield spool
            spool.seek(0)
            shutil.copyfileobj(spool, file)
            file.truncate()
    else:
        with _replacing_file(path, os.path.realpath(path), status, mode) as file, _worded_errors(path):
            yield file


def write_output_file(path: str, data: bytes, mode: int = _EVERYBODY) -> None:
    """The same for content that is there already."""
    with output_file(path, mode=mode) as file:
        file.write(data)


def _status_of_output(path: str) -> os.stat_result | None:
    """What `path` leads to, None where nothing is there yet; raises `UsageError` for what no file can be."""
    if not os.path.basename(path):
        raise UsageError(f"{path!r}: expected the name of a file")
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise _unwritable_error(path, error) from None
    if stat.S_ISDIR(status.st_mode):
        raise UsageError(f"{path}: is a directory, expected the name of a file")
    return status


def _own_descriptor(path: str) -> int | None:
    match = _DESCRIPTOR.fullmatch(os.path.abspath(path)) if os.name != "nt" else None
    return None if match is None else _STANDARD[match[2]] if match[2] else int(match[1] or match[3])


def _open_existing(path: str, descriptor: int | None, mode: str = "wb") -> IO[bytes]:
    """What is there already, never made anew."""
    try:
        if descriptor is not None:
            return os.fdopen(os.dup(descriptor), mode)
        flags = os.O_RDWR if "+" in mode else os.O_WRONLY
        return os.fdopen(os.open(path, flags | getattr(os, "O_BINARY", 0)), mode)
    except (OSError, ValueError) as error:
        raise _unwritable_error(path, error) from None


def _can_be_replaced(target: str, status: os.stat_result) -> bool:
    """Whether a new file in its place would have its owner, and no other name of the file would be left behind."""
    if not os.access(target, os.W_OK):
        raise UsageError(f"cannot write {target}: permission denied")
    if status.st_nlink > 1 or not os.access(os.path.dirname(target), os.W_OK | os.X_OK):
        return False
    return os.name == "nt" or os.geteuid() in (0, status.st_uid)


@contextmanager
def _replacing_file(path: str, target: str, status: os.stat_result | None, mode: int) -> Iterator[IO[bytes]]:
    """A new file beside the target, moved there when the block ends well and removed when it does not."""
    beside = os.path.join(os.path.dirname(target), f".{os.urandom(8).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        file = os.fdopen(os.open(beside, flags, mode if status is None else 0o600), "wb")
    except (OSError, ValueError) as error:
        raise _unwritable_error(path, error) from None
    try:
        yield file
        with _worded_errors(path):
            file.flush()
            os.fsync(file.fileno())
            if status is not None and os.name != "nt":
                _restore_status(file.fileno(), status)
            file.close()
            os.replace(beside, target)
    finally:
        file.close()
        with suppress(OSError):
            os.remove(beside)


def _restore_status(descriptor: int, status: os.stat_result) -> None:
    rights = status.st_mode & _RIGHTS
    try:
        os.fchown(descriptor, status.st_uid, status.st_gid)
    except OSError:  # a group that one is not in: what it may do is not given to another one
        rights &= ~0o070
    os.fchmod(descriptor, rights)


@contextmanager
def _worded_errors(path: str) -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise CallsheetError(f"cannot write {path}: {_reason_of_error(error)}") from None


def _unwritable_error(path: str, error: OSError | ValueError) -> UsageError:
    named = repr(path) if isinstance(error, ValueError) else path
    return UsageError(f"cannot write {named}: {_reason_of_error(error)}")


def _reason_of_error(error: OSError | ValueError) -> str:
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return "not a valid file name"
