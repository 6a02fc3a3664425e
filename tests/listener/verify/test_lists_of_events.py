"""Deliveries that are lists of events: each is an event of its own, and one that is none refuses the delivery."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.listener.simulated_deliveries import id_of, make_payload, plain_delivery
from callsheet.listener.verify.event import Event
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.source import Challenge, ProofSettings, Source
from support.listening import HEADER, SECRET, listening, signature, until

NOW = 1_700_000_000
URL = "https://hooks.example.com"


def definition(name: str) -> Any:
    catalog = open_catalog("lms", os.environ)
    try:
        return catalog.sources.get(name)
    finally:
        catalog.close()


def listed(name: str, headers: dict[str, str], body: bytes, now: float = NOW, secret: str = "s") -> list[Event]:
    pairs = [(each.lower().encode(), value.encode()) for each, value in headers.items()]
    return Source(name, definition(name), [secret], public_url=URL).receive_list(pairs, b"", body, now)


def hubspot(body: bytes, at: int = NOW * 1000) -> dict[str, str]:
    """As the sender's documentation says: method, address, body and time in milliseconds."""
    digest = hmac.new(b"s", f"POST{URL}/hubspot".encode() + body + str(at).encode(), hashlib.sha256).digest()
    return {"X-HubSpot-Signature-v3": base64.b64encode(digest).decode(), "X-HubSpot-Request-Timestamp": str(at)}


CHANGES = (
    b'[{"eventId":1,"subscriptionType":"contact.creation","objectId":10000000000000145,"n":1.10,"attemptNumber":0},'
    b'{"eventId":1,"subscriptionType":"deal.deletion","objectId":2,"attemptNumber":0}]'
)


def test_each_of_a_list_is_an_event() -> None:
    first, second = listed("hubspot", hubspot(CHANGES), CHANGES)
    assert (first.type, second.type) == ("contact.creation", "deal.deletion")
    assert json.loads(first.record_text)["body"]["objectId"] == 10000000000000145
    assert "1.10" in first.record_text
    assert second.data == second.text
    assert b"contact" not in second.data


def test_the_values_of_headers_are_made_once_for_all_events() -> None:
    """A copy for each took gigabytes where a delivery had many headers and many events."""
    first, second = listed("hubspot", hubspot(CHANGES), CHANGES)
    assert first.header_values["x-hubspot-request-timestamp"] == str(NOW * 1000)
    assert first.header_values is second.header_values
    assert first.query_values is second.query_values


def test_another_attempt_brings_the_same_events() -> None:
    again = CHANGES.replace(b'"attemptNumber":0', b'"attemptNumber":1')
    keys = [[event.key for event in listed("hubspot", hubspot(body), body)] for body in (CHANGES, again)]
    assert keys[0] == keys[1]
    assert len(set(keys[0])) == 2


@pytest.mark.parametrize(
    ("body", "headers", "now"),
    [
        (CHANGES + b" ", hubspot(CHANGES), NOW),
        (CHANGES, hubspot(CHANGES), NOW + 301),
        (CHANGES, hubspot(CHANGES), NOW - 301),
        (CHANGES, hubspot(CHANGES) | {"X-HubSpot-Request-Timestamp": str(NOW * 1000 + 1)}, NOW),
        (CHANGES, hubspot(CHANGES) | {"X-HubSpot-Request-Timestamp": str(NOW)}, NOW),
        (CHANGES, hubspot(CHANGES) | {"X-HubSpot-Request-Timestamp": "9" * 5000}, NOW),
        (CHANGES, hubspot(CHANGES) | {"X-HubSpot-Signature-v3": "A" * 100_000}, NOW),
        (CHANGES, {"X-HubSpot-Signature-v3": hubspot(CHANGES)["X-HubSpot-Signature-v3"]}, NOW),
        (CHANGES, {}, NOW),
    ],
)
def test_a_list_that_is_not_proved_is_refused(body: bytes, headers: dict[str, str], now: int) -> None:
    with pytest.raises(Rejected) as refused:
        listed("hubspot", headers, body, now)
    assert refused.value.status == 401


DEEP = b"[" * 300 + b"]" * 300


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{}", b"null", b"7", b"\xff", b"[1]", b"[null]", b"[[]]", b"[{}]", b'[{"subscriptionType":7}]', DEEP,
        CHANGES[:-1] + b",{}]", b"[" + b",".join([b'{"subscriptionType":"a"}'] * 5001) + b"]",
    ],
    ids=range(13),
)  # fmt: skip
def test_a_list_with_what_is_no_event_is_refused(body: bytes) -> None:
    with pytest.raises(Rejected) as refused:
        listed("hubspot", hubspot(body), body)
    assert refused.value.status == 400


def test_no_events_are_no_fault() -> None:
    assert listed("hubspot", hubspot(b"[]"), b"[]") == []
    most = b"[" + b",".join([b'{"subscriptionType":"a"}'] * 5000) + b"]"
    assert len(listed("hubspot", hubspot(most), most)) == 5000


