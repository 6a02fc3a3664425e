"""Ending tasks that run beside the server, in bounded time.

One request to cancel is not enough: what a task waits for may arrive at that moment, and a library that takes it loses
the request (`asyncio.wait_for` did up to Python 3.11). Such a task would go on for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from typing import Any

ASK_AGAIN = 1.0  # seconds; what a task does when it is cancelled takes less
PATIENCE = 5.0  # seconds for what ignores every request


async def cancel_all(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Until they have ended, or ignored it for too long. What they raise is of no interest any more."""
    given = list(tasks)
    end = asyncio.get_running_loop().time() + PATIENCE
    remaining = {task for task in given if not task.done()}
    while remaining and asyncio.get_running_loop().time() < end:
        for task in remaining:
            task.cancel()
        _, remaining = await asyncio.wait(remaining, timeout=ASK_AGAIN)
    for task in given:
        if task.done() and not task.cancelled():
            task.exception()  # else the loop reports that nobody asked


async def bounded(work: Awaitable[None], seconds: float) -> bool:
    """Whether `work` ended in time. It is left behind where it did not; what it raises is raised."""
    task = asyncio.ensure_future(work)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    for each in done:
        each.result()
    return bool(done)
