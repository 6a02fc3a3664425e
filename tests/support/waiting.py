"""An end to what would wait for ever, in this process."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 600.0  # seconds; how long anything may take that does come, on a machine that does much else


class WaitedTooLong(BaseException):
    """No exception of the usual kind: nothing that catches those must take it for its own."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupts the block, also a system call in it, with `WaitedTooLong`; in the main thread only, not on Windows."""

    def end(*_: object) -> None:
        raise WaitedTooLong(f"{seconds:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
