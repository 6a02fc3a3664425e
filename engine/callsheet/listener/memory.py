"""The memory that a process may use, and giving back what it does not use any more."""

from __future__ import annotations

import contextlib
import sys
from pathlib import PurePosixPath

_GROUPS, _OWN_GROUP = "/sys/fs/cgroup", "/proc/self/cgroup"
# What systems without a limit say, or about that.
_UNLIMITED = 1 << 60
# Of glibc's mallopt(3), and bytes. A large body gets memory of its own, which goes back at once; what is free at the
# end of the rest goes back from this size on; and threads share that rest instead of keeping one each.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_SETTINGS = ((_MMAP_THRESHOLD, 128 << 10), (_TRIM_THRESHOLD, 1 << 20), (_ARENA_MAX, 1))


def memory_limit(processes: int) -> int | None:
    """Bytes for each of these: their control group's divided, or those of one process (`ulimit -v`). None: no limit."""
    limits = [limit // processes for path in _limit_files() if (limit := _read_number(path)) is not None]
    if (own := _address_space()) is not None:
        limits.append(own)
    return min((limit for limit in limits if limit < _UNLIMITED), default=None)


def _limit_files() -> list[str]:
    """Of the control group and all above it, in both versions of their file system."""
    try:
        with open(_OWN_GROUP, encoding="utf-8") as file:
            groups = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    found = []
    for _, controllers, group in groups:
        if controllers and "memory" not in controllers.split(","):
            continue
        top, name = (f"{_GROUPS}/memory", "memory.limit_in_bytes") if controllers else (_GROUPS, "memory.max")
        path = PurePosixPath(group)
        found += [f"{top}{each}/{name}" for each in (path, *path.parents)]
    return found


def _read_number(path: str) -> int | None:
    try:
        with open(path, encoding="ascii") as file:
            return int(file.read())
    except (OSError, ValueError):  # no such group from here, or `max`
        return None


if sys.platform == "win32":

    def _address_space() -> int | None:
        return None

else:
    import resource

    def _address_space() -> int | None:
        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if soft == resource.RLIM_INFINITY else soft


def give_memory_back() -> None:
    """From now on, as soon as it is free: glibc would keep what a burst took."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        if hasattr(libc, "gnu_get_libc_version"):
            for name, value in _SETTINGS:
                libc.mallopt(name, value)
