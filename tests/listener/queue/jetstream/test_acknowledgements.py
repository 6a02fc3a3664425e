"""What is told to the server of each run, in which order, and what its answers and failures mean."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest
from nats.errors import MaxPayloadError
from nats.errors import TimeoutError as NatsTimeout
from nats.js.errors import APIError, KeyNotFoundError, ServiceUnavailableError

from callsheet.errors import CallsheetError, NetworkError, NotAllowed
from callsheet.listener.queue.jetstream import jetstream_queue as queue
from callsheet.listener.queue.jetstream import nats_connection as connection
from callsheet.listener.queue.jetstream.jetstream_queue import JetStreamQueue
from callsheet.listener.queue.jetstream.nats_connection import QueueAccess, QueueAddress, checked_reply
from callsheet.listener.queue.queue_port import DONE, FailedRun, Lease, PutResult, QueueFailed, TooLarge

ADDRESS = QueueAddress(("nats://h:4222",), "EV")


class Server:
    """Remembers what it was told, in order. `fails` is raised by what begins with `failing`."""

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.failing, self.fails = "", Exception()
        self.is_connected = True
        self.max_payload = 1 << 20
        self.duplicate = False
        self.values: dict[str, bytes] = {}

    def tell(self, *what: Any) -> None:
        if self.failing and what[0].startswith(self.failing):
            raise self.fails
        self.told.append(what)

    async def request(self, reply: str, payload: bytes, **options: float) -> None:
        assert options == {"timeout": queue.TIMEOUT}
        self.tell("request", reply, payload)

    async def flush(self, **options: float) -> None:
        assert options == {"timeout": queue.TIMEOUT}
        self.tell("flush")

    async def publish(self, subject: str, data: bytes, headers: Any = None, **options: float) -> Any:
        if headers is None:
            self.tell("publish", subject, data)
            return None
        assert options == {"timeout": queue.TIMEOUT}
        self.tell("store", subject, data, headers)
        return SimpleNamespace(duplicate=self.duplicate)

    async def get(self, key: str) -> Any:
        if key not in self.values:
            raise KeyNotFoundError
        return SimpleNamespace(value=self.values[key], revision=1)

    async def create(self, key: str, value: bytes) -> None:
        self.tell("note", json.loads(value))
        self.values[key] = value

    async def update(self, key: str, value: bytes, last: int) -> None:
        assert last == 1
        await self.create(key, value)

    async def purge(self, key: str) -> None:
        self.tell("forget")
        del self.values[key]


def queue_of(server: Server) -> JetStreamQueue:
    access = QueueAccess(ADDRESS, {}, None, "2s")
    made = JetStreamQueue(access, {"subject": "s"}, print, consumes=True)  # type: ignore[typeddict-item]  # no more
    fake: Any = server
    made._connection, made._jetstream = fake, fake
    made._progress = queue.ProgressStore(fake)
    return made


def lease(attempts: int = 1, key: int = 7) -> Lease:
    message = SimpleNamespace(
        reply=f"reply {key}", subject="s.EV.event.digest", data=b"data", headers={"Nats-Msg-Id": "e"},
        metadata=SimpleNamespace(num_delivered=attempts),
    )  # fmt: skip
    return Lease(key, attempts, message)


def told(work: Callable[[JetStreamQueue], Awaitable[Any]], server: Server | None = None) -> list[Any]:
    server = server or Server()

    async def run() -> None:
        await work(queue_of(server))

    asyncio.run(run())
    return server.told


def test_a_success_is_acknowledged_and_nothing_else() -> None:
    assert told(lambda made: made.complete_event(lease())) == [("request", "reply 7", b"+ACK")]


def test_what_was_noted_of_its_jobs_is_forgotten_after_the_acknowledgement() -> None:
    async def work(made: JetStreamQueue) -> None:
        assert await made.record_success(lease(), "r/1")
        assert await made.complete_event(lease())
        assert made._with_progress == set()
        await made.complete_event(lease(key=8))

    note, acknowledged, forgotten, other = told(work)
    assert (note[0], list(note[1]["targets"]), note[1]["attempts"]) == ("note", ["r/1"], 1)
    assert (acknowledged, forgotten) == (("request", "reply 7", b"+ACK"), ("forget",))
    assert other == ("request", "reply 8", b"+ACK")


def test_a_repeated_run_is_forgotten_too_also_when_that_fails() -> None:
    server = Server()
    server.values["7"] = b"{}"
    server.failing, server.fails = "forget", NatsTimeout()
    assert told(lambda made: made.complete_event(lease(attempts=2)), server) == [("request", "reply 7", b"+ACK")]


def test_a_failure_is_noted_with_its_reason_before_the_event_is_given_back() -> None:
    before = time.time()
    note, given_back = told(lambda made: made.retry_later(lease(attempts=3), 2.5, FailedRun("no", 3)))
    assert (note[1]["attempts"], note[1]["error"]) == (3, "no")
    assert before + 2.5 <= note[1]["due"] <= time.time() + 2.5
    assert given_back == ("request", "reply 7", b'-NAK {"delay": 2500000000}')


async def given_up(made: JetStreamQueue) -> None:
    await made._progress.add_progress(7, "e", error="no")
    made._connection.told.clear()
    assert await made.give_up(lease(attempts=12), FailedRun("no", 12))


def test_an_event_that_is_given_up_is_kept_elsewhere_before_it_leaves() -> None:
    kept, gone, _ = told(given_up)
    headers = {
        "Nats-Msg-Id": "e-7", "Callsheet-Reason": '"no"', "Callsheet-Attempts": "12", "Callsheet-Targets": "{}"
    }  # fmt: skip
    assert kept == ("store", "s.EV.dead.digest.7", b"data", headers)
    assert gone == ("request", "reply 7", b"+ACK")


def test_an_event_that_cannot_be_kept_elsewhere_stays() -> None:
    server = Server()
    server.failing, server.fails = "store", APIError(code=503, description="full")
    with pytest.raises(QueueFailed, match="the server refused: full"):
        told(lambda made: made.give_up(lease(), FailedRun("no", 1)), server)
    assert server.told == []


def arrived(key: int, event: str = "e", delivered: int = 1, reply: str = "") -> Any:
    """A message as the server sends it."""
    metadata = SimpleNamespace(sequence=SimpleNamespace(stream=key), num_delivered=delivered)
    return SimpleNamespace(
        reply=reply or f"reply {key}", subject="s.EV.event.digest", data=b"data", headers={"Nats-Msg-Id": event},
        metadata=metadata,
    )  # fmt: skip


class Given:
    """Messages that are there to be taken, as far as they are admitted."""

    def __init__(self, made: JetStreamQueue, *messages: Any) -> None:
        self._admitted = [message for message in messages if made._admit_message(message)]

    async def fetch_messages(self, count: int) -> list[Any]:
        return self._admitted[:count]


async def taken(made: JetStreamQueue, *messages: Any) -> list[Lease]:
    given: Any = Given(made, *messages)
    made._fetcher = given
    leases = [queued.lease for queued in await made.fetch_events(9)]
    await asyncio.sleep(0)  # for what is sent beside
    return leases


def test_what_runs_or_waits_for_it_is_renewed_and_what_is_left_is_given_back() -> None:
    async def work(made: JetStreamQueue) -> None:
        first, _ = await taken(made, arrived(1), arrived(2))
        assert made._admit_message(arrived(3))
        await made.extend_leases([first])
        await made.release_leases([first])

    assert told(work) == [
        ("publish", "reply 1", b"+WPI"), ("publish", "reply 3", b"+WPI"),
        ("publish", "reply 1", b"-NAK"), ("publish", "reply 3", b"-NAK"), ("flush",),
    ]  # fmt: skip


def test_what_runs_here_is_not_taken_a_second_time_and_is_acknowledged_by_its_newest_name() -> None:
    async def work(made: JetStreamQueue) -> None:
        (held,) = await taken(made, arrived(1))
        assert await taken(made, arrived(1, delivered=2, reply="newer")) == []
        assert await made.complete_event(held)
        assert await taken(made, arrived(1, delivered=3, reply="newest")) == []
        assert [lease.key for lease in await taken(made, arrived(1, "another event of a new stream"))] == [1]

    assert told(work) == [
        ("publish", "newer", b"+WPI"), ("request", "newer", b"+ACK"), ("publish", "newest", b"+ACK")
    ]  # fmt: skip


def test_what_failed_is_taken_again_also_where_it_comes_before_the_answer() -> None:
    async def work(made: JetStreamQueue) -> None:
        (held,) = await taken(made, arrived(1))
        assert await made.retry_later(held, 2.5, FailedRun("no", 1))
        assert [lease.attempts for lease in await taken(made, arrived(1, delivered=2))] == [2]

    told(work)


def test_after_a_silence_others_get_the_time_to_renew_what_they_run() -> None:
    async def work(made: JetStreamQueue) -> None:
        made.renew_every = 10.0
        made._on_silence(14.0)
        assert await taken(made, arrived(1, delivered=2)) != []
        made._on_silence(16.0)
        assert [lease.key for lease in await taken(made, arrived(2), arrived(3, delivered=2))] == [2]
        await made._progress.add_progress(4, "e", attempts=1, deliveries=1, due=time.time(), error="no")
        assert [lease.key for lease in await taken(made, arrived(4, delivered=2))] == [4]
        await made._progress.add_progress(4, "e", targets={"r/1": DONE}, attempts=2, deliveries=2, due=None)
        made._received.drop_event(4)
        assert await taken(made, arrived(4, delivered=3)) == []
        made._distrusts_until = 0.0
        assert [lease.key for lease in await taken(made, arrived(4, delivered=4))] == [4]

    given_back = [what for what in told(work) if what[0] == "publish"]
    assert given_back == [("publish", f"reply {key}", b'-NAK {"delay": 20000000000}') for key in (3, 4)]


def event() -> Any:
    return SimpleNamespace(
        id="1",
        type="t",
        key="lms/t/s1",
        data=b"{}",
        text=b"{}",
        headers=[],
        query=b"",
        source=SimpleNamespace(name="lms"),
    )


@pytest.mark.parametrize("duplicate", [False, True])
def test_an_event_is_stored_once(duplicate: bool) -> None:
    server = Server()
    server.duplicate = duplicate

    async def work(made: JetStreamQueue) -> None:
        assert await made.put_event(event(), has_jobs=True, run_here=True) == PutResult(stored=not duplicate)
        assert await made.put_event(event(), has_jobs=False, run_here=False) == PutResult(stored=True)
        assert made.problem is None

    ((what, subject, _, headers),) = told(work, server)
    assert (what, subject.startswith("s.EV.event."), list(headers)) == ("store", True, ["Nats-Msg-Id"])


def test_a_refusal_is_a_problem_for_a_while_and_until_something_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server()

    async def work(made: JetStreamQueue) -> None:
        server.failing, server.fails = "store", APIError(code=503)
        with pytest.raises(QueueFailed, match="the server refused: 503"):
            await made.put_event(event(), has_jobs=True, run_here=False)
        assert made.problem == "the server refused: 503"
        made._failed_at -= queue.FAILURE_LASTS
        assert made.problem is None
        with pytest.raises(QueueFailed):
            await made.put_event(event(), has_jobs=True, run_here=False)
        server.failing = ""
        await made.put_event(event(), has_jobs=True, run_here=False)
        assert made.problem is None
        server.is_connected = False
        assert made.problem == "not connected"
        with pytest.raises(QueueFailed, match="not connected to"):
            await made.put_event(event(), has_jobs=True, run_here=False)

    told(work, server)


@pytest.mark.parametrize(
    ("raised", "kind", "words"),
    [
        (MaxPayloadError(), TooLarge, "the event is larger than the server takes"),
        (APIError(code=400, err_code=10054), TooLarge, "the event is larger than the stream takes"),
        (ServiceUnavailableError(), QueueFailed, "JetStream is not enabled there"),
        (APIError(code=503, description="full"), QueueFailed, "the server refused: full"),
        (APIError(code=503), QueueFailed, "the server refused: 503"),
        (ConnectionResetError("gone"), QueueFailed, "gone"),
        (TimeoutError(), QueueFailed, "the server did not answer in time"),
        (NatsTimeout(), QueueFailed, "the server did not answer in time"),
    ],
)
def test_what_a_failure_means(raised: Exception, kind: type[QueueFailed], words: str) -> None:
    async def fail() -> None:
        raise raised

    with pytest.raises(QueueFailed, match=words) as caught:
        asyncio.run(checked_reply(fail()))
    assert type(caught.value) is kind
    with pytest.raises(type(raised)):
        asyncio.run(checked_reply(fail(), type(raised)))


@pytest.mark.parametrize(
    ("raised", "failure", "kind", "words"),
    [
        (OSError("no route"), "", NetworkError, "queue {}: no route"),
        (TimeoutError(), "refused", NetworkError, "queue {}: refused"),
        (TimeoutError(), "", NetworkError, "queue {}: no answer"),
        (OSError("x"), "Authorization Violation", NotAllowed, "queue {}: not allowed: Authorization Violation"),
        (OSError("no authorization"), "", NotAllowed, "queue {}: not allowed: no authorization"),
    ],
)
def test_why_there_is_no_connection(raised: Exception, failure: str, kind: type[CallsheetError], words: str) -> None:
    found = connection._explained_failure(ADDRESS, raised, failure)
    assert type(found) is kind
    assert found.message == words.format(ADDRESS)
