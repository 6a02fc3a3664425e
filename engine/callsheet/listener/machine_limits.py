"""What this machine leaves room for: cores, memory, descriptors."""

from __future__ import annotations

import os
import sys
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from ..errors import UsageError

# The control group that this process is in, in both versions of their file system.

_GROUPS, _OWN_GROUP = "/sys/fs/cgroup", "/proc/self/cgroup"


def _numbers_of_groups(controller: str, old_names: tuple[str, ...], name: str) -> list[list[int]]:
    """What limits it and all above it: the numbers of `name`, which are in `old_names` in the first version."""
    try:
        with open(_OWN_GROUP, encoding="utf-8") as file:
            groups = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return []
    found = []
    for _, controllers, group in groups:
        if controllers and controller not in controllers.split(","):
            continue
        top, names = (f"{_GROUPS}/{controller}", old_names) if controllers else (_GROUPS, (name,))
        path = PurePosixPath(group)
        found += [_read_numbers([f"{top}{each}/{file}" for file in names]) for each in (path, *path.parents)]
    return found


def _read_numbers(paths: list[str]) -> list[int]:
    try:
        return [int(word) for path in paths for word in Path(path).read_text(encoding="ascii").split()]
    except (OSError, ValueError):  # no such group from here, or `max`
        return []


# The cores of this machine.


def usable_cores() -> int:
    """Cores that this process may use. Containers see all of the machine, and get a part of their time."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = _numbers_of_groups("cpu", ("cpu.cfs_quota_us", "cpu.cfs_period_us"), "cpu.max")
    return min([cores, *(-(-each[0] // each[1]) for each in quotas if each and each[0] > 0)])


# The memory that a process may use.

# What systems without a limit say, or about that.
_UNLIMITED = 1 << 60


def memory_limit(processes: int) -> int | None:
    """Bytes for each of these: their control group's divided, or those of one process (`ulimit -v`). None: no limit."""
    groups = _numbers_of_groups("memory", ("memory.limit_in_bytes",), "memory.max")
    limits = [each[0] // processes for each in groups if each]
    if (own := _address_space()) is not None:
        limits.append(own)
    return min((limit for limit in limits if limit < _UNLIMITED), default=None)


if sys.platform == "win32":

    def _address_space() -> int | None:
        return None

else:
    import resource

    def _address_space() -> int | None:
        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        return None if soft == resource.RLIM_INFINITY else soft


# How many connections the operating system leaves room for: a server without a descriptor left cannot even refuse.

# For each handler that runs: two pipes and the process, or a connection of its own and a file.
_PER_HANDLER = 4
_RESERVED = 96
# Connections that are refused are open for a moment too.
_MAX_SPARE = 48
# What the process itself, its inbox and one connection take at least.
MIN_DESCRIPTORS = 32


class ConnectionLimits(NamedTuple):
    """Connections that are served, how many more are answered 503, and the limit where it is what decides."""

    connections: int
    spare: int
    limit: int | None


def connection_limits(connections: int, handlers: int) -> ConnectionLimits:
    """Raise the limit on descriptors as far as this process may, and divide what there is. Raises `UsageError`."""
    reserved = _RESERVED + _PER_HANDLER * handlers
    limit = _raise_limit(connections + reserved)
    if limit is None or limit >= connections + reserved:
        return ConnectionLimits(connections, _MAX_SPARE, None)
    if limit < MIN_DESCRIPTORS:
        raise UsageError(f"{limit} open files are allowed (ulimit -n), and at least {MIN_DESCRIPTORS} are needed")
    reserved = min(reserved, max(limit // 2, min(limit - 1, _MAX_SPARE)))
    return ConnectionLimits(max(1, limit - reserved), min(reserved // 4, _MAX_SPARE), limit)


if sys.platform == "win32":

    def _raise_limit(needed: int) -> int | None:  # noqa: ARG001 - there is no such limit
        return None

else:
    import resource

    def _raise_limit(needed: int) -> int | None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or soft >= needed:
            return None
        limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        except (OSError, ValueError):
            return soft
        return limit
