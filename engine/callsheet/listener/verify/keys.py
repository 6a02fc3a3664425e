"""The keys of a key set (RFC 7517): which of them may check a signature, and of what kind."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .public_key import rsa_check

if TYPE_CHECKING:
    from jwt import PyJWK

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
_MIN_RSA_BITS = 2048
_MAX_KEYS = 64


class Key:
    """One public key, for one algorithm."""

    __slots__ = ("kid", "verify")

    def __init__(self, kid: str | None, verify: Check) -> None:
        self.kid = kid
        self.verify = verify


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
            if isinstance(entry, dict) and _is_usable(entry, algorithm) and (key := _load(entry, algorithm)):
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
        and _KEY_TYPES[algorithm] in (entry.get("kty"), entry.get("crv"))
        and (operations is None or (isinstance(operations, list) and "verify" in operations))
    )


def _load(entry: dict[str, Any], algorithm: str) -> Key | None:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from jwt import PyJWK
    from jwt.exceptions import PyJWTError

    public = {name: value for name, value in entry.items() if name in ("kty", "n", "e", "crv", "x", "y")}
    try:
        jwk = PyJWK(public, algorithm)
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
    if isinstance(jwk.key, rsa.RSAPublicKey) and jwk.key.key_size < _MIN_RSA_BITS:
        return None
    kid = entry.get("kid")
    return Key(kid if isinstance(kid, str) else None, _check_of(jwk, algorithm))


def _check_of(jwk: PyJWK, algorithm: str) -> Check:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    if isinstance(jwk.key, RSAPublicKey):
        return rsa_check(jwk.key, f"sha{algorithm[2:]}")
    return lambda message, signature: bool(jwk.Algorithm.verify(message, jwk.key, signature))
