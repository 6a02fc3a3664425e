"""The library's connection, made to come back by itself whatever ended it.

The methods here are not public in the library: tests with a real server hold them.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import ssl
from collections.abc import Callable
from typing import Any

from ....errors import UsageError
from ....installation import how_to_add

RECONNECT_DELAY = 0.25
# Seconds; three pings without an answer mean that the server is gone, also where nothing tells that the line is cut.
PING_EVERY = 5.0
# Seconds; without it whoever sends while a connection is lost may wait for ever.
FLUSH_TIMEOUT = 2.0


def make_client(tell: Callable[[str], None], tls: ssl.SSLContext | None) -> Any:
    """`tell` is told what the server says of its own accord. Where there is `tls`, nothing is said without."""
    try:
        import nats
    except ImportError:
        raise UsageError("--queue: the client for NATS is not installed", hint=how_to_add(extra="nats")) from None

    class Client(_PersistentClient, nats.NATS):  # type: ignore[misc]  # the library has no types
        failure = nats.errors.Error

    logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # it remarks on what the library does with TLS
    client = Client()
    client.tell, client.is_secure = tell, tls is not None
    return client


class _PersistentClient:
    """What the library's class is given to do otherwise."""

    failure: type[Exception]
    tell: Callable[[str], None]
    is_secure: bool
    _told: frozenset[str] = frozenset()

    def _connect_command(self: Any) -> bytes:
        """The library speaks TLS where the server asks for it, before anybody signs in."""
        if self.is_secure and not self._server_info.get("tls_required"):
            raise self.failure("the server offers no TLS")
        command: bytes = super()._connect_command()  # type: ignore[misc]
        return command

    async def _process_err(self: Any, err_msg: str) -> None:
        """The library gives up for good here, also where the server takes the next connection."""
        words = err_msg.strip("'")
        if "permissions violation" in words:  # the connection stays
            kind = words.rpartition(".")[0]  # the last part of a subject tells single events apart
            if kind not in self._told:
                self._told |= {kind}
                self.tell(words)
            return
        if "stale connection" not in words and "authorization" not in words:
            self.tell(words)
        error = self.failure(f"nats: {words}")
        await self._error_cb(error)
        await self._process_op_err(error)

    def _abort(self: Any) -> None:
        with contextlib.suppress(AttributeError):
            self._transport._io_writer.transport.abort()  # noqa: SLF001 - the library has nothing for it

    async def _process_op_err(self: Any, e: Exception) -> None:
        """The library waits until a connection has sent all it has, which it never does to a server that hangs."""
        self._abort()
        await super()._process_op_err(e)  # type: ignore[misc]

    async def _process_connect_init(self: Any) -> None:
        """The library leaves connections open on which nobody answered."""
        try:
            await super()._process_connect_init()  # type: ignore[misc]
        except BaseException:
            self._abort()
            raise

    async def _attempt_reconnect(self: Any) -> None:
        """The library stops trying where it cannot read the credentials, which somebody may be writing just now."""
        while True:
            try:
                await super()._attempt_reconnect()  # type: ignore[misc]
            except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
                await self._error_cb(error)
                await asyncio.sleep(RECONNECT_DELAY)
            else:
                return
