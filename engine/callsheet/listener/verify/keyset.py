"""A key set at an address: cached, fetched by one at a time, never waited for longer than one fetch takes.

Keys are fetched ahead of their age limit and off the request path. While that fails, the old ones serve within a
bounded grace. A token that names an unknown key has the set fetched at once, but not again within a cooldown, and
not for the same name: forged tokens cannot make this listener hammer the key set, nor keep genuine ones waiting.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from ...durations import seconds
from .keys import Key, KeysById, read_keys
from .rejection import Rejected, not_genuine

if TYPE_CHECKING:
    from ...language.shape.listener import Jwt
    from .keyset_cache import KeySetCache

Fetch = Callable[[], Awaitable[bytes]]
Report = Callable[[str], None]
KeyRequest = tuple[str | None, str]

REFRESH_AHEAD = 0.8
COOLDOWN = 15.0
BACKOFF = (1.0, 2.0, 4.0, 8.0, 15.0, 25.0)
# An attempt that fails at once costs next to nothing, so the next one need not wait for long.
QUICK = 1.0
BACKOFF_QUICK = 5.0
MOST_UNKNOWN = 1024
MOST_WAITING = 256


class UnknownKey(Rejected):
    """No key at hand; fetching the set may bring it."""

    def __init__(self, kid: str | None, algorithm: str) -> None:
        super().__init__(401, "token_key", f"no key {kid!r} for {algorithm} in the key set")
        self.wanted = (kid, algorithm)


class KeySet:
    """`clock` counts seconds on end, `wall` tells the time of day; both are replaced in tests."""

    def __init__(
        self,
        definition: Jwt,
        fetch: Fetch,
        copy: KeySetCache | None = None,
        report: Report = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.algorithms = frozenset(definition["algorithms"])
        self.cache = max(1.0, seconds(definition.get("cache", "1h")))
        self.grace = max(self.cache, seconds(definition.get("grace", "24h")))
        self.fetches = 0
        self.failures = 0
        self.fetched_at = 0.0
        self.problem = "it was not fetched yet"
        self._fetch = fetch
        self._copy = copy
        self._report = report
        self._clock = clock
        self._wall = wall
        self._keys: KeysById = {}
        self._from_copy = False  # whether the last refresh took what another process had fetched
        self._is_fetched = False  # whether the refresh that is running has only to write its copy
        self._running: asyncio.Task[None] | None = None
        self._waiting = 0
        self._next_attempt = 0.0
        self._unknown: OrderedDict[KeyRequest, float] = OrderedDict()

    @property
    def age(self) -> float:
        """Seconds since the keys were fetched; infinite when there are none."""
        return self._wall() - self.fetched_at if self._keys else float("inf")

    @property
    def names(self) -> list[str]:
        """Ids of the keys at hand."""
        return sorted({key.kid or "without an id" for key in self._keys.values()})

    async def fetch_now(self) -> None:
        """Fetch the set, whatever is at hand; `failures` and `problem` tell how that went."""
        await asyncio.shield(self._start())

    def find(self, kid: str | None, algorithm: str) -> Key:
        """The key for a token. Raises `UnknownKey`, or `Rejected` where the set is not to be fetched for it now.

        A token without a key id is meant for an only key.
        """
        key = self._only(algorithm) if kid is None else self._keys.get((kid, algorithm))
        if key is None or self.age > self.grace:
            self._check_may_learn((kid, algorithm))
            raise UnknownKey(kid, algorithm)
        return key

    def _only(self, algorithm: str) -> Key | None:
        fitting = [key for (_, of), key in self._keys.items() if of == algorithm]
        return fitting[0] if len(fitting) == 1 else None

    async def learn(self, wanted: KeyRequest) -> None:
        """Fetch the set because a key is not in it. Raises `Rejected` where that must not be done now."""
        self._check_may_learn(wanted)
        self._waiting += 1
        is_late = self._running is not None and self._is_fetched
        try:
            await asyncio.shield(self._start())
            if (self._from_copy or is_late) and not self._has(wanted):  # it was fetched before the key was there
                await asyncio.shield(self._start())
        finally:
            self._waiting -= 1
        if not self._has(wanted):
            self._remember_unknown(wanted)

    def _has(self, wanted: KeyRequest) -> bool:
        try:
            self.find(*wanted)
        except Rejected:
            return False
        return True

    def _check_may_learn(self, wanted: KeyRequest) -> None:
        """Raises `Rejected` during a cooldown, for a key that was just asked for, and when too many wait already."""
        if self._running is None:
            may = self._clock() >= max(self._next_attempt, self._unknown.get(wanted, 0.0))
        else:
            may = self._waiting < MOST_WAITING
        if may:
            return
        if self.failures:
            detail = f"no key {wanted[0]!r}, and the key set failed: {self.problem}"
            raise not_genuine("key_set_unavailable", detail)
        raise not_genuine("token_key", f"no key {wanted[0]!r} for {wanted[1]} in the key set")

    def _remember_unknown(self, wanted: KeyRequest) -> None:
        """A set that was just fetched does not hold the key: do not ask for it again soon, nor for others at once."""
        if self.failures:
            return
        self._next_attempt = self._clock() + COOLDOWN
        self._unknown[wanted] = self._clock() + 2 * COOLDOWN
        self._unknown.move_to_end(wanted)
        while len(self._unknown) > MOST_UNKNOWN:
            self._unknown.popitem(last=False)

    def _start(self) -> asyncio.Task[None]:
        if self._running is None:
            self._is_fetched = False
            self._running = asyncio.get_running_loop().create_task(self._refresh())
            self._running.add_done_callback(self._finished)
        return self._running

    def _finished(self, _: asyncio.Task[None]) -> None:
        self._running = None

    async def _refresh(self) -> None:
        self._from_copy = False
        if self._copy is None or not self._copy.is_shared:
            await self._fetch_now()
            return
        async with self._copy.turn():
            kept = await asyncio.to_thread(self._copy.load)
            if kept is not None and kept[1] > self.fetched_at and self._take(kept):
                self._from_copy = True
            else:
                await self._fetch_now()

    async def _fetch_now(self) -> None:
        self.fetches += 1
        started = self._clock()
        try:
            text = await self._fetch()
            keys = read_keys(text, self.algorithms)
        except (OSError, ValueError) as error:
            self._failed(str(error), self._clock() - started)
            return
        self._accept(keys, self._wall())
        self._is_fetched = True
        if self._copy:
            await asyncio.to_thread(self._copy.save, text, self.fetched_at)

    def _accept(self, keys: KeysById, fetched_at: float) -> None:
        new = {key.kid for key in keys.values()} - {key.kid for key in self._keys.values()}
        self._keys, self.fetched_at = keys, fetched_at
        if self.failures:
            self._report("key set: reachable again")
        if new:
            self._report(f"key set: keys {', '.join(sorted(kid or 'without an id' for kid in new))}")
        self.failures = 0
        self._next_attempt = 0.0
        self._unknown.clear()

    def _failed(self, problem: str, took: float) -> None:
        self.problem = problem
        wait = BACKOFF[min(self.failures, len(BACKOFF) - 1)]
        if took < QUICK:
            wait = min(wait, BACKOFF_QUICK)
        self.failures += 1
        self._next_attempt = self._clock() + wait
        serving = f"keys of {self.age:.0f} s ago serve" if self.age <= self.grace else "no token can be proved"
        self._report(f"key set: {problem}; {serving}; next attempt in {wait:g} s")

    def load_copy(self) -> None:
        """Take the keys that an earlier run left, within their grace."""
        kept = self._copy.load() if self._copy else None
        if kept is not None:
            self._take(kept)

    def _take(self, kept: tuple[bytes, float]) -> bool:
        """Whether the copy could be used."""
        if not 0 <= self._wall() - kept[1] <= self.grace:
            return False
        try:
            self._accept(read_keys(kept[0], self.algorithms), kept[1])
        except ValueError:
            return False
        return True

    async def keep_fresh(self) -> None:
        """Fetch ahead of the age limit, for ever; after a failure again as the cooldown allows."""
        while True:
            await asyncio.sleep(max(self._due() - self._clock(), 0.0))
            if self._due() <= self._clock():
                await asyncio.shield(self._start())

    def _due(self) -> float:
        if self.failures:
            return self._next_attempt
        return self._clock() + (self.cache * REFRESH_AHEAD - self.age if self._keys else 0.0)
