"""Memory that is not used any more: when it is looked for, and when the C library gives it back.

The garbage collector, which looks through everything again and again, is switched off where that finds nothing: while
a large value without cycles is built, and while a process starts and ends.
"""

from __future__ import annotations

import contextlib
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

_is_resting = False  # a process that is not ours may have reasons of its own to switch the collector off


def rest_while_starting() -> None:
    """Until `begin`: what is loaded stays, so nothing of it can be collected."""
    global _is_resting  # noqa: PLW0603 - a process has one collector
    _is_resting = True
    gc.disable()


def freeze_loaded() -> None:
    """The command starts, and may run for long. What was loaded by now is not looked through any more."""
    global _is_resting  # noqa: PLW0603 - a process has one collector
    if _is_resting:
        _is_resting = False
        gc.freeze()
        gc.enable()


def leave_all() -> None:
    """The process ends, and its memory with it."""
    gc.freeze()


@contextmanager
def without_collector() -> Iterator[None]:
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


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
