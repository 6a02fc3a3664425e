"""The private key of deliveries made here."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from callsheet.errors import UsageError
from callsheet.listener.simulated_deliveries import private_key


def test_it_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    made = private_key(str(path))
    assert (made.key_size, made.public_key().public_numbers().e) == (2048, 65537)
    assert private_key(str(path)).private_numbers() == made.private_numbers()
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def pem(key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey, password: bytes | None = None) -> bytes:
    hidden = BestAvailableEncryption(password) if password else NoEncryption()
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, hidden)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"no key", "no private key in PEM without a password$"),
        (b"\xef\xbb\xbfno key", "byte-order mark"),
        (pem(ec.generate_private_key(ec.SECP256R1())), "not an RSA key"),
        (pem(rsa.generate_private_key(65537, 2048), b"secret"), "no private key in PEM without a password$"),
    ],
    ids=["text", "mark", "curve", "password"],
)
def test_what_holds_no_key_is_refused_and_kept(content: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=problem) as caught:
        private_key(str(path))
    assert caught.value.message.startswith(f"--jwt-key: {path}")
    assert path.read_bytes() == content


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"Is a directory|Permission denied"):
        private_key(str(tmp_path))
