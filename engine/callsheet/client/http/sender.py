"""The loop around one request: its message, turns, redirects, waits, tries."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import IO, TYPE_CHECKING, Any, Protocol
from urllib.parse import urlencode

import httpx

from ... import __version__
from ...durations import in_words
from ...errors import CallsheetError, RateLimited, UsageError
from ...jsontext import dump_json
from ...urls import url_origin
from ..gate import Gate
from ..request.model import Body, File, Form, Json, Multipart, MultipartPart, Raw, Request
from . import redirect
from .connections import SHOW_CERTIFICATE, TARGET, allow_slow_body, check_origin
from .quota import RateLimiter, read_quota, resets_too_late
from .redact import Redactor
from .redirect import Hop
from .reply import Incoming, check_coding, read_whole
from .retry import FAR, IDEMPOTENT, STATUSES, RetryPolicy, allowed_retries, network_error

if TYPE_CHECKING:
    from ...language.shape.rest import Quota


# The library's messages, made of one hop of a request; they are complete, so nothing of the library adds to them.


_GENERAL = {
    "Accept": "*/*",
    "Accept-Encoding": "gzip, deflate",
    "Connection": "keep-alive",
    "User-Agent": f"callsheet/{__version__}",
}
_PLAIN = re.compile(
    r"(https?://[A-Za-z0-9.:-]+)((?:/(?:[A-Za-z0-9_~-]|%[0-9A-F]{2})(?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*)+"
    r"(?:\?(?:[A-Za-z0-9._~,=&-]|%[0-9A-F]{2})*)?)"
)
_LONG = 4096  # the library refuses some that are much longer
_WITH_LENGTH = frozenset({"POST", "PUT", "PATCH"})  # even of no body


class Messages:
    """`httpx.Client.build_request` does the same with cookies, parameters and a base address, for twice the time."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self._extensions = {"timeout": httpx.Timeout(timeout).as_dict()}

    def make(self, method: str, url: str, headers: Mapping[str, str], content: dict[str, Any]) -> httpx.Request:
        """`content` is what `request_content` gave. Raises `httpx.InvalidURL`."""
        address, extensions = self._address(url)
        fields = {name.lower(): (name, text) for name, text in _GENERAL.items()}
        for name, text in (*content.get("headers", {}).items(), *headers.items()):
            fields[name.lower()] = (name, text)
        body = content.get("content")
        if "files" in content or not (body is None or isinstance(body, bytes)):
            given = {name: value for name, value in content.items() if name != "headers"}
            return httpx.Request(method, address, headers=[*fields.values()], extensions=extensions, **given)
        fields.setdefault("host", ("Host", address.netloc.decode("ascii")))
        if body or method in _WITH_LENGTH:
            fields.setdefault("content-length", ("Content-Length", str(len(body or b""))))
        stream = httpx.ByteStream(body or b"")
        return httpx.Request(method, address, headers=[*fields.values()], stream=stream, extensions=extensions)

    def _address(self, url: str) -> tuple[httpx.URL, dict[str, Any]]:
        """The library takes long for an address, so one that can only be read in one way keeps the parsed host.

        Its path and query are then an extension of the message. The library's own of that kind breaks proxies.
        """
        plain = _PLAIN.fullmatch(url) if len(url) < _LONG else None
        if plain is None:
            return httpx.URL(url), self._extensions
        return _root(plain[1]), {**self._extensions, TARGET: plain[2].encode("ascii")}


@lru_cache(maxsize=64)
def _root(text: str) -> httpx.URL:
    return httpx.URL(text)


# A request's body as httpx takes it; files are read while they are sent.


@contextmanager
def request_content(body: Body | None) -> Iterator[dict[str, Any]]:
    """Keyword arguments for one attempt at sending; files are open inside the block only."""
    with ExitStack() as stack:
        yield _arguments(body, stack)


def _arguments(body: Body | None, stack: ExitStack) -> dict[str, Any]:
    match body:
        case None:
            return {}
        case Multipart(parts):
            return {"files": [(part.name, _part(part, stack)) for part in parts]}
        case File(path=path, media=media):
            return {"content": stack.enter_context(_open(path)), "headers": {"Content-Type": media}}
        case _:
            headers = {"Content-Type": body.media} if body.media else {}
            return {"content": data_of(body), "headers": headers}


