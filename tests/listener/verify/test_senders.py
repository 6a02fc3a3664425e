"""The senders that are shipped: deliveries as their documentation makes them, and what must be refused of each.

`SENDERS` signs by the words of each sender's documentation with the standard library alone, and not by our definitions.
"""

from __future__ import annotations

import base64
import hmac
import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.listener.simulated_deliveries import make_payload, plain_delivery
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.proofs import Signature
from callsheet.listener.verify.source import Source

NOW = 1_700_000_000
SECRET = "c2VjcmV0LXRoYXQtaXMtbG9uZw=="
URL = "https://hooks.example.com"
ISO = datetime.fromtimestamp(NOW, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
UUID = "2174add1-f7c8-44e3-bbf3-2d60b5ea8bc9"
Headers = dict[str, str]


def definition(name: str) -> Any:
    catalog = open_catalog("lms", os.environ)
    try:
        return catalog.sources.get(name)
    finally:
        catalog.close()


def mac(message: bytes, algorithm: str = "sha256", key: bytes = SECRET.encode()) -> hmac.HMAC:
    return hmac.new(key, message, algorithm)


def in_hex(message: bytes, algorithm: str = "sha256") -> str:
    return mac(message, algorithm).hexdigest()


def in_base64(message: bytes, key: bytes = SECRET.encode()) -> str:
    return base64.b64encode(mac(message, key=key).digest()).decode()


def svix(body: bytes) -> Headers:
    key = base64.b64decode(SECRET)
    signature = in_base64(b"msg_1.%d.%s" % (NOW, body), key)
    return {"svix-id": "msg_1", "svix-timestamp": str(NOW), "svix-signature": f"v1,{'A' * 44} v1,{signature}"}


class Sender(NamedTuple):
    headers: Callable[[bytes], Headers]
    body: bytes
    type: str
    id: str | None
    time: Any
    signs_time: bool = False


SENDERS = {
    "pagerduty": Sender(
        lambda body: {"X-PagerDuty-Signature": f"v1={'0' * 64},v1={in_hex(body)}", "X-Webhook-Id": "P1"},
        b'{"event":{"id":"5ac64822","event_type":"incident.priority_updated","occurred_at":"2020-10-02T18:45:22.169Z",'
        b'"data":{"id":"PGR0VU2","number":2}}}',
        "incident.priority_updated", "5ac64822", "2020-10-02T18:45:22.169Z",
    ),
    "bitbucket": Sender(
        lambda body: {"X-Hub-Signature": f"sha256={in_hex(body)}", "X-Event-Key": "repo:push", "X-Request-UUID": UUID},
        b'{"push":{"changes":[]},"repository":{"full_name":"team/repo"}}',
        "repo:push", UUID, None,
    ),
    "bitbucket-datacenter": Sender(
        lambda body: {"X-Hub-Signature": f"sha256={in_hex(body)}", "X-Event-Key": "other", "X-Request-Id": UUID},
        b'{"eventKey":"pr:opened","date":"2017-09-19T09:58:11+1000","pullRequest":{"id":1}}',
        "pr:opened", UUID, "2017-09-19T09:58:11+1000",
    ),
    "linear": Sender(
        lambda body: {"Linear-Signature": in_hex(body), "Linear-Delivery": UUID, "Linear-Event": "Issue"},
        b'{"action":"create","type":"Issue","createdAt":"2020-01-23T12:53:18.084Z","data":{"id":"1"},'
        b'"webhookTimestamp":1676056940508,"webhookId":"2"}',
        "Issue.create", UUID, "2020-01-23T12:53:18.084Z",
    ),
    "zendesk": Sender(
        lambda body: {
            "X-Zendesk-Webhook-Signature": in_base64(ISO.encode() + body),
            "X-Zendesk-Webhook-Signature-Timestamp": ISO,
        },
        b'{"type":"zen:event-type:ticket.created","id":"cbe4028c","time":"2022-06-01T00:00:00Z",'
        b'"zendesk_event_version":"2022-06-20","detail":{"id":"12"}}',
        "zen:event-type:ticket.created", "cbe4028c", "2022-06-01T00:00:00Z", signs_time=True,
    ),
    "intercom": Sender(
        lambda body: {"X-Hub-Signature": f"sha1={in_hex(body, 'sha1')}"},
        b'{"type":"notification_event","id":"notif_78c122d0","topic":"user.created","created_at":1392731331,'
        b'"data":{"type":"notification_event_data","item":{"type":"user","id":"5303"}}}',
        "user.created", "notif_78c122d0", 1392731331,
    ),
    "square": Sender(
        lambda body: {"X-Square-HmacSha256-Signature": in_base64(f"{URL}/square".encode() + body)},
        b'{"merchant_id":"6SSW","type":"payment.updated","event_id":"13b867cf","created_at":"2020-02-06T21:27:34.308Z",'
        b'"data":{"type":"payment","id":"Kk"}}',
        "payment.updated", "13b867cf", "2020-02-06T21:27:34.308Z",
    ),
    "svix": Sender(
        svix, b'{"type":"invoice.paid","timestamp":"2022-11-03T20:26:10.344522Z","data":{"id":"1f81"}}',
        "invoice.paid", "msg_1", "2022-11-03T20:26:10.344522Z", signs_time=True,
    ),
}  # fmt: skip
NAMES = list(SENDERS)


def received(name: str, headers: Any, body: bytes, now: float = NOW, secret: str = SECRET) -> Any:
    pairs = [(each.lower().encode(), value.encode()) for each, value in dict(headers).items()]
    return Source(name, definition(name), [secret], public_url=URL).receive_event(pairs, b"", body, now)


def refused(name: str, headers: Any, body: bytes, now: float = NOW, secret: str = SECRET) -> int:
    with pytest.raises(Rejected) as caught:
        received(name, headers, body, now, secret)
    return caught.value.status


@pytest.mark.parametrize("name", NAMES)
def test_a_delivery_as_the_sender_makes_it_is_its_event(name: str) -> None:
    sender = SENDERS[name]
    event = received(name, sender.headers(sender.body), sender.body)
    assert (event.type, event.id, event.time) == (sender.type, sender.id, sender.time)
    assert event.record["body"]


@pytest.mark.parametrize("name", NAMES)
def test_what_was_changed_on_its_way_is_refused(name: str) -> None:
    sender = SENDERS[name]
    headers = sender.headers(sender.body)
    assert refused(name, headers, sender.body + b" ") == 401
    assert refused(name, headers, sender.body.replace(b'":"', b'":"0', 1)) == 401
    assert refused(name, headers, sender.body, secret="b3RoZXI=") == 401
    assert refused(name, {}, sender.body) == 401
    for header, value in headers.items():
        if header.lower() != str(definition(name)["hmac"]["header"]).lower():
            continue
        for wrong in ("", value[:-1], value[:-3] + "é=", "v1=,sha256=", value[:10] * 5000, "\x00"):
            assert refused(name, {**headers, header: wrong}, sender.body) == 401


@pytest.mark.parametrize("name", [name for name in NAMES if SENDERS[name].signs_time])
def test_an_old_delivery_is_refused(name: str) -> None:
    sender = SENDERS[name]
    headers = sender.headers(sender.body)
    for now in (NOW + 299, NOW - 299):
        received(name, headers, sender.body, now)
    for now in (NOW + 301, NOW - 301):
        assert refused(name, headers, sender.body, now) == 401
    stamp = definition(name)["hmac"]["timestamp"]["header"]
    there = next(header for header in headers if header.lower() == stamp.lower())
    for wrong in ("", "now", "9" * 5000, str(NOW + 1), "-1", "²"):
        assert refused(name, {**headers, there: wrong}, sender.body) == 401


@pytest.mark.parametrize("name", NAMES)
def test_two_headers_are_two_signatures_of_which_one_has_to_be_right(name: str) -> None:
    sender = SENDERS[name]
    proof = definition(name)["hmac"]["header"].lower().encode()
    pairs = [(each.lower().encode(), value.encode()) for each, value in sender.headers(sender.body).items()]
    wrong = [(header, b"v1,v1=sha256=sha1=AAAA") for header, _ in pairs if header == proof]
    source = Source(name, definition(name), [SECRET], public_url=URL)
    assert source.receive_event([*pairs, *wrong], b"", sender.body, NOW).type == sender.type
    others = [pair for pair in pairs if pair[0] != proof]
    with pytest.raises(Rejected):
        source.receive_event([*others, *wrong, *wrong], b"", sender.body, NOW)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{}", b'{"type":1,"action":[2],"event":3,"topic":{},"eventKey":[],"data":4}', b"\xff"],
)
def test_a_proved_body_that_is_no_event_is_no_error_of_ours(name: str, body: bytes) -> None:
    """Whatever a sender proves, it is an event or is refused with 400."""
    statuses = []
    try:
        event = received(name, SENDERS[name].headers(body), body)
        assert isinstance(event.type, str)
        assert isinstance(event.record, dict)
    except Rejected as found:
        statuses.append(found.status)
    assert statuses in ([], [400])


