"""Bodies are read by a fast decoder where it can, and mean the same as what the standard library reads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet import jsontext
from callsheet.listener.verify.payload import Rejected, parse_exact, parse_payload

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.slow
@given(st.dictionaries(st.text(), VALUES), st.booleans())
def test_it_is_what_the_library_reads(payload: dict[str, Any], ascii_only: bool) -> None:
    data = json.dumps(payload, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    try:
        wanted = json.loads(data.decode())
    except UnicodeDecodeError:
        with pytest.raises(Rejected):
            parse_payload(data)
    else:
        found = parse_payload(data)
        assert json.dumps(found) == json.dumps(wanted)  # 1 is not 1.0, and -0.0 not 0.0


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"a": 123456789012345678901234567890}', 123456789012345678901234567890),
        (b'{"a": -9223372036854775809}', -9223372036854775809),
        (b'{"a": "\\ud800"}', "\ud800"),
        (b'{"a": 1, "a": 2}', 2),
        (b' {"a": 1.10} \n', 1.1),
        (b'{"a": 1e400}', float("inf")),
    ],
)
def test_odd_but_valid(text: bytes, value: Any) -> None:
    assert parse_payload(text) == {"a": value}


@pytest.mark.parametrize(
    "text",
    [
        b"", b"null", b"[]", b'"a"', b"{", b'{"a": NaN}', b'{"a": Infinity}', b'{"a": 01}', b'{"a": 1}x', b'{"a": 1,}',
        b'{"a": "\xff"}', b"\xef\xbb\xbf{}", b'{"a": ' + b"9" * 5000 + b"}", b'{"a":' + b"[" * 500 + b"]" * 500 + b"}",
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", b"{'a': 1}", b'{"a": "\n"}',
    ],
)  # fmt: skip
def test_what_is_no_event_is_refused(text: bytes) -> None:
    with pytest.raises(Rejected) as caught:
        parse_payload(text)
    assert caught.value.status == 400


@pytest.mark.parametrize(
    ("text", "detail"),
    [
        (b"{", "not JSON: "),
        (b'{"a": NaN}', "not JSON: NaN is not JSON"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b"[]", "not an event: a JSON array instead of an object"),
        (b"null", "not an event: a JSON null instead of an object"),
        (b'{"a":' + b"[" * 500 + b"]" * 500 + b"}", "nested too deeply"),
    ],
)
def test_the_log_says_what_is_wrong_with_it(text: bytes, detail: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_payload(text)
    assert caught.value.detail.startswith(detail), caught.value.detail


@pytest.mark.parametrize(("opened", "closed"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("beside", ["", ',"b":[[],[]]'])
def test_how_deep_an_event_may_be(opened: str, closed: str, beside: str) -> None:
    def nested(depth: int) -> bytes:
        return ('{"a":' + opened * (depth - 2) + "[]" + closed * (depth - 2) + beside + "}").encode()

    assert parse_payload(nested(200))
    with pytest.raises(Rejected, match="nested too deeply"):
        parse_payload(nested(201))


def test_many_values_beside_each_other_are_not_deep() -> None:
    assert len(parse_payload(b'{"a": [' + b",".join([b"[1]"] * 1000) + b"]}")["a"]) == 1000


NUMBERS = st.from_regex(r"-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


@pytest.mark.slow
@given(st.dictionaries(st.text(), VALUES), st.lists(NUMBERS, max_size=5), st.booleans())
def test_numbers_keep_their_digits_as_they_do_elsewhere(
    payload: dict[str, Any], numbers: list[str], ascii_only: bool
) -> None:
    members = [
        json.dumps(payload, ensure_ascii=ascii_only)[1:-1],
        *(f'"{n}": {text}' for n, text in enumerate(numbers)),
    ]
    data = ("{" + ", ".join(filter(None, members)) + "}").encode("utf-8", "surrogatepass")
    try:
        wanted = jsontext.parse_json(data)
    except jsontext.JSONError:
        with pytest.raises(jsontext.JSONError):
            parse_exact(data)
    else:
        found = parse_exact(data)
        assert jsontext.dump_json(found) == jsontext.dump_json(wanted)
        assert [type(found[key]) for key in found] == [type(wanted[key]) for key in wanted]


@pytest.mark.parametrize("text", ["1e400", "1.10", "-0.0", "0.1000000000000000055", "1E5", "12345678901234567890.5"])
def test_a_number_that_python_writes_otherwise_stays_as_it_was_sent(text: str) -> None:
    assert jsontext.dump_json(parse_exact(f'{{"a": {text}}}'.encode())) == f'{{"a": {text}}}'


def test_what_the_fast_decoder_refuses_is_read_all_the_same() -> None:
    assert parse_exact(b'{"a": "\\ud800", "b": 1.10}') == {"a": "\ud800", "b": 1.1}
    with pytest.raises(jsontext.JSONError, match="an integer of more than"):
        parse_exact(b'{"a": ' + b"9" * 5000 + b"}")
