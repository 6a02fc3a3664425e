"""Waiting for a future that goes on whether anybody waits or not."""

from __future__ import annotations

import asyncio
from typing import Any


async def done_within(future: asyncio.Future[Any], time_limit: float) -> bool:
    """Whether it is done after at most so many seconds. `asyncio.wait` does this for several, at a higher cost."""
    if future.done():
        return True
    loop = asyncio.get_running_loop()
    waiter: asyncio.Future[None] = loop.create_future()

    def wake(_: object = None) -> None:
        if not waiter.done():
            waiter.set_result(None)

    future.add_done_callback(wake)
    timer = loop.call_later(time_limit, wake)
    try:
        await waiter
    finally:
        timer.cancel()
        future.remove_done_callback(wake)
    return future.done()
