"""One client for one site: each request with its turns, redirects, waits and tries; a failed answer is raised."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import lru_cache, partial
from typing import IO, TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import urlencode

import httpx

from ... import __version__
from ...durations import in_words
from ...errors import CallsheetError, NotAllowed, RateLimited, UsageError
from ...jsontext import dump_json
from ...language.merge import on_deployment
from ...policy.policy import Policy, PolicySource
from ...urls import url_origin
from ..request.gate import Ask, Gate, ask_nobody
from ..request.http_request import (
    Body,
    File,
    Form,
    Json,
    Multipart,
    MultipartPart,
    Raw,
    Request,
    is_json_media,
    with_members,
)
from . import reply as redirect
from .connections import SHOW_CERTIFICATE, TARGET, Connections, allow_slow_body, check_origin
from .redact import Redactor
from .reply import Hop, Incoming, Reply, RequestAdditions, check_coding, read_whole
from .retry import (
    FAR,
    IDEMPOTENT,
    STATUSES,
    RateLimiter,
    RetryPolicy,
    allowed_retries,
    http_date,
    network_error,
    read_quota,
    resets_too_late,
)

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.rest import ProductDefinition, Quota, ServiceDefinition
    from ..request.http_request import SenderSite


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

    def make_message(self, method: str, url: str, headers: Mapping[str, str], content: dict[str, Any]) -> httpx.Request:
        """`content` is what `request_content` gave. Raises `httpx.InvalidURL`."""
        address, extensions = self._parsed_address(url)
        # By lower-case name, so that each is sent once: of two, servers differ in which one counts.
        fields = {name.lower(): (name, text) for name, text in _GENERAL.items()}
        for name, text in (*content.get("headers", {}).items(), *headers.items()):
            fields[name.lower()] = (name, text)
        body = content.get("content")
        if "files" in content or not (body is None or isinstance(body, bytes)):
            given = {name: value for name, value in content.items() if name != "headers"}
            return httpx.Request(method, address, headers=[*fields.values()], extensions=extensions, **given)
        fields.setdefault("host", ("Host", address.netloc.decode("ascii")))
        # A POST without a body says so (RFC 9110, section 8.6): some servers answer 411 to one that does not.
        if body or method in _WITH_LENGTH:
            fields.setdefault("content-length", ("Content-Length", str(len(body or b""))))
        stream = httpx.ByteStream(body or b"")
        return httpx.Request(method, address, headers=[*fields.values()], stream=stream, extensions=extensions)

    def _parsed_address(self, url: str) -> tuple[httpx.URL, dict[str, Any]]:
        """The library takes long for an address, so one that can only be read in one way keeps the parsed host.

        Its path and query are then an extension of the message. The library's own of that kind breaks proxies.
        """
        plain = _PLAIN.fullmatch(url) if len(url) < _LONG else None
        if plain is None:
            return httpx.URL(url), self._extensions
        return _host_root(plain[1]), {**self._extensions, TARGET: plain[2].encode("ascii")}


@lru_cache(maxsize=64)
def _host_root(text: str) -> httpx.URL:
    return httpx.URL(text)


# A request's body as httpx takes it; files are read while they are sent.


@contextmanager
def request_content(body: Body | None) -> Iterator[dict[str, Any]]:
    """Keyword arguments for one attempt at sending; files are open inside the block only."""
    with ExitStack() as stack:
        yield _body_arguments(body, stack)


def _body_arguments(body: Body | None, stack: ExitStack) -> dict[str, Any]:
    match body:
        case None:
            return {}
        case Multipart(parts):
            return {"files": [(part.name, _multipart_part(part, stack)) for part in parts]}
        case File(path=path, media=media):
            return {"content": stack.enter_context(_open_upload(path)), "headers": {"Content-Type": media}}
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


def _multipart_part(part: MultipartPart, stack: ExitStack) -> tuple[str | None, Any, str | None]:
    file = part.file
    if file is None:
        return (None, (part.text or "").encode(), part.media)
    from os.path import basename

    return (file.name or basename(file.path), stack.enter_context(_open_upload(file.path)), file.media)


def _open_upload(path: str) -> IO[bytes]:
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
            self._wait_for_quota(request)  # each try takes a turn: the service counts them all
            begun = False
            try:
                incoming = self._follow_redirects(request, additions, home)
                begun = True
                incoming = _with_content(incoming) if read else _check_streamed(incoming)
            except httpx.RequestError as error:
                max_retries = self._most_tries(request, error, begun=begun)
                if attempt > max_retries:
                    raise self._network_error(request, error) from None
                delay = self._policy.delay_before(attempt, None)
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
        wait, by_option = self._rate_limiter.reserve_turn(_endpoint_of(request))
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
        # With the method: a POST that "see other" sends to its own address becomes a GET there, which is no circle.
        passed: set[tuple[str, str]] = set()
        while len(passed) <= redirect.LIMIT and (hop.method, hop.url) not in passed:
            passed.add((hop.method, hop.url))
            response = self._send_one(request, hop)
            location = response.headers.get("location") if response.status_code in redirect.STATUSES else None
            if not location or request.reply == "location":
                return self._incoming_answer(request, response, hop.url)
            response.close()
            hop = redirect.next_hop(hop, response.status_code, location, self._redactor.url(hop.url))
        how = "in a circle" if (hop.method, hop.url) in passed else f"more than {redirect.LIMIT} times"
        raise CallsheetError(f"{request.method} {self._redactor.url(request.url)}: redirected {how}")

    def _incoming_answer(self, request: Request, response: httpx.Response, url: str) -> Incoming:
        headers, words = dict(response.headers.items()), partial(self._network_error, request)
        incoming = Incoming(request, response, headers, url, words, self._redactor)
        try:
            check_coding(incoming)
        except BaseException:
            response.close()
            raise
        return incoming

    def _send_one(self, request: Request, hop: redirect.Hop) -> httpx.Response:
        # Each hop, not only the first: a redirect may lead to what the policy denies.
        self._gate.check_hop(request, hop.method, hop.url)
        with request_content(hop.body) as content:
            message = self._messages.make_message(hop.method, hop.whole_url, hop.headers, content)
            # As the library read the URL: where it and this program disagree, the credential would go elsewhere.
            check_origin(message.url, hop.home)
            message.extensions[SHOW_CERTIFICATE] = hop.own
            self._observer.on_send(hop)
            response = self._connections.handle_request(message)
        self._reached.add(url_origin(hop.home))  # the URL is of the same one, and there are fewer of these to remember
        self._observer.on_response(response)
        return response

    def _most_tries(self, request: Request, error: httpx.RequestError, *, begun: bool) -> int:
        """How often it is tried again after this error. `begun`: the answer's headers had come."""
        if request.method not in IDEMPOTENT:
            return 0
        reached = request.origin in self._reached
        return allowed_retries(error, self._policy.retries, reached=reached, begun=begun)

    def _delay_after_response(self, request: Request, incoming: Incoming, quota: Quota, attempt: int) -> float | None:
        """Seconds to the next try; None when this answer is the last."""
        status = incoming.status
        state = read_quota(incoming.headers, quota, self._now())
        self._rate_limiter.learn_from_answer(_endpoint_of(request), state, limited=status == 429)
        retry = status in STATUSES and request.method in IDEMPOTENT and attempt <= self._policy.retries
        if not retry or (status == 429 and resets_too_late(state, quota)) or (state.wait or 0.0) > FAR:
            return None
        return self._policy.delay_before(attempt, state.resets_in if status == 429 else state.wait)

    def _network_error(self, request: Request, error: httpx.RequestError) -> CallsheetError:
        shown, safe = self._redactor.url(request.url), request.method in IDEMPOTENT
        return network_error(error, request.method, shown, timeout=self._messages.timeout, safe=safe)


