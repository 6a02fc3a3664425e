"""Whether and when a request is sent again, and what quota headers and `--rps` allow."""

from __future__ import annotations

import errno
import math
import random
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import httpx

from ...errors import CallsheetError, NetworkError, TLSFailed, UsageError
from .connections import PROXY

if TYPE_CHECKING:
    from ...language.shape.rest import Quota


# When a request is sent again, and after how long.


IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "QUERY"})
STATUSES = frozenset({429, 502, 503, 504})
FAR = 60.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds: `base` doubles with each try up to `cap`, times a random factor. `least` is waited in any case.

    The factor keeps many clients that were refused together from coming back together.
    """

    retries: int = 4
    base: float = 2.0
    cap: float = 30.0
    jitter: tuple[float, float] = (0.7, 1.3)
    least: float = 1.0
    chance: Callable[[float, float], float] = random.uniform

    def delay_before(self, attempt: int, asked: float | None) -> float:
        """Before the try after `attempt` failed ones; `asked` is what the service wants waited."""
        if asked is not None:
            return max(asked, self.least)
        return min(self.base * 2.0 ** (attempt - 1), self.cap) * self.chance(*self.jitter)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds asked for by `Retry-After`, given as seconds or as an HTTP date."""
    text = headers.get("retry-after", "").strip()
    seconds = finite_number(text)
    if seconds is None:
        moment = http_date(text)
        seconds = None if moment is None else moment - now
    return None if seconds is None else max(seconds, 0.0)


def finite_number(text: str | None) -> float | None:
    """The finite number that a header holds."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def http_date(text: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):  # a year or a time zone beyond all calendars
        return None


def server_time(headers: Mapping[str, str], fallback: float) -> float:
    """The service's own clock, so that a moment it names is not off by what the local clock is."""
    text = headers.get("date")
    moment = http_date(text) if text else None
    return fallback if moment is None else moment


# What went wrong on the way: the words for it, and whether trying again makes sense.


_TIMEOUT_RETRIES = 1  # each costs the whole of --timeout again
_CUT_OFF_RETRIES = 2
_PROXY_HINT = "check the proxy's address and credentials"
_CREDENTIALS_HINT = "if it asks for credentials (407), put them into its address: http://USER:PASSWORD@HOST:PORT"
_CHECK = "look whether it took effect before you send it again"


def was_not_sent(error: httpx.RequestError) -> bool:
    return isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout | httpx.ProxyError)


def allowed_retries(error: httpx.RequestError, max_retries: int, *, reached: bool, begun: bool) -> int:
    """How often an idempotent request is repeated after this error.

    A host that was never reached and refuses, or does not exist, is not waited for: that is a wrong address. A proxy
    that refuses was reached, and will say the same again. What cuts
    off an answer that had `begun`, or the first one of all, is seldom a restart that is over in half a minute.
    """
    if isinstance(error, httpx.TimeoutException):
        return min(_TIMEOUT_RETRIES, max_retries)
    hopeless = isinstance(error, httpx.UnsupportedProtocol | httpx.LocalProtocolError | httpx.ProxyError)
    if hopeless or _tls_error(error) is not None or (isinstance(error, httpx.ConnectError) and not reached):
        return 0
    return min(_CUT_OFF_RETRIES, max_retries) if begun or not reached else max_retries


def network_error(error: httpx.RequestError, method: str, url: str, *, timeout: float, safe: bool) -> CallsheetError:
    """`safe`: the method is idempotent, so nothing has to be said about what was carried out."""
    if isinstance(error, httpx.UnsupportedProtocol):
        return UsageError(f"{method} {url}: expected an address that starts with http:// or https://")
    text, hint = explain_network_error(error, timeout)
    details: list[str] = []
    if not safe:
        unsent = was_not_sent(error)
        details = ["nothing was sent" if unsent else "it was sent once and not repeated: it may have been carried out"]
        hint = hint if unsent else _CHECK
    kind = TLSFailed if _tls_error(error) is not None else NetworkError
    return kind(f"{method} {url}: {text}", hint=hint, details=details)


