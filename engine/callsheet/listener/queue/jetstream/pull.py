"""Messages taken from the server as places are free: one request at a time, answered message by message."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections import deque
from collections.abc import Callable
from time import monotonic
from typing import Any

from ..port import QueueFailed
from .connection import checked
from .names import QueueNames

EXPIRES = 1.0
_GRACE = 1.0
# A server that hangs answers when it goes on. Asked again and again, it would send more than there are places.
_ASK_AGAIN = 10.0
_ENDED = ("404", "408")  # the request has expired, or there was nothing


class Pull:
    """Never asks for more than there are places, so that other processes get the rest.

    `admit` is asked of each message whether it is to be kept. `on_silence` is told for how many seconds the server did
    not answer where it should have.
    """

    def __init__(
        self, connection: Any, names: QueueNames, admit: Callable[[Any], bool], on_silence: Callable[[float], None]
    ) -> None:
        self._connection = connection
        self._subject = f"$JS.API.CONSUMER.MSG.NEXT.{names.stream}.{names.consumer}"
        self._inbox: str = connection.new_inbox()
        self._admit = admit
        self._on_silence = on_silence
        self._ready: deque[Any] = deque()
        self._arrived = asyncio.Event()
        self._expected = 0
        self._asked_at = 0.0
        self._heard_at: float | None = None  # or asked, where nothing was asked before
        self._reconnects = 0
        self._refusal: str | None = None

    async def open(self) -> None:
        await checked(self._connection.subscribe(self._inbox, cb=self._receive))

    async def _receive(self, message: Any) -> None:
        now = monotonic()
        if self._heard_at is not None and now - self._heard_at > EXPIRES + _GRACE:
            self._on_silence(now - self._heard_at)
        if not message.reply:  # no event: the request has ended
            self._expected = 0
            headers = message.headers or {}
            if headers.get("Status") not in _ENDED:
                self._refusal = headers.get("Description") or "the consumer is gone"
        else:
            self._expected = max(0, self._expected - 1)
            if self._admit(message):
                self._ready.append(message)
        self._heard_at = now if self._expected else None
        self._arrived.set()

    async def fetch(self, count: int) -> list[Any]:
        """At most `count` messages; waits a second for the first. Raises `QueueFailed` where nobody gives any."""
        if not self._ready:
            self._arrived.clear()
            await self._ask(count)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(EXPIRES + _GRACE):
                    await self._arrived.wait()
        if not self._ready and self._refusal is not None:
            refusal, self._refusal = self._refusal, None
            raise QueueFailed(f"the server gives no events: {refusal}")
        return [self._ready.popleft() for _ in range(min(count, len(self._ready)))]

    async def _ask(self, count: int) -> None:
        now = monotonic()
        reconnects = self._connection.stats["reconnects"]
        if self._expected and reconnects == self._reconnects and now - self._asked_at < _ASK_AGAIN:
            return
        request = {"batch": count, "expires": int(EXPIRES * 1e9)}
        self._expected, self._asked_at, self._reconnects = count, now, reconnects
        self._heard_at = self._heard_at or now
        await checked(self._connection.publish(self._subject, json.dumps(request).encode(), self._inbox))
