from __future__ import annotations

import copy
import json
import math
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.jsontext import ExactFloat, JSONError, dump_json, parse_json

NUMBERS = [
    "0",
    "-1",
    "12345678901234567890123456789",
    "1.5",
    "1.10",
    "1e5",
    "1E400",
    "-0.0",
    "0.1000000000000000055",
    "1e-7",
    "2.0",
]


@pytest.mark.parametrize("number", NUMBERS)
def test_a_number_keeps_its_text(number: str) -> None:
    assert dump_json(parse_json(f'{{"n": [{number}]}}')) == f'{{"n": [{number}]}}'


def test_an_exact_float_is_a_float() -> None:
    value = parse_json("1.10")
    assert value == 1.1
    assert isinstance(value, float)
    assert str(value) == repr(value) == "1.10"
    assert dump_json(copy.deepcopy(value)) == dump_json(pickle.loads(pickle.dumps(value))) == "1.10"
    assert value + 1 == 2.1


def test_floats_that_python_writes_the_same_stay_plain() -> None:
    assert not isinstance(parse_json("1.5"), ExactFloat)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_what_is_no_json_number_is_refused(text: str) -> None:
    with pytest.raises(JSONError, match="is not JSON"):
        parse_json(text)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_json_cannot_say_is_not_written(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json([value])


@pytest.mark.parametrize(
    ("text", "message", "at_end"),
    [
        ('{"a": 1,\n "b": [2,', "line 2 column 10: the text ends too early", True),
        ('{"a": "xy', "line 1 column 7: the text ends too early", True),
        ('{"a": tr', "line 1 column 7: expecting value", False),
        ('{"a": 1,, "b": 2}', "line 1 column 9: expecting property name enclosed in double quotes", False),
        ('{"a": 1} x', "line 1 column 10: extra data", False),
        ("", "line 1 column 1: the text ends too early", True),
        (b'{"a": "\xff"}', "byte 7: not valid UTF-8", False),
    ],
)
def test_an_error_says_where(text: str | bytes, message: str, at_end: bool) -> None:
    with pytest.raises(JSONError) as caught:
        parse_json(text)
    assert str(caught.value).startswith(message)
    assert caught.value.at_end is at_end


def test_too_deep_is_an_error() -> None:
    with pytest.raises(JSONError, match="nested too deeply"):
        parse_json("[" * 200_000 + "]" * 200_000)


def test_an_endless_integer_is_an_error() -> None:
    with pytest.raises(JSONError, match="digits"):
        parse_json("9" * 5000)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_bytes_are_decoded(encoding: str) -> None:
    assert parse_json('{"ä": "😀"}'.encode(encoding)) == {"ä": "😀"}


def test_text_beyond_ascii_is_readable_and_half_a_pair_survives() -> None:
    assert dump_json({"ä": "😀"}) == '{"ä": "😀"}'
    half = parse_json(r'"a\ud800b"')
    assert dump_json(half) == r'"a\ud800b"'
    dump_json(half).encode()


def test_indentation() -> None:
    assert dump_json({"a": [1.5, parse_json("1.10")]}, indent=2) == '{\n  "a": [\n    1.5,\n    1.10\n  ]\n}'


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=100)
@given(JSON)
def test_values_come_back_as_they_went(value: object) -> None:
    parse_json("1.10")  # from here on texts of floats are looked for
    assert parse_json(dump_json(value)) == value
    assert json.loads(dump_json(value, indent=1)) == value


@settings(max_examples=100)
@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_any_number_keeps_its_text(number: str) -> None:
    assert dump_json(parse_json(number)) == ("0" if number == "-0" else number)
