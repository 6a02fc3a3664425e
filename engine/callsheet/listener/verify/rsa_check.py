"""RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2): what a signature holds is compared as a whole with what it must hold.

The library's own check makes hash, padding and their types anew for each message: a fifth of its time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

# What stands before the hash (section 9.2, note 1).
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
