"""What the C library does with the memory that a process does not use any more."""

from __future__ import annotations

import contextlib
import sys
from functools import cache

# Of glibc's mallopt(3), and bytes. A large body gets memory of its own, which goes back at once; what is free at the
# end of the rest goes back from this size on; and threads share that rest instead of keeping one each.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_SETTINGS = ((_MMAP_THRESHOLD, 128 << 10), (_TRIM_THRESHOLD, 1 << 20), (_ARENA_MAX, 1))


@cache
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
