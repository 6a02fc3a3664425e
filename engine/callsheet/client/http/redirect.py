"""Where an answer sends the request on to, and what may go there with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urljoin, urlsplit, urlunsplit

from ...errors import CallsheetError, UsageError
from ...urls import origin
from ..request.model import Body, Request

STATUSES = frozenset({301, 302, 303, 307, 308})
LIMIT = 10
_PLAIN = frozenset({"accept", "accept-encoding", "user-agent", "range"})
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class Hop:
    """One message of an exchange; the first is the request itself.

    `home` is the origin that the headers are meant for. `own` ends for good when another origin comes in between:
    then neither the credential nor the client certificate is shown any more.
    """

    method: str
    url: str
    headers: dict[str, str]
    body: Body | None
    home: str
    own: bool = True


def first_hop(request: Request, headers: Mapping[str, str], home: str) -> Hop:
    return Hop(request.method, request.url, {**dict(request.headers), **headers}, request.body, home)


def next_hop(hop: Hop, status: int, location: str, shown: str) -> Hop:
    """The next message; `CallsheetError` where following would repeat a change or leave TLS.

    Another origin gets neither credentials nor any header but the most general ones.
    """
    what = f"{hop.method} {shown}: {status}: redirected to"
    try:
        target = _target(hop.url, location)
        home = origin(target)
    except (ValueError, UsageError):
        without_fragment = repr(location[:_SHOWN]) + "…" * (len(location) > _SHOWN)
        raise CallsheetError(f"{what} {without_fragment}, which is not a valid address", status=status) from None
    problem = _why_refused(hop, status, target)
    if problem:
        raise CallsheetError(f"{what} {urlsplit(target).hostname or target}; {problem}", status=status)
    forwarded_headers = replace(hop, url=target)
    if home != hop.home:
        plain = {name: text for name, text in hop.headers.items() if name.lower() in _PLAIN}
        forwarded_headers = replace(forwarded_headers, headers=plain, home=home, own=False)
    if status == 303 and hop.method != "HEAD":
        return replace(forwarded_headers, method="GET", body=None)
    return forwarded_headers


def _target(url: str, location: str) -> str:
    """Absolute, without a fragment, and without credentials in it."""
    parts = urlsplit(urljoin(url, location))
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, parts.query, ""))


def _why_refused(hop: Hop, status: int, target: str) -> str | None:
    scheme = urlsplit(target).scheme
    if scheme not in {"http", "https"} or not urlsplit(target).hostname:
        return "that is not a web address"
    if scheme == "http" and urlsplit(hop.url).scheme == "https":
        return "not followed, because it leaves TLS"
    if hop.method in {"GET", "HEAD"} or status == 303:
        return None
    if status in {301, 302}:
        return f"not followed, because a {hop.method} must not turn into a GET: correct the site's base URL"
    if origin(target) != hop.home:
        return f"not followed, because a {hop.method} is not sent to another host: correct the site's base URL"
    return None
