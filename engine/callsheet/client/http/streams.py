"""Connections that are checked where they lead to, and that wait for an answer only so long in all."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterable
from typing import Any

import httpcore

from ...errors import NetworkError
from ...urls import is_loopback

Options = Iterable[tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]]

_END_OF_HEAD = b"\r\n\r\n"


class TimedStream(httpcore.NetworkStream):
    """The time-out of a read counts from the last byte that was sent.

    The library's own starts anew with each byte that comes, so a body of one byte a second, or endless interim
    answers, would never end. `allow_slow` gives a body that is streamed all the time it needs, until the next request.

    The library writes a message's head and body one after the other, so the head waits here for what follows it: two
    packets would wake the service twice, and let another thread in between.
    """

    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner
        self._last_write = time.monotonic()
        self.allow_slow = False
        self._head = b""

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._head:
            self.write(b"", timeout)
        if timeout is not None and not self.allow_slow:
            timeout += self._last_write - time.monotonic()
            if timeout <= 0:
                raise httpcore.ReadTimeout("the whole answer takes too long")
        return self._inner.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if not self._head and buffer.endswith(_END_OF_HEAD):
            self._head = buffer
            return
        head, self._head = self._head, b""
        self._inner.write(head + buffer, timeout)
        self._last_write, self.allow_slow = time.monotonic(), False

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return TimedStream(self._inner.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class Backend(httpcore.SyncBackend):
    """With `local`, a name that should mean this machine is refused when it leads elsewhere."""

    def __init__(self, *, local: bool) -> None:
        self._local = local

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Options | None = None,
    ) -> httpcore.NetworkStream:
        try:
            stream = super().connect_tcp(host, port, timeout, local_address, socket_options)
        except UnicodeError:  # the resolver's word for a name that nothing can have
            raise httpcore.ConnectError("no host can have this name") from None
        address = str(stream.get_extra_info("server_addr")[0]).partition("%")[0]
        if self._local and is_loopback(host) and not is_loopback(address):
            stream.close()
            raise NetworkError(
                f"{host} leads to {address}, not to this machine, and http would send the credential unencrypted",
                hint="nothing was sent; use https",
            )
        return TimedStream(stream)