@pytest.mark.parametrize("name", NAMES)
def test_a_delivery_made_here_is_what_the_listener_takes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = definition(name)
    monkeypatch.setattr("time.time", lambda: NOW)
    type_ = "Issue.update" if name == "linear" else "a:kind.of"
    payload, headers = make_payload(known, type_, {"text": "Hällo"}, "id-1", ())
    made = plain_delivery(known, payload, headers, SECRET, URL + known["path"])
    event = received(name, made.headers, made.body)
    assert (event.type, event.id) == (type_, "id-1")


def test_a_repetition_is_the_same_event_though_its_time_of_sending_differs() -> None:
    sender = SENDERS["linear"]
    later = sender.body.replace(b"1676056940508", b"1676056999999")
    first, second = (received("linear", sender.headers(body), body) for body in (sender.body, later))
    assert first.key == second.key


def test_a_body_of_ones_own_is_no_known_event() -> None:
    """What a trigger sends has the fields that its writer chose: an id in it stands in many events."""
    bodies = (b'{"id": "12", "status": "open"}', b'{"id": "12", "status": "solved"}')
    events = [received("zendesk", SENDERS["zendesk"].headers(body), body) for body in bodies]
    assert [event.type for event in events] == ["custom", "custom"]
    assert events[0].key != events[1].key


