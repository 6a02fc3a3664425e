"""Questions among the workers of one listener, over unix sockets in a directory that only their user can enter.

A frame is 4 bytes with the length of a JSON table, 4 bytes with the length of what follows it, the table, and
bytes. Answers carry the number of their question, so one connection carries many at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import struct
from collections.abc import Awaitable, Callable
from typing import Any

RequestHandler = Callable[[dict[str, Any], bytes], Awaitable[Any]]
_LENGTHS = struct.Struct(">II")


class Unreachable(Exception):
    """The other worker is not there, or went away before it answered."""


class Channel:
    """The worker `index` of those that share `directory`."""

    def __init__(self, directory: str, index: int) -> None:
        self.index = index
        self._directory = directory
        self._peers: dict[int, _Peer] = {}
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.StreamWriter] = set()

    async def start(self, handler: RequestHandler) -> None:
        """Answer the others' questions; what `handler` raises reaches the asker as `Unreachable`."""
        path = self._path(self.index)
        with contextlib.suppress(FileNotFoundError):
            os.remove(path)  # of a worker that died

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._connections.add(writer)
            await _serve(reader, writer, handler)
            self._connections.discard(writer)

        self._server = await asyncio.start_unix_server(connected, path)

    async def request(self, index: int, message: dict[str, Any], data: bytes = b"") -> Any:
        """The answer of another worker. Raises `Unreachable`."""
        peer = self._peers.get(index)
        if peer is None or peer.is_closed:
            peer = self._peers[index] = _Peer(self._path(index))
        return await peer.request(message, data)

    def close(self) -> None:
        for peer in self._peers.values():
            peer.close()
        if self._server is not None:
            self._server.close()
        for writer in list(self._connections):
            writer.close()

    def _path(self, index: int) -> str:
        return os.path.join(self._directory, f"{index}.sock")


class _Peer:
    """A connection to another worker, opened by the first question."""

    def __init__(self, path: str) -> None:
        self.is_closed = False
        self._path = path
        self._ids = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._opening = asyncio.Lock()
        self._reading: asyncio.Task[None] | None = None

    async def request(self, message: dict[str, Any], data: bytes) -> Any:
        async with self._opening:
            if self._writer is None:
                await self._open()
        if self.is_closed or self._writer is None:
            raise Unreachable(self._path)
        id = next(self._ids)
        reply = self._waiting[id] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(_frame({"number": id, **message}, data))
            await self._writer.drain()
            return await reply
        except OSError as error:
            raise Unreachable(str(error)) from None
        finally:
            del self._waiting[id]

    async def _open(self) -> None:
        try:
            reader, self._writer = await asyncio.open_unix_connection(self._path)
        except OSError as error:
            self.is_closed = True
            raise Unreachable(str(error)) from None
        self._reading = asyncio.create_task(self._read(reader))

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while True:
                message, _ = await _read_frame(reader)
                reply = self._waiting.get(message["number"])
                if reply is not None and not reply.done():
                    if "failed" in message:
                        reply.set_exception(Unreachable(message["failed"]))
                    else:
                        reply.set_result(message["answer"])
        except (OSError, EOFError):
            self.close()

    def close(self) -> None:
        self.is_closed = True
        for reply in self._waiting.values():
            if not reply.done():
                reply.set_exception(Unreachable("it ended"))
        if self._writer is not None:
            self._writer.close()
        if self._reading is not None and self._reading is not asyncio.current_task():
            self._reading.cancel()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, handler: RequestHandler) -> None:
    running: set[asyncio.Task[None]] = set()

    async def reply(message: dict[str, Any], data: bytes) -> None:
        id = message.pop("number")
        try:
            reply = {"number": id, "answer": await handler(message, data)}
        except Exception as error:  # noqa: BLE001 - the asker is told, and its sender tries again
            reply = {"number": id, "failed": f"{type(error).__name__}: {error}"}
        with contextlib.suppress(OSError):
            writer.write(_frame(reply, b""))
            await writer.drain()

    try:
        while True:
            task = asyncio.create_task(reply(*await _read_frame(reader)))
            running.add(task)
            task.add_done_callback(running.discard)
    except (OSError, EOFError):
        pass
    finally:
        await asyncio.gather(*running, return_exceptions=True)
        writer.close()


def _frame(message: dict[str, Any], data: bytes) -> bytes:
    text = json.dumps(message).encode()
    return _LENGTHS.pack(len(text), len(data)) + text + data


async def _read_frame(reader: asyncio.StreamReader) -> tuple[dict[str, Any], bytes]:
    """Raises `EOFError` at the end (`IncompleteReadError` is one)."""
    length, size = _LENGTHS.unpack(await reader.readexactly(_LENGTHS.size))
    message: dict[str, Any] = json.loads(await reader.readexactly(length))
    return message, await reader.readexactly(size) if size else b""