def explain_network_error(error: httpx.RequestError, timeout: float) -> tuple[str, str | None]:
    """What went wrong, and a hint."""
    host = error.request.url.raw_host.decode("ascii")
    tls = _tls_error(error)
    if tls is not None:
        return _explain_tls(tls, host)
    proxy = error.request.extensions.get(PROXY)
    target = f"the proxy {proxy}" if proxy else host
    match error:
        case httpx.ConnectTimeout():
            return f"no connection to {target} within {timeout:g} s", "see --timeout"
        case httpx.TimeoutException():
            return f"no answer within {timeout:g} s", "see --timeout"
        case httpx.ProxyError():
            return f"{target if proxy else 'the proxy'} refused: {_reason_of_failure(error)}", _CREDENTIALS_HINT
        case httpx.ConnectError():
            hint = _PROXY_HINT if proxy else "check the address, the network and the proxy"
            return f"cannot connect to {target}: {_reason_of_failure(error)}", hint
        case httpx.DecodingError():
            return f"the answer could not be decompressed: {_reason_of_failure(error)}", None
        case httpx.LocalProtocolError():
            # The library's words repeat the value of a header, which may be the credential.
            reason, _, _ = _reason_of_failure(error).partition(" b'")
            return f"the request could not be sent: {reason}", None
        case _:
            return f"the answer was cut off: {_reason_of_failure(error)}", None


def _causes_of(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
        if isinstance(seen, BaseExceptionGroup):  # every address of a host was tried; the first one's reason is told
            seen = seen.exceptions[0]


def _tls_error(error: httpx.RequestError) -> ssl.SSLError | None:
    if not isinstance(error, httpx.ConnectError):
        return None
    return next((cause for cause in _causes_of(error) if isinstance(cause, ssl.SSLError)), None)


def _explain_tls(error: ssl.SSLError, host: str) -> tuple[str, str | None]:
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = "for a private certificate authority give the site its CA bundle, or set SSL_CERT_FILE"
        return f"the certificate of {host} is not trusted: {error.verify_message}", hint
    reason = (error.reason or str(error)).replace("_", " ").lower()
    return f"no TLS connection to {host}: {reason}", "check that the address and port speak https"


def system_reason(error: BaseException) -> str | None:
    """The operating system's words where there are some, without the number."""
    for cause in _causes_of(error):
        # Python's own loop and Windows have words of their own for it.
        if isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED:
            return "connection refused"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    return None


def _reason_of_failure(error: BaseException) -> str:
    return system_reason(error) or (str(error) or type(error).__name__).partition("\n")[0].lower()


# The turns of `--rps`.


_CATCH_UP = 0.2  # seconds: turns that a slow answer left unused are made up for, but no burst is saved over a pause


class Pace:
    """So many turns a second, evenly spaced. Turns that went by unused just now come later, closer together.

    There are never more than so many in any second. Times are of one clock, whatever it counts from.
    """

    def __init__(self, rps: float) -> None:
        self._gap = 1.0 / rps
        count = max(int(rps), 1)
        self._taken: deque[float] = deque(maxlen=count)
        self._window = count * self._gap
        self._next: float | None = None

    def next_turn(self, now: float) -> float:
        """When the next turn is, at `now` or later."""
        full = len(self._taken) == self._taken.maxlen
        return max(now, self._due_at(now), self._taken[0] + self._window if full else now)

    def take_turn(self, start: float, now: float) -> None:
        """The turn is taken by a request that is sent at `start`."""
        self._next = (self._due_at(now) if start <= now else start) + self._gap
        self._taken.append(start)

    def _due_at(self, now: float) -> float:
        return now if self._next is None else max(self._next, now - _CATCH_UP)


# Rate limits: each endpoint is asked no faster than its quota headers, and `--rps`, allow.


_NEAR = 0.2  # of the limit: below this the rest is spread over the window
_LONGEST_PACE = 5.0
# What a header counts from is told by its size: as seconds since 1970, the first is the year 5138 and the second 1973,
# and no quota lasts for three years.
_MILLISECONDS_FROM = 1e11
_EPOCH_FROM = 1e8


@dataclass(frozen=True, slots=True)
class QuotaState:
    """What one answer says about its endpoint's quota; times are seconds from now."""

    limit: float | None = None
    remaining: float | None = None
    reset: float | None = None
    refill: float | None = None
    near: bool = False
    reason: str | None = None
    wait: float | None = None

    @property
    def resets_in(self) -> float | None:
        """The wait asked for, or the time to the reset."""
        return self.wait if self.wait is not None else self.reset

    @property
    def seconds_between(self) -> float:
        """Seconds to leave between requests so that the rest of the window lasts."""
        low = self.limit and self.remaining is not None and self.remaining < _NEAR * self.limit
        if not (self.near or low):
            return 0.0
        if self.refill:
            return min(self.refill, _LONGEST_PACE)
        spread = (self.reset or 1.0) / max(self.remaining or 1.0, 1.0)
        return min(spread, _LONGEST_PACE)


def seconds_until(text: str, now: float) -> float | None:
    """Seconds from `now` to a moment: ISO 8601 (seconds may be absent), epoch seconds or milliseconds, or seconds."""
    value = finite_number(text)
    if value is None:
        return _seconds_until_iso(text, now)
    if value >= _MILLISECONDS_FROM:
        return max(value / 1000 - now, 0.0)
    return max(value - now if value >= _EPOCH_FROM else value, 0.0)


def _seconds_until_iso(text: str, now: float) -> float | None:
    from datetime import UTC, datetime

    try:
        when = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=UTC)  # services count in UTC where they leave the zone out
    return max(aware.timestamp() - now, 0.0)


