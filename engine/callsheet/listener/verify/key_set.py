"""A key set at an address (RFC 7517): fetched by one at a time, cached, and which of its keys may check a signature."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ...durations import duration_seconds
from ...errors import CallsheetError, UsageError
from ...files import changeable_by_others, locked_file, make_private_directory, open_regular
from ...urls import is_host, is_loopback, refuse_login
from ..newest_only import NewestOnly
from .payload import UNAVAILABLE, Rejected, not_genuine
from .proofs import rsa_check

if TYPE_CHECKING:
    import httpx
    from jwt import PyJWK

    from ...language.shape.listener import Jwt

# Getting a key set: https only, except from this host; no redirects; bounded in size and time.

MAX_SIZE = 128 * 1024
TIMEOUT = 5.0
CONNECT_TIMEOUT = 4.0


def check_url(url: str, where: str) -> None:
    """Raises `UsageError` unless keys from this address can be trusted to be the ones meant."""
    refuse_login(url, where, "what is asked for there is public: leave them out")
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        raise UsageError(
            f"{where}: {url!r} is not a valid address", hint="example: https://example.org/jwks.json"
        ) from None
    if parts.scheme not in ("https", "http") or not host or not is_host(host):
        raise UsageError(f"{where}: {url!r} is not a valid address", hint="example: https://example.org/jwks.json")
    if parts.scheme == "http" and not is_loopback(host):
        raise UsageError(
            f"{where}: {host} needs https", hint="plain http is for this host only (127.0.0.1, [::1], localhost)"
        )


def make_fetcher(url: str) -> tuple[Callable[[], Awaitable[bytes]], Callable[[], Awaitable[None]]]:
    """A function that gets the key set, raising `OSError` or `ValueError`, and one that ends it.

    Which authorities are trusted is the environment's to say, on this host too. Raises `UsageError` for certificates
    that cannot be read.
    """
    import httpx

    from ...client.http.connections import ssl_context

    host = urlsplit(url).hostname or ""
    client = httpx.AsyncClient(
        follow_redirects=False,
        timeout=httpx.Timeout(None, connect=CONNECT_TIMEOUT),  # all else is in the time for the whole answer
        trust_env=not is_loopback(host),
        verify=ssl_context(None, os.environ),
        headers={"accept": "application/json, */*;q=0.5", "accept-encoding": "identity"},
    )

    async def fetch() -> bytes:
        try:
            async with asyncio.timeout(TIMEOUT):
                return await _read_key_set(client, url)
        except TimeoutError:
            raise OSError(f"no whole answer within {TIMEOUT:g} s") from None
        except httpx.RequestError as error:
            from ...client.http.retry import explain_network_error

            raise OSError(explain_network_error(error, CONNECT_TIMEOUT)[0]) from None

    return fetch, client.aclose


async def get_from(url: str) -> bytes:
    """One answer of an address, under the same rules. Raises `OSError` or `ValueError`."""
    fetch, close = make_fetcher(url)
    try:
        return await fetch()
    finally:
        await close()


async def _read_key_set(client: httpx.AsyncClient, url: str) -> bytes:
    async with client.stream("GET", url) as response:
        if response.is_redirect:
            raise ValueError(f"answered {response.status_code}: redirects are not followed")
        if response.status_code != 200:
            raise ValueError(f"answered {response.status_code}")
        text = bytearray()
        async for chunk in response.aiter_bytes():
            text += chunk
            if len(text) > MAX_SIZE:
                raise ValueError(f"larger than {MAX_SIZE // 1024} KiB")
        return bytes(text)


# The keys of a key set (RFC 7517): which of them may check a signature, and of what kind.

Check = Callable[[bytes, bytes], bool]  # whether a message has a signature

# Key type (and curve) that each algorithm needs.
_KEY_TYPES = {
    "RS256": "RSA",
    "RS384": "RSA",
    "RS512": "RSA",
    "ES256": "P-256",
    "ES384": "P-384",
    "ES512": "P-521",
    "EdDSA": "Ed25519",
}
MIN_RSA_BITS = 2048
_MAX_KEYS = 64


class Key:
    """One public key, for one algorithm."""

    __slots__ = ("kid", "verify")

    def __init__(self, kid: str | None, verify: Check) -> None:
        self.kid = kid
        self.verify = verify


class SharedKeys:
    """Secrets that sign tokens, in the place of a key set. Any of them may have signed one (RFC 7518, section 3.2)."""

    def __init__(self, secrets: Sequence[str]) -> None:
        keys = [secret.encode() for secret in secrets]

        def verify(message: bytes, signature: bytes) -> bool:
            made = [hmac.digest(key, message, "sha256") for key in keys]
            return any(hmac.compare_digest(each, signature) for each in made)

        self._key = Key(None, verify)

    def find(self, _kid: str | None, algorithm: str) -> Key:
        """Raises `Rejected` for a token that says it was signed otherwise."""
        if algorithm != "HS256":
            raise not_genuine("token_algorithm", f"algorithm {algorithm!r} is not accepted")
        return self._key


# A key without an id stands under its place in the set, so that it hides no other one.
KeysById = dict[tuple[str | int, str], Key]


def read_keys(text: bytes, algorithms: frozenset[str]) -> KeysById:
    """The usable keys of a key set by key id and algorithm. Raises `ValueError` when there is none."""
    try:
        document = json.loads(text)
    except RecursionError:
        raise ValueError("not a key set: nested too deeply") from None
    entries = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise ValueError('not a key set: no "keys"')  # noqa: TRY004 - the text is wrong, not a caller
    keys: KeysById = {}
    for index, entry in enumerate(entries[:_MAX_KEYS]):
        for algorithm in algorithms:
            if isinstance(entry, dict) and _is_usable(entry, algorithm) and (key := _load_key(entry, algorithm)):
                keys[index if key.kid is None else key.kid, algorithm] = key
    if not keys:
        raise ValueError(f"no usable key for {', '.join(sorted(algorithms))} among {len(entries)}")
    return keys


def _is_usable(entry: dict[str, Any], algorithm: str) -> bool:
    """Whether a key is meant for checking signatures with this algorithm, as far as it says."""
    operations = entry.get("key_ops")
    return (
        entry.get("use", "sig") == "sig"
        and entry.get("alg", algorithm) == algorithm
        and _KEY_TYPES.get(algorithm, "") in (entry.get("kty"), entry.get("crv"))
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
    )


def _load_key(entry: dict[str, Any], algorithm: str) -> Key | None:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    public = {name: value for name, value in entry.items() if name in ("kty", "n", "e", "crv", "x", "y")}
    try:
        jwk = PyJWK(public, algorithm)
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    if isinstance(jwk.key, rsa.RSAPublicKey) and jwk.key.key_size < MIN_RSA_BITS:
        return None
    kid = entry.get("kid")
    return Key(kid if isinstance(kid, str) else None, _check_of(jwk, algorithm))


def _check_of(jwk: PyJWK, algorithm: str) -> Check:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if isinstance(jwk.key, RSAPublicKey):
        return rsa_check(jwk.key, f"sha{algorithm[2:]}")
    return lambda message, signature: bool(jwk.Algorithm.verify(message, jwk.key, signature))


# A key set at an address: cached, fetched by one at a time, never waited for longer than one fetch takes.
#
# Keys are fetched ahead of their age limit and off the request path. While that fails, the old ones serve within a
# bounded grace. A token that names an unknown key has the set fetched at once, but not again within a cooldown, and
# not for the same name: forged tokens cannot make this listener hammer the key set, nor keep genuine ones waiting.

LOCK_TIMEOUT = 1.5


class KeySetCache:
    """`is_shared`: several processes of one listener use it, and only one of them fetches at a time."""

    def __init__(self, directory: str, url: str, *, is_shared: bool = False) -> None:
        self.is_shared = is_shared
        name = hashlib.sha256(url.encode()).hexdigest()[:16]
        self.path = os.path.join(directory, f"keys-{name}.json")
        self.url = url

    @contextlib.asynccontextmanager
    async def exclusive_fetch(self) -> AsyncIterator[None]:
        """Wait while another process fetches, but not for long; nor where there is no place for a lock."""
        with contextlib.ExitStack() as stack:
            if self.is_shared:
                with contextlib.suppress(CallsheetError):
                    await asyncio.to_thread(stack.enter_context, locked_file(self.path, LOCK_TIMEOUT))
            yield

    def load_copy(self) -> tuple[bytes, float] | None:
        """The text of the key set and when it was fetched. A copy that others could have written is not used."""
        try:
            if changeable_by_others(self.path) is not None:
                return None
            with open_regular(self.path) as file:
                cached = json.load(file)
            if cached["url"] != self.url:
                return None
            return str(cached["text"]).encode(), float(cached["fetched_at"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save_copy(self, text: bytes, fetched_at: float) -> None:
        """Where nothing can be written there is no copy; that costs a later restart at most a fetch."""
        temporary = f"{self.path}.{os.getpid()}"
        with contextlib.suppress(OSError, CallsheetError):
            make_private_directory(os.path.dirname(self.path))
            with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump({"url": self.url, "fetched_at": fetched_at, "text": text.decode()}, file)
            os.replace(temporary, self.path)


Fetch = Callable[[], Awaitable[bytes]]
Report = Callable[[str], None]
KeyRequest = tuple[str | None, str]

REFRESH_AHEAD = 0.8
COOLDOWN = 15.0
BACKOFF = (1.0, 2.0, 4.0, 8.0, 15.0, 25.0)
# An attempt that fails at once costs next to nothing, so the next one need not wait for long.
QUICK_FAILURE = 1.0
BACKOFF_QUICK = 5.0
MAX_UNKNOWN = 1024
MAX_WAITING = 256


class UnknownKey(Rejected):
    """No key at hand; fetching the set may bring it."""

    def __init__(self, kid: str | None, algorithm: str) -> None:
        super().__init__(401, "token_key", f"no key {kid!r} for {algorithm} in the key set")
        self.key_request = (kid, algorithm)


class KeySet:
    """`clock` counts seconds on end, `wall` tells the time of day; both are replaced in tests."""

    def __init__(
        self,
        definition: Jwt,
        fetch: Fetch,
        cache: KeySetCache | None = None,
        report: Report = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.algorithms = frozenset(definition["algorithms"])
        self.cache = max(1.0, duration_seconds(definition.get("cache", "1h")))
        self.grace = max(self.cache, duration_seconds(definition.get("grace", "24h")))
        self.fetches = 0
        self.failures = 0
        self.fetched_at = 0.0
        self.problem = "it was not fetched yet"
        self._fetch = fetch
        self._cache = cache
        self._report = report
        self._clock = clock
        self._wall = wall
        self._keys: KeysById = {}
        self._from_cache = False  # whether the last refresh took what another process had fetched
        self._is_fetched = False  # whether the refresh that is running has only to write its copy
        self._refresh_task: asyncio.Task[None] | None = None
        self._waiting = 0
        self._next_attempt = 0.0
        self._unknown: NewestOnly[KeyRequest, float] = NewestOnly(MAX_UNKNOWN)

    @property
    def age_of_keys(self) -> float:
        """Seconds since the keys were fetched; infinite when there are none."""
        return self._wall() - self.fetched_at if self._keys else float("inf")

    @property
    def is_usable(self) -> bool:
        """Whether a token can be proved at all."""
        return self.age_of_keys <= self.grace

    @property
    def key_ids(self) -> list[str]:
        """Ids of the keys at hand."""
        return sorted({key.kid or "without an id" for key in self._keys.values()})

    async def fetch_now(self) -> None:
        """Fetch the set, whatever is at hand; `failures` and `problem` tell how that went."""
        await asyncio.shield(self._start_refresh())

    def find_key(self, kid: str | None, algorithm: str) -> Key:
        """The key for a token. Raises `UnknownKey`, or `Rejected` where the set is not to be fetched for it now.

        A token without a key id is meant for an only key.
        """
        key = self._only_key(algorithm) if kid is None else self._keys.get((kid, algorithm))
        if key is None or self._wall() - self.fetched_at > self.grace:
            self._check_may_fetch((kid, algorithm))
            raise UnknownKey(kid, algorithm)
        return key

    def _only_key(self, algorithm: str) -> Key | None:
        matching = [key for (_, of), key in self._keys.items() if of == algorithm]
        return matching[0] if len(matching) == 1 else None

    async def fetch_for(self, key_request: KeyRequest) -> None:
        """Fetch the set because a key is not in it. Raises `Rejected` where that must not be done now."""
        self._check_may_fetch(key_request)
        self._waiting += 1
        is_late = self._is_refreshing and self._is_fetched
        try:
            await asyncio.shield(self._start_refresh())
            if (self._from_cache or is_late) and not self._has_key(
                key_request
            ):  # it was fetched before the key was there
                await asyncio.shield(self._start_refresh())
        finally:
            self._waiting -= 1
        if not self._has_key(key_request):
            self._remember_unknown(key_request)

    def _has_key(self, key_request: KeyRequest) -> bool:
        try:
            self.find_key(*key_request)
        except Rejected:
            return False
        return True

    def _check_may_fetch(self, key_request: KeyRequest) -> None:
        """Raises `Rejected` during a cooldown, for a key that was just asked for, and when too many wait already."""
        if not self._is_refreshing:
            allowed = self._clock() >= max(self._next_attempt, self._unknown.get(key_request, 0.0))
        else:
            allowed = self._waiting < MAX_WAITING
        if allowed:
            return
        if self.failures or self._is_refreshing or not self.is_usable:  # nobody knows whether it is genuine
            detail = f"no key {key_request[0]!r}, and the key set failed: {self.problem}"
            raise Rejected(UNAVAILABLE, "key_set_unavailable", detail)
        raise not_genuine("token_key", f"no key {key_request[0]!r} for {key_request[1]} in the key set")

    def _remember_unknown(self, key_request: KeyRequest) -> None:
        """A set that was just fetched does not hold the key: do not ask for it again soon, nor for others at once."""
        if self.failures:
            return
        self._next_attempt = self._clock() + COOLDOWN
        self._unknown[key_request] = self._clock() + 2 * COOLDOWN

    def _start_refresh(self) -> asyncio.Task[None]:
        if self._refresh_task is None or self._refresh_task.done():
            self._is_fetched = False
            self._refresh_task = asyncio.get_running_loop().create_task(self._refresh_keys())
        return self._refresh_task

    @property
    def _is_refreshing(self) -> bool:
        return self._refresh_task is not None and not self._refresh_task.done()

    async def _refresh_keys(self) -> None:
        self._from_cache = False
        if self._cache is None or not self._cache.is_shared:
            await self._fetch_now()
            return
        async with self._cache.exclusive_fetch():
            cached = await asyncio.to_thread(self._cache.load_copy)
            if cached is not None and cached[1] > self.fetched_at and self._use_cached(cached):
                self._from_cache = True
            else:
                await self._fetch_now()

    async def _fetch_now(self) -> None:
        self.fetches += 1
        started = self._clock()
        try:
            text = await self._fetch()
            keys = read_keys(text, self.algorithms)
        except (OSError, ValueError) as error:
            self._on_failure(str(error), self._clock() - started)
            return
        self._accept_keys(keys, self._wall())
        self._is_fetched = True
        if self._cache:
            await asyncio.to_thread(self._cache.save_copy, text, self.fetched_at)

    def _accept_keys(self, keys: KeysById, fetched_at: float) -> None:
        new = {key.kid for key in keys.values()} - {key.kid for key in self._keys.values()}
        self._keys, self.fetched_at = keys, fetched_at
        if self.failures:
            self._report("key set: reachable again")
        if new:
            self._report(f"key set: keys {', '.join(sorted(kid or 'without an id' for kid in new))}")
        self.failures = 0
        self._next_attempt = 0.0
        self._unknown.clear()

    def _on_failure(self, problem: str, duration: float) -> None:
        self.problem = problem
        delay = BACKOFF[min(self.failures, len(BACKOFF) - 1)]
        if duration < QUICK_FAILURE:
            delay = min(delay, BACKOFF_QUICK)
        self.failures += 1
        self._next_attempt = self._clock() + delay
        serving = f"keys of {self.age_of_keys:.0f} s ago serve" if self.is_usable else "no token can be proved"
        self._report(f"key set: {problem}; {serving}; next attempt in {delay:g} s")

    def load_cache(self) -> None:
        """Take the keys that an earlier run left, within their grace."""
        cached = self._cache.load_copy() if self._cache else None
        if cached is not None:
            self._use_cached(cached)

    def _use_cached(self, cached: tuple[bytes, float]) -> bool:
        """Whether the copy could be used."""
        if not 0 <= self._wall() - cached[1] <= self.grace:
            return False
        try:
            self._accept_keys(read_keys(cached[0], self.algorithms), cached[1])
        except ValueError:
            return False
        return True

    async def keep_fresh(self) -> None:
        """Fetch ahead of the age limit, for ever; after a failure again as the cooldown allows."""
        while True:
            await asyncio.sleep(max(self._next_refresh() - self._clock(), 0.0))
            if self._next_refresh() <= self._clock():
                await asyncio.shield(self._start_refresh())

    def _next_refresh(self) -> float:
        if self.failures:
            return self._next_attempt
        return self._clock() + (self.cache * REFRESH_AHEAD - self.age_of_keys if self._keys else 0.0)
