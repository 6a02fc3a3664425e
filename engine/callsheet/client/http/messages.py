"""The library's messages, made of one hop of a request; they are complete, so nothing of the library adds to them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import httpx

from ... import __version__
from .transport import TARGET

_GENERAL = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "keep-alive",
    "User-Agent": f"callsheet/{__version__}",
}
_PLAIN = re.compile(
    r"(https?://[A-Za-z0-9.:-]+)((?:/(?:[A-Za-z0-9_~-]|%[0-9A-F]{2})(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*)+"
    r"(?:\?(?:[A-Za-z0-9._~,=&-]|%[0-9A-F]{2})*)?)"
)
_LONG = 4096  # the library refuses some that are much longer
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})  # even of no body


class Messages:
    """`httpx.Client.build_request` does the same with cookies, parameters and a base address, for twice the time."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._extensions = {"timeout": httpx.Timeout(timeout).as_dict()}

    def make(self, method: str, url: str, headers: Mapping[str, str], content: dict[str, Any]) -> httpx.Request:
        """`content` is what `request_content` gave. Raises `httpx.InvalidURL`."""
        address, extensions = self._address(url)
        fields = {name.lower(): (name, text) for name, text in _GENERAL.items()}
        for name, text in (*content.get("headers", {}).items(), *headers.items()):
            fields[name.lower()] = (name, text)
        body = content.get("content")
        if "files" in content or not (body is None or isinstance(body, bytes)):
            given = {name: value for name, value in content.items() if name != "headers"}
            return httpx.Request(method, address, headers=[*fields.values()], extensions=extensions, **given)
        fields.setdefault("host", ("Host", address.netloc.decode("ascii")))
        if body or method in _WITH_LENGTH:
            fields.setdefault("content-length", ("Content-Length", str(len(body or b""))))
        stream = httpx.ByteStream(body or b"")
        return httpx.Request(method, address, headers=[*fields.values()], stream=stream, extensions=extensions)

    def _address(self, url: str) -> tuple[httpx.URL, dict[str, Any]]:
        """The library takes long for an address, so one that can only be read in one way keeps the parsed host.

        Its path and query are then an extension of the message. The library's own of that kind breaks proxies.
        """
        plain = _PLAIN.fullmatch(url) if len(url) < _LONG else None
        if plain is None:
            return httpx.URL(url), self._extensions
        return _root(plain[1]), {**self._extensions, TARGET: plain[2].encode("ascii")}


@lru_cache(maxsize=64)
def _root(text: str) -> httpx.URL:
    return httpx.URL(text)
