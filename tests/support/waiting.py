"""An end to what would wait for ever, in this process."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PATIENCE = 600.0  # seconds; how long anything may take that does come, on a machine that does much else
_BETWEEN = 5.0  # seconds from one interruption to the next


class WaitedTooLong(BaseException):
    """No exception of the usual kind: nothing that catches those must take it for its own."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Interrupts the block, also a system call in it, with `WaitedTooLong`; in the main thread only, not on Windows.

    And again as long as what the block does in its end waits as well, as `asyncio.run` does for its tasks.
    """

    def end(*_: object) -> None:
        raise WaitedTooLong(f"{seconds:g} s")

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds, _BETWEEN)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


async def reach(holds: Callable[[], object]) -> None:
    """As soon as it is so; what never comes fails the test instead of holding it up."""
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110 - the library tells nobody
            await asyncio.sleep(0.001)


async def all_turns() -> None:
    """When the loop has done all that it could do by now: after this nothing happens without an event from outside."""
    for _ in range(50):
        await asyncio.sleep(0)
