"""One pool of connections, spoken to in the words of the library above it."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from typing import cast

import httpcore
import httpx

from .streams import Backend, TimedStream

# The extension of a message that names the proxy it went to, host and port alone.
PROXY = "callsheet.proxy"
# The extension of a message with its path and query, where its address is that of the host alone.
TARGET = "callsheet.target"
_PORTS = {"https": 443, "socks5": 1080, "socks5h": 1080}
_CONNECTIONS = 32
# Of a compressed body at a time: what it can become (a thousand times as much) has to fit into memory.
_COMPRESSED_CHUNK = 4096


class Pool(httpx.BaseTransport):
    """What httpx.HTTPTransport is, with connections of our own; without TLS `context` is not used."""

    def __init__(self, context: ssl.SSLContext, proxy: httpx.Proxy | None, *, local: bool) -> None:
        self._proxy = (
            None if proxy is None else f"{proxy.url.host}:{proxy.url.port or _PORTS.get(proxy.url.scheme, 80)}"
        )
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            proxy=None if proxy is None else _proxy(proxy),
            max_connections=_CONNECTIONS,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=Backend(local=local),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Errors are httpx's, and know the request and the proxy that it went to."""
        if self._proxy is not None:
            request.extensions[PROXY] = self._proxy
        message = httpcore.Request(
            method=request.method,
            url=_url(request.url, request.extensions.get(TARGET)),
            headers=request.headers.raw,
            content=cast("Iterable[bytes]", request.stream),
            extensions=request.extensions,
        )
        try:
            response = self._pool.handle_request(message)
        except _ERRORS as error:
            raise _httpx_error(error, request) from error
        compressed = any(name.lower() == b"content-encoding" for name, _ in response.headers)
        stream = _ResponseStream(response, request, _COMPRESSED_CHUNK if compressed else None)
        return httpx.Response(
            response.status, headers=response.headers, stream=stream, extensions=response.extensions, request=request
        )

    def close(self) -> None:
        self._pool.close()


class _ResponseStream(httpx.SyncByteStream):
    def __init__(self, response: httpcore.Response, request: httpx.Request, size: int | None) -> None:
        self._response = response
        self._request = request
        self._size = size

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._response.iter_stream():
                for start in range(0, len(chunk), self._size or len(chunk) or 1):
                    yield chunk[start : start + self._size] if self._size else chunk
        except _ERRORS as error:
            raise _httpx_error(error, self._request) from error

    def close(self) -> None:
        try:
            self._response.close()
        except _ERRORS as error:
            raise _httpx_error(error, self._request) from error


def allow_slow_body(response: httpx.Response, *, allow_slow: bool) -> None:
    """Whether the body may take as long as it likes while bytes come in, or has to be there within the time-out."""
    stream = response.extensions.get("network_stream")
    if isinstance(stream, TimedStream):
        stream.allow_slow = allow_slow


def _url(url: httpx.URL, target: bytes | None = None) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=target or url.raw_path)


def _proxy(proxy: httpx.Proxy) -> httpcore.Proxy:
    return httpcore.Proxy(_url(proxy.url), proxy.raw_auth, proxy.headers.raw, proxy.ssl_context)


_ERRORS = (
    httpcore.TimeoutException,
    httpcore.NetworkError,
    httpcore.ProtocolError,
    httpcore.ProxyError,
    httpcore.UnsupportedProtocol,
)


def _httpx_error(error: Exception, request: httpx.Request) -> httpx.RequestError:
    """Both libraries call their errors the same."""
    found: type[httpx.RequestError] = getattr(httpx, type(error).__name__, httpx.TransportError)
    return found(str(error), request=request)
