"""What the commands at the shell see of a queue on a server, with a server that is a list of messages."""

from __future__ import annotations

import asyncio
import fnmatch
import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from callsheet.errors import CallsheetError, NotFound
from callsheet.listener.queue.jetstream import jetstream_driver as inspection
from callsheet.listener.queue.jetstream import queued_messages as envelope
from callsheet.listener.queue.jetstream.jetstream_driver import JetStreamInspection
from callsheet.listener.queue.jetstream.nats_connection import QueueAccess, QueueAddress

nats_errors = pytest.importorskip("nats.js.errors")

ACCESS = QueueAccess(QueueAddress(("nats://127.0.0.1:9",), "EVENTS"), {}, None, "1s")
DEFINITION: Any = {"subject": "calls"}


class Message(NamedTuple):
    seq: int
    subject: str
    data: bytes
    headers: dict[str, str] | None
    time: datetime = datetime(2026, 1, 2, tzinfo=UTC)


def body(id: Any, received: float = 1000.0) -> bytes:
    head = {"v": 1, "source": "lms", "type": "grade_change", "id": id, "received": received,
            "headers": [["x-b", "1"], ["x-a", "2"], ["x-a", "3"]], "query": "", "size": 2, "same": True}  # fmt: skip
    return json.dumps(head).encode() + b"\n{}"


