"""Letters of short links and the numbers that they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.language.functions import letters_of, number_of


@given(st.integers(0, 2**64 - 1))
def test_a_number_comes_back_from_its_letters(number: int) -> None:
    assert number_of(letters_of(number)) == number


@pytest.mark.parametrize(("letters", "number"), [("AQAB", 65537), ("AgDY", 14155778), ("A", 0)])
def test_letters_are_the_bytes_of_the_number(letters: str, number: int) -> None:
    assert number_of(letters) == number
    assert letters_of(number) == letters


@given(st.text(max_size=14))
def test_other_words_are_no_number(text: str) -> None:
    found = number_of(text)
    assert found is None or 0 <= found < 2**72


def test_what_is_too_long_is_no_number() -> None:
    assert number_of("") is None
    assert number_of("A" * 12) is None
