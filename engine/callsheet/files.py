"""Files that several processes write and that other people must not read."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterator

from .errors import CallsheetError, NotAllowed

PRIVATE = 0o600
_OTHERS = 0o077
_PATIENCE = 30.0
_NAP = 0.02


def write_atomically(path: str, data: bytes, mode: int = PRIVATE) -> None:
    """Put `data` in the place of the file in one step: a reader or a crash sees the old content or the new one.

    A symbolic link is followed, so that a linked configuration file stays linked. Directories are made as needed.
    """
    target = os.path.realpath(path)
    make_private_directory(os.path.dirname(target))
    fresh = f"{target}.{os.getpid()}.{time.monotonic_ns():x}"
    try:
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(fresh, target)
    except OSError as error:
        raise CallsheetError(f"cannot write {path}: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            os.remove(fresh)


def make_private_directory(path: str) -> None:
    try:
        os.makedirs(path, mode=0o700, exist_ok=True)
    except OSError as error:
        raise CallsheetError(f"cannot make the directory {path}: {error.strerror}") from None


@contextlib.contextmanager
def locked(path: str, patience: float = _PATIENCE) -> Iterator[None]:
    """Hold the right to change `path`; others wait, `patience` seconds at most. The lock ends with the process."""
    make_private_directory(os.path.dirname(os.path.abspath(path)))
    try:
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT, PRIVATE)
    except OSError as error:
        raise CallsheetError(f"cannot lock {path}: {error.strerror}") from None
    try:
        _wait_for(descriptor, path, patience)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: str, patience: float) -> None:
    end = time.monotonic() + patience
    while not _taken(descriptor):
        if time.monotonic() > end:
            raise CallsheetError(f"another process has been changing {path} for {patience:.0f} seconds")
        time.sleep(_NAP)


if sys.platform == "win32":
    import msvcrt

    def _taken(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _taken(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def read_private(path: str, what: str) -> bytes:
    """The content of a file that holds a secret; refused when other people can read it."""
    try:
        with open(path, "rb") as file:
            if shared(os.fstat(file.fileno())):
                raise NotAllowed(f"{what} {path} can be read by others", hint=f"chmod 600 {_quoted(path)}")
            return file.read()
    except OSError as error:
        raise NotAllowed(f"cannot read {what} {path}: {error.strerror}") from None


def shared(status: os.stat_result) -> bool:
    """Whether people other than the owner may use the file; the platform's own lists of rights are not looked at."""
    return sys.platform != "win32" and bool(status.st_mode & _OTHERS)


def _quoted(path: str) -> str:
    from shlex import quote

    return quote(path)
