"""The ASGI application: which path is asked for, is the delivery genuine, is it an event, what becomes of it."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from functools import partial
from itertools import repeat
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, TypeVar

from ...errors import UsageError
from ..asyncio_helpers import as_future
from ..byte_budget import memory_of_event
from ..dispatcher import INTERRUPTED, DispatchVerdict
from ..telemetry.log import log_field
from ..verify.key_set import UnknownKey
from ..verify.payload import NO_EVENT, Rejected
from ..verify.source import Challenged, accept
from . import responses
from .responses import BY_STATUS, Response

if TYPE_CHECKING:
    from ..byte_budget import Charge
    from ..dispatcher import SynchronousDispatcher
    from ..queue.queue_worker import Intake
    from ..recent_deliveries import RecentDeliveries
    from ..routes import EventPlan, RoutingTable
    from ..telemetry.log import Log
    from ..telemetry.metrics import Metrics
    from ..telemetry.traces import DeliverySpans
    from ..verify.event import Event
    from ..verify.source import Source

# Who sent a request, where proxies stand between.

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class ClientAddresses:
    """`trusted` proxies are believed about whom they speak for. Raises `UsageError` for what is not a valid address."""

    def __init__(self, trusted: Sequence[str]) -> None:
        self.all = "*" in trusted
        self.networks = [_parse_network(text) for text in trusted if text != "*"]

    def client_name(self, scope: Mapping[str, Any]) -> str:
        client = scope["client"]
        address: str = client[0] if client else "unix"
        if not self.all and not self.networks:
            return address
        return log_field(self._forwarded_for(address, scope["headers"]))

    def _forwarded_for(self, address: str, headers: Sequence[tuple[bytes, bytes]]) -> str:
        """From the right: the first address that is not a trusted proxy's own."""
        forwarded = ",".join(value.decode("latin-1") for name, value in headers if name == b"x-forwarded-for")
        chain = [part.strip() for part in forwarded.split(",") if part.strip()]
        while chain and self._is_trusted(address):
            address = chain.pop()
        return address

    def _is_trusted(self, address: str) -> bool:
        if self.all or address == "unix":
            return True
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self.networks)


