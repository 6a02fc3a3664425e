"""Where an answer sends the request on to, and what may go there with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit, urlunsplit

from ...errors import CallsheetError
from ...urls import origin
from ..request.model import Body, Request

STATUSES = frozenset({301, 302, 303, 307, 308})
LIMIT = 10
_PLAIN = frozenset({"accept", "accept-encoding", "user-agent", "range"})


@dataclass(frozen=True, slots=True)
class Hop:
    """One message of an exchange; the first is the request itself."""

    method: str
    url: str
    headers: dict[str, str]
    body: Body | None


def first(request: Request, headers: Mapping[str, str]) -> Hop:
    return Hop(request.method, request.url, {**dict(request.headers), **headers}, request.body)


def following(hop: Hop, status: int, location: str, shown: str) -> Hop:
    """The next message; `CallsheetError` where following would repeat a change or leave TLS.

    Another origin gets neither credentials nor any header but the most general ones.
    """
    target = _target(hop.url, location)
    problem = _problem(hop, status, target)
    if problem:
        host = urlsplit(target).hostname or target
        raise CallsheetError(f"{hop.method} {shown}: {status}: redirected to {host}; {problem}", status=status)
    headers = hop.headers
    if origin(target) != origin(hop.url):
        headers = {name: text for name, text in headers.items() if name.lower() in _PLAIN}
    if status == 303 and hop.method != "HEAD":
        return Hop("GET", target, headers, None)
    return replace(hop, url=target, headers=headers)


def _target(url: str, location: str) -> str:
    """Absolute, without a fragment, and without credentials in it."""
    parts = urlsplit(urljoin(url, location))
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, parts.query, ""))


def _problem(hop: Hop, status: int, target: str) -> str | None:
    scheme = urlsplit(target).scheme
    if scheme not in {"http", "https"}:
        return "that is not a web address"
    if scheme == "http" and urlsplit(hop.url).scheme == "https":
        return "not followed, because it leaves TLS"
    if hop.method in {"GET", "HEAD"} or status == 303:
        return None
    if status in {301, 302}:
        return f"not followed, because a {hop.method} must not turn into a GET: correct the site's base URL"
    if origin(target) != origin(hop.url):
        return f"not followed, because a {hop.method} is not sent to another host: correct the site's base URL"
    return None
