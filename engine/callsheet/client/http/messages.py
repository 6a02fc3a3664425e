"""The library's messages, made of one hop of a request; they are complete, so nothing of the library adds to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import httpx

from ... import __version__

_GENERAL = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "keep-alive",
    "User-Agent": f"callsheet/{__version__}",
}
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})  # even of no body


class Messages:
    """`httpx.Client.build_request` does the same with cookies, parameters and a base address, for twice the time."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._extensions = {"timeout": httpx.Timeout(timeout).as_dict()}

    def make(self, method: str, url: str, headers: Mapping[str, str], content: dict[str, Any]) -> httpx.Request:
        """`content` is what `request_content` gave. Raises `httpx.InvalidURL`."""
        address = httpx.URL(url)
        fields = {name.lower(): (name, text) for name, text in _GENERAL.items()}
        for name, text in (*content.get("headers", {}).items(), *headers.items()):
            fields[name.lower()] = (name, text)
        body = content.get("content")
        if "files" in content or not (body is None or isinstance(body, bytes)):
            given = {name: value for name, value in content.items() if name != "headers"}
            return httpx.Request(method, address, headers=[*fields.values()], extensions=self._extensions, **given)
        fields.setdefault("host", ("Host", address.netloc.decode("ascii")))
        if body or method in _WITH_LENGTH:
            fields.setdefault("content-length", ("Content-Length", str(len(body or b""))))
        stream = httpx.ByteStream(body or b"")
        return httpx.Request(method, address, headers=[*fields.values()], stream=stream, extensions=self._extensions)
