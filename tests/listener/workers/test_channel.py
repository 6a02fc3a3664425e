"""Questions among workers: answers find their question, and who is gone is told at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.workers.channel import Channel, Unreachable
from support.waiting import PATIENCE

pytestmark = pytest.mark.skipif(os.name == "nt", reason="unix sockets")


def between(folder: Path, handler: Any, ask: Callable[[Channel, Channel], Awaitable[Any]]) -> Any:
    """What `ask` finds with the asking worker 0 and the answering worker 1."""

    async def run() -> Any:
        asking, answering = Channel(str(folder), 0), Channel(str(folder), 1)
        await answering.start(handler, lambda _: None)
        try:
            return await asyncio.wait_for(ask(asking, answering), PATIENCE)
        finally:
            asking.close()
            answering.close()
            await asyncio.sleep(0.01)

    return asyncio.run(run())


def echo(_: object, message: dict[str, Any]) -> Any:
    if "fail" in message:
        raise ValueError(message["fail"])
    return later(message) if "wait" in message else message


async def later(message: dict[str, Any]) -> Any:
    await asyncio.sleep(message["wait"])
    if "late failure" in message:
        raise ValueError(message["late failure"])
    return message


def test_a_question_and_its_answer(tmp_path: Path) -> None:
    async def ask(asking: Channel, _: Channel) -> Any:
        return [await asking.request(1, {"a": "ü\0"}), await asking.request(1, {})]

    assert between(tmp_path, echo, ask) == [{"a": "ü\0"}, {}]


def test_many_at_once_on_one_connection_in_any_order(tmp_path: Path) -> None:
    async def ask(asking: Channel, answering: Channel) -> Any:
        waits = [0.05, 0.0, 0.03, 0.01]
        found = await asyncio.gather(*(asking.request(1, {"n": n, "wait": wait}) for n, wait in enumerate(waits)))
        assert len(answering._connections) == 1
        return [message["n"] for message in found]

    assert between(tmp_path, echo, ask) == [0, 1, 2, 3]


def test_a_failure_is_told_and_the_next_question_answered(tmp_path: Path) -> None:
    async def ask(asking: Channel, _: Channel) -> Any:
        for message in ({"fail": "no"}, {"wait": 0, "late failure": "no"}):
            with pytest.raises(Unreachable, match="ValueError: no"):
                await asking.request(1, message)
        return await asking.request(1, {"a": 1})

    assert between(tmp_path, echo, ask) == {"a": 1}


def test_who_is_not_there_is_found_when_there_again(tmp_path: Path) -> None:
    async def ask(asking: Channel, _: Channel) -> Any:
        with pytest.raises(Unreachable):
            await asking.request(2, {})
        late = Channel(str(tmp_path), 2)
        await late.start(echo, lambda _: None)
        try:
            return await asking.request(2, {"a": 2})
        finally:
            late.close()

    assert between(tmp_path, echo, ask) == {"a": 2}


def test_who_ends_meanwhile_is_told(tmp_path: Path) -> None:
    async def ask(asking: Channel, answering: Channel) -> Any:
        open_question = asyncio.create_task(asking.request(1, {"wait": 60}))
        await asking.request(1, {})
        for writer in list(answering._connections):
            writer.close()
        with pytest.raises(Unreachable, match="it ended"):
            await open_question
        return await asking.request(1, {"a": 3})  # a new connection

    assert between(tmp_path, echo, ask) == {"a": 3}


def test_the_place_of_a_worker_that_died_is_taken(tmp_path: Path) -> None:
    (tmp_path / "1.sock").write_bytes(b"")

    async def ask(asking: Channel, _: Channel) -> Any:
        return await asking.request(1, {"a": 4})

    assert between(tmp_path, echo, ask) == {"a": 4}


def test_what_is_told_is_heard_in_order_and_not_answered(tmp_path: Path) -> None:
    heard: list[Any] = []

    def handler(_: object, message: dict[str, Any]) -> Any:
        heard.append(message["n"])
        return echo(None, message)

    async def ask(asking: Channel, answering: Channel) -> Any:
        asking.tell(1, {"n": 0})  # nothing was asked yet, so there is no connection
        await asking.request(1, {"n": 1})
        for message in ({"n": 2}, {"n": 3, "fail": "no"}, {"n": 4, "wait": 0, "late failure": "no"}):
            asking.tell(1, message)
        answer = await asking.request(1, {"n": 5})
        answering.close()
        await asyncio.sleep(0.01)
        asking.tell(1, {"n": 6})
        return answer

    assert between(tmp_path, handler, ask) == {"n": 5}
    assert heard == [1, 2, 3, 4, 5]


def test_a_connection_stands_for_who_asks_until_it_ends(tmp_path: Path) -> None:
    async def ask(asking: Channel, answering: Channel) -> Any:
        senders: list[object] = []
        ended: asyncio.Future[object] = asyncio.get_running_loop().create_future()
        third = Channel(str(tmp_path), 3)
        await third.start(lambda sender, _: senders.append(sender), ended.set_result)
        for each in (asking, asking, answering):
            await each.request(3, {})
        assert (senders[0] is senders[1], senders[0] is senders[2], ended.done()) == (True, False, False)
        asking.close()
        assert await ended is senders[0]
        third.close()
        return len(senders)

    assert between(tmp_path, echo, ask) == 3


def test_what_is_no_frame_ends_the_connection(tmp_path: Path) -> None:
    async def ask(_: Channel, __: Channel) -> Any:
        reader, writer = await asyncio.open_unix_connection(str(tmp_path / "1.sock"))
        writer.write(b"\0\0\0\1\xc1")
        rest = await reader.read()
        writer.close()
        return rest

    assert between(tmp_path, echo, ask) == b""
