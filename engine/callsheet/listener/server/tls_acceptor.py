"""Where https connections come in. Those that have not begun TLS count, and have no longer than others for headers.

The loop's own server would tell of a connection only after its handshake, and would use one certificate for ever.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import TYPE_CHECKING

from .protocol import LimitedProtocol

if TYPE_CHECKING:
    from .protocol import Limits

# Where no descriptor is left, or the listening socket has another problem that passes.
PAUSE = 0.2


class TlsAcceptor:
    """`context` gives the certificate of the moment. Made inside a running loop."""

    def __init__(
        self,
        listening: socket.socket,
        context: Callable[[], ssl.SSLContext | None],
        make_protocol: Callable[[], LimitedProtocol],
        handshakes: dict[LimitedProtocol, asyncio.Task[None]],
        limits: Limits,
    ) -> None:
        self._listening = listening
        self._context = context
        self._make_protocol = make_protocol
        self._handshakes = handshakes
        self._limits = limits
        self._tasks: set[asyncio.Task[None]] = set()
        self._accepting = asyncio.get_running_loop().create_task(self._accept_forever())

    def close(self) -> None:
        """Take no more connections; those that are not connections yet end."""
        for task in (self._accepting, *self._tasks):
            task.cancel()
        self._listening.close()

    async def _accept_forever(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._listening)
            except OSError:
                await asyncio.sleep(PAUSE)
                continue
            protocol = self._make_protocol()
            taken = len(protocol.connections) + len(self._handshakes)
            if taken >= self._limits.connections + self._limits.spare and not protocol.take_place():
                self._limits.on_refused(503, "too_many_connections", _client_address(accepted))
                accepted.close()
                continue
            task = self._handshakes[protocol] = loop.create_task(self._handshake(accepted, protocol))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _handshake(self, accepted: socket.socket, protocol: LimitedProtocol) -> None:
        client = _client_address(accepted)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol,
                accepted,
                ssl=self._context(),
                ssl_handshake_timeout=self._limits.header_timeout,
            )
        except OSError:  # no TLS, one that this side does not speak, or too slow
            self._limits.on_refused(400, "not_tls", client)
        finally:
            self._handshakes.pop(protocol, None)


def _client_address(accepted: socket.socket) -> str:
    try:
        name = accepted.getpeername()
    except OSError:
        return "-"
    return str(name[0]) if isinstance(name, tuple) else "unix"
