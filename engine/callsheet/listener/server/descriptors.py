"""How many connections the operating system leaves room for: a server without a descriptor left cannot even refuse."""

from __future__ import annotations

import sys
from typing import NamedTuple

from ...errors import UsageError

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
