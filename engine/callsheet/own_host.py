"""Whether a request over HTTP means this machine: servers that listen here alone answer no other name of theirs.

A web page of anybody can make a browser ask this machine, under a name that leads here (DNS rebinding).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# This machine, exactly: what compares beginnings lets `localhost:1.other.example` pass.
_HOST = re.compile(rb"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?", re.IGNORECASE)
_ORIGIN = re.compile(rb"https?://(?:127\.0\.0\.1|localhost|\[::1\])(?::\d+)?", re.IGNORECASE)


def foreign_status(headers: Iterable[tuple[bytes, bytes]]) -> int | None:
    """The status that a request with these headers (names in lower case) is refused with; None where it is answered.

    421 for the name of another host, or of several; 403 for a web page of another origin.
    """
    found = [*headers]
    if not _all(found, b"host", _HOST):
        return 421
    return None if _all(found, b"origin", _ORIGIN) else 403


def _all(headers: list[tuple[bytes, bytes]], wanted: bytes, pattern: re.Pattern[bytes]) -> bool:
    """Whether a header stands there once at most, and says what it may."""
    found = [value for name, value in headers if name == wanted]
    return len(found) < 2 and all(map(pattern.fullmatch, found))
