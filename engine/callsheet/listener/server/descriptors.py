"""How many connections the operating system leaves room for: a server without a descriptor left cannot even refuse."""

from __future__ import annotations

import sys
from typing import NamedTuple

# For each handler that runs: two pipes and the process, or a connection of its own and a file.
_EACH = 4
_OWN = 96
# Connections that are refused are open for a moment too.
_SPARE = 48


class Room(NamedTuple):
    """Connections that are served, how many more are answered 503, and the limit where it is what decides."""

    connections: int
    spare: int
    limit: int | None


def room(connections: int, handlers: int) -> Room:
    """Raise the limit on descriptors as far as this process may, and divide what there is."""
    kept = _OWN + _EACH * handlers
    limit = _raised(connections + kept)
    if limit is None or limit >= connections + kept:
        return Room(connections, _SPARE, None)
    kept = min(kept, max(limit // 2, min(limit - 1, _SPARE)))
    return Room(max(1, limit - kept), min(kept // 4, _SPARE), limit)


if sys.platform == "win32":

    def _raised(wanted: int) -> int | None:  # noqa: ARG001 - there is no such limit
        return None

else:
    import resource

    def _raised(wanted: int) -> int | None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft == resource.RLIM_INFINITY or soft >= wanted:
            return None
        limit = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        except (OSError, ValueError):
            return soft
        return limit