def test_a_list_may_stand_inside() -> None:
    body = (
        b'{"data":{"events":[{"uuid":"u1","eventType":"user.session.start","published":"2019-03-28T19:16:31.446Z"}]}}'
    )
    (event,) = listed("okta", {"Authorization": "s"}, body)
    assert (event.type, event.id, event.time) == ("user.session.start", "u1", "2019-03-28T19:16:31.446Z")
    for headers in ({}, {"Authorization": "t"}, {"Authorization": ""}):
        with pytest.raises(Rejected) as refused:
            listed("okta", headers, body)
        assert refused.value.status == 401
    envelope = (
        b'{"sensor":"x","data":[{"type":"Person","id":"urn:p"},{"type":"ViewEvent","id":"urn:1","eventTime":"t"}]}'
    )
    found = listed("caliper", {"Authorization": "Bearer s"}, envelope)
    assert [(event.type, event.id) for event in found] == [("Person", None), ("ViewEvent", "urn:1")]


@pytest.mark.parametrize(("given", "answer"), [("s", b'{"verification": "abc"}'), ("other", 401), (None, 401)])
def test_the_question_for_the_address_is_answered_to_who_knows_the_secret(given: str | None, answer: Any) -> None:
    known = definition("okta")
    source = Source("okta", known, ["s"], answers=[Challenge(each, ["s"]) for each in known["challenge"]])
    headers = [(b"x-okta-verification-challenge", b"abc"), *([(b"authorization", given.encode())] if given else [])]
    if answer == 401:
        with pytest.raises(Rejected) as refused:
            source.answer_to_question(headers, b"")
        assert refused.value.status == 401
        return
    found = source.answer_to_question(headers, b"")
    assert found is not None
    assert found.body == answer


@pytest.mark.parametrize("name", ["hubspot", "okta", "caliper"])
def test_a_delivery_made_here_is_a_list(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = definition(name)
    monkeypatch.setattr("time.time", lambda: NOW)
    payload, headers = make_payload(known, "a.b", {"objectId": 7, "target": []}, "id-1", ())
    made = plain_delivery(known, payload, headers, "s", URL + known["path"])
    (event,) = listed(name, made.headers, made.body)
    assert event.type == "a.b"
    assert made.id == id_of(known, payload, headers) == ("" if event.id is None else "id-1")


LISTS = """
[source.many]
title  = "Many"
path   = "/many"
events = "payload"
type   = "payload.type"
id     = "payload.id"
body   = "payload"
hmac   = { header = "X-Lms-Signature", algorithm = "sha256", encoding = "hex", env = "LMS_SECRET" }

[event."many.any"]
source   = "many"
type     = "*"
category = "Many"

[event."many.strict"]
source   = "many"
type     = "strict"
category = "Many"
requires = "payload.right"

[route.all]
source = ["many"]
do     = [
  { handler = "append", file = "seen.ndjson" },
  { handler = "exec", run = ["sh", "-c", 'test "$0" != bad', "{event_type}"] },
]
"""


@pytest.mark.parametrize("kept", [False, True], ids=["at-once", "inbox"])
def test_the_sender_gets_one_answer_for_all(tmp_path: Path, kept: bool) -> None:
    def seen() -> list[str]:
        file = tmp_path / "own" / "seen.ndjson"  # beside its definition
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        return sorted(json.loads(line)["id"] for line in text.splitlines())

    given = ["--source", "many", *(["--inbox", "inbox.db"] if kept else [])]
    with listening(tmp_path, *given, definitions=LISTS, environ={"LMS_SECRET": SECRET}) as listener:

        def sent(*ids: str) -> int:
            body = json.dumps([{"type": id.partition("-")[0], "id": id} for id in ids]).encode()
            return listener.post(body, {HEADER: signature(body)}, "/many").status

        assert sent() == 200
        assert sent("good-1", "strict-1") == 400
        assert sent("good-2", "") == 400
        assert seen() == []
        assert sent("good-3", "good-4", "good-3") == 200
        until(lambda: len(seen()) >= 2, "both")
        assert sent("good-4", "good-5") == 200
        until(lambda: len(seen()) >= 3, "the new one")
        assert seen() == ["good-3", "good-4", "good-5"]
        assert sent("good-6", "bad-1", "good-7") == (200 if kept else 500)
        until(lambda: len(seen()) >= 6, "all")
        assert {"bad-1", "good-6", "good-7"} < set(seen())
        listener.logged("duplicate source=many type=good id=good-4")


def test_a_secret_out_of_a_file_answers_the_question_too(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("s3cret", encoding="utf-8")
    secret.chmod(0o600)
    catalog = open_catalog("lms", os.environ)
    try:
        settings = ProofSettings(catalog, {}, "LMS", print, is_shared=False)
        source = settings.make_source("okta", ((), (str(secret),), ()), None, "")
    finally:
        catalog.close()
    headers = [(b"x-okta-verification-challenge", b"abc"), (b"authorization", b"s3cret")]
    answer = source.answer_to_question(headers, b"")
    assert answer is not None
    assert b"abc" in answer.body
