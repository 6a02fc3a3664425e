"""What a request asks for (RFC 9112, section 3.2)."""

from __future__ import annotations

from urllib.parse import unquote

from httptools import parse_url


def path_and_query(target: bytes) -> tuple[str, bytes]:
    """The path without escapes, and the query as it came. Raises httptools' error for what is no target."""
    parsed = parse_url(target)
    path = parsed.path.decode("ascii")
    return unquote(path) if "%" in path else path, parsed.query or b""
