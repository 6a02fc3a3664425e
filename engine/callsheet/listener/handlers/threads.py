"""Work that runs in a thread: it has a time limit for whoever waits, but it cannot be stopped."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

from . import HandlerFailed, failure_of


class Threads:
    """A slot stays taken until its thread has ended, so that work which overran is not started over and over."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.running = 0

    async def run(self, work: Callable[[], Any], limit: float) -> Any:
        if self.running >= self.most:
            raise HandlerFailed(f"{self.running} earlier runs have not ended yet")
        loop = asyncio.get_running_loop()
        result: asyncio.Future[Any] = loop.create_future()
        self.running += 1
        threading.Thread(target=self._work, args=(work, loop, result), daemon=True).start()
        try:
            return await asyncio.wait_for(asyncio.shield(result), limit)
        except TimeoutError:
            if result.done():
                raise
            raise HandlerFailed(f"no result after {limit:g} s") from None

    def _work(self, work: Callable[[], Any], loop: asyncio.AbstractEventLoop, result: asyncio.Future[Any]) -> None:
        try:
            value, error = work(), None
        except BaseException as raised:  # noqa: BLE001 - handed to whoever waits
            value, error = None, raised
        try:
            loop.call_soon_threadsafe(self._ended, result, value, error)
        except RuntimeError:  # the program has ended meanwhile
            return

    def _ended(self, result: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        self.running -= 1
        if result.cancelled():
            return
        if error is None:
            result.set_result(value)
        else:
            result.set_exception(failure_of(error))
            result.exception()
