"""What handlers get is spliced from the text that was sent wherever that is what would be written of its values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.jsontext import dump_json
from callsheet.listener.verify.event import Event, one_line
from callsheet.listener.verify.payload import parse_payload
from callsheet.listener.verify.source import Source

BODIES = (
    "payload.body",
    "payload",
    "payload.list",
    "payload.text",
    "payload.inner.body",
    "not_null(payload.none, payload.body)",
)
SPACES = st.sampled_from(["", " ", "\n", "\t", " \r\n  "])
NUMBERS = st.sampled_from(
    ["0", "-7", "1.0", "1.10", "-0.0", "1e5", "1E+05", "1e-7", "0.1000000000000000055", "9" * 40, "1e999", "1e16"]
)  # fmt: skip


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
        text.encode()
    except ValueError:
        return False
    return True


STRINGS = st.one_of(
    st.sampled_from(
        ['""', '": "', '"a\\": "', '"\\\\": "', '"\\\\"', '"\\u00e9"', '"\\ud800"', '"\\/"', '"\\n\\t\\b"']
    ),
    st.sampled_from(['"{"', '"[[{"', '"\u00e9\u2028\x7f"']),
    st.text(max_size=5).map(lambda text: json.dumps(text, ensure_ascii=False)),
).filter(_is_json)


def _list(items: list[tuple[str, str]]) -> str:
    return "[" + ",".join(f"{space}{item}{space}" for space, item in items) + "]"


def _object(items: list[tuple[str, str, str]]) -> str:
    return "{" + ",".join(f"{space}{name}{space}:{space}{value}" for space, name, value in items) + "}"


NAMES = st.one_of(st.sampled_from(['"a"', '"body"', '"list"', '"id"', '"iss"', '"event_time"']), STRINGS)
VALUES = st.recursive(
    st.one_of(NUMBERS, STRINGS, st.sampled_from(["true", "false", "null"])),
    lambda inner: st.one_of(
        st.lists(st.tuples(SPACES, inner), max_size=3).map(_list),
        st.lists(st.tuples(SPACES, NAMES, inner), max_size=4).map(_object),
    ),
    max_leaves=12,
)
MEMBERS = st.lists(st.tuples(SPACES, NAMES, VALUES), max_size=6)
IDS = st.sampled_from(['"7"', "7", '"\u00e9"', "null", '"\\u0041"'])
TIMES = st.one_of(VALUES, st.just('"2026-01-01"'))


def event(text: str, body: str = "payload.body") -> Event:
    source = Source("s", {"path": "/x", "type": "payload.type", "id": "payload.id", "time": "payload.at", "body": body})  # type: ignore[typeddict-item]
    data = text.encode()
    return Event(source, parse_payload(data), [], b"", data, data)


@pytest.mark.slow
@given(MEMBERS, IDS, TIMES, VALUES, st.sampled_from(BODIES))
def test_it_is_what_would_be_written_of_its_values(
    members: list[tuple[str, str, str]], id: str, at: str, inner: str, body: str
) -> None:
    fixed = [("", '"type"', '"t"'), ("", '"id"', id), ("", '"at"', at), ("", '"body"', inner)]
    made = event(_object([*members, *fixed]), body)
    assert made.record_text == dump_json(made.record)
    assert made.payload_text == dump_json(made.payload)


@pytest.mark.parametrize("body", ["payload.body", "payload"])
def test_a_usual_event_is_spliced(body: str) -> None:
    made = event('{ "type": "t",\n"id": "7", "body": {"n": 1.10, "text": "\u00e9 \\n"},"more":[1,2] }', body)
    assert made.record_text == dump_json(made.record)
    assert "payload" not in made.__dict__ or made.payload_text  # `record` made it
    fresh = event(made.text.decode(), body)
    assert fresh.record_text == made.record_text
    assert "payload" not in fresh.__dict__, "no values were made"


@pytest.mark.parametrize(
    "text",
    ['{"a": 1, "a": 1}', '{"a": [{"b": 1, "c": 2, "b": 3}]}', '{"a": "\\": "}', '{"a": "\\u0041"}', '{"a": "\\/"}'],
)
def test_what_could_be_written_in_another_way_is_left_alone(text: str) -> None:
    assert one_line(text.encode(), json.loads(text)) is None


def test_an_integer_is_as_it_was_sent_even_without_a_value() -> None:
    values: dict[str, Any] = json.loads('{"a": -0}')
    assert one_line(b'{"a": -0}', values) == b'{"a": -0}'
