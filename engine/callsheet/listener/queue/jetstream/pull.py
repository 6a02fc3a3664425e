"""Messages taken from the server as places are free: one request at a time, answered message by message."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from time import monotonic
from typing import Any

from .connection import checked
from .names import QueueNames

EXPIRES = 1.0
_GRACE = 1.0


class Pull:
    """Never asks for more than there are places, so that other processes get the rest."""

    def __init__(self, connection: Any, names: QueueNames) -> None:
        self._connection = connection
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{names.stream}.{names.consumer}"
        self._inbox: str = connection.new_inbox()
        self._ready: deque[Any] = deque()
        self._arrived = asyncio.Event()
        self._expected = 0
        self._deadline = 0.0

    async def open(self) -> None:
        await checked(self._connection.subscribe(self._inbox, cb=self._receive))

    async def _receive(self, message: Any) -> None:
        if message.headers and "Status" in message.headers:  # the request has ended: it expired, or was refused
            self._expected = 0
        else:
            self._expected = max(0, self._expected - 1)
            self._ready.append(message)
        self._arrived.set()

    async def fetch(self, count: int) -> list[Any]:
        """At most `count` messages; waits a second for the first."""
        if not self._ready:
            self._arrived.clear()
            if not self._expected or monotonic() > self._deadline:
                await self._request(count)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EXPIRES + _GRACE):
                    await self._arrived.wait()
        return [self._ready.popleft() for _ in range(min(count, len(self._ready)))]

    async def _request(self, count: int) -> None:
        request = {"batch": count, "expires": int(EXPIRES * 1e9)}
        await checked(self._connection.publish(self._subject, json.dumps(request).encode(), self._inbox))
        self._expected, self._deadline = count, monotonic() + EXPIRES + _GRACE

    def drain(self) -> list[Any]:
        """What came and was not taken."""
        drain = list(self._ready)
        self._ready.clear()
        return drain
