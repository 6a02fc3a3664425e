"""What `webhook check` says of a queue's settings is what happens when it is used."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from support.listening import event, run
from support.nats import Crew, Server, nats_server, needs_server, ready

pytestmark = needs_server

OWN: dict[str, Any] = {
    "name": "EVENTS", "subjects": ["callsheet.EVENTS.event.*"], "retention": "workqueue", "discard": "new"
}  # fmt: skip
DEAD: dict[str, Any] = {"name": "EVENTS-dead", "subjects": ["callsheet.EVENTS.dead.*.*"], "discard": "new"}


async def make(server: Server, *streams: dict[str, Any], consumer: dict[str, Any] | None = None) -> None:
    import nats
    from nats.js.api import ConsumerConfig, StreamConfig

    connection = await nats.connect(server.url.rpartition("/")[0])
    jetstream = connection.jetstream()
    for settings in streams:
        await jetstream.add_stream(StreamConfig(**settings))
    if consumer is not None:
        await jetstream.add_consumer("EVENTS", ConsumerConfig(durable_name="work", **consumer))
    await connection.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("streams", "consumer", "said"),
    [
        ([{**OWN, "retention": "limits"}], None, "its retention is limits, not workqueue"),
        ([{**OWN, "subjects": ["other"]}], None, "it does not take callsheet.EVENTS.event.*"),
        ([OWN, {**DEAD, "retention": "workqueue"}], None, "its retention is workqueue, not limits"),
        ([OWN], {"headers_only": True}, "it gives headers only"),
        ([OWN], {"filter_subject": "callsheet.EVENTS.event.a"}, "it gives events of callsheet.EVENTS.event.a only"),
        ([OWN], {"deliver_subject": "elsewhere"}, "it pushes events to a subject"),
    ],
)
def test_what_listeners_and_workers_refuse_is_an_error_of_check(
    streams: list[dict[str, Any]], consumer: dict[str, Any] | None, said: str, tmp_path: Path
) -> None:
    with nats_server(tmp_path) as server:
        asyncio.run(make(server, *streams, consumer=consumer))
        checked = run(tmp_path, "check", "--queue", server.url)
        assert (checked.returncode, said in checked.stderr) == (1, True), checked.stderr
        for words in (["work", "--handler", "true"], ["listen", "--addr", "127.0.0.1:0"]):
            used = run(tmp_path, *words, "--queue", server.url)
            assert (used.returncode, said in used.stderr) == (2, True), used.stderr


def test_the_size_of_an_event_and_how_many_may_fail_at_once_are_told(tmp_path: Path) -> None:
    with nats_server(tmp_path, "max_payload: 65536") as server, Crew(tmp_path, server) as crew:
        asyncio.run(make(server, {**OWN, "max_msg_size": 4000}, consumer={"max_ack_pending": 7}))
        checked = run(tmp_path, "check", "--queue", server.url)
        assert "an event may have 4000 bytes" in checked.stderr
        assert "at most 7 events run or wait for another attempt" in checked.stderr
        listener = crew.listener()
        ready(listener)
        assert [listener.post(event("a", text="x" * size)).status for size in (10, 4000, 63_000)] == [200, 413, 413]
