"""From definitions, options and variables to sources that can tell what is genuine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...paths import cache_directory
from .challenge import Challenge
from .fetch import check_url, fetcher
from .keyset import KeySet, KeySetCache
from .proofs import described
from .secret_options import collect_secrets
from .source import Source

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape import listener as shape

# Secrets from options: as they are, in files, kept under names.
GivenSecrets = tuple[Sequence[str], Sequence[str], Sequence[str]]


class ProofSettings:
    """`prefix` is that of the program's variables; `is_shared`: other processes use the same copies of key sets."""

    def __init__(
        self, catalog: Catalog, environ: Mapping[str, str], prefix: str, note: Callable[[str], None], *, is_shared: bool
    ) -> None:
        self._catalog = catalog
        self._environ = environ
        self._prefix = prefix
        self._note = note
        self._is_shared = is_shared

    def source(
        self, name: str, given: GivenSecrets, keys: KeySet | None, public_url: str, *, signs_nothing: bool = False
    ) -> Source:
        """`signs_nothing` where deliveries were proved elsewhere. Raises `UsageError` for what cannot be a proof."""
        definition = self._catalog.get("source", name)
        shared = described(definition)
        if shared is None and any(given):
            raise UsageError(f"source {name!r} does not use a shared secret or public key: leave out the secret")
        secrets = self._secrets(given, shared.get("env")) if shared is not None else []
        proving = shared.get("env") if shared is not None else None
        challenges = [self._challenge(each, proving, secrets) for each in definition.get("challenge", ())]
        try:
            source = Source(name, definition, secrets, keys, challenges, public_url, self.claims(name))
        except UsageError as error:  # of its secrets, which it does not show
            raise UsageError(f"source {name!r}: {error.message}", hint=error.hint) from None
        if source.signs_url and secrets and not (public_url or signs_nothing):
            hint = "give --public-url https://HOST: what its sender calls, without the path"
            raise UsageError(f"source {name!r}: its signatures cover the address that is called", hint=hint)
        return source

    def _challenge(self, definition: shape.ChallengeDefinition, proving: str | None, secrets: list[str]) -> Challenge:
        """A question with the secret of deliveries takes it from wherever theirs comes."""
        variable = definition.get("token", {}).get("env")
        is_same = variable is not None and variable == proving
        return Challenge(definition, secrets if is_same else self._secrets(((), (), ()), variable))

    def _secrets(self, given: GivenSecrets, variable: str | None) -> list[str]:
        return collect_secrets(*given, variable, self._environ, self._prefix, self._catalog.program)

    def claims(self, name: str) -> dict[str, list[str]]:
        """The values that claims of a source's tokens may have, as its variables say."""
        named = self._catalog.get("source", name).get("jwt", {}).get("claims", {})
        return {claim: self._secrets(((), (), ()), variable) for claim, variable in named.items()}

    def key_set(
        self, name: str, chosen: str | None, switches: frozenset[str]
    ) -> tuple[KeySet | None, Callable[[], Any] | None]:
        """The key set for a source's tokens, if any is used, and what closes its connections."""
        jwt = self._catalog.get("source", name).get("jwt")
        if jwt is None:
            if chosen is not None:
                raise UsageError(f"source {name!r} does not use signed tokens: leave out the key set")
            return None, None
        # An empty address is a wrong one: taken for none, nothing would be verified.
        is_wanted = "switch" not in jwt or jwt["switch"] in switches
        url = chosen if chosen is not None else jwt.get("vendor") if is_wanted else None
        missing = [jwt["claims"][claim] for claim, values in self.claims(name).items() if not values]
        if missing and chosen is not None:
            raise UsageError(
                f"source {name!r}: {missing[0]} is not set", hint="it says which tokens of that key set are meant"
            )
        if url is None or missing:
            return None, None
        check_url(url, "--jwks-url" if chosen is not None else "key set")
        fetch, close = fetcher(url)
        copy = KeySetCache(cache_directory(self._environ), url, is_shared=self._is_shared)
        keys = KeySet(jwt, fetch, copy, self._note)
        keys.load_cache()
        return keys, close
