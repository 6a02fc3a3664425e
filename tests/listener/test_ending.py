"""Tasks end when they are told to, also those that lose a request to cancel, and nothing waits for ever for one."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from callsheet.listener import asyncio_helpers as ending
from callsheet.listener.asyncio_helpers import cancel_all, ended_in_time
from callsheet.listener.queue.jetstream.jetstream_queue import JetStreamQueue
from callsheet.listener.queue.jetstream.nats_connection import QueueAccess, QueueAddress, disconnect_from_server
from support.waiting import PATIENCE, all_turns, at_most


async def goes_on(times: int) -> None:
    """Loses as many requests to cancel."""
    while True:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            if times == 0:
                raise
            times -= 1


async def fails() -> None:
    try:
        await asyncio.sleep(600)
    finally:
        raise ZeroDivisionError


@pytest.fixture
def asks_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """And goes on with that, however long a busy machine takes for it."""
    monkeypatch.setattr(ending, "ASK_AGAIN", 0.01)
    monkeypatch.setattr(ending, "PATIENCE", PATIENCE)


def started(*coroutines: Any) -> list[asyncio.Task[Any]]:
    return [asyncio.get_running_loop().create_task(each) for each in coroutines]


@pytest.mark.usefixtures("asks_again_soon")
def test_all_end_whatever_they_lose_and_whatever_they_raise() -> None:
    async def main() -> None:
        told: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context))
        tasks = started(goes_on(0), goes_on(1), goes_on(3), fails(), asyncio.sleep(0))
        await all_turns()
        await cancel_all(tasks)
        assert [task.done() for task in tasks] == [True] * 5
        await cancel_all(tasks)
        await cancel_all([])
        del tasks
        gc.collect()
        assert told == []

    with at_most(PATIENCE):
        asyncio.run(main())


@pytest.mark.usefixtures("asks_again_soon")
def test_one_that_ignores_every_request_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ending, "PATIENCE", 0.1)

    async def main() -> None:
        deaf, other = tasks = started(goes_on(1000), goes_on(0))
        await asyncio.sleep(0)
        await cancel_all(tasks)
        assert (deaf.done(), other.done()) == (False, True)
        while not deaf.done():
            deaf.cancel()
            await asyncio.sleep(0)

    with at_most(PATIENCE):
        asyncio.run(main())


def test_a_bound_is_kept_and_errors_are_raised() -> None:
    async def main() -> None:
        assert await ended_in_time(asyncio.sleep(0), 20)
        assert not await ended_in_time(asyncio.sleep(600), 0.01)
        with pytest.raises(ZeroDivisionError):
            await ended_in_time(divide(), 20)

    async def divide() -> None:
        raise ZeroDivisionError

    with at_most(PATIENCE):
        asyncio.run(main())


@pytest.mark.usefixtures("asks_again_soon")
def test_a_queue_whose_library_loses_the_request_is_closed_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        definition: Any = {"subject": "callsheet"}
        access = QueueAccess(QueueAddress(("nats://127.0.0.1:9",), "EVENTS"), {}, None, "1s")
        queue = JetStreamQueue(access, definition, lambda _: None, consumes=False)
        (queue._watch_task,) = started(goes_on(2))
        await asyncio.sleep(0)
        await queue.close()
        assert queue._watch_task.done()

    with at_most(PATIENCE):
        asyncio.run(main())


def test_a_connection_that_does_not_close_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    class Connection:
        def close(self) -> Any:
            return asyncio.sleep(600)

    monkeypatch.setattr("callsheet.listener.queue.jetstream.nats_connection._CLOSE_TIMEOUT", 0.01)
    with at_most(PATIENCE):
        asyncio.run(disconnect_from_server(Connection()))