def data_of(body: Json | Raw | Form) -> bytes:
    match body:
        case Json(value):
            return dump_json(value).encode()
        case Raw(data):
            return data
        case Form(pairs):
            return urlencode(pairs).encode()


def _part(part: MultipartPart, stack: ExitStack) -> tuple[str | None, Any, str | None]:
    file = part.file
    if file is None:
        return (None, (part.text or "").encode(), part.media)
    from os.path import basename

    return (file.name or basename(file.path), stack.enter_context(_open(file.path)), file.media)


def _open(path: str) -> IO[bytes]:
    try:
        return open(path, "rb")
    except OSError as error:
        raise UsageError(f"{path}: {(error.strerror or 'cannot be read').lower()}") from None


# The loop around one request: turns, redirects, waits, tries.


class Observer(Protocol):
    """What the loop tells while it runs; nothing of it may be shown as it is."""

    def on_send(self, hop: redirect.Hop) -> None: ...
    def on_response(self, response: httpx.Response) -> None: ...
    def on_wait(self, seconds: float, why: str) -> None: ...


class Sender:
    def __init__(
        self,
        messages: Messages,
        connections: httpx.BaseTransport,
        rate_limiter: RateLimiter,
        policy: RetryPolicy,
        gate: Gate,
        observer: Observer,
        *,
        redactor: Redactor,
        sleep: Callable[[float], None],
        now: Callable[[], float],
    ) -> None:
        self._messages = messages
        self._connections = connections
        self._rate_limiter = rate_limiter
        self._policy = policy
        self._gate = gate
        self._observer = observer
        self._redactor = redactor
        self._sleep = sleep
        self._now = now
        self._reached: set[str] = set()

    def open(
        self, request: Request, additions: redirect.RequestAdditions, quota: Quota, *, home: str, read: bool
    ) -> Incoming:
        """The answer of the last try; with `read` its body is in memory, and a cut-off one was tried again.

        `home` is the origin that `additions` are meant for.
        """
        attempt = 0
        while True:
            attempt += 1
            self._wait_for_quota(request)
            begun = False
            try:
                incoming = self._follow_redirects(request, additions, home)
                begun = True
                incoming = _with_content(incoming) if read else _streamed(incoming)
            except httpx.RequestError as error:
                max_retries = self._most(request, error, begun=begun)
                if attempt > max_retries:
                    raise self._network_error(request, error) from None
                delay = self._policy.delay(attempt, None)
                why = self._network_error(request, error).message
            else:
                wait = self._delay_after_response(request, incoming, quota, attempt)
                if wait is None:
                    return incoming
                incoming.close()
                delay, max_retries = wait, self._policy.retries
                why = f"{request.method} {self._redactor.url(incoming.url)}: {incoming.status}"
            self._observer.on_wait(delay, f"{why}; try {attempt + 1} of {max_retries + 1}")
            self._sleep(delay)

    def _wait_for_quota(self, request: Request) -> None:
        wait, by_option = self._rate_limiter.reserve(_endpoint(request))
        if wait > FAR:
            why = "--rps allows the next one in" if by_option else "the quota is used up; it resets in"
            raise RateLimited(f"{request.name}: {why} {in_words(wait)}", hint="nothing was sent")
        if wait > 0:
            if wait >= 1:
                self._observer.on_wait(wait, "as --rps says" if by_option else "little of the quota is left")
            self._sleep(wait)

    def _follow_redirects(self, request: Request, additions: redirect.RequestAdditions, home: str) -> Incoming:
        """Send, and follow redirects to the answer that counts."""
        hop = redirect.first_hop(request, additions, home)
        passed: set[tuple[str, str]] = set()
        while len(passed) <= redirect.LIMIT and (hop.method, hop.url) not in passed:
            passed.add((hop.method, hop.url))
            response = self._send_one(request, hop)
            location = response.headers.get("location") if response.status_code in redirect.STATUSES else None
            if not location or request.reply == "location":
                return self._incoming(request, response, hop.url)
            response.close()
            hop = redirect.next_hop(hop, response.status_code, location, self._redactor.url(hop.url))
        how = "in a circle" if (hop.method, hop.url) in passed else f"more than {redirect.LIMIT} times"
        raise CallsheetError(f"{request.method} {self._redactor.url(request.url)}: redirected {how}")

    def _incoming(self, request: Request, response: httpx.Response, url: str) -> Incoming:
        headers, words = dict(response.headers.items()), partial(self._network_error, request)
        incoming = Incoming(request, response, headers, url, words, self._redactor)
        try:
            check_coding(incoming)
        except BaseException:
            response.close()
            raise
        return incoming

    def _send_one(self, request: Request, hop: redirect.Hop) -> httpx.Response:
        self._gate.check_hop(request, hop.method, hop.url)
        with request_content(hop.body) as content:
            message = self._messages.make(hop.method, hop.whole_url, hop.headers, content)
            check_origin(message.url, hop.home)
            message.extensions[SHOW_CERTIFICATE] = hop.own
            self._observer.on_send(hop)
            response = self._connections.handle_request(message)
        self._reached.add(url_origin(hop.home))  # the URL is of the same one, and there are fewer of these to remember
        self._observer.on_response(response)
        return response

    def _most(self, request: Request, error: httpx.RequestError, *, begun: bool) -> int:
        """How often it is tried again after this error. `begun`: the answer's headers had come."""
        if request.method not in IDEMPOTENT:
            return 0
        reached = request.origin in self._reached
        return allowed_retries(error, self._policy.retries, reached=reached, begun=begun)

    def _delay_after_response(self, request: Request, incoming: Incoming, quota: Quota, attempt: int) -> float | None:
        """Seconds to the next try; None when this answer is the last."""
        status = incoming.status
        state = read_quota(incoming.headers, quota, self._now())
        self._rate_limiter.update(_endpoint(request), state, limited=status == 429)
        retry = status in STATUSES and request.method in IDEMPOTENT and attempt <= self._policy.retries
        if not retry or (status == 429 and resets_too_late(state, quota)) or (state.wait or 0.0) > FAR:
            return None
        return self._policy.delay(attempt, state.resets_in if status == 429 else state.wait)

    def _network_error(self, request: Request, error: httpx.RequestError) -> CallsheetError:
        shown, safe = self._redactor.url(request.url), request.method in IDEMPOTENT
        return network_error(error, request.method, shown, timeout=self._messages.timeout, safe=safe)


