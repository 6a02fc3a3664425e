"""The address of a queue: servers and a stream, and never a credential."""

from __future__ import annotations

import pytest

from callsheet.errors import UsageError
from callsheet.listener.queue.jetstream.nats_connection import QueueNames, parse_queue

SCHEMES = ("nats", "tls")


@pytest.mark.parametrize(
    ("url", "servers"),
    [
        ("nats://h/EV", ("nats://h",)),
        ("nats://h:4222/EV", ("nats://h:4222",)),
        ("tls://h.example:1,h2:65535,[::1]:7/EV", ("tls://h.example:1", "tls://h2:65535", "tls://[::1]:7")),
        ("nats://[fe80::1]/EV", ("nats://[fe80::1]",)),
    ],
)
def test_an_address_is_read_and_shown(url: str, servers: tuple[str, ...]) -> None:
    found = parse_queue(url, SCHEMES, "LMS")
    assert (found.servers, found.stream, found.scheme) == (servers, "EV", url.partition(":")[0])
    assert str(found) == url


@pytest.mark.parametrize("stream", ["a", "A-b_9", "x" * 64])
def test_names_of_streams(stream: str) -> None:
    assert parse_queue(f"nats://h/{stream}", SCHEMES, "LMS").stream == stream


@pytest.mark.parametrize(
    ("url", "problem", "hint"),
    [
        (
            "nats://me:secret@h/EV",
            "must not hold a user name or password",
            "put USER:PASSWORD or a token into LMS_QUEUE_CREDENTIALS",
        ),
        ("http://h/EV", "is not an address of a queue", "like nats://HOST[:PORT]/STREAM"),
        ("nats:h/EV", "is not an address of a queue", "like nats://HOST[:PORT]/STREAM"),
        ("tls://h", "names no stream", "like tls://HOST[:PORT]/STREAM; letters, digits, - and _"),
        ("nats://h/", "names no stream", "like nats://HOST[:PORT]/STREAM; letters, digits, - and _"),
        ("nats://h/a.b", "names no stream", "like nats://HOST[:PORT]/STREAM; letters, digits, - and _"),
        (f"nats://h/{'x' * 65}", "names no stream", "like nats://HOST[:PORT]/STREAM; letters, digits, - and _"),
        ("nats:///EV", "'' is not a host", None),
        ("nats://h,/EV", "'' is not a host", None),
        ("nats://h:65536/EV", "'h:65536' is not a host", None),
        ("nats://h:x/EV", "'h:x' is not a host", None),
        ("nats://h h/EV", "'h h' is not a host", None),
    ],
)
def test_what_is_no_address(url: str, problem: str, hint: str | None) -> None:
    with pytest.raises(UsageError) as caught:
        parse_queue(url, SCHEMES, "LMS")
    assert problem in caught.value.message
    assert "secret" not in f"{caught.value.message}{caught.value.hint}"
    assert caught.value.hint == hint


def test_what_a_queue_is_called_on_the_server() -> None:
    names = QueueNames("EV", "callsheet")
    assert (names.dead_stream, names.state_bucket, names.consumer) == ("EV-dead", "EV-state", "work")
    assert names.event_subject("*") == "callsheet.EV.event.*"
    assert names.dead_subject("d", 7) == "callsheet.EV.dead.d.7"
