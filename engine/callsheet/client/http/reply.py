"""What a service answered, while it comes in and afterwards, and where it sends a request on to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote_plus, urljoin, urlsplit, urlunsplit

import httpx

from ...errors import CallsheetError, NetworkError, UsageError
from ...jsontext import JSONError, parse_json, parse_whole_number
from ...urls import url_origin
from ..request.http_request import Body, Request, is_json_media, media_essence
from .connections import allow_slow_body
from .redact import Redactor

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
        target = _redirect_target(hop.url, location)
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


def _redirect_target(url: str, location: str) -> str:
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


# What a service answered.


_TITLE = re.compile(rb"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_MAX_SHOWN = 120
# Levels of objects and lists in an answer: no service nests so deeply, and what walks them must not run out of stack.
DEEPEST = 300


@dataclass(frozen=True, slots=True)
class Reply:
    """`headers` answers to lower-case names; `url` is where the answer came from, after redirects."""

    request: Request
    status: int
    headers: Mapping[str, str]
    content: bytes
    url: str
    redactor: Redactor = field(default_factory=Redactor, repr=False)

    @property
    def media(self) -> str:
        return media_essence(self.headers.get("content-type", ""))

    @property
    def text(self) -> str:
        return self.content.decode(_charset_of(self.headers.get("content-type", "")), "replace")

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300 or (self.request.reply == "location" and self.status in STATUSES)

    @property
    def location(self) -> str | None:
        """The path of the address that it redirects to. The rest may be a credential for it and goes nowhere."""
        found = self.headers.get("location") if self.status in STATUSES else None
        return urlsplit(found).path if found else None

    def json(self) -> Any:
        """The body's value, numbers exact; None for an answer without a body that owes none."""
        if not self.content.strip():
            return self._check_empty()
        if is_html(self):
            raise self._json_error(f"answered with a web page{title_of(self.content)} where JSON was expected")
        try:
            return parse_json(self.content, DEEPEST)
        except JSONError as error:
            raise self._unreadable_error(error) from None

    def _check_empty(self) -> None:
        has_body = self.status not in {204, 205, 304} and self.request.method != "HEAD"
        if has_body and self.request.reply == "json" and self.request.safety == "read":
            raise self._json_error("answered with an empty body where JSON was expected")

    def _unreadable_error(self, error: JSONError) -> CallsheetError:
        if error.at_end and self.content.lstrip()[:1] in b'{["':
            return NetworkError(self._json_message(f"the answer was cut off: {error}"), status=self.status)
        if self.media and not is_json_media(self.media):
            return self._json_error(f"answered with {self.media} where JSON was expected{_quoted_start(self.text)}")
        return self._json_error(f"the answer is not valid JSON: {error}{_quoted_start(self.text)}")

    def _json_message(self, problem: str) -> str:
        return f"{self.request.method} {self.redactor.url(self.url)}: {self.redactor.text(problem)}"

    def _json_error(self, problem: str) -> CallsheetError:
        hint = "a proxy or a login page may have answered in its place" if is_html(self) else None
        return CallsheetError(self._json_message(problem), status=self.status, hint=hint)


def is_html(reply: Reply) -> bool:
    if is_json_media(reply.media):
        return False
    start = reply.content.lstrip()[:15].lower()
    return reply.media in {"text/html", "application/xhtml+xml"} or start.startswith((b"<!doctype html", b"<html"))


def title_of(page: bytes) -> str:
    """` ("Sign in")`, or nothing."""
    from html import unescape

    match = _TITLE.search(page[:65536])
    title = " ".join(unescape(match[1].decode("utf-8", "replace")).split()) if match else ""
    return f' ("{title[:_MAX_SHOWN]}")' if title else ""


def _quoted_start(text: str) -> str:
    line = " ".join(text[: 4 * _MAX_SHOWN].split())
    return f": {line[:_MAX_SHOWN]}{'…' if len(line) > _MAX_SHOWN else ''}"


_TEXT_CODECS = re.compile(
    r"ascii|utf-8(-sig)?|utf-(16|32)(-[bl]e)?|iso8859-\d+|cp\d+|koi8-[rtu]|mac-[a-z]+|tis-620"
    r"|gb(k|2312|18030)|big5(hkscs)?|shift_jis\w*|euc_\w+|iso2022_\w+"
)


def _charset_of(content_type: str) -> str:
    """What the text is decoded by; UTF-8 where nothing is said, or a codec that is none of texts (`rot13`, `idna`)."""
    import codecs

    match = re.search(r"charset=\"?([\w.:-]+)", content_type, re.IGNORECASE)
    try:
        name = codecs.lookup(match[1]).name if match else "utf-8"
    except LookupError:
        return "utf-8"
    return name if _TEXT_CODECS.fullmatch(name) else "utf-8"


# An answer whose body still comes in.


LARGEST = 128 * 1024 * 1024  # bytes of an answer that is held in memory
_CODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})


def check_coding(incoming: Incoming) -> None:
    """Raise `CallsheetError` for a compression that was not asked for, and for one inside another.

    Each multiplies what a few bytes can become; the two that are asked for are read in small pieces.
    """
    coding = incoming.headers.get("content-encoding", "").strip().lower()
    if coding not in _CODINGS:
        what = f"{incoming.request.method} {incoming.redactor.url(incoming.url)}"
        problem = f"the answer is compressed as {coding[:80]!r}, which was not asked for"
        raise CallsheetError(f"{what}: {problem}", status=incoming.status)


def read_whole(response: httpx.Response) -> bytes:
    """The body, in memory; raises httpx's errors, and `CallsheetError` for one that is too large."""
    content = bytearray()
    plain = "content-encoding" not in response.headers  # then the library's decoders have nothing to do
    for chunk in cast("Iterable[bytes]", response.stream) if plain else response.iter_bytes():
        content += chunk
        if len(content) > LARGEST:
            raise CallsheetError(
                f"the answer is larger than {LARGEST >> 20} MiB; only a download can be as large",
                hint="--out FILE saves an answer of any length",
                status=response.status_code,
            )
    return bytes(content)


@dataclass(frozen=True, slots=True)
class Incoming:
    """`words` turns what goes wrong while reading into an error; the connection is freed by `close`.

    `headers` are by lower-case names, since the library's own table looks through all of them for each; `content` is
    the body where it was read at once.
    """

    request: Request
    response: httpx.Response
    headers: Mapping[str, str]
    url: str
    words: Callable[[httpx.RequestError], CallsheetError]
    redactor: Redactor
    content: bytes | None = None

    @property
    def status(self) -> int:
        return self.response.status_code

    @property
    def ok(self) -> bool:
        return self.response.is_success

    @property
    def length(self) -> int | None:
        """Bytes that will come, where that is known beforehand."""
        return (
            None if "content-encoding" in self.headers else parse_whole_number(self.headers.get("content-length", ""))
        )

    def chunks(self) -> Iterator[bytes]:
        try:
            yield from self.response.iter_bytes()
        except httpx.RequestError as error:
            raise self.words(error) from None

    def read_all(self) -> Reply:
        try:
            allow_slow_body(self.response, allow_slow=False)
            content = read_whole(self.response) if self.content is None else self.content
        except httpx.RequestError as error:
            raise self.words(error) from None
        return Reply(self.request, self.status, self.headers, content, self.url, self.redactor)

    def close(self) -> None:
        self.response.close()
