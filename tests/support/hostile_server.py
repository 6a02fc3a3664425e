"""A server that means harm, on a raw socket: it answers what no library would, and keeps every byte it gets.

    with hostile(gzip_bomb(1 << 30)) as server:
        shell("api", "GET", "/x", "--base-url", server.url)
    assert server.received == []

A behaviour is called with the connection and the head of the request. When the block ends, nothing that the server
received may hold the canary, unless it is `trusted` (it plays the site itself).
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from support.canary import nothing_leaked

Behaviour = Callable[[socket.socket, bytes], None]
HEAD = 256 * 1024


class HostileServer:
    """`received` is what came over each connection; `url`, `port` and `authority` say where it is."""

    def __init__(self, behaviour: Behaviour, context: ssl.SSLContext | None, host: str) -> None:
        self.behaviour = behaviour
        self.connections = 0
        self._buffers: list[bytearray] = []
        self._context = context
        self._stopped = False
        self._socket = socket.create_server((host, 0))
        self.port = self._socket.getsockname()[1]
        self.authority = f"localhost:{self.port}"
        self.url = f"{'https' if context else 'http'}://{self.authority}"
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def received(self) -> list[bytes]:
        return [bytes(buffer) for buffer in self._buffers if buffer]

    @property
    def requests(self) -> list[str]:
        """The request lines, in the order of the connections."""
        return [data.partition(b"\r\n")[0].decode("latin-1") for data in self.received]

    def stop(self) -> None:
        self._stopped = True
        self._socket.close()

    def _accept(self) -> None:
        while not self._stopped:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        buffer = bytearray()
        self._buffers.append(buffer)
        with contextlib.suppress(OSError, ssl.SSLError), contextlib.ExitStack() as stack:
            connection.settimeout(10)
            if self._context:
                connection = self._context.wrap_socket(connection, server_side=True)
            stack.enter_context(connection)
            while b"\r\n\r\n" not in buffer and len(buffer) < HEAD:
                data = connection.recv(65536)
                if not data:
                    return
                buffer += data
            self.behaviour(connection, bytes(buffer))
            connection.settimeout(0.2)  # the body, which belongs to what was sent
            while len(buffer) < HEAD and (data := connection.recv(65536)):
                buffer += data


@contextlib.contextmanager
def hostile(
    behaviour: Behaviour | None = None,
    *,
    context: ssl.SSLContext | None = None,
    host: str = "127.0.0.1",
    trusted: bool = False,
) -> Iterator[HostileServer]:
    """The server while the block runs. Without a behaviour it answers `{}` to everything: a stranger that listens."""
    server = HostileServer(behaviour or answer(b"{}"), context, host)
    try:
        yield server
    finally:
        server.stop()
    if not trusted:
        nothing_leaked(server.received, f"a stranger at {server.url}")


def answer(
    body: bytes = b"",
    *,
    status: str = "200 OK",
    headers: Mapping[str, str] | None = None,
) -> Behaviour:
    """An answer with any bytes whatever in its headers (they go out in Latin-1, unchecked)."""
    given = {"Content-Type": "application/json", "Content-Length": str(len(body)), "Connection": "close"}
    lines = "".join(f"{name}: {value}\r\n" for name, value in {**given, **(headers or {})}.items())
    return raw(f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1") + body)


def raw(data: bytes) -> Behaviour:
    """These bytes, whatever they are."""

    def behave(connection: socket.socket, head: bytes) -> None:
        connection.sendall(data)

    return behave


def redirect(location: str, status: str = "302 Found") -> Behaviour:
    return answer(status=status, headers={"Location": location})


def by_path(table: Mapping[str, Behaviour], other: Behaviour | None = None) -> Behaviour:
    """A behaviour for each path (without the query)."""

    def behave(connection: socket.socket, head: bytes) -> None:
        target = head.split(b" ")[1].decode("latin-1").partition("?")[0]
        table.get(target, other or answer(b"{}", status="404 Not Found"))(connection, head)

    return behave


def drip(pause: float = 0.2, byte: bytes = b" ") -> Behaviour:
    """A body that never ends and never is late: one byte at a time."""

    def behave(connection: socket.socket, head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        while True:
            connection.sendall(byte)
            time.sleep(pause)

    return behave


def endless(chunk: bytes = b"[" + b" " * 65535) -> Behaviour:
    """A body without an end, as fast as it is read."""

    def behave(connection: socket.socket, head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n")
        while True:
            connection.sendall(chunk)

    return behave


def endless_headers() -> Behaviour:
    def behave(connection: socket.socket, head: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(b"X-Filler: " + b"x" * 1000 + b"\r\n")

    return behave


def endless_informational(pause: float = 0.01) -> Behaviour:
    """1xx answers and never a final one."""

    def behave(connection: socket.socket, head: bytes) -> None:
        while True:
            connection.sendall(b"HTTP/1.1 103 Early Hints\r\n\r\n")
            time.sleep(pause)

    return behave


def gzip_bomb(size: int, byte: bytes = b" ", start: bytes = b"[", end: bytes = b"]") -> Behaviour:
    """A small answer that unpacks to `size` bytes of JSON."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb") as file:
        file.write(start)
        block = byte * min(size, 1 << 20)
        for _ in range(max(size // len(block), 1)):
            file.write(block)
        file.write(end)
    return answer(packed.getvalue(), headers={"Content-Encoding": "gzip"})


def deep_json(depth: int) -> Behaviour:
    return answer(b"[" * depth + b"]" * depth)


def silence() -> Behaviour:
    """Takes the request and says nothing."""

    def behave(connection: socket.socket, head: bytes) -> None:
        while connection.recv(65536):
            pass

    return behave


def json_answer(value: Any, **headers: str) -> Behaviour:
    return answer(json.dumps(value).encode(), headers=headers)
