"""The head of a request without its offer to speak another protocol (`Upgrade: h2c` of curl and Java's client)."""

from __future__ import annotations

from collections.abc import Sequence

_OFFER = (b"upgrade", b"http2-settings")


def without_upgrade(method: bytes, url: bytes, version: str, headers: Sequence[tuple[bytes, bytes]]) -> bytes | None:
    """Nothing for a method that wants a tunnel and is no request to answer (RFC 9110, 9.3.6)."""
    if method == b"CONNECT":
        return None
    kept = [(name, _without_offer(value) if name == b"connection" else value) for name, value in headers]
    lines = b"".join(b"%s: %s\r\n" % line for line in kept if line[0] not in _OFFER and line != (b"connection", b""))
    return b"%s %s HTTP/%s\r\n%s\r\n" % (method, url, version.encode(), lines)


def _without_offer(value: bytes) -> bytes:
    words = [word.strip() for word in value.split(b",")]
    return b", ".join(word for word in words if word.lower() not in _OFFER)
