"""Connections: proxies and certificates, and where each of them may lead."""

from __future__ import annotations

import os
import ssl
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from urllib.request import getproxies, proxy_bypass

import httpcore
import httpx

from ...errors import NetworkError, UsageError
from ...files import refuse_irregular
from ...installation import how_to_add
from ...urls import is_loopback, url_origin

if TYPE_CHECKING:
    from ..request.http_request import NetworkSettings


# Connections that are checked where they lead to, and that wait for an answer only so long in all.


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
                raise httpcore.ReadTimeout("the whole answer took too long")
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


# One pool of connections, spoken to in the words of the library above it.


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
            proxy=None if proxy is None else _proxy_with_credentials(proxy),
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
            url=_request_url(request.url, request.extensions.get(TARGET)),
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


def _request_url(url: httpx.URL, target: bytes | None = None) -> httpcore.URL:
    return httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=target or url.raw_path)


def _proxy_with_credentials(proxy: httpx.Proxy) -> httpcore.Proxy:
    return httpcore.Proxy(_request_url(proxy.url), proxy.raw_auth, proxy.headers.raw, proxy.ssl_context)


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


# Connections: proxies and certificates, made when a request first needs them.


CA_FILES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


# The extension of a message by which its connection may show the site's client certificate.
SHOW_CERTIFICATE = "callsheet.own"


class PoolKey(NamedTuple):
    """How a message leaves; each way has connections of its own. `certificate` shows the site's."""

    secure: bool
    proxy: str | None
    certificate: bool


class Connections(httpx.BaseTransport):
    """One pool for each way out: with or without TLS, direct or through a proxy, as a known client or as a stranger."""

    def __init__(self, site: NetworkSettings, environ: Mapping[str, str]) -> None:
        self._site = site
        self._environ = environ
        self._lock = threading.Lock()
        self._pools: dict[PoolKey, Pool] = {}
        self._known: dict[tuple[str, bytes, bool], Pool] = {}
        self._contexts: dict[bool, ssl.SSLContext] = {}

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._pool_of(
            request.url, show_certificate=bool(request.extensions.get(SHOW_CERTIFICATE))
        ).handle_request(request)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool_of(self, url: httpx.URL, *, show_certificate: bool) -> Pool:
        known = (url.scheme, url.raw_host, show_certificate)
        if known not in self._known:  # looking for proxies goes through the whole environment
            self._known[known] = self._find_pool(url, show_certificate=show_certificate)
        return self._known[known]

    def _find_pool(self, url: httpx.URL, *, show_certificate: bool) -> Pool:
        secure = url.scheme == "https"
        certificate = secure and show_certificate and self._site.client_cert is not None
        route = PoolKey(secure, proxy_for(url, self._site.proxy), certificate)
        with self._lock:
            if route not in self._pools:
                self._pools[route] = self._open_connections(route)
            return self._pools[route]

    def _open_connections(self, route: PoolKey) -> Pool:
        context = (
            self._tls_context(show_certificate=route.certificate)
            if route.secure
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # a pool wants one; this way out has no TLS
        )
        return Pool(context, self._httpx_proxy(route.proxy), local=not route.secure and route.proxy is None)

    def _httpx_proxy(self, proxy: str | None) -> httpx.Proxy | None:
        if proxy is None:
            return None
        through_tls = proxy.lower().startswith("https:")
        try:
            if proxy.lower().startswith("socks"):
                import socksio  # noqa: F401 - what httpx needs for it
            _check_host(proxy)
            return httpx.Proxy(proxy, ssl_context=self._tls_context(show_certificate=False) if through_tls else None)
        except (ValueError, httpx.InvalidURL) as error:
            hint = "expected http://HOST:PORT, in the site's settings or in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
            raise UsageError(f"the proxy's address is not valid: {error}", hint=hint) from None
        except ImportError:
            message = "a SOCKS proxy needs the package socksio, which is not installed"
            raise UsageError(message, hint=how_to_add(extra="socks")) from None

    def _tls_context(self, *, show_certificate: bool) -> ssl.SSLContext:
        """With the site's client certificate only for its own hosts; a proxy, too, is somebody else."""
        if show_certificate not in self._contexts:
            context = ssl_context(self._site.ca_bundle, self._environ)
            if show_certificate:
                _add_client_certificate(context, self._site.client_cert)
            self._contexts[show_certificate] = context
        return self._contexts[show_certificate]


