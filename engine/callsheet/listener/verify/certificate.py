"""Signatures of a sender whose certificate lies at an address that each delivery names (RSA, SHA-256).

Only addresses that the source's definition allows are asked, over https and without redirects, so that it is the
sender's own server that vouches for the certificate.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ...errors import UsageError, count_of
from ..newest_only import NewestOnly
from .key_set import COOLDOWN, MIN_RSA_BITS, Check, UnknownKey, get_from
from .payload import UNAVAILABLE, Rejected, not_genuine
from .proofs import NO_REQUEST, Headers, KeyedProof, SentValues, SignedMessage, SignedRequest, decoded, rsa_check

if TYPE_CHECKING:
    from ...language.shape.listener import CertificateDefinition

_MOST = 16  # certificates at hand
_MOST_FAILED = 1024
_NEXT_FETCH = 1.0  # seconds between two fetches: forged deliveries can name any number of allowed addresses


class UnknownCertificate(UnknownKey):
    """A certificate that is not at hand; fetching it may tell whether the delivery is genuine."""

    def __init__(self, url: str, fetch: Callable[[], Awaitable[None]]) -> None:
        super().__init__(url, "certificate")
        self.detail = f"no certificate from {url[:200]}"
        self.fetch = fetch


class Certificates:
    """Public keys by the address of their certificate."""

    def __init__(
        self,
        allowed: str,
        fetch: Callable[[str], Awaitable[bytes]] = get_from,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._allowed = re.compile(allowed)
        self._fetch = fetch
        self._clock = clock
        self._checks: NewestOnly[str, tuple[Check, float]] = NewestOnly(_MOST)
        self._failed: NewestOnly[str, tuple[float, str]] = NewestOnly(_MOST_FAILED)
        self._next_fetch = 0.0

    def find(self, url: str, now: float) -> Check:
        """What checks signatures. Raises `UnknownCertificate`, or `Rejected` where it is not to be fetched now."""
        if not self._allowed.fullmatch(url):
            raise not_genuine("certificate_address", f"a certificate from {url[:200]!r}, which is not the sender's")
        check, until = self._checks.get(url, (None, 0.0))
        if check is not None and now < until:
            self._checks[url] = check, until
            return check
        failed, why = self._failed.get(url, (0.0, "asked for another one just now"))
        if self._clock() < max(failed, self._next_fetch):
            raise Rejected(UNAVAILABLE, "certificate_unavailable", f"no certificate from {url[:200]}: {why}")
        raise UnknownCertificate(url, lambda: self.load(url))

    async def load(self, url: str) -> None:
        self._next_fetch = self._clock() + _NEXT_FETCH
        try:
            self._checks[url] = read_certificate(await self._fetch(url))
        except (OSError, ValueError) as error:
            self._failed[url] = (self._clock() + COOLDOWN, str(error))


def read_certificate(text: bytes) -> tuple[Check, float]:
    """What checks signatures with a certificate (PEM), the first of several, and until when it is valid.

    Raises `ValueError` for what is none of RSA, or not valid now.
    """
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
    from cryptography.x509 import load_pem_x509_certificate

    certificate = load_pem_x509_certificate(text)
    key = certificate.public_key()
    if not isinstance(key, RSAPublicKey) or key.key_size < MIN_RSA_BITS:
        raise ValueError(f"not a certificate of an RSA key of {MIN_RSA_BITS} bits or more")
    now = datetime.now(UTC)
    if not certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc:
        raise ValueError("the certificate is not valid now")
    return rsa_check(key, "sha256"), certificate.not_valid_after_utc.timestamp()


class CertificateSignature(KeyedProof):
    """`secrets` are what the variable of the source holds: one of them is part of what is signed."""

    algorithm = "rsa-sha256"

    def __init__(self, definition: CertificateDefinition, secrets: Sequence[str]) -> None:
        self.signed = SignedMessage(definition)
        self.mismatch = f"{self.signed.name} is not of this delivery, sent to this receiver"
        self._address = SentValues(definition["address"])
        self._values = list(dict.fromkeys(secrets))
        values = count_of(len(self._values), "value")
        self.summary = f"signatures in {self.signed.name} by a certificate, {values} signed along"
        try:
            self.certificates = Certificates(definition["allowed"])
        except re.error as error:
            raise UsageError(f"certificate: allowed: {error}") from None

    def matching_secrets(
        self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST
    ) -> Iterator[bool]:
        signatures = [decoded(text, "base64") for text in self.signed.sent_signatures(headers, body)]
        messages = [self.signed.signed_message(headers, body, now, request, secret=value) for value in self._values]
        found = self._address.find_values(headers, body)
        if not found:
            raise not_genuine("signature_missing", "no address of a certificate")
        verify = self.certificates.find(found[0].decode("latin-1"), now)
        for message in messages:
            yield any(verify(message, signature) for signature in signatures)
