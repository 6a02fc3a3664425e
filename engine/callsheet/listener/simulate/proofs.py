"""Proofs of deliveries made here that a receiver cannot make: it has only the public half, or compares what is sent."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

from ...errors import UsageError
from ..verify.public_key import arguments_of
from ..verify.signature import key_of
from ..verify.signed_message import SignedMessage, SignedRequest

if TYPE_CHECKING:
    from ...language.shape.listener import PlainTokenDefinition, PublicKey

_SEED_SIZE = 32


def with_token(definition: PlainTokenDefinition, secret: str, url: str) -> tuple[dict[str, str], str]:
    """The header with the secret, or the address with it in its query. In a body it stands already."""
    if "member" in definition:
        return {}, url
    if "header" in definition:
        return {definition["header"]: definition.get("prefix", "") + secret}, url
    return {}, url + ("&" if urlsplit(url).query else "?") + urlencode({definition["query"]: secret})


def signed_privately(
    definition: PublicKey, secret: str, body: bytes, headers: Mapping[str, str], now: float, request: SignedRequest
) -> dict[str, str]:
    """The headers with a signature by a private key: a seed (ed25519) or PKCS #8. Raises `UsageError`."""
    key = _private(definition, key_of(secret, definition.get("key")))
    more = arguments_of(definition["algorithm"])

    def sign(message: bytes) -> str:
        signature: bytes = key.sign(message, *more)
        return signature.hex() if definition["encoding"] == "hex" else base64.b64encode(signature).decode()

    return SignedMessage(definition).headers_for(body, headers, now, request, sign)


def _private(definition: PublicKey, data: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    is_ed25519 = definition["algorithm"] == "ed25519"
    key: Any = None
    try:
        is_seed = is_ed25519 and len(data) == _SEED_SIZE
        key = Ed25519PrivateKey.from_private_bytes(data) if is_seed else load_der_private_key(data, None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey if is_ed25519 else EllipticCurvePrivateKey):
        raise UsageError(
            f"the secret is not a private key for {definition['algorithm']}",
            hint="an event is signed with the private key, and verified with the public one",
        )
    return key
