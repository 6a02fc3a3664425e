"""The last look before a message leaves: whether it goes where its headers are meant for."""

from __future__ import annotations

from functools import lru_cache

import httpx

from ...errors import UsageError
from ...urls import url_origin


def check_origin(url: httpx.URL, home: str) -> None:
    """Raise `UsageError` unless a message to `url` goes to the origin `home`.

    Whatever built the URL (definitions, a profile, a link of an answer), this compares what the library will really
    connect to, so that two readings of one text cannot differ.
    """
    if _parse(url) != _parse_home(home):
        target = url_origin(f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}")
        raise UsageError(
            f"the request would go to {target}, but the credential is for {home}",
            hint="nothing was sent; the path or base URL that leads there is wrong",
        )


@lru_cache(maxsize=64)
def _parse_home(home: str) -> tuple[str, bytes, int | None]:
    """The same one for all requests of a site."""
    return _parse(httpx.URL(home))


def _parse(url: httpx.URL) -> tuple[str, bytes, int | None]:
    port = url.port if url.port is not None else {"http": 80, "https": 443}.get(url.scheme)
    return url.scheme, url.raw_host.lower().rstrip(b"."), port
