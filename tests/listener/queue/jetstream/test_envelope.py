"""Events as messages, and the addresses of queues."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.errors import UsageError
from callsheet.listener.queue.jetstream import queued_messages as envelope
from callsheet.listener.queue.jetstream.nats_connection import parse_queue
from callsheet.listener.verify.event import Event
from callsheet.listener.verify.source import Source

SOURCE = Source("lms", {"title": "x", "path": "/x", "type": "payload.type", "id": "payload.id"}, [], None)
HEADERS = st.lists(st.tuples(st.binary(min_size=1), st.binary()))


@given(
    type=st.text(min_size=1, max_size=20),
    id=st.none() | st.integers() | st.text(min_size=1, max_size=20),
    headers=HEADERS,
    query=st.binary(),
    data=st.binary(),
    text=st.none() | st.binary(),
)
def test_an_event_comes_out_as_it_went_in(
    type: str, id: str | int | None, headers: list[tuple[bytes, bytes]], query: bytes, data: bytes, text: bytes | None
) -> None:
    event = Event(SOURCE, {"type": type, "id": id}, headers, query, data, data if text is None else text)
    found = envelope.decode_event(envelope.encode_event(event))
    kept = [header for header in headers if header[0] not in (b"authorization", b"cookie")]
    assert found[:3] == ("lms", type, id)
    assert found[4:] == (kept, query, data, data if text is None else text)


@given(st.binary() | st.text().map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_a_message_of_others_is_told_from_an_event(message: bytes) -> None:
    for each in (message, b'{"v":1}\n' + message, b"[" * 100_000, b'{"v":1,"headers":[[1,2]]}', b"7\n"):
        with pytest.raises(envelope.InvalidEnvelope):
            envelope.decode_event(each)


@given(st.text())
def test_any_id_makes_one_word_of_a_subject(id: str) -> None:
    assert envelope.id_digest(id).isalnum()


def test_addresses_name_servers_and_a_stream() -> None:
    address = parse_queue("nats://a:4222,[::1]/EV_1", ("nats", "tls"), "LMS")
    assert address == (("nats://a:4222", "nats://[::1]"), "EV_1")
    assert str(address) == "nats://a:4222,[::1]/EV_1"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("EV", "not an address"),
        ("http://a/EV", "not an address"),
        ("nats://a", "names no stream"),
        ("nats://a/", "names no stream"),
        ("nats://a/E.V", "names no stream"),
        ("nats:///EV", "is not a host"),
        ("nats://a:99999/EV", "is not a host"),
        ("nats://a b/EV", "is not a host"),
        ("nats://user:hunter2@a/EV", "must not hold a user name or password"),
        ("nats://user:hun/ter2@a/EV", "must not hold a user name or password"),
    ],
)
def test_other_addresses_are_refused_without_repeating_a_secret(url: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as refused:
        parse_queue(url, ("nats", "tls"), "LMS")
    assert "ter2" not in f"{refused.value.message} {refused.value.hint}"
