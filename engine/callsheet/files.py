"""Files that several processes write, and that other people must not read, or must not have written."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from .errors import CallsheetError, NotAllowed

PRIVATE = 0o600
_OTHERS = 0o077
_LARGEST = 8 * 1024 * 1024  # bytes of a file of secrets
_PATIENCE = 30.0
_NO_WRITER = 1.0
_NAP = 0.02


def write_atomically(path: str, data: bytes, mode: int = PRIVATE, *, follow: bool = True, sync: bool = True) -> None:
    """Put `data` in the place of the file in one step: a reader or a crash sees the old content or the new one.

    A symbolic link is followed, so that a linked configuration file stays linked, unless `follow` is false. A pipe or
    device at its end is not replaced. Directories are made as needed. Without `sync` a crash of the machine may leave
    anything in the file: for what can be made again, and is checked when it is read.
    """
    target = os.path.realpath(path) if follow else os.path.abspath(path)
    make_private_directory(os.path.dirname(target))
    fresh = f"{target}.{os.getpid()}.{time.monotonic_ns():x}"
    try:
        if follow and os.path.exists(target):
            refuse_irregular(target)
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        os.replace(fresh, target)
    except OSError as error:
        raise CallsheetError(f"cannot write {path}: {error.strerror}") from None
    finally:
        with contextlib.suppress(OSError):
            os.remove(fresh)


def make_private_directory(path: str) -> None:
    """Parents that are missing are private too, whatever the umask says."""
    missing = []
    while path and not os.path.isdir(path) and path not in missing:
        missing.append(path)
        path = os.path.dirname(path)
    try:
        for each in reversed(missing):
            with contextlib.suppress(FileExistsError):
                os.mkdir(each, 0o700)
        if missing and not os.path.isdir(missing[0]):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), missing[0])
    except OSError as error:
        where = missing[0] if missing else path
        raise CallsheetError(f"cannot make the directory {where}: {error.strerror}") from None


@contextlib.contextmanager
def locked_file(path: str, patience: float = _PATIENCE) -> Iterator[None]:
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
    while not _takes_lock(descriptor):
        if time.monotonic() > end:
            raise CallsheetError(f"another process has been changing {path} for {patience:.0f} seconds")
        time.sleep(_NAP)


if sys.platform == "win32":
    import msvcrt

    def _takes_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _takes_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


def open_regular(path: str) -> BinaryIO:
    """A file to read; raises `OSError` also for a pipe or a device, whose reader would wait or read for ever."""
    refuse_irregular(path)
    return open(path, "rb")


def refuse_irregular(path: str) -> None:
    """Raise `OSError` for a pipe or a device, before something opens it that would wait or read for ever."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):  # opening a directory is refused by the system
        raise OSError(errno.EINVAL, "not a regular file", path)


def read_private(path: str, what: str) -> bytes:
    """The content of a file that holds a secret; refused when other people can read it, or put another in its place.

    A pipe, as of a shell's `<(...)`, will do, but is not waited for endlessly; a device is refused.
    """
    content = read_private_if_there(path, what)
    if content is None:
        raise NotAllowed(f"cannot read {what} {path}: {os.strerror(errno.ENOENT)}")
    return content


def read_private_if_there(path: str, what: str) -> bytes | None:
    """As `read_private`; None without a file. It is opened and not looked for first: others come and go meanwhile."""
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            status = os.fstat(file.fileno())
            if is_shared_with_others(status):
                raise NotAllowed(f"{what} {path} can be read by others", hint=f"chmod 600 {_quoted_path(path)}")
            if stat.S_ISFIFO(status.st_mode):  # it has no place that others could change
                content = _written_to(file.fileno())
            else:
                refuse_irregular(path)
                refuse_changeable(path, what)
                content = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotAllowed(f"cannot read {what} {path}: {error.strerror}") from None
    if len(content) > _LARGEST:
        raise NotAllowed(f"{what} {path} is larger than {_LARGEST >> 20} MiB, too large for a secret")
    return content


