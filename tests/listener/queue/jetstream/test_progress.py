"""What is known of an event that did not go through: two processes that write at once both keep what they know."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from nats.js.errors import KeyNotFoundError, KeyWrongLastSequenceError

from callsheet.listener.queue.jetstream.queued_messages import Progress, ProgressStore
from callsheet.listener.queue.queue_port import DONE, QueueFailed


class Bucket:
    """Values with revisions. `races` writes of another process come in between."""

    def __init__(self, races: int = 0) -> None:
        self.values: dict[str, tuple[bytes, int]] = {}
        self.races = races
        self.writes = 0

    def _raced(self, key: str) -> None:
        self.writes += 1
        if self.races:
            self.races -= 1
            known = json.loads(self.values[key][0]) if key in self.values else Progress("e", {})._asdict()
            known["targets"][f"other/{self.races}"] = DONE
            self.values[key] = (json.dumps(known).encode(), self.values.get(key, (b"", 0))[1] + 1)

    async def get(self, key: str) -> Any:
        if key not in self.values:
            raise KeyNotFoundError
        value, revision = self.values[key]
        return SimpleNamespace(value=value, revision=revision)

    async def create(self, key: str, value: bytes) -> None:
        self._raced(key)
        if key in self.values:
            raise KeyWrongLastSequenceError
        self.values[key] = (value, 1)

    async def update(self, key: str, value: bytes, last: int) -> None:
        self._raced(key)
        if self.values[key][1] != last:
            raise KeyWrongLastSequenceError
        self.values[key] = (value, last + 1)

    async def purge(self, key: str) -> None:
        del self.values[key]


def test_nothing_is_known_at_first() -> None:
    assert asyncio.run(ProgressStore(Bucket()).read_progress(7, "e")) == Progress("e")


def test_successes_are_joined_and_all_else_is_replaced() -> None:
    bucket = Bucket()

    async def play() -> list[Progress]:
        store = ProgressStore(bucket)
        await store.add_progress(7, "e", targets={"a": DONE}, attempts=1, error="no", due=5.0)
        first = await store.read_progress(7, "e")
        await store.add_progress(7, "e", targets={"b": DONE, "a": DONE}, attempts=2)
        second = await store.read_progress(7, "e")
        await store.forget_progress(7)
        return [first, second, await store.read_progress(7, "e")]

    assert asyncio.run(play()) == [
        Progress("e", {"a": DONE}, 1, 5.0, "no"), Progress("e", {"a": DONE, "b": DONE}, 2, 5.0, "no"), Progress("e"),
    ]  # fmt: skip


def test_another_event_of_the_same_number_and_what_is_no_progress_count_for_nothing() -> None:
    bucket = Bucket()
    store = ProgressStore(bucket)
    asyncio.run(store.add_progress(7, "e", targets={"a": DONE}))
    assert asyncio.run(store.read_progress(7, "other")) == Progress("other")
    for odd in (b"{", b"[]", b'{"x": 1}', b'{"event": "e", "succeeded": 5}'):
        bucket.values["7"] = (odd, 3)
        assert asyncio.run(store.read_progress(7, "e")) == Progress("e")
    asyncio.run(store.add_progress(7, "e", targets={"b": DONE}))
    assert asyncio.run(store.read_progress(7, "e")).targets == {"b": DONE}


@pytest.mark.parametrize("races", [1, 5, 19])
def test_who_writes_at_the_same_time_loses_nothing(races: int) -> None:
    bucket = Bucket(races)
    asyncio.run(ProgressStore(bucket).add_progress(7, "e", targets={"mine": DONE}))
    found = asyncio.run(ProgressStore(bucket).read_progress(7, "e")).targets
    assert set(found) == {"mine", *(f"other/{number}" for number in range(races))}


def test_an_endless_race_is_given_up() -> None:
    bucket = Bucket(10**6)
    with pytest.raises(QueueFailed, match="another process keeps writing"):
        asyncio.run(ProgressStore(bucket).add_progress(7, "e", targets={"mine": DONE}))
    assert bucket.writes == 20
