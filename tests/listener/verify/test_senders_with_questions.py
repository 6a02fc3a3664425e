"""Senders whose proof stands in the body, or whose questions are answered with something computed.

What is signed here is signed by the words of each sender's documentation, with the standard library alone.
"""

from __future__ import annotations

import base64
import hmac
import json
import time
from typing import Any
from urllib.parse import urlencode

import pytest

from callsheet.listener.simulated_deliveries import make_payload, plain_delivery
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.proofs import are_signed
from callsheet.listener.verify.source import Challenge, Challenged, Source

from .test_senders import NOW, SECRET, URL, definition

# The example of Adyen's libraries: a key, an item and its signature.
ADYEN_KEY = "44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056"
ADYEN_SIGNATURE = "coqCmt/IZ4E3CzPvMY8zTjQVL5hYJUiBRg8UU+iCWo0="
ADYEN_ITEM = {
    "pspReference": "7914073381342284",
    "merchantAccountCode": "TestMerchant",
    "merchantReference": "TestPayment-1407325143704",
    "amount": {"value": 1130, "currency": "EUR"},
    "eventCode": "AUTHORISATION",
    "success": "true",
    "eventDate": "2014-08-06T17:15:34.121+02:00",
    "additionalData": {"hmacSignature": ADYEN_SIGNATURE},
}


def source(name: str, secret: str | None = SECRET) -> Source:
    known = definition(name)
    secrets = [secret] if secret else []
    return Source(name, known, secrets, None, [Challenge(each, secrets) for each in known.get("challenge", ())], URL)


