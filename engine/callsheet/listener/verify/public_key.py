"""Signatures that a sender makes with its private key, checked with the public one."""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import UsageError, counted
from .rejection import not_genuine
from .signature import key_of
from .signed_message import NO_REQUEST, Headers, SignedMessage, SignedRequest

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    from ...language.shape.listener import PublicKey as Definition


# RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2): what a signature holds is compared as a whole with what it must hold. The
# library's own check makes hash, padding and their types anew for each message: a fifth of its time.
# This stands before the hash (section 9.2, note 1).
_PREFIXES = {
    "sha256": bytes.fromhex("3031300d060960864801650304020105000420"),
    "sha384": bytes.fromhex("3041300d060960864801650304020205000430"),
    "sha512": bytes.fromhex("3051300d060960864801650304020305000440"),
}


def rsa_check(key: RSAPublicKey, algorithm: str) -> Callable[[bytes, bytes], bool]:
    """A function that tells whether a message has a signature. `algorithm` is the hash, by its name in `hashlib`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

    recover, padding, size = key.recover_data_from_signature, PKCS1v15(), (key.key_size + 7) // 8
    digest, prefix = getattr(hashlib, algorithm), _PREFIXES[algorithm]

    def check(message: bytes, signature: bytes) -> bool:
        if len(signature) != size:  # without a zero at its beginning it would be the same number
            return False
        expected: bytes = prefix + digest(message).digest()
        try:
            return recover(signature, padding, None) == expected
        except InvalidSignature:
            return False

    return check


_RAW_SIZE = 32


class PublicKeySignature:
    """Raises `UsageError` for a key that cannot be one.

    A key is 32 raw bytes (Ed25519 only: RFC 8032, section 5.1.5) or a SubjectPublicKeyInfo in DER (RFC 5280, 4.1.2.7).
    """

    def __init__(self, definition: Definition, secrets: Sequence[str]) -> None:
        self.definition = definition
        self.signed = SignedMessage(definition)
        self.algorithm = definition["algorithm"]
        self.decode = bytes.fromhex if definition["encoding"] == "hex" else base64.b64decode
        self.verifiers = [self._verifier(secret) for secret in dict.fromkeys(secrets)]

    @property
    def summary(self) -> str:
        return f"signatures in {self.signed.name}, {counted(len(self.verifiers), 'public key')}"

    def check(self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST) -> None:
        """Raises `Rejected` unless one of the signatures was made with the private half of one of the keys."""
        if not any(self.matches(headers, body, now, request)):
            raise not_genuine("signature_wrong", f"{self.signed.name} matches none of the keys ({len(self.verifiers)})")

    def matches(self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST) -> Iterator[bool]:
        """For each key whether one of the signatures was made with it. Raises `Rejected` where there can be none."""
        candidates = [self._decoded(text) for text in self.signed.candidates(headers, body)]
        message = self.signed.message(headers, body, now, request)
        for verify in self.verifiers:
            yield any(verify(each, message) for each in candidates)

    def _decoded(self, text: bytes) -> bytes:
        try:
            return self.decode(text.decode("ascii"))
        except (ValueError, binascii.Error):
            return b""

    def _verifier(self, secret: str) -> Callable[[bytes, bytes], bool]:
        from cryptography.exceptions import InvalidSignature

        key = self._public(key_of(secret, self.definition.get("key")))
        more = arguments_of(self.algorithm)

        def verify(signature: bytes, message: bytes) -> bool:
            try:
                key.verify(signature, message, *more)
            except InvalidSignature:
                return False
            return True

        return verify

    def _public(self, data: bytes) -> Any:
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_der_public_key

        is_ed25519 = self.algorithm == "ed25519"
        try:
            key: Any = Ed25519PublicKey.from_public_bytes(data) if is_ed25519 and len(data) == _RAW_SIZE else None
            key = key or load_der_public_key(data)
        except Exception:  # noqa: BLE001 - the library raises many kinds, and all mean the same
            key = None
        if not isinstance(key, Ed25519PublicKey if is_ed25519 else EllipticCurvePublicKey):
            raise UsageError(f"a key is not a public key for {self.algorithm}", hint="copy it again from the sender")
        return key


def arguments_of(algorithm: str) -> tuple[Any, ...]:
    """What verifying takes beside signature and message."""
    if algorithm == "ed25519":
        return ()
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.hashes import SHA256

    return (ECDSA(SHA256()),)
