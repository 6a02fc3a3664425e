"""How much of what comes over the network is taken, and for how long."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from . import responses


class Limits(NamedTuple):
    """Bytes and seconds, and what is told of requests that never become one, of whole ones at once, and later.

    Beyond `connections` a connection is answered 503, beyond `spare` more it is closed.
    """

    max_body: int
    max_header: int
    connections: int
    spare: int
    header_timeout: float
    body_timeout: float
    idle_timeout: float
    on_refused: Callable[[int, str, str], None]
    try_immediately: Callable[[dict[str, Any], bytes], responses.Response | None]
    begin: Callable[[dict[str, Any], bytes, Callable[[responses.Response], None]], bool]
    respond: Callable[[dict[str, Any], bytes], Awaitable[responses.Response]]
