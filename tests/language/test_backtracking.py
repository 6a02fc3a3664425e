"""Regular expressions that take for ever on some text, told from those that do not."""

from __future__ import annotations

import re

import pytest

from callsheet.language.checks.backtracking import fits_no_text, takes_for_ever

FOR_EVER = [
    r"(a+)+$",
    r"(a*)*b",
    r"([a-z]+\s?)*$",
    r"(.*,)*x",
    r"(a|aa)+$",
    r"^(\d+-?)+$",
    r"(?:a{1,64}){1,64}$",
    r"^(?=(a+)+$)",
    r"((a|b)*|c)*$",
    r"(x+x+)+y",
    r"^(([a-z])+.)+[A-Z]([a-z])+$",
    r"([^a]+|[b-z]+)*$",
    r"(?i:(a+)+)$",
    r"((?:\w|\d\d)+)$",
]
NOT = [
    r"^[a-z]+(-[a-z]+)*$",
    r"(?:att)?(?P<id>\d+)",
    r"/orders/(\d+)",
    r"^(a|b)*$",
    r"(ab|ac)*$",
    r"^[a-z0-9]+(?:\.[a-z0-9]+){0,5}$",
    r"([^,]*,)*[^,]*$",
    r"(a?){5}",
    r"(a?)*b",
    r"a*a*a*$",
    r"(\s*[a-z]+;)*",
    r"^arn:aws(-[^:]+)?:x(:.*){2}(:t.*)$",
    r"(?>a+)+b",
    r"[A-Z]{3}(,[A-Z]{3})*",
    r"(a)\1*(?(1)b|c)",
    r"([^\W\d]+\d)*",
    "a" * 400 + "(b+)c",
]


@pytest.mark.parametrize("pattern", FOR_EVER)
def test_two_ways_back_to_a_place_double_with_each_round(pattern: str) -> None:
    assert takes_for_ever(pattern)


@pytest.mark.parametrize("pattern", NOT, ids=range(len(NOT)))
def test_one_way_is_no_fault(pattern: str) -> None:
    assert not takes_for_ever(pattern)


@pytest.mark.parametrize("pattern", [r"$\d+", r"^a$b", r"x$[a-z]", r"$\w", "$a", r"(?:a-)(?P<id>$\d+)"])
def test_what_wants_more_behind_the_end_fits_nothing(pattern: str) -> None:
    assert fits_no_text(pattern)
    assert not any(re.search(pattern, text) for text in ("", "a", "1", "ab", "x\n", "x\na", "$1", "a$b"))


@pytest.mark.parametrize("pattern", [r"\d+$", r"a$|b", r"\$\d+", "[$]a", "a$\n", "(?m)a$\nb", r"a$\s", "$"])
def test_the_end_of_a_text_may_stand_anywhere_else(pattern: str) -> None:
    assert not fits_no_text(pattern)