def read_quota(headers: Mapping[str, str], quota: Quota, now: float) -> QuotaState:
    """Read the quota headers that the service's definition names."""
    now = server_time(headers, now)

    def header(name: str | None) -> str | None:
        return headers.get(name.lower()) if name else None

    reset = header(quota.get("reset"))
    refill, interval = finite_number(header(quota.get("refill"))), finite_number(header(quota.get("interval")))
    return QuotaState(
        limit=finite_number(header(quota.get("limit"))),
        remaining=finite_number(header(quota.get("remaining"))),
        reset=seconds_until(reset, now) if reset else None,
        refill=interval / refill if refill and interval else None,
        near=(header(quota.get("near_limit")) or "").strip().lower() == "true",
        reason=header(quota.get("reason")),
        wait=retry_after(headers, now),
    )


def resets_too_late(state: QuotaState, quota: Quota) -> bool:
    """Waiting is useless: the reason says so, or the reset is more than a minute away."""
    return state.reason in quota.get("stop", []) or (state.resets_in or 0.0) > FAR


class Turn(NamedTuple):
    """Seconds to wait before a request; `by_option` where it is `--rps` that makes it wait."""

    wait: float
    by_option: bool


class _Endpoint(NamedTuple):
    """When it may be asked next, the seconds between two requests, and until when it has refused all."""

    free: float = 0.0
    pace: float = 0.0
    refused: float = 0.0


class RateLimiter:
    """Keeps a free moment for each endpoint, and one for all by `rps`. Safe with many threads."""

    def __init__(self, rps: float | None, clock: Callable[[], float]) -> None:
        self._pace = Pace(rps) if rps else None
        self._clock = clock
        self._lock = threading.Lock()
        self._endpoints: dict[str, _Endpoint] = {}

    def reserve_turn(self, endpoint: str) -> Turn:
        """When this request may be sent; the turn is taken."""
        with self._lock:
            now = self._clock()
            known = self._endpoints.get(endpoint, _Endpoint())
            start = turn = max(now, known.free)
            if self._pace is not None:
                start = max(turn, self._pace.next_turn(now))
                self._pace.take_turn(start, now)
            if endpoint in self._endpoints:
                self._endpoints[endpoint] = known._replace(free=start + known.pace)
            return Turn(start - now, by_option=start > turn)

    def learn_from_answer(self, endpoint: str, state: QuotaState, *, limited: bool = False) -> None:
        """Learn from an answer, `limited` when it was refused: wait for the reset, or slow down when little is left."""
        now = self._clock()
        pace = state.seconds_between
        free = now + pace
        if state.remaining is not None and state.remaining <= 0 and state.reset:
            free = now + state.reset
        if limited:
            free = now + (state.resets_in or 0.0)
        with self._lock:
            known = self._endpoints.get(endpoint, _Endpoint())
            refused = free if limited else known.refused
            if pace or free > now:
                self._endpoints[endpoint] = _Endpoint(max(free, known.free), pace, refused)
            elif refused > now:  # the answer is to a request that was under way when another one was refused
                self._endpoints[endpoint] = _Endpoint(refused, pace, refused)
            else:
                self._endpoints.pop(endpoint, None)
