"""An answer that has to be waited for: a task and one write, where uvicorn's way takes messages through queues."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Protocol

from .responses import BY_STATUS, Response


class _Message:
    """uvicorn tells its requests of new parts of a body; these have all of theirs."""

    def set(self) -> None:
        """Nobody waits."""


class Exchange(Protocol):
    """The connection that a request came by."""

    transport: asyncio.Transport

    def write_response(self, response: Response, *, is_last: bool) -> None: ...
    def on_response_complete(self) -> None: ...


class DeferredResponse:
    """Stands where uvicorn has its request, with what uvicorn and the protocol look at."""

    __slots__ = ("_exchange", "disconnected", "keep_alive", "response_complete", "response_started")
    message_event = _Message()
    more_body = False
    waiting_for_100_continue = False

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.disconnected = False  # the sender went away
        self.keep_alive = True
        self.response_started = self.response_complete = False

    async def run(self, response: Awaitable[Response]) -> None:
        try:
            found = await response
        except BaseException:  # noqa: BLE001 - whatever it is, and when the server ends: the sender gets an answer
            self.keep_alive = False
            found = BY_STATUS[500]
        self.deliver(found)

    def deliver(self, response: Response) -> None:
        self.response_started = self.response_complete = True
        exchange = self._exchange
        if not self.disconnected and not exchange.transport.is_closing():  # the one is told a moment after the other
            is_last = response.closes or not self.keep_alive
            exchange.write_response(response, is_last=is_last)
            if is_last:
                exchange.transport.close()
        exchange.on_response_complete()
