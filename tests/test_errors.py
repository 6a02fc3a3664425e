"""Words of messages that depend on what they are about."""

from __future__ import annotations

import pytest

from callsheet.errors import count_of, slip_of


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
    assert count_of(number, noun) == text


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("grade_chagne", "grade_change"),  # two letters swapped
        ("pul_request", "pull_request"),
        ("pull_requests", "pull_request"),
        ("Pull_Rekuest", "pull_request"),
        ("pushh", "push"),
        ("pull", None),  # another word, which a short one needs little to become
        ("pull_request_review", None),
        ("nwe", None),
    ],
)
def test_a_slip_is_a_letter_or_two(word: str, meant: str | None) -> None:
    assert slip_of(word, ["new", "push", "pull_request", "grade_change"]) == meant
