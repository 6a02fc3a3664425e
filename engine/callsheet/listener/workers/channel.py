"""Questions among the workers of one listener, over unix sockets in a directory that only their user can enter.

A frame is 4 bytes with its length and a MessagePack array: the number of the question and its message; or the number,
whether it was answered, and the answer or why not. A message without a number wants no answer. One connection carries
many questions at once, and what one turn of the loop brings goes out in one write.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import struct
from collections.abc import Awaitable, Callable
from typing import Any, cast

from msgspec import MsgspecError, msgpack

# Gets the connection, which stands for whoever asks as long as it lasts, and the message.
RequestHandler = Callable[[object, dict[str, Any]], Any | Awaitable[Any]]
_LENGTH = struct.Struct(">I")
_encode = msgpack.Encoder().encode
_decode = msgpack.Decoder().decode


class Unreachable(Exception):
    """The other worker is not there, or went away before it answered."""


class _Frames(asyncio.Protocol):
    """One end of a connection: whole frames in, many in one write out."""

    def __init__(self, on_frame: Callable[[_Frames, Any], None], on_closed: Callable[[_Frames], None]) -> None:
        self._on_frame, self._on_closed = on_frame, on_closed
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._received = bytearray()
        self._to_send: list[bytes] = []
        self.is_closed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.is_closed = True
        self._on_closed(self)

    def data_received(self, data: bytes) -> None:
        self._received += data
        position, size = 0, len(self._received)
        while size - position >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._received, position)
            start = position + _LENGTH.size
            if size - start < length:
                break
            position = start + length
            try:
                frame = _decode(memoryview(self._received)[start:position])
            except MsgspecError:
                self.close()
                return
            self._on_frame(self, frame)
        if position:
            del self._received[:position]

    def send(self, frame: Any) -> None:
        data = _encode(frame)
        if not self._to_send:
            self._loop.call_soon(self._flush)
        self._to_send += (_LENGTH.pack(len(data)), data)

    def _flush(self) -> None:
        data, self._to_send = b"".join(self._to_send), []
        if self._transport is not None and not self.is_closed:
            self._transport.write(data)

    def close(self) -> None:
        self._flush()
        self.is_closed = True
        if self._transport is not None:
            self._transport.close()


class Channel:
    """The worker `index` of those that share `directory`."""

    def __init__(self, directory: str, index: int) -> None:
        self.index = index
        self._directory = directory
        self._peers: dict[int, _Peer] = {}
        self._server: asyncio.Server | None = None
        self._connections: set[_Frames] = set()
        self._running: set[asyncio.Task[None]] = set()

    async def start(self, handler: RequestHandler, on_disconnected: Callable[[object], None]) -> None:
        """Answer the others' questions; what `handler` raises reaches the asker as `Unreachable`."""
        path = self._path(self.index)
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)  # of a worker that died

        def on_frame(connection: _Frames, frame: Any) -> None:
            self._answer(connection, handler, *frame)

        def on_closed(connection: _Frames) -> None:
            self._connections.discard(connection)
            on_disconnected(connection)

        def connected() -> _Frames:
            connection = _Frames(on_frame, on_closed)
            self._connections.add(connection)
            return connection

        self._server = await asyncio.get_running_loop().create_unix_server(connected, path)

    def _answer(self, connection: _Frames, handler: RequestHandler, id: int | None, message: dict[str, Any]) -> None:
        """At once where nothing has to be waited for: a task costs more than most answers."""
        try:
            answer = handler(connection, message)
        except Exception as error:  # noqa: BLE001 - the asker is told, and its sender tries again
            _send_failure(connection, id, error)
            return
        if isinstance(answer, Awaitable):
            task = asyncio.get_running_loop().create_task(_answer_later(connection, id, answer))
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        elif id is not None:
            connection.send((id, True, answer))

    async def request(self, index: int, message: dict[str, Any]) -> Any:
        """The answer of another worker. Raises `Unreachable`."""
        peer = self._peers.get(index)
        if peer is None or peer.is_closed:
            peer = self._peers[index] = _Peer(self._path(index))
        return await peer.request(message)

    def tell(self, index: int, message: dict[str, Any]) -> None:
        """What another worker need not answer. It does not hear it when it went away since it was last asked."""
        if (peer := self._peers.get(index)) is not None:
            peer.tell(message)

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
        if self._server is not None:
            self._server.close()
        for connection in list(self._connections):
            connection.close()

    def _path(self, index: int) -> str:
        return os.path.join(self._directory, f"{index}.sock")


class _Peer:
    """A connection to another worker, opened by the first question."""

    def __init__(self, path: str) -> None:
        self.is_closed = False
        self._path = path
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._connection: _Frames | None = None
        self._opening = asyncio.Lock()

    async def request(self, message: dict[str, Any]) -> Any:
        if self._connection is None:
            async with self._opening:
                await self._open()
        if self.is_closed or self._connection is None:
            raise Unreachable(self._path)
        id = next(self._ids)
        reply = self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            self._connection.send((id, message))
            return await reply
        finally:
            del self._waiting[id]

    def tell(self, message: dict[str, Any]) -> None:
        if self._connection is not None and not self.is_closed:
            self._connection.send((None, message))

    async def _open(self) -> None:
        if self._connection is not None or self.is_closed:
            return
        loop = asyncio.get_running_loop()
        try:
            _, self._connection = await loop.create_unix_connection(
                lambda: _Frames(self._on_reply, lambda _: self.close()), self._path
            )
        except OSError as error:
            self.is_closed = True
            raise Unreachable(str(error)) from None

    def _on_reply(self, _: _Frames, frame: Any) -> None:
        id, is_answered, answer = frame
        reply = self._waiting.get(id)
        if reply is None or reply.done():
            return
        if is_answered:
            reply.set_result(answer)
        else:
            reply.set_exception(Unreachable(answer))

    def close(self) -> None:
        self.is_closed = True
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(Unreachable("it ended"))
        if self._connection is not None and not self._connection.is_closed:
            self._connection.close()


async def _answer_later(connection: _Frames, id: int | None, answer: Awaitable[Any]) -> None:
    try:
        connection.send((id, True, await answer))
    except Exception as error:  # noqa: BLE001 - as above
        _send_failure(connection, id, error)


def _send_failure(connection: _Frames, id: int | None, error: Exception) -> None:
    if id is not None:
        connection.send((id, False, f"{type(error).__name__}: {error}"))
