"""The application without a server: what each request is answered, counted and logged as."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Sequence
from typing import Any

import pytest

from callsheet.listener.dispatcher import ACCEPTED, DUPLICATE, DispatchVerdict
from callsheet.listener.routes import RoutingTable, make_route
from callsheet.listener.server import responses
from callsheet.listener.server.application import App, ClientAddresses
from callsheet.listener.telemetry.log import Log
from callsheet.listener.telemetry.metrics import Metrics
from callsheet.listener.verify.key_set import UnknownKey
from callsheet.listener.verify.source import Challenge, Source

PATH = "/webhook"


class Lines(list[str]):
    def write_line(self, line: str) -> None:
        self.append(line)


class Handled:
    """Says at once what `at_once` is, or later what `later` is (an error is raised, None is cancelled)."""

    def __init__(
        self, at_once: DispatchVerdict | None = None, later: DispatchVerdict | Exception | None = ACCEPTED
    ) -> None:
        self.at_once, self.later = at_once, later
        self.asked: list[tuple[Any, list[Any]]] = []

    def dispatch(self, event: Any, jobs: list[Any]) -> DispatchVerdict | asyncio.Future[DispatchVerdict]:
        self.asked.append((event.id, [job.id for job in jobs]))
        if self.at_once is not None:
            return self.at_once
        pending: asyncio.Future[DispatchVerdict] = asyncio.get_running_loop().create_future()
        if self.later is None:
            pending.cancel()
        elif isinstance(self.later, Exception):
            pending.set_exception(self.later)
        else:
            pending.set_result(self.later)
        return pending


class Here:
    def __init__(self, dispatcher: Handled | None = None, only: Sequence[str] = (), *, out: bool = False) -> None:
        definition: Any = {"path": PATH, "type": "payload.type", "id": "payload.id"}
        self.source = Source("lms", definition)
        self.dispatcher = dispatcher or Handled(ACCEPTED)
        types: Any = {("lms", "paid"): {}, ("lms", "asked"): {"requires": "payload.order"}, ("lms", "other"): {}}
        handler: Any = type("H", (), {"concurrency_limits": ()})()
        route: Any = {"on": ["paid"], "do": [{"handler": "append"}]}
        self.err, self.out, self.metrics = Lines(), Lines(), Metrics()
        log = Log(self.err, self.out if out else None)  # type: ignore[arg-type]

        async def slow(_: Any) -> responses.Response:
            await asyncio.sleep(0)
            return responses.READY

        pages: Any = {"/health": lambda _: responses.HEALTHY, "/ready": slow}
        table = RoutingTable(types, [make_route("r", route, [handler], print)], only)
        self.app = App({PATH: self.source}, table, self.dispatcher, log, self.metrics, ClientAddresses([]), pages)

    def ask(self, *pieces: Any, method: str = "POST", path: str = PATH, headers: Any = (), gone: bool = False) -> Any:
        """Status and body of the answer; None where there is none."""
        sent: list[dict[str, Any]] = []
        scope = {
            "type": "http", "method": method, "path": path, "headers": list(headers), "query_string": b"",
            "client": ("1.1.1.1", 1),
        }  # fmt: skip
        data = [piece if isinstance(piece, bytes) else json.dumps(piece).encode() for piece in pieces] or [b""]
        ends = [not gone and place == len(data) - 1 for place in range(len(data))]
        waiting = [
            {"type": "http.request", "body": body, "more_body": not end} for body, end in zip(data, ends, strict=True)
        ]
        waiting.append({"type": "http.disconnect"})

        async def receive() -> dict[str, Any]:
            return waiting.pop(0)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        if not sent:
            return None
        assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
        return sent[0]["status"], sent[1]["body"]

    def said(self) -> list[str]:
        return [re.sub(r"duration_ms=\S+", "ms", line.partition(" ")[2]) for line in self.err]


PAID = {"type": "paid", "id": "7"}


def test_an_event_that_is_settled_at_once() -> None:
    here = Here()
    assert here.ask(PAID) == (200, b"")
    assert here.dispatcher.asked == [("7", ["r/1"])]
    assert here.said() == ["200 accepted source=lms type=paid id=7 client=1.1.1.1 ms"]
    assert (here.metrics.received, here.metrics.outcomes) == (1, {("lms", "accepted"): 1})
    assert (here.app.pending, here.metrics.rejected) == (set(), {})


@pytest.mark.parametrize(
    ("later", "status", "said"),
    [
        (ACCEPTED, 200, "200 accepted source=lms type=paid id=7 client=1.1.1.1 ms"),
        (DUPLICATE, 200, "200 duplicate source=lms type=paid id=7 client=1.1.1.1 ms"),
        (
            DispatchVerdict(500, "failed", "r/1: no"),
            500,
            '500 failed source=lms type=paid id=7 client=1.1.1.1 ms reason="r/1: no"',
        ),
        (DispatchVerdict(503, "saturated"), 503, "503 saturated source=lms type=paid id=7 client=1.1.1.1 ms"),
        (KeyError("x"), 500, "500 internal client=1.1.1.1 reason=\"KeyError: 'x'\""),
        (None, 500, "500 failed source=lms type=paid id=7 client=1.1.1.1 ms reason=interrupted"),
    ],
)
def test_an_event_that_is_waited_for(later: Any, status: int, said: str) -> None:
    here = Here(Handled(None, later))
    found, body = here.ask(PAID)
    assert (found, here.said(), here.app.pending) == (status, [said], set())
    assert (b"error" in body) is (status != 200)
    assert len(here.dispatcher.asked) == 1
    assert here.metrics.received == 1, "a delivery is read once"
    counted = here.metrics.rejected if isinstance(later, Exception) else here.metrics.outcomes
    assert sum(counted.values()) == 1


def test_a_body_in_pieces_is_one_and_a_sender_that_left_gets_nothing() -> None:
    here = Here()
    assert here.ask(b'{"type": "pa', b"", b'id", "id": "8"}') == (200, b"")
    assert here.dispatcher.asked[0][0] == "8"
    assert here.ask(b'{"type": "pa', gone=True) is None
    assert here.ask(gone=True) is None
    assert here.metrics.received == 1


@pytest.mark.parametrize(
    ("event", "only", "outcome"),
    [
        ({"type": "paid", "id": "7"}, ["oth*"], "filtered"),
        ({"type": "new", "id": "7"}, [], "unknown_type"),
        ({"type": "new", "id": "7"}, ["oth*"], "unknown_type"),
    ],
)
def test_what_nobody_asked_for_is_accepted_and_not_handled(event: Any, only: list[str], outcome: str) -> None:
    here = Here(only=only)
    assert here.ask(event) == (200, b"")
    assert here.dispatcher.asked == []
    assert here.metrics.outcomes == {("lms", outcome): 1}


def test_an_event_without_handlers_runs_nothing() -> None:
    here = Here()
    assert here.ask({"type": "other", "id": "7"}) == (200, b"")
    assert here.dispatcher.asked == [("7", [])]


@pytest.mark.parametrize(
    ("data", "headers", "status", "reason"),
    [
        (b"no", [], 400, "unreadable"),
        (b'{"type": "asked"}', [], 400, "other_type"),
        (b"{}", [(b"content-encoding", b"gzip")], 415, "encoded"),
        (b"{}", [(b"content-encoding", b"GZIP"), (b"x", b"y")], 415, "encoded"),
    ],
)
def test_what_is_refused(data: bytes, headers: Any, status: int, reason: str) -> None:
    here = Here()
    found, body = here.ask(data, headers=headers)
    assert (found, body) == (status, responses.BY_STATUS[status][1]["body"])
    assert (here.metrics.rejected, here.metrics.outcomes) == ({reason: 1}, {})
    assert here.said()[0].startswith(f"{status} {reason} client=1.1.1.1 reason=")


def test_identity_is_no_encoding_and_what_is_required_passes() -> None:
    here = Here()
    assert here.ask(PAID, headers=[(b"content-encoding", b"Identity")])[0] == 200
    assert here.ask({"type": "asked", "order": 1})[0] == 200


def test_paths_and_methods() -> None:
    here = Here()
    assert here.ask(path="/none")[0] == 404
    assert here.ask(path="/health", method="GET") == (200, b'{"status":"ok"}')
    assert here.ask(path="/ready", method="HEAD") == (200, b'{"status":"ready"}')
    assert here.ask(path="/health")[0] == 405
    for method in ("GET", "PUT", "HEAD"):
        assert here.ask(PAID, method=method) == (405, b'{"error":"method not allowed"}')
    assert (here.metrics.received, here.err) == (0, [])


def test_while_it_stops_nothing_new_is_taken() -> None:
    here = Here()
    here.app.draining = True
    assert here.ask(PAID) == (503, b'{"error":"stopping"}')
    assert here.ask(path="/health", method="GET")[0] == 200
    assert here.metrics.received == 0


def test_a_whole_request_is_answered_at_once_where_nothing_is_waited_for() -> None:
    here, later = Here(), Here(Handled(None))
    scope: Any = {"path": PATH, "method": "POST", "headers": [], "query_string": b"", "client": None}

    async def work() -> None:
        delivered: list[responses.Response] = []
        data = json.dumps(PAID).encode()
        assert here.app.respond_at_once(scope, data, delivered.append) is responses.DONE
        assert here.said() == ["200 accepted source=lms type=paid id=7 client=unix ms"]
        assert later.app.respond_at_once(scope, data, delivered.append) is None
        assert (delivered, len(later.app.pending)) == ([], 1)
        await asyncio.sleep(0)
        assert (delivered, len(later.app.pending)) == ([responses.DONE], 0)

    asyncio.run(work())


@pytest.mark.parametrize("found", [True, False])
def test_an_unknown_key_is_fetched_once(found: bool) -> None:
    here = Here(Handled(None, ACCEPTED))
    unknown, real, fetched = UnknownKey("k", "RS256"), here.source.receive_event, []

    def receive(*parts: Any) -> Any:
        if not (fetched and found):
            raise unknown
        return real(*parts)

    async def fetch(asked: Any) -> None:
        fetched.append(asked)

    here.source.receive_event = receive  # type: ignore[method-assign]
    here.source.fetch_key = fetch  # type: ignore[method-assign]
    status, _ = here.ask(PAID)
    assert (status, fetched, here.app.pending) == (200 if found else 401, [unknown], set())
    assert here.metrics.received == 1
    assert len(here.dispatcher.asked) == found


def test_an_odd_delivery_never_ends_the_server() -> None:
    here = Here()

    def receive(*_: Any) -> Any:
        raise RecursionError("deep")

    here.source.receive_event = receive  # type: ignore[method-assign]
    assert here.ask(PAID)[0] == 500
    assert here.said() == ['500 internal client=1.1.1.1 reason="RecursionError: deep"']


@pytest.mark.parametrize(("verdict", "note"), [(ACCEPTED, ""), (None, ""), (DUPLICATE, "Note: duplicate")])
def test_whole_events_are_shown_where_that_was_asked_for(verdict: DispatchVerdict | None, note: str) -> None:
    here = Here(Handled(verdict), out=True)
    here.ask(PAID)
    assert len(here.err) == (1 if verdict is DUPLICATE else 0)
    (shown,) = here.out
    assert ("Type: paid\nID: 7" in shown, note in shown) == (True, True)
    assert ("Note" in shown) is bool(note)


def test_a_sender_may_expect_another_status() -> None:
    here = Here()
    here.app.success["lms"] = responses.success_response(202)
    assert here.ask(PAID)[0] == 202
    here.dispatcher.at_once = DispatchVerdict(503, "saturated")
    assert here.ask({"type": "paid", "id": "9"})[0] == 503


@pytest.mark.parametrize(
    ("method", "query", "answer"),
    [
        ("GET", b"challenge=abc", (200, b"abc")),
        ("GET", b"", (405, b'{"error":"method not allowed"}')),
        ("HEAD", b"challenge=abc", (405, b'{"error":"method not allowed"}')),
        ("PUT", b"challenge=abc", (405, b'{"error":"method not allowed"}')),
    ],
)
def test_a_question_is_a_get_and_nothing_else(method: str, query: bytes, answer: tuple[int, bytes]) -> None:
    here = Here()
    asked: Any = {"method": "GET", "when": "query.challenge", "reply": "{query.challenge}"}
    here.source.get_questions = [Challenge(asked, [])]
    scope = {"method": method, "path": PATH, "headers": [], "query_string": query, "client": ("1.1.1.1", 1)}
    response = here.app.respond_at_once(scope, b"", lambda _: None)
    assert response is not None
    assert (response[0]["status"], response[1]["body"]) == answer
    assert here.metrics.outcomes["lms", "challenge"] == (answer[0] == 200)
    assert here.dispatcher.asked == []


def test_a_failed_allocation_is_a_503_that_asks_to_come_again() -> None:
    here = Here(Handled(later=MemoryError()))
    assert here.ask(b'{"type":"paid"}')[0] == 503
    assert here.metrics.rejected["out_of_memory"] == 1
