"""Getting a key set: https only, except from this host; no redirects; bounded in size and time."""

from __future__ import annotations

import asyncio
import ipaddress
import os
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from ...errors import UsageError
from ...urls import is_host

if TYPE_CHECKING:
    import httpx

MAX_SIZE = 128 * 1024
TIMEOUT = 5.0
CONNECT_TIMEOUT = 4.0


def check_url(url: str, where: str) -> None:
    """Raises `UsageError` unless keys from this address can be trusted to be the ones meant."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise UsageError(
            f"{where}: {url!r} is not a valid address", hint="example: https://example.org/jwks.json"
        ) from None
    if parts.scheme not in ("https", "http") or not host or not is_host(host):
        raise UsageError(f"{where}: {url!r} is not a valid address", hint="example: https://example.org/jwks.json")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(
            f"{where}: {host} needs https", hint="plain http is for this host only (127.0.0.1, [::1], localhost)"
        )


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def fetcher(url: str) -> tuple[Callable[[], Awaitable[bytes]], Callable[[], Awaitable[None]]]:
    """A function that gets the key set, raising `OSError` or `ValueError`, and one that ends it.

    Which authorities are trusted is the environment's to say, on this host too. Raises `UsageError` for certificates
    that cannot be read.
    """
    import httpx

    from ...client.http.connections import ssl_context

    host = urlsplit(url).hostname or ""
    client = httpx.AsyncClient(
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT),  # all else is in the time for the whole answer
        trust_env=not is_loopback(host),
        verify=ssl_context(None, os.environ),
        headers={"accept": "application/json", "accept-encoding": "identity"},
    )

    async def fetch() -> bytes:
        try:
            async with asyncio.timeout(TIMEOUT):
                return await _read(client, url)
        except TimeoutError:
            raise OSError(f"no whole answer within {TIMEOUT:g} s") from None
        except httpx.RequestError as error:
            from ...client.http.retry import explain_network_error

            raise OSError(explain_network_error(error, CONNECT_TIMEOUT)[0]) from None

    return fetch, client.aclose


async def _read(client: httpx.AsyncClient, url: str) -> bytes:
    async with client.stream("GET", url) as response:
        if response.is_redirect:
            raise ValueError(f"answered {response.status_code}: redirects are not followed")
        if response.status_code != 200:
            raise ValueError(f"answered {response.status_code}")
        text = bytearray()
        async for chunk in response.aiter_bytes():
            text += chunk
            if len(text) > MAX_SIZE:
                raise ValueError(f"larger than {MAX_SIZE // 1024} KiB")
        return bytes(text)
