"""The key set's cache over time, with clocks that a test moves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callsheet.listener.verify import key_set as keyset
from callsheet.listener.verify.key_set import COOLDOWN, KeySet, KeySetCache, UnknownKey
from callsheet.listener.verify.payload import Rejected
from support.keysets import jwk
from support.waiting import PATIENCE

DEFINITION: Any = {"algorithms": ["RS256"], "cache": "1h", "grace": "24h"}
HOUR = 3600.0


class World:
    """A key set at a distance: what it lists, whether it is up, how often it was asked, and what time it is."""

    def __init__(self, *kids: str, copy: KeySetCache | None = None) -> None:
        self.kids = list(kids)
        self.up = True
        self.slow: asyncio.Event | None = None
        self.now = 1_000_000.0
        self.lasts = 0.0
        self.entries: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.keys = KeySet(DEFINITION, self.fetch, copy, self.notes.append, lambda: self.now, lambda: self.now)

    async def fetch(self) -> bytes:
        if self.slow is not None:
            await self.slow.wait()
        self.now += self.lasts
        if not self.up:
            raise OSError("refused")
        return json.dumps({"keys": [*self.entries, *map(jwk, self.kids)]}).encode()

    async def use(self, kid: str) -> bool:
        """As a request does: look, learn, look again."""
        try:
            self.keys.find_key(kid, "RS256")
        except UnknownKey as unknown:
            try:
                await self.keys.fetch_for(unknown.key_request)
                self.keys.find_key(kid, "RS256")
            except Rejected:
                return False
        except Rejected:
            return False
        return True


def played(play: Callable[[], Awaitable[None]]) -> None:
    async def run() -> None:
        await play()

    asyncio.run(run())


def test_fifty_at_once_fetch_once() -> None:
    async def play() -> None:
        world = World("a")
        assert await asyncio.gather(*(world.use("a") for _ in range(50))) == [True] * 50
        assert world.keys.fetches == 1

    played(play)


def test_forged_key_ids_fetch_once_and_then_wait_for_the_cooldown() -> None:
    async def play() -> None:
        world = World("a")
        assert await world.use("a")
        assert not any([await world.use(f"forged {number}") for number in range(200)])
        assert world.keys.fetches == 2
        world.now += COOLDOWN + 1
        assert not await world.use("forged 0")  # remembered by name for longer than others
        assert world.keys.fetches == 2
        assert not await world.use("forged x")
        assert world.keys.fetches == 3

    played(play)


class SlowCopy:
    """A copy that takes its time to be written."""

    is_shared = False

    def __init__(self) -> None:
        self.begun, self.go_on = threading.Event(), threading.Event()

    def load_copy(self) -> None:
        return None

    def save_copy(self, _text: bytes, _moment: float) -> None:
        self.begun.set()
        assert self.go_on.wait(PATIENCE)


def test_a_key_that_is_new_while_the_copy_is_written_is_fetched() -> None:
    async def play() -> None:
        copy: Any = SlowCopy()
        world = World("a", copy=copy)
        first = asyncio.create_task(world.use("a"))
        await asyncio.to_thread(copy.begun.wait, 10)
        world.kids = ["a", "b"]
        second = asyncio.create_task(world.use("b"))
        await asyncio.sleep(0)
        copy.go_on.set()
        assert await first
        assert await second
        assert world.keys.fetches == 2

    played(play)


@pytest.mark.parametrize("turns", range(8))
def test_a_key_that_is_new_at_any_moment_of_a_fetch_is_learnt(turns: int) -> None:
    """Also right after the end of a fetch, before the loop has told of it."""

    async def play() -> None:
        world = World("a")
        others = asyncio.create_task(world.keys.fetch_now())
        for _ in range(turns):
            await asyncio.sleep(0)
        world.kids = ["a", "b"]
        assert await world.use("b")
        await others

    played(play)


def test_a_new_key_is_learnt_from_the_first_token_that_names_it() -> None:
    async def play() -> None:
        world = World("a")
        assert await world.use("a")
        world.kids = ["a", "b"]
        assert await world.use("b")
        world.kids = ["b", "c"]
        assert await world.use("c")
        assert not await world.use("a")

    played(play)


def test_stale_keys_serve_while_the_set_is_down_but_not_for_ever() -> None:
    async def play() -> None:
        world = World("a")
        assert await world.use("a")
        world.up = False
        world.now += 23 * HOUR
        before = world.keys.fetches
        assert await world.use("a")
        assert world.keys.fetches == before  # nothing is waited for
        world.now += 2 * HOUR
        assert not await world.use("a")
        world.up = True
        world.now += 30
        assert await world.use("a")

    played(play)


def test_while_the_set_is_down_attempts_back_off_and_recover_in_time() -> None:
    async def play() -> None:
        world = World("a")
        world.up = False
        for _ in range(100):
            assert not await world.use("a")
        assert world.keys.fetches == 1
        for _ in range(600):
            world.now += 1
            await world.use("a")
        assert world.keys.fetches < 125
        world.up = True
        world.now += 26
        assert await world.use("a")
        assert any("reachable again" in note for note in world.notes)

    played(play)


def test_requests_wait_for_a_hanging_fetch_only_up_to_a_number() -> None:
    async def play() -> None:
        world = World("a")
        world.slow = asyncio.Event()
        waiting = [asyncio.create_task(world.use("a")) for _ in range(300)]
        await asyncio.sleep(0.05)
        assert sum(task.done() for task in waiting) == 300 - 256
        world.slow.set()
        assert sum(await asyncio.gather(*waiting)) == 256
        assert world.keys.fetches == 1
        assert world.keys._waiting == 0

    played(play)


def test_refreshing_goes_on_beside_the_requests() -> None:
    async def play() -> None:
        world = World("a")
        keeper = asyncio.create_task(world.keys.keep_fresh())
        try:
            await asyncio.sleep(0.01)
            assert world.keys.fetches == 1
            assert world.keys.find_key("a", "RS256").kid == "a"
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)

    played(play)


def test_keys_are_fetched_ahead_of_their_age_limit() -> None:
    """At four fifths of it, so that a set that is down for a while is never missed."""

    async def play() -> None:
        world = World("a")
        await world.keys.fetch_now()
        world.now += 0.8 * HOUR - 1
        keeper = asyncio.create_task(world.keys.keep_fresh())
        try:
            await asyncio.sleep(0.01)
            assert (world.keys.fetches, world.keys._next_refresh() - world.now) == (1, 1.0)
            world.now += 1
            keeper.cancel()
            keeper = asyncio.create_task(world.keys.keep_fresh())
            await asyncio.sleep(0.01)
            assert world.keys.fetches == 2
            assert world.keys._next_refresh() - world.now == 0.8 * HOUR
        finally:
            keeper.cancel()
            await asyncio.gather(keeper, return_exceptions=True)

    played(play)


def test_of_the_names_that_were_asked_for_the_oldest_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyset, "MAX_UNKNOWN", 2)

    async def play() -> None:
        world = World("a")
        await asyncio.gather(*map(world.use, ("first", "second", "third")))
        assert list(world.keys._unknown) == [("second", "RS256"), ("third", "RS256")]
        world.now += COOLDOWN
        fetches = world.keys.fetches
        assert not await world.use("third")
        assert world.keys.fetches == fetches, "it was asked for a cooldown ago, and names are remembered for two"
        assert not await world.use("first")
        assert world.keys.fetches == fetches + 1, "it is forgotten"

    played(play)


def test_a_bad_answer_keeps_the_old_keys() -> None:
    async def play() -> None:
        world = World("a")
        assert await world.use("a")
        world.kids = []
        assert not await world.use("b")
        assert await world.use("a")
        assert "no usable key" in world.keys.problem

    played(play)


def test_a_copy_serves_a_restart_within_the_grace(tmp_path: Path) -> None:
    copy = KeySetCache(str(tmp_path / "new"), "https://example.org/jwks")

    async def play() -> None:
        world = World("a", copy=copy)
        assert await world.use("a")
        again = World("a", copy=copy)
        again.up = False
        again.keys.load_cache()
        assert await again.use("a")
        assert again.keys.fetches == 0
        late = World("a", copy=copy)
        late.up, late.now = False, late.now + 25 * HOUR
        late.keys.load_cache()
        assert not await late.use("a")

    played(play)
    assert KeySetCache(str(tmp_path / "new"), "https://example.org/other").load_copy() is None
    if os.name == "posix":
        os.chmod(copy.path, 0o666)
        assert copy.load_copy() is None


def test_a_damaged_copy_is_ignored(tmp_path: Path) -> None:
    copy = KeySetCache(str(tmp_path), "https://example.org/jwks")
    for text in (b"", b"[]", b'{"url": "https://example.org/jwks"}', b"\xff"):
        Path(copy.path).write_bytes(text)
        assert copy.load_copy() is None


@pytest.mark.parametrize(
    ("lasts", "delays"),
    [(0.0, [1, 2, 4, 5, 5, 5, 5]), (0.99, [1, 2, 4, 5, 5, 5, 5]), (1.0, [1, 2, 4, 8, 15, 25, 25]),
     (5.0, [1, 2, 4, 8, 15, 25, 25])],
)  # fmt: skip
def test_attempts_that_fail_at_once_are_repeated_sooner(lasts: float, delays: list[int]) -> None:
    async def play() -> None:
        world = World("a")
        world.now, world.up, world.lasts = 0.0, False, lasts
        for delay in delays:
            assert not await world.use("a")
            assert world.notes[-1].endswith(f"no token can be proved; next attempt in {delay} s")
            ended, before = world.now, world.keys.fetches
            for moment in (ended, ended + delay - 0.5):
                world.now = moment
                assert not await world.use("a")
            assert world.keys.fetches == before
            world.now = ended + delay
        assert world.keys.failures == len(delays)
        world.up = True
        assert await world.use("a")
        assert world.notes[-2:] == ["key set: reachable again", "key set: keys a"]
        world.up = False
        assert not await world.use("b")
        assert world.notes[-1] == f"key set: refused; keys of {lasts:.0f} s ago serve; next attempt in 1 s"

    played(play)


def test_only_keys_that_are_new_are_told() -> None:
    async def play() -> None:
        world = World("b", "a")
        await world.keys.fetch_now()
        await world.keys.fetch_now()
        world.kids = ["a", "c"]
        await world.keys.fetch_now()
        world.kids = ["a"]
        await world.keys.fetch_now()
        assert world.notes == ["key set: keys a, b", "key set: keys c"]
        assert (world.keys.key_ids, world.keys.failures) == (["a"], 0)

    played(play)


def test_what_is_fetched_ends_a_cooldown() -> None:
    async def play() -> None:
        world = World("a")
        assert not await world.use("x")
        before = world.keys.fetches
        assert not await world.use("y")
        assert world.keys.fetches == before
        await world.keys.fetch_now()
        world.kids = ["a", "x"]
        assert await world.use("x")

    played(play)


def test_a_refusal_says_whether_the_key_or_the_whole_set_is_missing() -> None:
    async def refused(world: World, kid: str | None) -> tuple[int, str, str]:
        with pytest.raises(Rejected) as caught:
            world.keys.find_key(kid, "RS256")
        with contextlib.suppress(Rejected):
            await world.keys.fetch_for((kid, "RS256"))
        assert isinstance(caught.value, UnknownKey)
        with pytest.raises(Rejected) as again:
            await world.keys.fetch_for((kid, "RS256"))
        told = again.value
        assert str(caught.value.detail) == f"no key {kid!r} for RS256 in the key set"
        assert (caught.value.status, caught.value.reason) == (401, "token_key")
        return told.status, told.reason, told.detail

    async def play() -> None:
        assert await refused(World("a"), "x") == (401, "token_key", "no key 'x' for RS256 in the key set")
        assert await refused(World("a", "b"), None) == (401, "token_key", "no key None for RS256 in the key set")
        down = World("a")
        down.up = False
        told = "no key 'x', and the key set failed: refused"
        assert await refused(down, "x") == (503, "key_set_unavailable", told)

    played(play)


def test_a_token_without_a_key_id_is_meant_for_the_only_key_of_its_algorithm() -> None:
    async def play() -> None:
        world = World()
        world.keys.algorithms = frozenset({"RS256", "RS512"})
        entries = [{**jwk("a"), "alg": "RS512"}, jwk("b")]
        for listed, found in ((entries, "b"), (entries[:1], None), ([*entries, jwk("c")], None)):
            world.entries = listed
            await world.keys.fetch_now()
            if found:
                assert world.keys.find_key(None, "RS256").kid == found
            else:
                with pytest.raises(UnknownKey):
                    world.keys.find_key(None, "RS256")

    played(play)


class Copy:
    """What another process fetched."""

    is_shared = True

    def __init__(self, *kids: str, fetched_at: float) -> None:
        self.cached: tuple[bytes, float] | None = json.dumps({"keys": [jwk(kid) for kid in kids]}).encode(), fetched_at
        self.saved: list[float] = []

    @contextlib.asynccontextmanager
    async def exclusive_fetch(self) -> AsyncIterator[None]:
        yield

    def load_copy(self) -> tuple[bytes, float] | None:
        return self.cached

    def save_copy(self, _text: bytes, fetched_at: float) -> None:
        self.saved.append(fetched_at)


@pytest.mark.parametrize(
    ("age", "fetches"), [(0.0, 0), (24 * HOUR, 0), (24 * HOUR + 1, 1), (-1.0, 1)], ids=["now", "grace", "late", "ahead"]
)
def test_what_another_process_fetched_is_taken_within_the_grace(age: float, fetches: int) -> None:
    async def play() -> None:
        copy: Any = Copy("a", fetched_at=1_000_000.0 - age)
        world = World("a", copy=copy)
        await world.keys.fetch_now()
        assert (world.keys.fetches, copy.saved) == (fetches, [world.now] * fetches)
        assert world.keys.key_ids == ["a"]

    played(play)


def test_an_older_copy_or_one_that_cannot_be_read_or_lacks_the_key_is_fetched_over() -> None:
    async def play() -> None:
        copy: Any = Copy("old", fetched_at=999_000.0)
        world = World("a", copy=copy)
        assert await world.use("a")  # the copy is taken first, and is not enough
        assert (world.keys.fetches, world.keys.key_ids) == (1, ["a"])
        await world.keys.fetch_now()
        assert (world.keys.fetches, world.keys.key_ids) == (2, ["a"])
        for cached in ((b"rubbish", world.now + 1), None):
            world.now += 1
            copy.cached = cached
            await world.keys.fetch_now()
        assert (world.keys.fetches, world.keys.key_ids) == (4, ["a"])

    played(play)
