"""Headers that the program sets itself, because they decide where or how a request is sent."""

from __future__ import annotations

# With `Host` a credential would go to another site of the same server, with the others one request could hold two.
OF_THE_CONNECTION = frozenset(
    {
        "host",
        "connection",
        "content-length",
        "expect",
        "keep-alive",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
