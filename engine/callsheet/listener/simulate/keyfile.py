"""The private key of deliveries made here: a PEM file, made when it is not there."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from ...errors import UsageError
from ...files import open_regular
from ..byte_order_mark import refuse_byte_order_mark

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey


def private_key(path: str) -> RSAPrivateKey:
    """Raises `UsageError` for a file that holds no RSA key."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        if not os.path.exists(path):
            return _new(path)
        with open_regular(path) as file:
            data = file.read()
        refuse_byte_order_mark(data, f"--jwt-key: {path}")
        key = load_pem_private_key(data, None)
    except OSError as error:
        raise UsageError(f"--jwt-key: {path}: {error.strerror}") from None
    except (ValueError, TypeError):
        raise UsageError(f"--jwt-key: {path}: no private key in PEM without a password") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise UsageError(f"--jwt-key: {path}: not an RSA key")
    return key


def _new(path: str) -> RSAPrivateKey:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)
    return key