def pairs(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


def receive(name: str, payload: Any, headers: dict[str, str] | None = None, secret: str | None = SECRET) -> Any:
    data = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    found = source(name, secret)
    read = found.receive_list if "events" in found.definition else found.receive_event
    return read(pairs(headers or {}), b"", data, NOW)


def status(name: str, payload: Any, headers: dict[str, str] | None = None, secret: str | None = SECRET) -> int:
    with pytest.raises(Rejected) as caught:
        receive(name, payload, headers, secret)
    return caught.value.status


def mac(message: str, algorithm: str = "sha256") -> hmac.HMAC:
    return hmac.new(SECRET.encode(), message.encode(), algorithm)


def zoom(body: bytes) -> dict[str, str]:
    signature = mac(f"v0:{NOW}:{body.decode()}").hexdigest()
    return {"x-zm-request-timestamp": str(NOW), "x-zm-signature": f"v0={signature}"}


def test_the_question_of_zoom_is_answered_with_what_its_secret_makes_of_it() -> None:
    body = b'{"payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event":"endpoint.url_validation"}'
    with pytest.raises(Challenged) as asked:
        receive("zoom", body, zoom(body))
    assert json.loads(asked.value.body) == {
        "plainToken": "qgg8vlvZRS6UYooatFL8Aw",
        "encryptedToken": mac("qgg8vlvZRS6UYooatFL8Aw").hexdigest(),
    }
    assert status("zoom", body) == 401  # nobody else is told what the secret makes of a text
    event = b'{"event":"meeting.started","event_ts":1626230691572,"payload":{"account_id":"A","object":{"id":"1"}}}'
    assert receive("zoom", event, zoom(event)).type == "meeting.started"
    assert status("zoom", event.replace(b"started", b"ended"), zoom(event)) == 401


def test_the_question_of_x_is_answered_by_get() -> None:
    found = source("x").answer_to_question([], b"crc_token=abc")
    assert found is not None
    answer = base64.b64encode(mac("abc").digest()).decode()
    assert json.loads(found.body) == {"response_token": f"sha256={answer}"}
    assert source("x").answer_to_question([], b"crc_token=abc", "HEAD") is None
    assert source("x", None).answer_to_question([], b"crc_token=abc") is None
    body = b'{"for_user_id":"1","tweet_create_events":[{"id_str":"2"}]}'
    signature = base64.b64encode(mac(body.decode()).digest()).decode()
    assert receive("x", body, {"x-twitter-webhooks-signature": f"sha256={signature}"}).type == "tweet_create_events"
    assert status("x", body + b" ", {"x-twitter-webhooks-signature": f"sha256={signature}"}) == 401


def test_the_question_of_graph_has_no_body_and_its_events_hold_the_secret() -> None:
    with pytest.raises(Challenged) as asked:
        source("msgraph").receive_list([], b"validationToken=Validation%3A+Testing+client", b"", NOW)
    assert (asked.value.body, asked.value.content_type) == (b"Validation: Testing client", b"text/plain; charset=utf-8")
    payload = {"value": [{"id": "1", "clientState": SECRET, "changeType": "updated", "resource": "Users/3"}]}
    (event,) = receive("msgraph", payload)
    assert (event.type, event.id) == ("updated", "1")
    for wrong in ("x", "", None, {"a": 1}, True):
        assert status("msgraph", {"value": [{**payload["value"][0], "clientState": wrong}]}) == 401
    assert status("msgraph", {"value": []}) == 401
    assert status("msgraph", b"no JSON") == 400


@pytest.mark.parametrize("name", ["trello", "mandrill"])
def test_what_is_asked_by_head_is_there(name: str) -> None:
    found = source(name).answer_to_question([], b"", "HEAD")
    assert found is not None
    assert found.body == b""
    assert source(name).answer_to_question([], b"") is None


def test_trello_signs_the_body_before_the_address() -> None:
    body = (
        b'{"action":{"id":"51f9","type":"updateCard","date":"2013-08-01T18:00:00.000Z","data":{"card":{}}},"model":{}}'
    )
    signature = base64.b64encode(mac(f"{body.decode()}{URL}/trello", "sha1").digest()).decode()
    event = receive("trello", body, {"X-Trello-Webhook": signature})
    assert (event.type, event.id) == ("updateCard", "51f9")
    assert status("trello", body.replace(b"51f9", b"51f8"), {"X-Trello-Webhook": signature}) == 401


def test_mandrill_sends_a_list_in_a_field_of_a_form() -> None:
    events = json.dumps([{"event": "open", "_id": "a1", "ts": 1, "msg": {}}, {"event": "click", "_id": "a1", "ts": 2}])
    body = urlencode({"mandrill_events": events}).encode()
    signature = base64.b64encode(mac(f"{URL}/mandrill" + "mandrill_events" + events, "sha1").digest()).decode()
    found = receive("mandrill", body, {"X-Mandrill-Signature": signature})
    assert [(each.type, each.id) for each in found] == [("open", "a1:open:1"), ("click", "a1:click:2")]
    assert status("mandrill", urlencode({"mandrill_events": "[]"}).encode(), {"X-Mandrill-Signature": signature}) == 401


def mailgun(**changed: Any) -> dict[str, Any]:
    token = "a8ce0edb2dd8301dee6c2405235584e45aa91d1e9f979f3de0"
    signature = {"timestamp": str(NOW), "token": token, "signature": mac(f"{NOW}{token}").hexdigest()}
    return {"signature": {**signature, **changed}, "event-data": {"event": "opened", "id": "Ase7i2zsRYeDXztHGENqRA"}}


def test_mailgun_signs_a_time_and_a_token_in_the_body() -> None:
    event = receive("mailgun", mailgun())
    assert (event.type, event.record["body"]["id"]) == ("opened", "Ase7i2zsRYeDXztHGENqRA")
    other = {**mailgun(), "event-data": {"event": "failed"}}
    assert receive("mailgun", other).key == event.key  # so that it is taken for a repetition
    assert status("mailgun", mailgun(token="other")) == 401
    assert status("mailgun", mailgun(timestamp=str(NOW - 3600))) == 401
    assert status("mailgun", mailgun(signature="")) == 401
    assert status("mailgun", {"event-data": {"event": "opened"}}) == 401
    assert status("mailgun", b"[1]") == 401


def test_the_example_of_adyen_is_genuine_and_another_amount_is_not() -> None:
    def payload(**changed: Any) -> dict[str, Any]:
        return {"live": "false", "notificationItems": [{"NotificationRequestItem": {**ADYEN_ITEM, **changed}}]}

    event = receive("adyen", payload(), secret=ADYEN_KEY)
    assert (event.type, event.id) == ("AUTHORISATION", "7914073381342284")
    for changed in ({"amount": {"value": 1, "currency": "EUR"}}, {"success": "false"}, {"pspReference": "1"}):
        assert status("adyen", payload(**changed), secret=ADYEN_KEY) == 401
    assert status("adyen", {"notificationItems": []}, secret=ADYEN_KEY) == 401


@pytest.mark.parametrize("name", ["zoom", "x", "trello", "mandrill", "msgraph", "mailgun", "adyen"])
def test_what_is_sent_to_try_a_listener_is_genuine(name: str) -> None:
    known, secret = definition(name), ADYEN_KEY if name == "adyen" else SECRET
    payload, headers = make_payload(known, "test", {"id": "1"}, "e-1", ())
    sent = plain_delivery(known, payload, headers, secret, f"{URL}{known['path']}")
    found = source(name, secret)
    read = found.receive_list if "events" in found.definition else found.receive_event
    event = read(pairs(sent.headers), b"", sent.body, time.time())
    assert (event[0] if isinstance(event, list) else event).type == ("test" if name != "x" else "tweet_create_events")


def test_where_members_are_signed_only_those_are_proved() -> None:
    assert are_signed("payload.a", "{payload.a}:{payload.b}")
    assert not are_signed("payload.c", "{payload.a}:{payload.b}")
