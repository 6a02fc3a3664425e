"""Connections: proxies and certificates, made when a request first needs them."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import getproxies, proxy_bypass

import httpx

from ...errors import UsageError
from ...files import refuse_irregular
from ...installation import how_to_add
from ...urls import is_loopback
from .transport import Pool

if TYPE_CHECKING:
    from ..site_access import NetworkSettings

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
        return self._pool(request.url, show_certificate=bool(request.extensions.get(SHOW_CERTIFICATE))).handle_request(
            request
        )

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool(self, url: httpx.URL, *, show_certificate: bool) -> Pool:
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
                self._pools[route] = self._open(route)
            return self._pools[route]

    def _open(self, route: PoolKey) -> Pool:
        context = (
            self._context(show_certificate=route.certificate)
            if route.secure
            else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
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
            return httpx.Proxy(proxy, ssl_context=self._context(show_certificate=False) if through_tls else None)
        except (ValueError, httpx.InvalidURL) as error:
            hint = "expected http://HOST:PORT, in the site's settings or in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY"
            raise UsageError(f"the proxy's address is not valid: {error}", hint=hint) from None
        except ImportError:
            message = "a SOCKS proxy needs the package socksio, which is not installed"
            raise UsageError(message, hint=how_to_add(extra="socks")) from None

    def _context(self, *, show_certificate: bool) -> ssl.SSLContext:
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
    found = proxies.get(url.scheme) or proxies.get("all")
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
