"""Words of messages that depend on what they are about."""

from __future__ import annotations

import pytest

from callsheet.errors import counted


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (0, "file", "0 files"),
        (1, "file", "1 file"),
        (2, "public key", "2 public keys"),
        (1, "query", "1 query"),
        (3, "query", "3 queries"),
    ],
)
def test_one_is_not_many(number: int, noun: str, text: str) -> None:
    assert counted(number, noun) == text
