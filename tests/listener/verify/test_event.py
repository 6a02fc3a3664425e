"""What tells an event from all others, and what handlers get to see of it."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.jsontext import dump_json
from callsheet.listener.verify.event import Event
from callsheet.listener.verify.source import Source

PLAIN: dict[str, Any] = {"path": "/x", "type": "payload.type", "id": "payload.id"}


def event(data: bytes, payload: Any = None, text: bytes | None = None, **definition: Any) -> Event:
    import json

    source = Source("s", {**PLAIN, **definition})  # type: ignore[typeddict-item]
    whole = json.loads(data) if payload is None else payload
    return Event(source, whole, [(b"x-id", b"9"), (b"x-type", b"t\xff")], b"q=1&q=2&e=", data, text or data)


def test_an_id_is_the_key_and_a_text_is_no_number() -> None:
    keys = [
        event(data).key for data in (b'{"type": "t", "id": "7"}', b'{"type": "t", "id": 7}', b'{"type": "u", "id": 7}')
    ]
    assert keys == ["s/t/s7", "s/t/i7", "s/u/i7"]
    assert event(b'{"type": "\\u00fc", "id": "7"}').key == "s/\u00fc/s7"


def test_without_an_id_the_content_is_the_key_but_for_what_changes_by_itself() -> None:
    def key(data: bytes, **definition: Any) -> str:
        return event(data, dedup_ignore=["iat"], **definition).key

    same = [key(b'{"type": "t", "a": 1, "iat": 1}'), key(b'{"iat": 2, "a": 1,  "type": "t"}')]
    assert same[0] == same[1]
    assert same[0].startswith("s/t/h")
    assert key(b'{"type": "t", "a": 2, "iat": 1}') != same[0]
    assert key(b'{"type": "t", "a": 1.0, "iat": 1}') != same[0]


def test_what_is_seen_by_conditions_and_by_placeholders() -> None:
    made = event(b'{"type": "t", "id": "7", "at": "now", "n": 1.10}', time="payload.at")
    assert made.fast_scope["payload"]["n"] == 1.1
    assert str(made.scope["payload"]["n"]) == "1.10"
    named = {name: made.scope[name] for name in ("id", "event_type", "event_time", "source", "query")}
    assert named == {"id": "7", "event_type": "t", "event_time": "now", "source": "s", "query": {"q": "2", "e": ""}}
    assert made.scope["headers"]["x-id"] == "9"
    assert made.scope["body"] == made.scope["payload"]
    assert made.attempt == 1


@pytest.mark.parametrize(
    ("at", "time", "shown"),
    [
        ('"now"', "payload.at", '"now"'),
        ("7", "payload.at", "7"),
        ("5.50", "payload.at", "5.50"),
        ("[5.50]", "payload.at", "[5.50]"),
        ("null", "payload.at", "null"),
        ("1", 'headers."x-id"', '"9"'),
    ],
)
def test_the_time_is_as_it_was_sent(at: str, time: str, shown: str) -> None:
    assert dump_json(event(f'{{"type": "t", "at": {at}}}'.encode(), time=time).time) == shown


def test_type_and_id_may_stand_beside_the_body() -> None:
    made = event(b'{"a": 1}', type='headers."x-type"', id="query.q")
    assert (made.type, made.id) == ("t\xff", "2")


@pytest.mark.parametrize(
    ("data", "body", "record"),
    [
        (
            b'{"type": "t", "id": "7", "data": {"a": 1.0}}',
            "payload.data",
            {"body": {"a": 1.0}, "type": "t", "data": None},
        ),
        (b'{"type": "t", "id": "7", "data": [1], "more": 2}', "payload.data", {"body": [1], "type": "t", "more": 2}),
        (b'{"type": "t", "id": "7", "iss": "x"}', "payload", {"body": {"type": "t", "id": "7", "iss": "x"}}),
        (b'{"type": "t", "id": "7"}', "payload.none", {"body": {}}),
    ],
)
def test_the_record_of_an_event_has_one_shape(data: bytes, body: str, record: dict[str, Any]) -> None:
    made = event(data, body=body)
    given = {"id": "7", "event_type": "t", "event_time": None, "source": "s", **record}
    assert made.record == {name: value for name, value in given.items() if name != "data"}
    assert made.record_text.startswith('{"id": "7", "event_type": "t", "event_time": null, "source": "s", "body": ')


def test_registered_claims_are_no_part_of_the_record() -> None:
    made = event(b'{"type": "t", "id": "7", "iss": "x", "data": {}, "event_time": "no"}', body="payload.data")
    assert made.record == {
        "id": "7", "event_type": "t", "event_time": None, "source": "s", "body": {}, "type": "t",
    }  # fmt: skip
