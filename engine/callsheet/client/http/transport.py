"""One pool of connections, spoken to in the words of the library above it."""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import cast

import httpcore
import httpx

from .streams import Backend, TimedStream

_CONNECTIONS = 32
# Of a compressed body at a time: what it can become (a thousand times as much) has to fit into memory.
_PIECE = 4096


class Pool(httpx.BaseTransport):
    """What httpx.HTTPTransport is, with connections of our own; without TLS `context` is not used."""

    def __init__(self, context: ssl.SSLContext, proxy: httpx.Proxy | None, *, local: bool) -> None:
        self._pool = httpcore.ConnectionPool(
            ssl_context=context,
            proxy=None if proxy is None else _proxy(proxy),
            max_connections=_CONNECTIONS,
            max_keepalive_connections=20,
            keepalive_expiry=5.0,
            network_backend=Backend(local=local),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Errors are httpx's, and know the request."""
        message = httpcore.Request(
            method=request.method,
            url=_url(request.url),
            headers=request.headers.raw,
            content=cast("Iterable[bytes]", request.stream),
            extensions=request.extensions,
        )
        with _translated(request):
            answer = self._pool.handle_request(message)
        packed = any(name.lower() == b"content-encoding" for name, _ in answer.headers)
        stream = _AnswerStream(answer, request, _PIECE if packed else None)
        return httpx.Response(
            answer.status, headers=answer.headers, stream=stream, extensions=answer.extensions, request=request
        )

    def close(self) -> None:
        self._pool.close()


class _AnswerStream(httpx.SyncByteStream):
    def __init__(self, answer: httpcore.Response, request: httpx.Request, piece: int | None) -> None:
        self._answer = answer
        self._request = request
        self._piece = piece

    def __iter__(self) -> Iterator[bytes]:
        with _translated(self._request):
            for chunk in self._answer.iter_stream():
                for start in range(0, len(chunk), self._piece or len(chunk) or 1):
                    yield chunk[start : start + self._piece] if self._piece else chunk

    def close(self) -> None:
        with _translated(self._request):
            self._answer.close()


def set_patience(response: httpx.Response, *, patient: bool) -> None:
    """Whether the body may take as long as it likes while bytes come in, or has to be there within the time-out."""
    stream = response.extensions.get("network_stream")
    if isinstance(stream, TimedStream):
        stream.patient = patient


def _url(url: httpx.URL) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)


def _proxy(proxy: httpx.Proxy) -> httpcore.Proxy:
    return httpcore.Proxy(_url(proxy.url), proxy.raw_auth, proxy.headers.raw, proxy.ssl_context)


@contextmanager
def _translated(request: httpx.Request) -> Iterator[None]:
    """Both libraries call their errors the same."""
    try:
        yield
    except (httpcore.TimeoutException, httpcore.NetworkError, httpcore.ProtocolError, httpcore.ProxyError) as error:
        raise _same(error)(str(error), request=request) from error
    except httpcore.UnsupportedProtocol as error:
        raise httpx.UnsupportedProtocol(str(error), request=request) from error


def _same(error: Exception) -> type[httpx.RequestError]:
    found: type[httpx.RequestError] = getattr(httpx, type(error).__name__, httpx.TransportError)
    return found