def test_a_connection_that_is_tried_has_a_type() -> None:
    body = b'{"test": true}'
    event = received("bitbucket-datacenter", SENDERS["bitbucket-datacenter"].headers(body), body)
    assert event.type == "diagnostics:ping"


def test_the_published_example_of_a_signed_body() -> None:
    proof = Signature(definition("bitbucket")["hmac"], ["It's a Secret to Everybody"])
    published = b"sha256=a4771c39fbe90f317c7824e83ddef3caae9cb3d976c214ace1f2937e133263c9"
    proof.check_delivery([(b"x-hub-signature", published)], b"Hello World!", NOW)
    with pytest.raises(Rejected):
        proof.check_delivery([(b"x-hub-signature", published)], b"Hello World", NOW)


TIMED: Any = {
    "header": "S", "algorithm": "sha256", "encoding": "hex", "signed": "{timestamp}.{body}",
    "timestamp": {"header": "T"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "fits"),
    [
        ("1700000000", True),
        ("1700000000000", True),
        ("1700000000999", True),
        ("2023-11-14T22:13:20Z", True),
        ("2023-11-14T22:13:20.123456789Z", True),
        ("2023-11-15T00:13:20+02:00", True),
        ("1700000301000", False),
        ("1700000000000000", False),
        ("2023-11-14T22:13:20", False),
        ("2023-11-14 22:13:20Z", False),
        ("2023-11-14T22:19:20Z", False),
        ("2023-02-30T22:13:20Z", False),
        ("2023-11-14T22:13:20+99:99", False),
        ("0001-01-01T00:00:00+23:59", False),
        ("2023-W46-2T22:13:20Z", False),
        ("1.7e9", False),
        (" ", False),
        ("", False),
    ],
)
def test_a_time_of_signing_is_in_seconds_milliseconds_or_iso_8601(written: str, fits: bool) -> None:
    signature = in_hex(f"{written}.x".encode()).encode()
    headers = [(b"s", signature), (b"t", written.encode())]
    if fits:
        Signature(TIMED, [SECRET]).check_delivery(headers, b"x", NOW)
        return
    with pytest.raises(Rejected) as refused:
        Signature(TIMED, [SECRET]).check_delivery(headers, b"x", NOW)
    assert refused.value.status == 401


