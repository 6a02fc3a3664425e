"""One client for one site: sends requests and raises what a failed answer means."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Self

import httpx

from ...errors import CallsheetError, NotAllowed
from ...language.merge import on_deployment
from ...policy.policy import Policy, PolicySource
from ...urls import url_origin
from ..gate import Ask, Gate, ask_nobody
from ..request.model import Json, Request, is_json, with_members
from .connections import Connections
from .quota import RateLimiter, read_quota
from .redact import Redactor
from .redirect import RequestAdditions
from .reply import Incoming, Reply
from .retry import RetryPolicy, http_date
from .sender import Messages, Sender, VerboseLog

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.rest import ProductDefinition, ServiceDefinition
    from ..site_access import SenderSite

TIMEOUT = 60.0
_ACCEPT = {"json": "application/json", "binary": "*/*", "location": "*/*", "none": "application/json, */*;q=0.5"}
_SLEEP_STEP = 0.2
_WITH_BODY = ("POST", "PUT", "PATCH")
_SPEECH = 1.0  # seconds; whoever reads the notes may have stopped reading
_MAX_FAILURE_SIZE = 65536  # bytes; what is longer is a result


def _ignore(_line: str) -> None: ...


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
        note: Callable[[str], None] = _ignore,
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
            sleep=self._wait,
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
        with self._redacting(request):
            incoming = self._open(request, read=True)
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
        with self._redacting(request):
            incoming = self._open(request, read=False)
            try:
                if not incoming.ok:
                    self.raise_for_failure(incoming.read_all())
                self._check_known(request, incoming.headers, incoming.url, incoming.status)
                yield incoming
            finally:
                incoming.close()

    def raise_for_failure(self, reply: Reply) -> None:
        """Raise what a failed answer means, also one that reports its failure with a success status."""
        product, service = self._product(reply.request), self._service(reply.request)
        with self._redacting(reply.request):
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
        names = self._service(request).get("refused", {})
        if not names or not (url == request.url or url_origin(url) == request.origin):
            return
        if not self._is_known(request.service):
            return
        from .failure import refused_credential

        error = refused_credential(request, headers, names, self._product(request), url=self.shown(url), status=status)
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
            headers, query = self.headers(request), self.site.query(request.service)
            request = self._whole(request)
        except NotAllowed:
            headers, query = {}, ()
        from .curl import curl_command

        return curl_command(request, headers, query, None if show_token else self.redactor)

    def _whole(self, request: Request) -> Request:
        """With the members of the body that hold the credential."""
        members = self.site.body(request.service)
        body = Json({}) if request.body is None and request.method in _WITH_BODY else request.body
        return replace(request, body=with_members(body, members)) if members else request

    def _open(self, request: Request, *, read: bool) -> Incoming:
        quota = self._service(request).get("quota", {})
        additions = RequestAdditions(self.headers(request), self.site.query(request.service))
        home = url_origin(self.site.base_url(request.service))
        self._before(request)
        request = self._whole(request)
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

    def _wait(self, seconds: float) -> None:
        """In slices, so that closing the client ends it."""
        while seconds > 0 and not self._closed:
            self._sleep(min(seconds, _SLEEP_STEP))
            seconds -= _SLEEP_STEP
        if self._closed:
            raise CallsheetError("stopped: the client was closed")

    @contextmanager
    def _redacting(self, request: Request) -> Iterator[None]:
        try:
            yield
        except CallsheetError as error:
            error.request = error.request or f"{request.method} {self.shown(request.url)}"
            self.redactor.error(error)
            raise

    def _product(self, request: Request) -> ProductDefinition:
        """It is read once: the catalog is not asked again for every page."""
        id = request.product or ""
        if id not in self._products:
            found = self._catalog.find("product", id) if id and self._catalog is not None else None
            self._products[id] = on_deployment(found or {"title": id}, self.site.deployment)
        return self._products[id]

    def _service(self, request: Request) -> ServiceDefinition:
        id = request.service or ""
        if id not in self._services:
            found = self._catalog.find("service", id) if id and self._catalog is not None else None
            self._services[id] = found or {"title": id}
        return self._services[id]


def _reports_failure(reply: Reply, product: ProductDefinition) -> bool:
    from ...language.template import TemplateError, evaluate

    failed = product.get("failed")
    if not failed or not is_json(reply.media) or not 0 < len(reply.content) <= _MAX_FAILURE_SIZE:
        return False
    try:
        return bool(evaluate(failed, reply.json()))
    except TemplateError:
        return False
