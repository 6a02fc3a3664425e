"""What went wrong on the way, and whether and when a request is sent again."""

from __future__ import annotations

import math
import random
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import httpx

from ...errors import CallsheetError, NetworkError, TLSFailed, UsageError
from .connections import PROXY

# When a request is sent again, and after how long.


IDEMPOTENT = frozenset({"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "QUERY"})
STATUSES = frozenset({429, 502, 503, 504})
FAR = 60.0


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Seconds: `base` doubles with each try up to `cap`, times a random factor. `least` is waited in any case."""

    retries: int = 4
    base: float = 2.0
    cap: float = 30.0
    jitter: tuple[float, float] = (0.7, 1.3)
    least: float = 1.0
    chance: Callable[[float, float], float] = random.uniform

    def delay(self, attempt: int, asked: float | None) -> float:
        """Before the try after `attempt` failed ones; `asked` is what the service wants waited."""
        if asked is not None:
            return max(asked, self.least)
        return min(self.base * 2.0 ** (attempt - 1), self.cap) * self.chance(*self.jitter)


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds asked for by `Retry-After`, given as seconds or as an HTTP date."""
    text = headers.get("retry-after", "").strip()
    seconds = number(text)
    if seconds is None:
        moment = http_date(text)
        seconds = None if moment is None else moment - now
    return None if seconds is None else max(seconds, 0.0)


def number(text: str | None) -> float | None:
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


_TIMEOUT_RETRIES = 1
_CUT_OFF_RETRIES = 2
_PROXY_HINT = "check the proxy's address and credentials"
_CREDENTIALS_HINT = "where it wants credentials (407), put them into its address: http://USER:PASSWORD@HOST:PORT"
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
            return f"{target if proxy else 'the proxy'} refused: {_reason(error)}", _CREDENTIALS_HINT
        case httpx.ConnectError():
            hint = _PROXY_HINT if proxy else "check the address, the network and the proxy"
            return f"cannot connect to {target}: {_reason(error)}", hint
        case httpx.DecodingError():
            return f"the answer could not be decompressed: {_reason(error)}", None
        case httpx.LocalProtocolError():
            # The library's words repeat the value of a header, which may be the credential.
            reason, _, _ = _reason(error).partition(" b'")
            return f"the request could not be sent: {reason}", None
        case _:
            return f"the answer was cut off: {_reason(error)}", None


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__
        if isinstance(seen, BaseExceptionGroup):  # every address of a host was tried; the first one's reason is told
            seen = seen.exceptions[0]


def _tls_error(error: httpx.RequestError) -> ssl.SSLError | None:
    if not isinstance(error, httpx.ConnectError):
        return None
    return next((cause for cause in _causes(error) if isinstance(cause, ssl.SSLError)), None)


def _explain_tls(error: ssl.SSLError, host: str) -> tuple[str, str | None]:
    if isinstance(error, ssl.SSLCertVerificationError):
        hint = "for a private certificate authority give the site its CA bundle, or set SSL_CERT_FILE"
        return f"the certificate of {host} is not trusted: {error.verify_message}", hint
    reason = (error.reason or str(error)).replace("_", " ").lower()
    return f"no TLS connection to {host}: {reason}", "check that the address and port speak https"


def _reason(error: BaseException) -> str:
    """The operating system's words where there are some, without the number."""
    for cause in _causes(error):
        if isinstance(cause, ConnectionRefusedError):  # Python's own loop and Windows have words of their own for it
            return "connection refused"
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror.lower()
    return (str(error) or type(error).__name__).partition("\n")[0].lower()