STRUCTURED = (
    b'{"specversion":"1.0","type":"com.example.some","source":"/mycontext","id":"A234","time":"t","data":{"a":1}}'
)
BINARY = {
    "Content-Type": "application/json", "ce-specversion": "1.0", "ce-type": "com.example.some", "ce-time": "t",
    "ce-id": "A234", "ce-source": "/mycontext",
}  # fmt: skip
AZURE = b'{"id":"03c164c2","eventType":"workitem.created","createdDate":"t","resource":{"a":1}}'


@pytest.mark.parametrize(
    ("name", "token", "headers", "body", "type_", "id_"),
    [
        (
            "cloudevents", {"Authorization": f"Bearer {SECRET}"},
            {"Content-Type": "application/cloudevents+json; charset=UTF-8", "ce-type": "other"}, STRUCTURED,
            "com.example.some", "/mycontext A234",
        ),
        (
            "cloudevents", {"Authorization": f"Bearer {SECRET}"}, BINARY, b'{"a":1}',
            "com.example.some", "/mycontext A234",
        ),
        ("azure-devops", {"X-Webhook-Token": SECRET}, {}, AZURE, "workitem.created", "03c164c2"),
    ],
)  # fmt: skip
def test_who_sends_a_token_is_believed(
    name: str, token: Headers, headers: Headers, body: bytes, type_: str, id_: str
) -> None:
    event = received(name, {**headers, **token}, body)
    assert (event.type, event.id, event.time, event.record["body"]) == (type_, id_, "t", {"a": 1})
    (header, secret), *_ = token.items()
    for wrong in ("", secret[:-1], secret + "x", "Bearer ", "x" * 100_000, SECRET.upper()):
        assert refused(name, {**headers, header: wrong}, body) == 401
    assert refused(name, headers, body) == 401
    for no_event in (b"", b"[]", b"null", b"\xff", *([b"{}", b'{"eventType":[1],"id":{}}'] if not headers else [])):
        assert refused(name, {**headers, **token}, no_event) == 400


def test_cloudevents_without_an_id_are_told_apart_by_what_they_say() -> None:
    token = {"Authorization": f"Bearer {SECRET}"}
    binary = {"ce-specversion": "1.0", "ce-type": "t.a", **token}
    one, other = (received("cloudevents", binary, b'{"n":%d}' % number) for number in (1, 2))
    assert one.id is None
    assert one.key != other.key
    structured = {**token, "Content-Type": "Application/CloudEvents+JSON"}
    event = received("cloudevents", structured, STRUCTURED.replace(b'{"a":1}', b"{}"))
    assert (event.type, event.id, event.record["body"]) == ("com.example.some", "/mycontext A234", {})


def test_a_structured_event_without_its_type_has_none() -> None:
    headers = {"Content-Type": "application/cloudevents+json", "Authorization": f"Bearer {SECRET}"}
    for body in (b"{}", b'{"type":1}', b'{"data":{"type":"a"}}'):
        assert refused("cloudevents", headers, body) == 400
