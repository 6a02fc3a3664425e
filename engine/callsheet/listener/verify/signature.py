"""Signatures made with a shared secret, in the form that a source's definition describes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ...errors import UsageError, counted
from ..byte_order_mark import refuse_byte_order_mark
from .rejection import not_genuine
from .signed_message import NO_REQUEST, Headers, SignedMessage, SignedRequest

if TYPE_CHECKING:
    from ...language.shape.listener import Hmac, SecretForm


_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


class KeyedHash:
    """Both hashes have taken the key up once. Copying those two costs a third of what copying OpenSSL's HMAC does."""

    def __init__(self, key: bytes, algorithm: str) -> None:
        size = hashlib.new(algorithm).block_size
        if len(key) > size:
            key = hashlib.new(algorithm, key).digest()
        padded = key.ljust(size, b"\0")
        self._inner = hashlib.new(algorithm, padded.translate(_INNER))
        self._outer = hashlib.new(algorithm, padded.translate(_OUTER))

    def digest(self, message: bytes) -> bytes:
        inner = self._inner.copy()
        inner.update(message)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()


class Signature:
    """Checks and makes the signatures of one source. Raises `UsageError` for a secret that cannot be one."""

    def __init__(self, definition: Hmac, secrets: Sequence[str]) -> None:
        self.definition = definition
        self.algorithm = definition["algorithm"]
        self.keys = [key_of(secret, definition.get("secret")) for secret in dict.fromkeys(secrets)]
        self._hashes = [KeyedHash(key, self.algorithm) for key in self.keys]
        self._encode = binascii.hexlify if definition["encoding"] == "hex" else base64.b64encode
        self.signed = SignedMessage(definition)

    @property
    def summary(self) -> str:
        return f"signatures in {self.signed.name}, {counted(len(self.keys), 'secret')}"

    def check(self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST) -> None:
        """Raises `Rejected` unless one of the signatures was made with one of the secrets."""
        if not any(self.matches(headers, body, now, request)):
            raise not_genuine("signature_wrong", f"{self.signed.name} matches none of the secrets ({len(self.keys)})")

    def matches(self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST) -> Iterator[bool]:
        """For each secret whether it made one of the signatures. Raises `Rejected` where there can be none."""
        candidates = self.signed.candidates(headers, body)
        message = self.signed.message(headers, body, now, request)
        for keyed in self._hashes:
            expected = self._encode(keyed.digest(message))
            yield any(hmac.compare_digest(expected, candidate) for candidate in candidates)

    def headers_for(
        self, body: bytes, headers: Mapping[str, str], now: float, request: SignedRequest = NO_REQUEST
    ) -> dict[str, str]:
        """The headers of a delivery made here, signed with the first secret; `headers` are its other ones."""
        return self.signed.headers_for(body, headers, now, request, self.sign)

    def sign(self, message: bytes) -> str:
        """With the first secret."""
        return self._encode(self._hashes[0].digest(message)).decode()


def check_secret(secret: str) -> None:
    """Raises `UsageError`, without the secret, for one that was not copied as it is."""
    if not secret:
        raise UsageError("a secret is empty")
    refuse_byte_order_mark(secret.encode("utf-8", "surrogateescape"), "a secret")
    if secret != secret.strip():
        raise UsageError(
            "a secret has leading or trailing whitespace",
            hint="copy it again without spaces or line breaks: it is used exactly as given",
        )


def key_of(secret: str, secret_form: SecretForm | None) -> bytes:
    """The key that a secret stands for. Raises `UsageError`, without the secret, where it cannot be one."""
    check_secret(secret)
    if secret_form is None:
        return secret.encode()
    text = secret.removeprefix(secret_form.get("prefix", ""))
    try:
        if secret_form.get("encoding") == "base64":
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        return bytes.fromhex(text) if secret_form.get("encoding") == "hex" else text.encode()
    except (binascii.Error, ValueError):
        raise UsageError(f"a secret is not valid {secret_form.get('encoding')}") from None
