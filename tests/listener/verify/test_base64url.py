"""Base64 of tokens: the same bytes, and the same refusals, as the standard library's strict reading."""

from __future__ import annotations

import base64
import binascii

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from callsheet.listener.verify.signed_tokens import decode_base64url

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


def strictly(segment: bytes) -> bytes | None:
    standard = segment.replace(b"-", b"+").replace(b"_", b"/")
    try:
        return binascii.a2b_base64(standard + b"=" * (-len(segment) % 4), strict_mode=True)
    except binascii.Error:
        return None


@given(st.binary(max_size=200))
def test_what_was_encoded_is_read(data: bytes) -> None:
    assert decode_base64url(base64.urlsafe_b64encode(data).rstrip(b"=")) == data


SEGMENTS = st.lists(st.sampled_from(ALPHABET) | st.sampled_from(b'+/"\\u\0\n ,\x7f') | st.integers(0, 127), max_size=24)


@settings(max_examples=500)
@given(SEGMENTS.map(bytes).filter(lambda segment: b"=" not in segment))
@example(b'YQ","YQ')  # two texts
@example(rb"\/\/\/\/")  # escapes of JSON
@example(rb"\u0059\u0057\u004a\u006a")
@example(b"YWJjZ")  # a length that no base64 has
@example(b"YR")  # bits that are left over
def test_it_reads_and_refuses_what_the_standard_library_does(segment: bytes) -> None:
    expected = strictly(segment)
    if expected is None:
        with pytest.raises(ValueError, match=r".+"):
            decode_base64url(segment)
    else:
        assert decode_base64url(segment) == expected