def _parse_network(text: str) -> Network:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        raise UsageError(f"--trust-proxy: {text!r} is not an address or network", hint="example: 10.0.0.0/8") from None


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Page = Callable[[Scope], Response | Awaitable[Response]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Deliver = Callable[[Response], None]
T = TypeVar("T")
RespondTo = Callable[[asyncio.Future[T]], Response | None]

POST_ONLY = responses.not_allowed(b"POST")
GET_ONLY = responses.not_allowed(b"GET, HEAD")


class App:
    """`routing_table` is replaced as a whole when the routes are read again."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        routing_table: RoutingTable,
        dispatcher: Intake | SynchronousDispatcher,
        log: Log,
        metrics: Metrics,
        clients: ClientAddresses,
        pages: Mapping[str, Page],
        recent: RecentDeliveries | None = None,
        spans: DeliverySpans | None = None,
    ) -> None:
        """`recent` keeps deliveries for whoever looks at them."""
        self.sources = sources
        self.success = {
            each.name: responses.success_response(each.definition.get("success", 200)) for each in sources.values()
        }
        self.routing_table = routing_table
        self.dispatcher = dispatcher
        self.log = log
        self.metrics = metrics
        self.clients = clients
        self.pages = pages
        self.recent = recent
        self.spans = spans
        self.draining = False
        self.pending: set[asyncio.Future[Any]] = set()  # what has to be waited for: handlers, the disk, a key set

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["path"] in self.sources and scope["method"] == "POST" and not self.draining
        data = await _read_body(receive) if is_read else b""
        if data is None:
            return
        later: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        response = self.respond_at_once(scope, data, later.set_result)
        if response is None:
            response = await later
        scope.pop("charge", None)  # the server keeps the scope until the next request
        await send(response[0])
        await send(response[1])

    def respond_at_once(self, scope: Scope, data: bytes, deliver: Deliver) -> Response | None:
        """The answer to a whole request. Nothing where it has to be waited for: then `deliver` gets it."""
        source = self.sources.get(scope["path"])
        if source is None:
            page = self._serve_page(scope)
            if isinstance(page, Response):
                return page
            self._wait_for(page, scope, asyncio.Future.result, deliver)
            return None
        if scope["method"] != "POST":
            return self._answer_question(scope, source)
        if self.draining:
            return responses.DRAINING
        self.metrics.received += 1
        return self._respond_to_delivery(scope, data, source, perf_counter(), deliver)

    def _serve_page(self, scope: Scope) -> Response | Awaitable[Response]:
        page = self.pages.get(scope["path"])
        if page is None:
            return BY_STATUS[404]
        return page(scope) if scope["method"] in ("GET", "HEAD") else GET_ONLY

    def _respond_to_delivery(
        self, scope: Scope, data: bytes, source: Source, started: float, deliver: Deliver, *, has_new_keys: bool = False
    ) -> Response | None:
        if self.recent is not None:
            scope["delivery"] = data
        try:
            _check_encoding(scope["headers"])
            events = source.receive_events(scope["headers"], scope["query_string"], data, time())
            _charge_for_events(events, source, scope.get("charge"))
            plans = [self._plan_event(event) for event in events]  # nothing runs unless all are events
            verdicts = [self._decide_event(event, plan) for event, plan in zip(events, plans, strict=True)]
        except UnknownKey as unknown:
            if has_new_keys:
                return self._refuse_delivery(scope, unknown)
            retry = partial(self._respond_with_new_keys, scope, data, source, started, deliver)
            self._wait_for(source.fetch_key(unknown), scope, retry, deliver)
            return None
        except Challenged as question:
            if not question.visit:
                return self._reply_to_challenge(scope, question)
            self._wait_for(accept(question), scope, partial(self._reply_when_accepted, scope, question), deliver)
            return None
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            return self._explain_failure(scope, error)
        respond = partial(self._respond_to_events, scope, source, events, started, verdicts)
        waiting = [each for each in verdicts if not isinstance(each, DispatchVerdict)]
        if not waiting:
            return respond(None)
        ended = waiting[0] if len(waiting) == 1 else asyncio.gather(*waiting, return_exceptions=True)
        self._wait_for(ended, scope, respond, deliver)
        return None

    def _respond_to_events(
        self,
        scope: Scope,
        source: Source,
        events: list[Event],
        started: float,
        decided: list[DispatchVerdict | asyncio.Future[DispatchVerdict]],
        _ended: object,
    ) -> Response:
        """One answer for all: one event that failed is a delivery to repeat."""
        if len(events) == 1:
            return self._log_verdict(scope, events[0], started, _ended_verdict(decided[0]))
        verdicts = [_ended_verdict(each) for each in decided]
        answers = [self._log_verdict(scope, *each) for each in zip(events, repeat(started), verdicts, strict=False)]
        worst = max(range(len(verdicts)), key=lambda place: verdicts[place].status, default=None)
        return self.success[source.name] if worst is None else answers[worst]

    def _respond_with_new_keys(
        self, scope: Scope, data: bytes, source: Source, started: float, deliver: Deliver, keys: asyncio.Future[None]
    ) -> Response | None:
        keys.result()
        return self._respond_to_delivery(scope, data, source, started, deliver, has_new_keys=True)

    def _wait_for(self, work: Awaitable[T], scope: Scope, respond: RespondTo[T], deliver: Deliver) -> None:
        """`respond` makes an answer of what has ended. Where it has none yet, something else is waited for."""
        pending = as_future(work)
        self.pending.add(pending)
        pending.add_done_callback(partial(self._on_ended, scope, respond, deliver))

    def _on_ended(
        self,
        scope: Scope,
        respond: RespondTo[T],
        deliver: Deliver,
        ended: asyncio.Future[T],
    ) -> None:
        self.pending.discard(ended)
        try:
            response = respond(ended)
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - as above
            response = self._explain_failure(scope, error)
        if response is not None:
            deliver(response)

    def _plan_event(self, event: Event) -> EventPlan:
        """Raises `Rejected` for what cannot be of its type."""
        plan = self.routing_table.plan_of_event(event)
        if plan.requires is not None and not plan.requires(event.fast_scope):
            raise Rejected(NO_EVENT, "other_type", f"not an event of type {event.type!r}, by its body")
        return plan

    def _decide_event(self, event: Event, plan: EventPlan) -> DispatchVerdict | asyncio.Future[DispatchVerdict]:
        if self.spans is not None:
            self.spans.begin_span(event)
        if not plan.wanted:
            return _FILTERED if plan.known else _UNKNOWN
        verdict = self.dispatcher.dispatch(event, self.routing_table.jobs_for_event(plan, event))
        if self.log.out is not None:
            self.log.log_event(event, verdict.outcome if isinstance(verdict, DispatchVerdict) else "accepted")
        return verdict

    def _log_verdict(self, scope: Scope, event: Event, started: float, verdict: DispatchVerdict) -> Response:
        status = verdict.status
        self.metrics.outcomes[event.source.name, verdict.outcome] += 1
        self.log.log_delivery(
            status, verdict.outcome, self.clients.client_name(scope), event, perf_counter() - started, verdict.detail
        )
        if self.spans is not None:
            self.spans.end_span(event, verdict)
        if self.recent is not None:
            source, duration = self.sources[scope["path"]], perf_counter() - started
            self.recent.add_event(event, source, verdict, self.clients.client_name(scope), duration, self.routing_table)
        if verdict.reply is not None:
            return responses.make_response(status, verdict.reply.body, verdict.reply.headers)
        return self.success[event.source.name] if status == responses.OK else BY_STATUS[status]

    def _answer_question(self, scope: Scope, source: Source) -> Response:
        """A GET or HEAD may be the question whether events may be sent here; nothing else is answered."""
        if not source.get_questions:
            return POST_ONLY
        try:
            challenge = source.answer_to_question(scope["headers"], scope["query_string"], scope["method"])
        except Exception as error:  # noqa: BLE001 - of the library, nkeys, or a file
            return self._explain_failure(scope, error)
        return POST_ONLY if challenge is None else self._reply_to_challenge(scope, challenge)

    def _reply_when_accepted(self, scope: Scope, question: Challenged, ended: asyncio.Future[None]) -> Response:
        ended.result()
        return self._reply_to_challenge(scope, question)

    def _reply_to_challenge(self, scope: Scope, challenge: Challenged) -> Response:
        source = self.sources[scope["path"]].name
        self.metrics.outcomes[source, "challenge"] += 1
        self.log.write_note(f"200 challenge source={source} client={self.clients.client_name(scope)}")
        return responses.challenge_response(challenge.body, challenge.content_type)

    def _explain_failure(self, scope: Scope, error: BaseException) -> Response:
        """The answer where there is no event."""
        if isinstance(error, Challenged):
            return self._reply_to_challenge(scope, error)
        if isinstance(error, MemoryError):
            error = Rejected(503, "out_of_memory", "there is no memory left for it")
        if isinstance(error, asyncio.CancelledError):
            error = Rejected(INTERRUPTED.status, "interrupted", INTERRUPTED.detail)
        if not isinstance(error, Rejected):
            error = Rejected(500, "internal", f"{type(error).__name__}: {error}")
        return self._refuse_delivery(scope, error)

    def _refuse_delivery(self, scope: Scope, refused: Rejected) -> Response:
        self.metrics.rejected[refused.reason] += 1
        self.log.log_rejection(refused.status, refused.reason, self.clients.client_name(scope), refused.detail)
        if self.recent is not None:
            sent = scope["headers"], scope["query_string"], scope.pop("delivery", b"")
            self.recent.add_refused(self.sources.get(scope["path"]), refused, self.clients.client_name(scope), *sent)
        return BY_STATUS[refused.status]


_FILTERED = DispatchVerdict(200, "filtered")
_UNKNOWN = DispatchVerdict(200, "unknown_type")


def _ended_verdict(decided: DispatchVerdict | asyncio.Future[DispatchVerdict]) -> DispatchVerdict:
    if isinstance(decided, DispatchVerdict):
        return decided
    return INTERRUPTED if decided.cancelled() else decided.result()  # the server ends, and cuts off what still runs


def _charge_for_events(events: list[Event], source: Source, charge: Charge | None) -> None:
    """An event takes several times the memory of its body, for as long as anything holds it."""
    if charge is None:
        return
    if source.is_verified:
        charge.mark_genuine()
    if not charge.charge_events(sum(memory_of_event(event.data, event.text) for event in events)):
        raise Rejected(503, "too_many_bytes", "there is no room for more events in memory")
    for event in events:
        event.charge = charge


def _check_encoding(headers: list[tuple[bytes, bytes]]) -> None:
    for name, value in headers:
        if name == b"content-encoding" and value.lower() != b"identity":
            raise Rejected(415, "encoded", "the body has a content encoding")


async def _read_body(receive: Receive) -> bytes | None:
    """The whole body; nothing when the sender went away."""
    message = await receive()
    if message["type"] != "http.request":
        return None
    data: bytes = message["body"]
    if not message["more_body"]:
        return data
    pieces = [data]
    while message["more_body"]:
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message["body"])
    return b"".join(pieces)
