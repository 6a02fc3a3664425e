"""Requests that come before earlier ones are answered: no more of them are read than can be answered.

One read may hold ten thousand small requests, and each takes a hundred times its size until it is answered.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# More than most deliveries. What the requests in one piece take counts for each connection.
PIECE = 4096
_NOTHING = memoryview(b"")


class _Flow(FlowControl):
    """Uvicorn would go on reading after each answer, also where more requests wait for theirs."""

    def __init__(self, transport: asyncio.Transport, is_held: Callable[[], bool]) -> None:
        super().__init__(transport)
        self._is_held = is_held

    def resume_reading(self) -> None:
        if not self._is_held():
            super().resume_reading()


class PiecewiseProtocol(HttpToolsProtocol):
    """`read_piece` gets what came as long as no answer waits for being given or taken.

    It says whether a request ended in its piece. Then other connections get their turn.
    """

    unread = _NOTHING  # what came too early
    read_at = 0.0
    full_since: float | None = None  # when the sender stopped taking answers
    _turn: asyncio.Handle | None = None

    def read_piece(self, piece: bytes | memoryview) -> bool:
        raise NotImplementedError

    def promised(self) -> int:
        """How many of the bytes that come next can be no request, because they belong to one that has begun."""
        raise NotImplementedError

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn's
        super().connection_made(transport)
        self.flow = _Flow(transport, self.is_held)

    def is_held(self) -> bool:
        """Whether this side keeps the sender from saying more."""
        return bool(self.pipeline or self.unread or self.flow.write_paused)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is left to answer."""
        self.drop_unread()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if len(data) > PIECE or self.is_held():
            self.unread = memoryview(bytes(self.unread) + data if self.unread else data)
            self._read_on()
        else:
            self.read_at = self.loop.time()
            self.read_piece(data)

    def _read_on(self) -> None:
        self._turn = None
        self.read_at = self.loop.time()
        while self.unread and not self.pipeline and not self.flow.write_paused:
            size = max(PIECE, self.promised())
            piece, self.unread = self.unread[:size], self.unread[size:]
            if self.read_piece(piece) and self.unread:
                self.read_more()
                break
        if self.transport.is_closing():
            self.unread = _NOTHING
        elif self.unread:
            self.flow.pause_reading()
        else:
            self.flow.resume_reading()

    def read_more(self) -> None:
        """An answer was given or taken: go on with what came meanwhile, in turn with other connections."""
        if self.unread:
            self._turn = self._turn or self.loop.call_soon(self._read_on)
        else:
            self.flow.resume_reading()

    def drop_unread(self) -> None:
        self.unread = _NOTHING

    def pause_writing(self) -> None:
        """Who does not read answers gets no more of them."""
        super().pause_writing()
        self.full_since = self.loop.time()
        self.flow.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.full_since = None
        self.read_more()
