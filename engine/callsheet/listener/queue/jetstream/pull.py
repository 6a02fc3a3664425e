"""Messages taken from the server as places are free: one request at a time, answered message by message."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from time import monotonic
from typing import Any

from .connection import asked
from .names import Names

WAIT = 1.0
_GRACE = 1.0


class Pull:
    """Never asks for more than there are places, so that other processes get the rest."""

    def __init__(self, connection: Any, names: Names) -> None:
        self._connection = connection
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{names.stream}.{names.consumer}"
        self._inbox: str = connection.new_inbox()
        self._ready: deque[Any] = deque()
        self._came = asyncio.Event()
        self._coming = 0
        self._until = 0.0

    async def open(self) -> None:
        await asked(self._connection.subscribe(self._inbox, cb=self._receive))

    async def _receive(self, message: Any) -> None:
        if message.headers and "Status" in message.headers:  # the request has ended: it expired, or was refused
            self._coming = 0
        else:
            self._coming = max(0, self._coming - 1)
            self._ready.append(message)
        self._came.set()

    async def take(self, count: int) -> list[Any]:
        """At most `count` messages; waits a second for the first."""
        if not self._ready:
            self._came.clear()
            if not self._coming or monotonic() > self._until:
                await self._ask(count)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(WAIT + _GRACE):
                    await self._came.wait()
        return [self._ready.popleft() for _ in range(min(count, len(self._ready)))]

    async def _ask(self, count: int) -> None:
        request = {"batch": count, "expires": int(WAIT * 1e9)}
        await asked(self._connection.publish(self._subject, json.dumps(request).encode(), self._inbox))
        self._coming, self._until = count, monotonic() + WAIT + _GRACE

    def left(self) -> list[Any]:
        """What came and was not taken."""
        left = list(self._ready)
        self._ready.clear()
        return left