class Server:
    """`streams` has the messages of each by number; what was asked for is counted."""

    def __init__(self) -> None:
        self.streams: dict[str, dict[int, Message]] = {"EVENTS": {}, "EVENTS-dead": {}}
        self.kept: dict[str, dict[str, Any]] = {}
        self.delivered = 0
        self.acknowledged = 0
        self.max_deliver = -1
        self.asked = 0
        self.asking = self.at_once = 0
        self.closed = 0

    def jetstream(self) -> Server:
        return self

    async def close(self) -> None:
        self.closed += 1

    def put(self, stream: str, seq: int, subject: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        self.streams[stream][seq] = Message(seq, subject, data, headers)

    def event(self, seq: int, id: Any = None) -> None:
        id = id or f"e{seq}"
        self.put("EVENTS", seq, f"calls.EVENTS.event.{envelope.id_digest(id)}", body(id), {"Nats-Msg-Id": f"m{seq}"})

    def dead(self, seq: int, key: int, id: Any = None, received: float = 1000.0, **headers: str) -> None:
        id = id or f"e{key}"
        subject = f"calls.EVENTS.dead.{envelope.id_digest(id)}.{key}"
        self.put("EVENTS-dead", seq, subject, body(id, received), {"Nats-Msg-Id": f"m{key}", **headers})

    async def stream_info(self, name: str) -> Any:
        if name not in self.streams:
            raise nats_errors.NotFoundError
        numbers = sorted(self.streams[name])
        first, last = (numbers[0], numbers[-1]) if numbers else (1, 0)
        return SimpleNamespace(state=SimpleNamespace(first_seq=first, last_seq=last, messages=len(numbers)))

    async def consumer_info(self, stream: str, consumer: str) -> Any:
        assert (stream, consumer) == ("EVENTS", "work")
        return SimpleNamespace(
            delivered=SimpleNamespace(stream_seq=self.delivered),
            ack_floor=SimpleNamespace(stream_seq=self.acknowledged),
            config=SimpleNamespace(max_deliver=self.max_deliver),
        )

    async def key_value(self, name: str) -> Any:
        assert name == "EVENTS-state"
        return self

    async def get(self, key: str) -> Any:
        if key not in self.kept:
            raise nats_errors.KeyNotFoundError
        return SimpleNamespace(value=json.dumps(self.kept[key]), revision=1)

    async def get_msg(self, stream: str, *, seq: int, subject: str, next: bool) -> Message:  # noqa: A002 - the library's name
        assert next
        self.asked += 1
        self.asking += 1
        self.at_once = max(self.at_once, self.asking)
        await asyncio.sleep(0)
        self.asking -= 1
        for number, message in sorted(self.streams[stream].items()):
            if number >= seq and fnmatch.fnmatch(message.subject, subject):
                return message
        raise nats_errors.NotFoundError

    async def publish(self, subject: str, data: bytes, *, headers: dict[str, str]) -> Any:
        seq = max([0, *self.streams["EVENTS"]]) + 1
        self.put("EVENTS", seq, subject, data, headers)
        return SimpleNamespace(seq=seq)

    async def delete_msg(self, stream: str, seq: int) -> None:
        del self.streams[stream][seq]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    server = Server()

    async def connect(access: QueueAccess, _note: Any) -> Server:
        assert access is ACCESS
        return server

    monkeypatch.setattr(inspection, "connect_to_server", connect)
    return server


@pytest.fixture
def queue(server: Server) -> Iterator[JetStreamInspection]:
    opened = JetStreamInspection(ACCESS, DEFINITION, lambda _: None)
    yield opened
    opened.close()
    assert server.closed == 1


def keys(records: list[dict[str, Any]]) -> list[tuple[int, str]]:
    return [(record["key"], record["state"]) for record in records]


def test_a_queue_that_is_not_there_is_told_and_the_connection_closed(server: Server) -> None:
    server.streams.clear()
    with pytest.raises(NotFound, match="no queue EVENTS on the server"):
        JetStreamInspection(ACCESS, DEFINITION, lambda _: None)
    assert server.closed == 1


def test_a_server_that_refuses_is_told_with_the_queues_name(server: Server, queue: JetStreamInspection) -> None:
    del server.streams["EVENTS-dead"]
    with pytest.raises(CallsheetError, match=r"^queue EVENTS: "):
        queue.list_events("dead", 5)


def test_events_are_listed_from_the_newest_in_their_states(server: Server, queue: JetStreamInspection) -> None:
    for number in (1, 2, 3, 5):
        server.event(number)
    server.dead(1, 4)
    server.delivered = 3
    server.kept["2"] = {"event": "m2", "attempts": 2, "due": time.time() + 60, "error": "why",
                        "targets": {"r/1": ["done"], "r/2": ["waiting", 2, 5.0, "why"]}}  # fmt: skip
    server.kept["1"] = {"event": "m1", "attempts": 3, "due": time.time() - 60}
    everything = queue.list_events(None, 9)
    assert keys(everything) == [(5, "waiting"), (4, "dead"), (3, "running"), (2, "waiting"), (1, "running")]
    assert keys(queue.list_events(None, 2)) == keys(everything)[:2]
    assert keys(queue.list_events("waiting", 9)) == [(5, "waiting"), (2, "waiting")]
    assert keys(queue.list_events("waiting", 1)) == [(5, "waiting")]
    assert keys(queue.list_events("running", 9)) == [(3, "running"), (1, "running")]
    assert keys(queue.list_events("dead", 9)) == [(4, "dead")]
    assert queue.list_events("done", 9) == []
    assert [record["attempts"] for record in everything] == [0, 0, 1, 2, 3]
    assert everything[3]["error"] == "why"
    assert everything[0] == {
        "key": 5, "source": "lms", "type": "grade_change", "id": "e5", "state": "waiting", "attempts": 0,
        "received": 1000.0, "due": 1000.0, "finished": None, "error": None,
    }  # fmt: skip


@pytest.mark.parametrize("first", [1, 300, 1000])
def test_far_apart_events_are_all_found_with_few_questions(
    first: int, server: Server, queue: JetStreamInspection
) -> None:
    """Between them are the numbers of thousands that were handled."""
    there = [first, first + 255, first + 256, first + 257, first + 20_000, first + 90_000]
    for number in there:
        server.event(number)
    assert [record["key"] for record in queue.list_events("waiting", 99)] == there[::-1]
    assert server.asked < 30


def test_a_long_queue_is_read_in_windows_from_its_end(server: Server, queue: JetStreamInspection) -> None:
    for number in range(1, 701):
        server.event(number)
    assert [record["key"] for record in queue.list_events(None, 3)] == [700, 699, 698]
    assert server.asked == inspection._FIRST_WINDOW
    assert [record["key"] for record in queue.list_events(None, 999)] == list(range(700, 0, -1))


def test_as_many_dead_ones_are_read_as_are_wanted(server: Server, queue: JetStreamInspection) -> None:
    for number in range(1, 701):
        server.dead(number, number)
    assert [record["key"] for record in queue.list_events("dead", 256)] == list(range(700, 444, -1))
    assert server.asked == inspection._FIRST_WINDOW


def test_an_event_is_found_by_its_id_or_its_number(server: Server, queue: JetStreamInspection) -> None:
    server.event(1, "a")
    server.event(2, 7)
    server.event(3, "7")
    server.event(7, "b")
    server.dead(1, 4, "a")
    server.dead(2, 5, "c")
    assert keys(queue.find_events("a")) == [(1, "waiting"), (4, "dead")]
    assert keys(queue.find_events("7")) == [(3, "waiting"), (2, "waiting")]
    assert [keys(queue.find_events(word)) for word in ("1", "5", "6", "x", "")] == [
        [(1, "waiting")], [(5, "dead")], [], [], []]  # fmt: skip
    server.delivered = 1
    (found,) = queue.find_events("1")
    assert (found["state"], found["headers"], found["payload"]) == ("running", ["x-a", "x-b"], b"{}")
    assert "message" not in found


def test_events_that_lie_close_together_are_asked_for_several_at_a_time(
    server: Server, queue: JetStreamInspection
) -> None:
    for number in range(5, 905):
        server.event(number)
    assert [record["key"] for record in queue.list_events("waiting", 2000)] == [*range(904, 4, -1)]
    assert server.at_once > 8


def test_what_was_handled_and_kept_by_a_server_that_was_killed_is_not_shown(
    server: Server, queue: JetStreamInspection
) -> None:
    for number in (1, 2, 3):
        server.event(number)
    server.dead(1, 2, "e2")
    server.delivered, server.acknowledged = 3, 2
    assert keys(queue.list_events(None, 9)) == [(3, "running"), (2, "dead")]
    assert [keys(queue.find_events(word)) for word in ("e1", "1", "e2", "2", "3")] == [
        [], [], [(2, "dead")], [(2, "dead")], [(3, "running")]]  # fmt: skip
    server.max_deliver = 5  # then the floor passes what nobody handled
    assert keys(queue.list_events("running", 9)) == [(3, "running"), (2, "running"), (1, "running")]


def test_a_dead_event_says_why_and_how_often_it_was_tried(server: Server, queue: JetStreamInspection) -> None:
    told = {
        "Callsheet-Attempts": "12",
        "Callsheet-Reason": '"exit code 1"',
        "Callsheet-Targets": '{"r/1": ["done"], "r/2": ["dead", 12, 5.0, "no"]}',
    }
    server.dead(1, 4, **told)
    server.put("EVENTS-dead", 2, "calls.EVENTS.dead.x.6", body("b"))
    newest, oldest = queue.list_events("dead", 9)
    assert (oldest["attempts"], oldest["error"]) == (12, "exit code 1")
    found = queue.find_events("4")[0]
    assert found["succeeded"] == ["r/1"]
    assert found["targets"] == [{"target": "r/2", "state": "dead", "attempts": 12, "due": 5.0, "error": "no"}]
    assert (newest["key"], newest["attempts"], newest["error"]) == (6, 0, None)


def test_events_of_one_target_are_listed_and_run_again_alone(server: Server, queue: JetStreamInspection) -> None:
    for number in (1, 2):
        server.event(number)
    server.delivered = 2
    server.kept["2"] = {"event": "m2", "attempts": 1, "due": time.time() + 60,
                        "targets": {"r/1": ["done"], "r/2": ["waiting", 1, 5.0, "no"]}}  # fmt: skip
    server.dead(1, 4, **{"Callsheet-Targets": '{"r/1": ["done"], "r/2": ["dead", 12, 5.0, "never"]}'})
    assert [(each["key"], each["attempts"], each["error"]) for each in queue.list_events(None, 9, "r/2")] == [
        (4, 12, "never"), (2, 1, "no")]  # fmt: skip
    assert keys(queue.list_events("dead", 9, "r/2")) == [(4, "dead")]
    assert queue.list_events(None, 9, "r/3") == []
    (again,) = queue.replay_events([4], "r/2")
    told = json.loads(server.streams["EVENTS"][again["key"]].headers["Callsheet-Targets"])
    assert told == {"r/1": ["done", 0, 0.0, None], "r/2": ["waiting", 0, 0.0, None]}


def test_what_others_put_there_is_shown_as_it_came(server: Server, queue: JetStreamInspection) -> None:
    server.put("EVENTS", 1, "calls.EVENTS.event.odd", b"rubbish")
    (found,) = queue.find_events("1")
    assert (found["type"], found["received"]) == ("", datetime(2026, 1, 2, tzinfo=UTC).timestamp())
    assert "not an event of this program" in found["error"]


def test_a_replay_puts_an_event_again_before_it_takes_the_old_one_away(
    server: Server, queue: JetStreamInspection
) -> None:
    for number in (1, 2, 3):
        server.event(number)
    server.dead(1, 9, "d", **{"Callsheet-Attempts": "12", "Callsheet-Reason": '"x"'})
    server.delivered = 1
    replayed = queue.replay_events([9, 2, 1, 9, 77])
    assert keys(replayed) == [(4, "waiting"), (5, "waiting"), (1, "running")]
    assert [(record["attempts"], record["error"]) for record in replayed] == [(0, None), (0, None), (1, None)]
    assert server.streams["EVENTS-dead"] == {}
    assert sorted(server.streams["EVENTS"]) == [1, 3, 4, 5]
    again, moved = server.streams["EVENTS"][4], server.streams["EVENTS"][5]
    assert again.subject == f"calls.EVENTS.event.{envelope.id_digest('d')}"
    assert moved.subject == f"calls.EVENTS.event.{envelope.id_digest('e2')}"
    assert (again.headers, moved.headers) == tuple(
        {"Nats-Msg-Id": f"replay-{envelope.digest_word(of)}"} for of in ("dead-9-m9", "waiting-2-m2")
    )


def test_only_dead_events_from_before_are_purged(server: Server, queue: JetStreamInspection) -> None:
    server.event(1)
    for number, received in enumerate((10.0, 30.0, 20.0, 19.5), 1):
        server.dead(number, number, received=received)
    assert queue.purge_events("done", 99.0) == 0
    assert queue.purge_events("dead", 20.0) == 2
    assert sorted(server.streams["EVENTS-dead"]) == [2, 3]
    assert sorted(server.streams["EVENTS"]) == [1]