def _with_content(incoming: Incoming) -> Incoming:
    try:
        return replace(incoming, content=read_whole(incoming.response))
    except BaseException:
        incoming.close()
        raise


def _check_streamed(incoming: Incoming) -> Incoming:
    allow_slow_body(incoming.response, allow_slow=True)
    return incoming


def _endpoint_of(request: Request) -> str:
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


TIMEOUT = 60.0
_ACCEPT = {"json": "application/json", "binary": "*/*", "location": "*/*", "none": "application/json, */*;q=0.5"}
_SLEEP_STEP = 0.2
_WITH_BODY = ("POST", "PUT", "PATCH")
_SPEECH = 1.0  # seconds; whoever reads the notes may have stopped reading
_MAX_FAILURE_SIZE = 65536  # bytes; what is longer is a result


def _ignore_line(_line: str) -> None: ...


class Client:
    """`ask` is called where the site's policy wants a person to agree. Safe with many threads.

    `log` gets the lines of a verbose run, `note` what a waiting person should know.

    `restrictions` hold beside the site's policy. `before` is told of each request before it is sent, and may raise.
    A client that is `shared` lends its connections and quotas to one of several runs at the same time, and outlives it.
    """

    def __init__(
        self,
        site: SenderSite,
        catalog: Catalog | None,
        *,
        environ: Mapping[str, str] = os.environ,
        policy: RetryPolicy | None = None,
        ask: Ask = ask_nobody,
        log: Callable[[str], None] | None = None,
        note: Callable[[str], None] = _ignore_line,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
        before: Callable[[Request], None] = lambda _: None,
        restrictions: Sequence[PolicySource] = (),
        shared: Client | None = None,
    ) -> None:
        self.site = site
        rules = Policy((*site.policy, *restrictions))
        self.gate = Gate(rules, catalog, site=site.name, known_as=site.known_as, ask=ask)
        self.redactor = Redactor(site.secrets())
        self._catalog = catalog
        self._products: dict[str, ProductDefinition] = {}
        self._services: dict[str, ServiceDefinition] = {}
        self._sleep = sleep
        self._now = now
        self._closed = False
        self._speaking = threading.Lock()
        self._dated = 0.0, ""  # when the last answer came, and what it says of when it was sent
        self.changed = False  # whether a request was sent that may have changed something
        self._before = before
        self._shares = shared is not None
        self.connections: Connections = shared.connections if shared else Connections(site, environ)
        self.limiter: RateLimiter = shared.limiter if shared else RateLimiter(site.rps, clock)
        self._sender = Sender(
            Messages(site.timeout or TIMEOUT),
            self.connections,
            self.limiter,
            policy or RetryPolicy(),
            self.gate,
            VerboseLog(self.redactor, log and self._until_closed(log), self._until_closed(note), clock),
            redactor=self.redactor,
            sleep=self._wait_in_slices,
            now=now,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Also ends the waits of other threads; nothing more is told of what they do, or of how it ends."""
        is_free = self._speaking.acquire(timeout=_SPEECH)  # a line under way is finished first
        self._closed = True
        if is_free:
            self._speaking.release()
        if not self._shares:
            self.connections.close()

    def send(self, request: Request) -> Reply:
        """The answer to a request that succeeded; every failure is a `CallsheetError` of the contract's class."""
        reply = self.exchange(request)
        self.raise_for_failure(reply)
        return reply

    def exchange(self, request: Request) -> Reply:
        """The last answer, whatever its status, after retries and redirects."""
        with self._redacting_errors(request):
            incoming = self._open_answer(request, read=True)
            try:
                reply = incoming.read_all()
            finally:
                incoming.close()
            self._dated = self._now(), reply.headers.get("date", "")
            return reply

    @property
    def site_behind(self) -> float | None:
        """Seconds, at most, by which the site's clock is behind the one here, as its last answer tells; else None."""
        came, text = self._dated
        sent = http_date(text)
        return None if sent is None else max(came - sent, 0.0)

    @contextmanager
    def stream(self, request: Request) -> Iterator[Incoming]:
        """A successful answer while its body still comes in."""
        with self._redacting_errors(request):
            incoming = self._open_answer(request, read=False)
            try:
                if not incoming.ok:
                    self.raise_for_failure(incoming.read_all())
                self._check_known(request, incoming.headers, incoming.url, incoming.status)
                yield incoming
            finally:
                incoming.close()

    def raise_for_failure(self, reply: Reply) -> None:
        """Raise what a failed answer means, also one that reports its failure with a success status."""
        product, service = self._product_of(reply.request), self._service_of(reply.request)
        with self._redacting_errors(reply.request):
            if reply.ok:
                self._check_known(reply.request, reply.headers, reply.url, reply.status)
                if not _reports_failure(reply, product):
                    return
            from .failure import failure_of

            state = read_quota(reply.headers, service.get("quota", {}), self._now())
            raise failure_of(reply, product, service, url=self.shown(reply.url), state=state)

    def _check_known(self, request: Request, headers: Mapping[str, str], url: str, status: int) -> None:
        """Raise `NotAllowed` where a success tells by a header that it did not accept the credential.

        Else an expired token would be an empty list, as strangers see it.
        """
        names = self._service_of(request).get("refused", {})
        if not names or not (url == request.url or url_origin(url) == request.origin):
            return
        if not self._is_known(request.service):
            return
        from .failure import refused_credential

        error = refused_credential(
            request, headers, names, self._product_of(request), url=self.shown(url), status=status
        )
        if error is not None:
            raise error

    def _is_known(self, service: str) -> bool:
        return bool(self.site.headers(service) or self.site.query(service) or self.site.body(service))

    def shown(self, url: str) -> str:
        """A URL as it may be printed."""
        return self.redactor.url(url)

    def headers(self, request: Request) -> dict[str, str]:
        """Everything that is sent with a request, credential included; what the request itself says wins."""
        names = {name.lower() for name, _ in request.headers}
        general = {"Accept": _ACCEPT[request.reply], **self.site.headers(request.service)}
        self.redactor.add(self.site.secrets())
        return {name: text for name, text in general.items() if name.lower() not in names}

    def curl(self, request: Request, *, show_token: bool = False) -> str:
        """The request as a curl command; without a credential at hand it has none."""
        try:
            headers = self.headers(request)
            request, query = self._with_credential_in_body(request)
        except NotAllowed:
            headers, query = {}, ()
        from .curl import curl_command

        return curl_command(request, headers, query, None if show_token else self.redactor)

    def _with_credential_in_body(self, request: Request) -> tuple[Request, tuple[tuple[str, str], ...]]:
        """With the members of the body that hold the credential; and the pairs of the query that hold the others."""
        members, query = self.site.body(request.service), self.site.query(request.service)
        body = Json({}) if request.body is None and request.method in _WITH_BODY else request.body
        if not members or (filled := with_members(body, members)) is body:
            return request, query
        sent = {text for _, text in members}
        return replace(request, body=filled), tuple(pair for pair in query if pair[1] not in sent)

    def _open_answer(self, request: Request, *, read: bool) -> Incoming:
        quota = self._service_of(request).get("quota", {})
        headers, home = self.headers(request), url_origin(self.site.base_url(request.service))
        self._before(request)
        request, query = self._with_credential_in_body(request)
        additions = RequestAdditions(headers, query)
        self.changed = self.changed or request.safety in ("write", "destroy")
        try:
            return self._sender.open(request, additions, quota, home=home, read=read)
        except httpx.InvalidURL as error:
            raise CallsheetError(f"{request.method} {self.shown(request.url)}: {error}") from None

    def _until_closed(self, tell: Callable[[str], None]) -> Callable[[str], None]:
        def write(line: str) -> None:
            with self._speaking:
                if not self._closed:
                    tell(line)

        return write

    def _wait_in_slices(self, seconds: float) -> None:
        """In slices, so that closing the client ends it."""
        while seconds > 0 and not self._closed:
            self._sleep(min(seconds, _SLEEP_STEP))
            seconds -= _SLEEP_STEP
        if self._closed:
            raise CallsheetError("stopped: the client was closed")

    @contextmanager
    def _redacting_errors(self, request: Request) -> Iterator[None]:
        try:
            yield
        except CallsheetError as error:
            error.request = error.request or f"{request.method} {self.shown(request.url)}"
            self.redactor.error(error)
            raise

    def _product_of(self, request: Request) -> ProductDefinition:
        """It is read once: the catalog is not asked again for every page."""
        id = request.product or ""
        if id not in self._products:
            found = self._catalog.products.find(id) if id and self._catalog is not None else None
            self._products[id] = on_deployment(found or {"title": id}, self.site.deployment)
        return self._products[id]

    def _service_of(self, request: Request) -> ServiceDefinition:
        id = request.service or ""
        if id not in self._services:
            found = self._catalog.services.find(id) if id and self._catalog is not None else None
            self._services[id] = found or {"title": id}
        return self._services[id]


def _reports_failure(reply: Reply, product: ProductDefinition) -> bool:
    from ...language.template import TemplateError, evaluate

    failed = product.get("failed")
    if not failed or not is_json_media(reply.media) or not 0 < len(reply.content) <= _MAX_FAILURE_SIZE:
        return False
    try:
        return bool(evaluate(failed, reply.json()))
    except TemplateError:
        return False
