"""Signatures with RSA keys: what the library's own check takes, and nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

from callsheet.listener.verify.proofs import rsa_check
from support.keysets import private_key

KEY = private_key()
SIZE = KEY.key_size // 8
MESSAGE = b"header.payload"
HASHES: dict[str, hashes.HashAlgorithm] = {
    "sha256": hashes.SHA256(), "sha384": hashes.SHA384(), "sha512": hashes.SHA512()
}  # fmt: skip
CHECK = rsa_check(KEY.public_key(), "sha256")
DIGEST = hashlib.sha256(MESSAGE).digest()
INFO = bytes.fromhex("3031300d060960864801650304020105000420") + DIGEST


def signed(message: bytes = MESSAGE, key: RSAPrivateKey = KEY, algorithm: str = "sha256") -> bytes:
    return key.sign(message, padding.PKCS1v15(), HASHES[algorithm])


def by_library(message: bytes, signature: bytes) -> bool:
    try:
        KEY.public_key().verify(signature, message, padding.PKCS1v15(), HASHES["sha256"])
    except InvalidSignature:
        return False
    return True


@pytest.mark.parametrize("algorithm", HASHES)
def test_a_signature_is_of_its_message_key_and_hash(algorithm: str) -> None:
    check, signature = rsa_check(KEY.public_key(), algorithm), signed(algorithm=algorithm)
    assert check(MESSAGE, signature)
    assert not check(MESSAGE + b".", signature)
    assert not rsa_check(private_key(1).public_key(), algorithm)(MESSAGE, signature)
    assert not any(rsa_check(KEY.public_key(), other)(MESSAGE, signature) for other in HASHES if other != algorithm)


def raw(block: bytes) -> bytes:
    """What has this block in it, as only the owner of the key can make it."""
    numbers = KEY.private_numbers()
    return pow(int.from_bytes(block, "big"), numbers.d, numbers.public_numbers.n).to_bytes(SIZE, "big")


def padded(info: bytes, *, start: bytes = b"\0\1", fill: bytes = b"\xff", end: bytes = b"") -> bytes:
    return start + fill * (SIZE - 3 - len(info) - len(end)) + b"\0" + info + end


BLOCKS: dict[str, bytes] = {
    "another hash's name": padded(INFO.replace(b"\x02\x01\x05", b"\x02\x02\x05")),
    "no parameters": padded(bytes.fromhex("302f300b06096086480165030402010420") + DIGEST),
    "the hash alone": padded(DIGEST),
    "something behind the hash": padded(INFO, end=b"\0"),
    "little padding and much behind it": b"\0\1" + b"\xff" * 8 + b"\0" + INFO + b"\0" * (SIZE - 11 - len(INFO)),
    "padding of an encrypted text": padded(INFO, start=b"\0\2"),
    "other padding": padded(INFO, fill=b"\xfe"),
    "no padding": (b"\0" + INFO).rjust(SIZE, b"\0"),
    "nothing": b"\1".rjust(SIZE, b"\0"),
}


def test_blocks_are_made_as_they_should_be() -> None:
    assert raw(padded(INFO)) == signed()


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS.keys())
def test_what_a_signature_holds_is_compared_as_a_whole(block: bytes) -> None:
    assert not by_library(MESSAGE, raw(block))
    assert not CHECK(MESSAGE, raw(block))


def with_a_zero_first() -> tuple[bytes, bytes]:
    return next(
        (message, signature)
        for number in range(10_000)
        if (signature := signed(message := b"%d" % number)).startswith(b"\0")
    )


def number_above(signature: bytes) -> bytes:
    number = int.from_bytes(signature, "big") + KEY.public_key().public_numbers().n
    return number.to_bytes(SIZE + 1, "big").removeprefix(b"\0")


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "without its first zero": lambda signature: signature[1:],
    "with a zero more": lambda signature: b"\0" + signature,
    "with more at its end": lambda signature: signature + b"\0",
    "above the modulus": number_above,
    "nothing": lambda _: b"",
    "zeros": lambda _: bytes(SIZE),
    "ones": lambda _: b"\xff" * SIZE,
    "reversed": lambda signature: signature[::-1],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_the_same_number_in_other_bytes_is_no_signature(change: Callable[[bytes], bytes]) -> None:
    message, signature = with_a_zero_first()
    assert CHECK(message, signature)
    assert not by_library(message, change(signature))
    assert not CHECK(message, change(signature))


def test_each_byte_counts() -> None:
    signature = signed()
    for place in range(SIZE):
        changed = signature[:place] + bytes([signature[place] ^ 1]) + signature[place + 1 :]
        assert not CHECK(MESSAGE, changed)


def test_another_padding_scheme_is_not_taken() -> None:
    scheme = padding.PSS(padding.MGF1(hashes.SHA256()), 32)
    assert not CHECK(MESSAGE, KEY.sign(MESSAGE, scheme, hashes.SHA256()))
