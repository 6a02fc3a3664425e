"""Connections: proxies and certificates, made when a request first needs them."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.request import getproxies, proxy_bypass

import httpx

from ...errors import UsageError

if TYPE_CHECKING:
    from ..site_access import NetworkSettings

CA_FILES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


class Connections(httpx.BaseTransport):
    """One pool for each way out: with or without TLS, direct or through a proxy."""

    def __init__(self, site: NetworkSettings, environ: Mapping[str, str]) -> None:
        self._site = site
        self._environ = environ
        self._lock = threading.Lock()
        self._pools: dict[tuple[bool, str | None], httpx.HTTPTransport] = {}
        self._trusted: ssl.SSLContext | None = None

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        return self._pool(request.url).handle_request(request)

    def close(self) -> None:
        for pool in self._pools.values():
            pool.close()

    def _pool(self, url: httpx.URL) -> httpx.HTTPTransport:
        proxy = self._proxy(url)
        key = (url.scheme == "https", proxy)
        with self._lock:
            if key not in self._pools:
                self._pools[key] = self._open(*key)
            return self._pools[key]

    def _open(self, secure: bool, proxy: str | None) -> httpx.HTTPTransport:
        through_tls = secure or (proxy or "").startswith("https:")
        context = self._context() if through_tls else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        way = None if proxy is None else httpx.Proxy(proxy, ssl_context=context if proxy.startswith("https:") else None)
        try:
            return httpx.HTTPTransport(
                verify=context, proxy=way, limits=httpx.Limits(max_connections=32), trust_env=False
            )
        except (ValueError, ImportError) as error:
            raise UsageError(f"proxy {httpx.URL(proxy or '').host}: {error}") from None

    def _proxy(self, url: httpx.URL) -> str | None:
        """The site's own proxy, else the environment's (or the system's) unless it exempts the host."""
        if self._site.proxy:
            return self._site.proxy
        proxies = getproxies()
        found = proxies.get(url.scheme) or proxies.get("all")
        if not found or proxy_bypass(url.host):
            return None
        return found if "://" in found else f"http://{found}"

    def _context(self) -> ssl.SSLContext:
        if self._trusted is None:
            self._trusted = trusted(self._site.ca_bundle, self._environ)
            _add_client_certificate(self._trusted, self._site.client_cert)
        return self._trusted


def trusted(bundle: str | None, environ: Mapping[str, str]) -> ssl.SSLContext:
    """The site's CA bundle, else the one the environment names, else the one that comes with httpx."""
    file = bundle or next((environ[name] for name in CA_FILES if environ.get(name)), None)
    folder = None if bundle else environ.get("SSL_CERT_DIR")
    if file and os.path.isdir(file):
        file, folder = None, file
    if not file and not folder:
        import certifi

        file = certifi.where()
    try:
        return ssl.create_default_context(cafile=file, capath=folder)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or "it contains no certificates"
        raise UsageError(f"CA bundle {file or folder}: {str(reason).lower()}") from None


def _add_client_certificate(context: ssl.SSLContext, certificate: str | tuple[str, str] | None) -> None:
    if not certificate:
        return
    names = (certificate,) if isinstance(certificate, str) else certificate
    try:
        context.load_cert_chain(*names)
    except (OSError, ssl.SSLError) as error:
        reason = getattr(error, "strerror", None) or "not a certificate with its key"
        raise UsageError(f"client certificate {names[0]}: {str(reason).lower()}") from None
