"""The garbage collector, which looks through everything again and again, switched off where that finds nothing.

That is while a large value without cycles is built, and while a process starts and ends.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

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
