"""The ASGI application: which path is asked for, is the delivery genuine, is it an event, what becomes of it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from functools import partial
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, Protocol

from ..dispatch.grants import INTERRUPTED
from ..dispatch.verdict import DispatchVerdict
from ..verify.challenge import Challenged
from ..verify.keyset import UnknownKey
from ..verify.rejection import NO_EVENT, Rejected
from . import responses
from .responses import BY_STATUS, Response

if TYPE_CHECKING:
    from ..routing.route import Job, RoutingTable
    from ..telemetry.log import Log
    from ..telemetry.metrics import Metrics
    from ..verify.event import Event
    from ..verify.source import Source
    from .client_address import ClientAddresses

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Page = Callable[[Scope], Response | Awaitable[Response]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

POST_ONLY = responses.not_allowed(b"POST")
GET_ONLY = responses.not_allowed(b"GET, HEAD")


class Dispatcher(Protocol):
    """What is done with a genuine, wanted event."""

    def try_immediately(self, event: Event, jobs: list[Job]) -> DispatchVerdict | None: ...

    def begin(self, event: Event, jobs: list[Job]) -> asyncio.Future[DispatchVerdict] | None:
        """The same as `handle` without a task, where it needs none."""
        ...

    async def handle(self, event: Event, jobs: list[Job]) -> DispatchVerdict: ...


class App:
    """`routing_table` is replaced as a whole when the routes are read again."""

    def __init__(
        self,
        sources: Mapping[str, Source],
        routing_table: RoutingTable,
        dispatcher: Dispatcher,
        log: Log,
        metrics: Metrics,
        clients: ClientAddresses,
        pages: Mapping[str, Page],
    ) -> None:
        self.sources = sources
        self.success = {each.name: responses.success(each.definition.get("success", 200)) for each in sources.values()}
        self.routing_table = routing_table
        self.dispatcher = dispatcher
        self.log = log
        self.metrics = metrics
        self.clients = clients
        self.pages = pages
        self.draining = False
        self.busy = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = scope["path"] in self.sources and scope["method"] == "POST" and not self.draining
        data = await _read(receive) if is_read else b""
        if data is None:
            return
        response = await self.respond(scope, data)
        await send(response[0])
        await send(response[1])

    async def respond(self, scope: Scope, data: bytes) -> Response:
        """The answer to a whole request."""
        source = self.sources.get(scope["path"])
        if source is None:
            page = self._page(scope)
            return page if isinstance(page, Response) else await page
        if scope["method"] != "POST":
            return self._question(scope, source)
        if self.draining:
            return responses.DRAINING
        return self.respond_immediately(scope, data, source) or await self._finish(scope, data, source)

    def _page(self, scope: Scope) -> Response | Awaitable[Response]:
        page = self.pages.get(scope["path"])
        if page is None:
            return BY_STATUS[404]
        return page(scope) if scope["method"] in ("GET", "HEAD") else GET_ONLY

    def try_immediately(self, scope: Scope, data: bytes) -> Response | None:
        """The answer to a whole POST where it needs no waiting. Else `respond` has it, asked with the same scope."""
        source = self.sources.get(scope["path"])
        return None if source is None or self.draining else self.respond_immediately(scope, data, source)

    def begin(self, scope: Scope, data: bytes, deliver: Callable[[Response], None]) -> bool:
        """Whether `deliver` is going to get the answer that `try_immediately` did not have. Else `respond` has it."""
        del data
        started, event, jobs = scope.get("delivery", _NOTHING_READ)
        if event is None or isinstance(event, UnknownKey):
            return False
        pending = self.dispatcher.begin(event, jobs)
        if pending is None:
            return False
        self.busy += 1
        pending.add_done_callback(partial(self._on_decided, scope, event, started, deliver))
        return True

    def _on_decided(
        self,
        scope: Scope,
        event: Event,
        started: float,
        deliver: Callable[[Response], None],
        pending: asyncio.Future[DispatchVerdict],
    ) -> None:
        self.busy -= 1
        error = asyncio.CancelledError() if pending.cancelled() else pending.exception()
        if error is None:
            deliver(self._respond(scope, event, pending.result(), started))
        else:
            deliver(self._refuse(scope, _internal_error(error)))

    def respond_immediately(self, scope: Scope, data: bytes, source: Source) -> Response | None:
        """Prove and read a delivery, once; what was found stays in the scope for `_finish`."""
        if "delivery" in scope:
            return None
        self.metrics.received += 1
        started = perf_counter()
        try:
            _check_encoding(scope["headers"])
            event = source.receive(scope["headers"], scope["query_string"], data, time())
            jobs, verdict = self._decide(event)
        except Challenged as challenge:
            return self._reply(scope, challenge)
        except UnknownKey as unknown:
            scope["delivery"] = (started, unknown, [])
            return None
        except Rejected as refused:
            return self._refuse(scope, refused)
        except Exception as error:  # noqa: BLE001 - one odd delivery must never end the server
            return self._refuse(scope, _internal_error(error))
        if verdict is None:
            scope["delivery"] = (started, event, jobs)
            return None
        return self._respond(scope, event, verdict, started)

    def _decide(self, event: Event) -> tuple[list[Job], DispatchVerdict | None]:
        plan = self.routing_table.plan(event)
        if plan.requires is not None and not plan.requires(event.fast_scope):
            raise Rejected(NO_EVENT, "other_type", f"not an event of type {event.type!r}, by its body")
        if not plan.wanted:
            return [], _FILTERED if plan.known else _UNKNOWN
        jobs = self.routing_table.jobs(plan, event)
        verdict = self.dispatcher.try_immediately(event, jobs)
        if self.log.out is not None:
            self.log.event(event, verdict.outcome if verdict else "accepted")
        return jobs, verdict

    async def _finish(self, scope: Scope, data: bytes, source: Source) -> Response:
        """What has to be waited for: a key set, handlers, the disk."""
        started, event, jobs = scope["delivery"]
        self.busy += 1
        try:
            if isinstance(event, UnknownKey):
                await source.fetch_key(event)
                event = source.receive(scope["headers"], scope["query_string"], data, time())
                jobs, verdict = self._decide(event)
            else:
                verdict = None
            verdict = verdict or await self.dispatcher.handle(event, jobs)
        except Challenged as challenge:
            return self._reply(scope, challenge)
        except Rejected as refused:
            return self._refuse(scope, refused)
        except asyncio.CancelledError:  # the server ends, and cuts off what still runs
            if isinstance(event, UnknownKey):
                return self._refuse(scope, Rejected(INTERRUPTED.status, "interrupted", INTERRUPTED.detail))
            verdict = INTERRUPTED
        except Exception as error:  # noqa: BLE001 - as above
            return self._refuse(scope, _internal_error(error))
        finally:
            self.busy -= 1
        return self._respond(scope, event, verdict, started)

    def _respond(self, scope: Scope, event: Event, verdict: DispatchVerdict, started: float) -> Response:
        status = verdict.status
        self.metrics.outcomes[event.source.name, verdict.outcome] += 1
        self.log.delivery(
            status, verdict.outcome, self.clients.name(scope), event, perf_counter() - started, verdict.detail
        )
        return self.success[event.source.name] if status == responses.OK else BY_STATUS[status]

    def _question(self, scope: Scope, source: Source) -> Response:
        """A GET may be the question whether events may be sent here; nothing else is answered."""
        if not source.get_questions or scope["method"] != "GET":
            return POST_ONLY
        try:
            challenge = source.challenged(scope["headers"], scope["query_string"])
        except Rejected as refused:
            return self._refuse(scope, refused)
        except Exception as error:  # noqa: BLE001 - as above
            return self._refuse(scope, _internal_error(error))
        return POST_ONLY if challenge is None else self._reply(scope, challenge)

    def _reply(self, scope: Scope, challenge: Challenged) -> Response:
        source = self.sources[scope["path"]].name
        self.metrics.outcomes[source, "challenge"] += 1
        self.log.note(f"200 challenge source={source} client={self.clients.name(scope)}")
        return responses.challenge(challenge.body, challenge.content_type)

    def _refuse(self, scope: Scope, refused: Rejected) -> Response:
        self.metrics.rejected[refused.reason] += 1
        self.log.rejection(refused.status, refused.reason, self.clients.name(scope), refused.detail)
        return BY_STATUS[refused.status]


def _internal_error(error: BaseException) -> Rejected:
    return Rejected(500, "internal", f"{type(error).__name__}: {error}")


_NOTHING_READ: tuple[float, None, list[Job]] = (0.0, None, [])
_FILTERED = DispatchVerdict(200, "filtered")
_UNKNOWN = DispatchVerdict(200, "unknown_type")


def _check_encoding(headers: list[tuple[bytes, bytes]]) -> None:
    for name, value in headers:
        if name == b"content-encoding" and value.lower() != b"identity":
            raise Rejected(415, "encoded", "the body has a content encoding")


async def _read(receive: Receive) -> bytes | None:
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
