"""HMAC as the standard library has it, for keys and messages of every size."""

from __future__ import annotations

import hmac

from hypothesis import given
from hypothesis import strategies as st

from callsheet.listener.verify.proofs import KeyedHash


@given(
    key=st.one_of(st.binary(max_size=80), st.binary(min_size=120, max_size=200)),
    messages=st.lists(st.binary(max_size=300), min_size=1, max_size=3),
    algorithm=st.sampled_from(["sha1", "sha256", "sha384", "sha512"]),
)
def test_it_is_the_hmac_of_every_message(key: bytes, messages: list[bytes], algorithm: str) -> None:
    keyed = KeyedHash(key, algorithm)
    for message in messages:
        assert keyed.digest_of(message) == hmac.digest(key, message, algorithm)