def _without_waiting(path: str, flags: int) -> int:
    """Opening a pipe waits for somebody who writes to it, unless it is told not to."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _written_to(pipe: int) -> bytes:
    """All that is written to a pipe; raises `OSError` where nobody writes or ends."""
    content, started = bytearray(), time.monotonic()
    while len(content) <= _LARGEST:
        with contextlib.suppress(BlockingIOError):  # there is a writer, and nothing yet
            piece = os.read(pipe, 65536)
            content += piece
            if content and not piece:
                break
            if piece:
                continue
            if time.monotonic() > started + _NO_WRITER:
                raise OSError(errno.EPIPE, "nobody writes to this pipe")
        if time.monotonic() > started + _PATIENCE:
            raise OSError(errno.ETIMEDOUT, f"the pipe was not closed within {_PATIENCE:.0f} seconds")
        time.sleep(_NAP)
    return bytes(content)


def is_shared_with_others(status: os.stat_result) -> bool:
    """Whether people other than the owner may use the file; the platform's own lists of rights are not looked at.

    A file of root, and of root's own group, that another user can read all the same is given to this one by a list of
    rights, as systemd gives a service its credentials. The mode then shows a right to read in the place of the group.
    """
    if sys.platform == "win32":
        return False
    is_given = status.st_uid == status.st_gid == 0 != os.geteuid()
    return bool(status.st_mode & (_OTHERS & ~stat.S_IRGRP if is_given else _OTHERS))


class Doubt(NamedTuple):
    """Why what lies at `path` may not be this person's doing, and what to do about it."""

    path: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.path} {self.problem}"


def refuse_changeable(path: str, what: str) -> None:
    """Raise `NotAllowed` where others could have written what the program is about to obey."""
    doubt = changeable_by_others(path)
    if doubt is not None:
        raise NotAllowed(f"{what} {doubt}", hint=doubt.remedy)


def changeable_by_others(path: str) -> Doubt | None:
    """How people other than its owner and the system's could change a file or directory, or put another in its place.

    Looked at are owner and mode of the thing itself and of the directory that it is in, and the modes of those above.
    In a directory such as /tmp, where only owners remove what is theirs, a thing of one's own is safe. A group counts
    as others unless it is the person's own. Windows keeps such rights elsewhere; there nothing is looked at.
    """
    if sys.platform == "win32":
        return None
    named, real = os.path.abspath(path), os.path.realpath(path)
    for start in dict.fromkeys((named, real)):
        for depth, each in enumerate(_parent_directories(start)):
            doubt = _doubt_about(each, near=depth < 2)
            if doubt is not None:
                return doubt
    return None


def entry_changeable(path: str) -> Doubt | None:
    """The same for what lies in a directory that was looked at already; costs one or two questions to the system."""
    if sys.platform == "win32":
        return None
    return changeable_by_others(path) if os.path.islink(path) else _doubt_about(path, near=True)


def _parent_directories(path: str) -> Iterator[str]:
    yield path
    while (above := os.path.dirname(path)) != path:
        path = above
        yield path


def _doubt_about(path: str, *, near: bool) -> Doubt | None:
    try:
        status = os.stat(path)
    except OSError:  # not there, which others cannot change unless they can change what is above
        return None
    safe = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    if near and status.st_uid not in (0, os.geteuid()):
        return Doubt(path, "belongs to another user", f"chown {os.geteuid()} {_quoted_path(path)}")
    by_group = status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid)
    if (by_group or status.st_mode & stat.S_IWOTH) and not safe and not _is_mounted_read_only(path):
        return Doubt(path, "can be changed by others", f"chmod go-w {_quoted_path(path)}")
    return None


def _is_mounted_read_only(path: str) -> bool:
    """As a container's settings are, whatever their modes say."""
    return sys.platform != "win32" and bool(os.statvfs(path).f_flag & os.ST_RDONLY)


def _own_group(group: int) -> bool:
    """Whether a group is the system's, or has no member but this person (as where everybody has a group)."""
    if group == 0:
        return True
    import grp
    import pwd

    try:
        person = pwd.getpwuid(os.geteuid())
        members = grp.getgrgid(group)
    except KeyError:
        return False
    return person.pw_gid == group and members.gr_name == person.pw_name and set(members.gr_mem) <= {person.pw_name}


def _quoted_path(path: str) -> str:
    from shlex import quote

    return quote(path)


def quoted_for_uri(path: str) -> str:
    """A path as SQLite takes it in a `file:` address, where some of its signs would mean something else."""
    return path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
