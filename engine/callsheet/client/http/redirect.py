"""Where an answer sends the request on to, and what may go there with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import quote, unquote_plus, urljoin, urlsplit, urlunsplit

from ...errors import CallsheetError, UsageError
from ...urls import url_origin
from ..request.model import Body, Request

STATUSES = frozenset({301, 302, 303, 307, 308})
LIMIT = 10
_PLAIN = frozenset({"accept", "accept-encoding", "user-agent", "range"})
_SHOWN = 80


class RequestAdditions(NamedTuple):
    """What is sent with a request besides its own: general headers and the credential, which may be in the query."""

    headers: Mapping[str, str]
    query: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Hop:
    """One message of an exchange; the first is the request itself.

    `url` may be shown; `query` holds a credential and is added when the message is sent. `home` is the origin that the
    headers and the query are meant for. `own` ends for good when another origin comes in between: then neither the
    credential nor the client certificate is shown any more.
    """

    method: str
    url: str
    headers: dict[str, str]
    body: Body | None
    home: str
    own: bool = True
    query: tuple[tuple[str, str], ...] = ()

    @property
    def whole_url(self) -> str:
        return with_query(self.url, self.query)


def with_query(url: str, query: tuple[tuple[str, str], ...]) -> str:
    """The address with these pairs, in the place of pairs of the same names: an answer may repeat a credential."""
    if not query:
        return url
    parts = urlsplit(url)
    names = {name for name, _ in query}
    kept = [pair for pair in parts.query.split("&") if pair and unquote_plus(pair.partition("=")[0]) not in names]
    added = [f"{quote(name, safe='')}={quote(text, safe='')}" for name, text in query]
    return urlunsplit(parts._replace(query="&".join([*kept, *added])))


def first_hop(request: Request, additions: RequestAdditions, home: str) -> Hop:
    headers = {**dict(request.headers), **additions.headers}
    return Hop(request.method, request.url, headers, request.body, home, query=additions.query)


def next_hop(hop: Hop, status: int, location: str, shown: str) -> Hop:
    """The next message; `CallsheetError` where following would repeat a change or leave TLS.

    Another origin gets neither credentials nor any header but the most general ones.
    """
    what = f"{hop.method} {shown}: {status}: redirected to"
    try:
        target = _target(hop.url, location)
        home = url_origin(target)
    except (ValueError, UsageError):
        cut = repr(location[:_SHOWN]) + "…" * (len(location) > _SHOWN)
        raise CallsheetError(f"{what} {cut}, which is not a valid address", status=status) from None
    problem = _why_refused(hop, status, target)
    if problem:
        raise CallsheetError(f"{what} {urlsplit(target).hostname or target}; {problem}", status=status)
    onward = replace(hop, url=target)
    if home != hop.home:
        plain = {name: text for name, text in hop.headers.items() if name.lower() in _PLAIN}
        onward = replace(onward, headers=plain, home=home, own=False, query=(), body=None)
    if status == 303 and hop.method != "HEAD":
        return replace(onward, method="GET", body=None)
    return onward


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
    if url_origin(target) != hop.home:
        return f"not followed, because a {hop.method} is not sent to another host: correct the site's base URL"
    return None
