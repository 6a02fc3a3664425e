"""The loop around one request: turns, redirects, waits, tries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

import httpx

from ...durations import in_words
from ...errors import CallsheetError, RateLimited
from ...urls import url_origin
from ..gate import Gate
from ..request.model import Request
from . import network, redirect
from .connect import SHOW_CERTIFICATE
from .content import request_content
from .incoming import Incoming, check_coding, read_whole
from .messages import Messages
from .origins import check_origin
from .quota import RateLimiter, read_quota, resets_too_late
from .redact import Redactor
from .retry import FAR, IDEMPOTENT, STATUSES, RetryPolicy
from .transport import allow_slow_body

if TYPE_CHECKING:
    from ...language.shape.rest import Quota


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
        return network.allowed_retries(error, self._policy.retries, reached=reached, begun=begun)

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
        return network.network_error(error, request.method, shown, timeout=self._messages.timeout, safe=safe)


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