def _with_content(incoming: Incoming) -> Incoming:
    try:
        return replace(incoming, content=read_whole(incoming.response))
    except BaseException:
        incoming.close()
        raise


def _streamed(incoming: Incoming) -> Incoming:
    allow_slow_body(incoming.response, allow_slow=True)
    return incoming


def _endpoint(request: Request) -> str:
    return f"{request.method} {request.operation or request.path}"


# The lines of a verbose run, and the notes on waits; nothing secret is in them.


class VerboseLog:
    def __init__(
        self,
        redactor: Redactor,
        log: Callable[[str], None] | None,
        note: Callable[[str], None],
        clock: Callable[[], float],
    ) -> None:
        self._redactor = redactor
        self._log = log
        self._note = note
        self._clock = clock
        self._started = threading.local()

    def on_send(self, hop: Hop) -> None:
        self._started.at = self._clock()
        if self._log:
            self._log(f"> {hop.method} {self._redactor.url(hop.url)}")
            for name, text in hop.headers.items():
                self._log(f">   {name}: {self._redactor.header(name, text)}")

    def on_response(self, response: httpx.Response) -> None:
        if not self._log:
            return
        seconds = self._clock() - self._started.at
        self._log(f"< {response.status_code} {response.reason_phrase} after {seconds:.3f} s")
        for name, text in response.headers.items():
            self._log(f"<   {name}: {self._redactor.header(name, text)}")

    def on_wait(self, seconds: float, why: str) -> None:
        self._note(self._redactor.text(f"waiting {in_words(seconds)}: {why}"))