def _check_host(address: str) -> None:
    """Raises `ValueError` for what no connection can be made to."""
    url = httpx.URL(address)
    host = url.host
    if not host:
        raise ValueError("it names no host")
    if not all(character.isalnum() or character in "-._:" for character in host):
        raise ValueError("its host is neither a name nor an address")
    if url.port is not None and not 0 < url.port < 1 << 16:
        raise ValueError(f"there is no port {url.port}")


def proxy_for(url: httpx.URL, site_proxy: str | None = None) -> str | None:
    """The proxy to `url`: `site_proxy`, else the environment's (or the system's) unless it exempts the host.

    This machine is never reached through another one: plain http to it may carry a credential.
    """
    host = url.raw_host.decode("ascii")  # as it is looked up; the other form fails on what only looks like Punycode
    if is_loopback(host):
        return None
    if site_proxy:
        return site_proxy
    proxies = getproxies()
    found = proxies.get(url.scheme) or proxies.get("all")  # as curl reads HTTPS_PROXY and ALL_PROXY
    if not found or proxy_bypass(host):
        return None
    return found if "://" in found else f"http://{found}"


def ssl_context(bundle: str | None, environ: Mapping[str, str]) -> ssl.SSLContext:
    """The site's CA bundle, else the one the environment names, else the one that comes with httpx."""
    file = bundle or next((environ[name] for name in CA_FILES if environ.get(name)), None)
    folder = None if bundle else environ.get("SSL_CERT_DIR")
    if file and os.path.isdir(file):
        file, folder = None, file
    if not file and not folder:
        import certifi

        file = certifi.where()
    if file:
        _check_regular(file, "CA bundle")
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or "it contains no certificates"
        raise UsageError(f"CA bundle {file or folder}: {str(reason).lower()}") from None


def _add_client_certificate(context: ssl.SSLContext, certificate: str | tuple[str, str] | None) -> None:
    if not certificate:
        return
    names = (certificate,) if isinstance(certificate, str) else certificate
    for name in names:
        _check_regular(name, "client certificate")
    try:
        context.load_cert_chain(*names)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or "not a certificate with its key"
        raise UsageError(f"client certificate {names[0]}: {str(reason).lower()}") from None


def _check_regular(path: str, what: str) -> None:
    """The library below would wait for a pipe's writer for ever, and reads a device without end."""
    try:
        refuse_irregular(path)
    except OSError as error:
        raise UsageError(f"{what} {path}: {str(error.strerror).lower()}") from None


# The last look before a message leaves: whether it goes where its headers are meant for.


def check_origin(url: httpx.URL, home: str) -> None:
    """Raise `UsageError` unless a message to `url` goes to the origin `home`.

    Whatever built the URL (definitions, a profile, a link of an answer), this compares what the library will really
    connect to, so that two readings of one text cannot differ.
    """
    if _parse_address(url) != _parse_home(home):
        target = url_origin(f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}")
        raise UsageError(
            f"the request would go to {target}, but the credential is for {home}",
            hint="nothing was sent; the path or base URL that leads there is wrong",
        )


@lru_cache(maxsize=64)
def _parse_home(home: str) -> tuple[str, bytes, int | None]:
    """The same one for all requests of a site."""
    return _parse_address(httpx.URL(home))


def _parse_address(url: httpx.URL) -> tuple[str, bytes, int | None]:
    port = url.port if url.port is not None else {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.raw_host.lower().rstrip(b"."), port
