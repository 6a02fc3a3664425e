"""What is asked of the server, and what its answers to that mean."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

import pytest

from callsheet.listener.queue.jetstream import jetstream_queue as pull
from callsheet.listener.queue.jetstream.jetstream_queue import MessageFetcher
from callsheet.listener.queue.jetstream.nats_connection import QueueNames
from callsheet.listener.queue.queue_port import QueueFailed


class Connection:
    """Answers each request with the next of `answers`."""

    def __init__(self, *answers: list[Any]) -> None:
        self.answers = list(answers)
        self.asked: list[int] = []
        self.stats = {"reconnects": 0}

    def new_inbox(self) -> str:
        return "inbox"

    async def subscribe(self, subject: str, cb: Callable[[Any], Awaitable[None]]) -> None:
        assert subject == "inbox"
        self.receive = cb

    async def publish(self, subject: str, data: bytes, reply: str) -> None:
        assert (subject, reply) == ("$JS.API.CONSUMER.MSG.NEXT.EV.work", "inbox")
        self.asked.append(json.loads(data)["batch"])
        for answer in self.answers.pop(0) if self.answers else ():
            await self.receive(answer)


def message(name: str) -> Any:
    return SimpleNamespace(reply="r", name=name, headers={"Status": "an event may have such a header"})


def status(code: str, description: str | None = None) -> Any:
    return SimpleNamespace(reply="", headers={"Status": code, **({"Description": description} if description else {})})


def pulled(
    work: Callable[[MessageFetcher], Awaitable[Any]], connection: Connection, silences: list[float] | None = None
) -> Any:
    silences = [] if silences is None else silences

    async def run() -> Any:
        connection_: Any = connection
        made = MessageFetcher(
            connection_, QueueNames("EV", "s"), lambda message: message.name != "known", silences.append
        )
        await made.open()
        return await work(made)

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull, "EXPIRES", 0.01)
    monkeypatch.setattr(pull, "_GRACE", 0.0)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (status("409", "Consumer Deleted"), "the server gives no events: Consumer Deleted"),
        (status("503"), "the server gives no events: the consumer is gone"),
    ],
)
def test_a_consumer_that_is_gone_is_a_failure_and_not_a_quiet_queue(answer: Any, said: str) -> None:
    connection = Connection([answer], [message("a")])

    async def work(made: MessageFetcher) -> None:
        with pytest.raises(QueueFailed, match=said):
            await made.fetch_messages(3)
        assert [each.name for each in await made.fetch_messages(3)] == ["a"]

    pulled(work, connection)
    assert connection.asked == [3, 3]


@pytest.mark.parametrize("code", ["404", "408"])
def test_a_quiet_queue_is_asked_again(code: str) -> None:
    connection = Connection([status(code)], [message("a"), message("b"), message("known")])

    async def work(made: MessageFetcher) -> None:
        assert await made.fetch_messages(2) == []
        assert [each.name for each in await made.fetch_messages(2)] == ["a", "b"]

    pulled(work, connection)


def test_a_server_that_does_not_answer_is_not_asked_for_more_until_the_connection_is_another() -> None:
    connection, silences = Connection([]), []  # type: ignore[var-annotated]

    async def work(made: MessageFetcher) -> None:
        for _ in range(3):
            assert await made.fetch_messages(4) == []
        assert connection.asked == [4]
        connection.stats["reconnects"] = 1
        await made.fetch_messages(4)
        assert connection.asked == [4, 4]
        assert silences == []
        await connection.receive(message("late"))
        assert len(silences) == 1
        assert [each.name for each in await made.fetch_messages(1)] == ["late"]

    pulled(work, connection, silences)
