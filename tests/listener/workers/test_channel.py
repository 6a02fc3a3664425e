"""Questions among workers: answers find their question, and who is gone is told at once."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.workers.channel import Channel, Unreachable

pytestmark = pytest.mark.skipif(os.name == "nt", reason="unix sockets")


def between(folder: Path, handler: Any, ask: Callable[[Channel, Channel], Awaitable[Any]]) -> Any:
    """What `ask` finds with the asking worker 0 and the answering worker 1."""

    async def run() -> Any:
        asking, answering = Channel(str(folder), 0), Channel(str(folder), 1)
        await answering.start(handler)
        try:
            return await asyncio.wait_for(ask(asking, answering), 20)
        finally:
            asking.close()
            answering.close()
            await asyncio.sleep(0.01)

    return asyncio.run(run())


async def echo(message: dict[str, Any], data: bytes) -> Any:
    await asyncio.sleep(message.get("wait", 0))
    if "fail" in message:
        raise ValueError(message["fail"])
    return [message, data.decode("latin-1")]


def test_a_question_and_its_answer(tmp_path: Path) -> None:
    async def ask(asking: Channel, _: Channel) -> Any:
        return [await asking.request(1, {"a": "ü"}, b"\x00\xff"), await asking.request(1, {})]

    assert between(tmp_path, echo, ask) == [[{"a": "ü"}, "\x00ÿ"], [{}, ""]]


def test_many_at_once_on_one_connection_in_any_order(tmp_path: Path) -> None:
    async def ask(asking: Channel, answering: Channel) -> Any:
        waits = [0.05, 0.0, 0.03, 0.01]
        found = await asyncio.gather(*(asking.request(1, {"n": n, "wait": wait}) for n, wait in enumerate(waits)))
        assert len(answering._connections) == 1
        return [message["n"] for message, _ in found]

    assert between(tmp_path, echo, ask) == [0, 1, 2, 3]


def test_a_failure_is_told_and_the_next_question_answered(tmp_path: Path) -> None:
    async def ask(asking: Channel, _: Channel) -> Any:
        with pytest.raises(Unreachable, match="ValueError: no"):
            await asking.request(1, {"fail": "no"})
        return await asking.request(1, {"a": 1})

    assert between(tmp_path, echo, ask)[0] == {"a": 1}


def test_who_is_not_there_is_found_when_there_again(tmp_path: Path) -> None:
    async def ask(asking: Channel, _: Channel) -> Any:
        with pytest.raises(Unreachable):
            await asking.request(2, {})
        late = Channel(str(tmp_path), 2)
        await late.start(echo)
        try:
            return await asking.request(2, {"a": 2})
        finally:
            late.close()

    assert between(tmp_path, echo, ask)[0] == {"a": 2}


def test_who_ends_meanwhile_is_told(tmp_path: Path) -> None:
    async def ask(asking: Channel, answering: Channel) -> Any:
        open_question = asyncio.create_task(asking.request(1, {"wait": 60}))
        await asking.request(1, {})
        for writer in list(answering._connections):
            writer.close()
        with pytest.raises(Unreachable, match="it ended"):
            await open_question
        return await asking.request(1, {"a": 3})  # a new connection

    assert between(tmp_path, echo, ask)[0] == {"a": 3}


def test_the_place_of_a_worker_that_died_is_taken(tmp_path: Path) -> None:
    (tmp_path / "1.sock").write_bytes(b"")

    async def ask(asking: Channel, _: Channel) -> Any:
        return await asking.request(1, {"a": 4})

    assert between(tmp_path, echo, ask)[0] == {"a": 4}
