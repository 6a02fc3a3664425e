"""Sources with other proofs than an HMAC of the body: their published examples, and what must be refused."""

from __future__ import annotations

import os
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.errors import UsageError
from callsheet.listener.simulated_deliveries import make_payload, plain_delivery
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.proofs import PublicKeySignature
from callsheet.listener.verify.source import Challenge, Challenged, Source

NOW = 1_700_000_000


def definition(name: str) -> Any:
    catalog = open_catalog("lms", os.environ)
    try:
        return catalog.sources.get(name)
    finally:
        catalog.close()


def lower(headers: dict[str, str]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode()) for name, value in headers.items()]


FORM = "application/x-www-form-urlencoded"
SLACK_COMMAND = (
    b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar"
    b"&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com"
    b"%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121."
    b"803a0bc887a14d10d2c447fce8b6703c"
)
TWILIO_CALL = b"CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212"
SHOPIFY = b'{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}'
# source, secret, public address, query, headers, body, time of signing, type of the event
VECTORS = [
    (
        "slack", "8f742231b10e8888abcd99yyyzzz85a5", "", b"",
        {
            "X-Slack-Signature": "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503",
            "X-Slack-Request-Timestamp": "1531420618", "Content-Type": FORM,
        },
        SLACK_COMMAND, 1531420618, "slash_command",
    ),
    (
        "twilio", "12345", "https://mycompany.com", b"foo=1&bar=2",
        {"X-Twilio-Signature": "RSOYDt4T1cUTdK1PDd93/VVr8B8=", "Content-Type": FORM},
        TWILIO_CALL, 0, "event",
    ),
    (
        "shopify", "test-webhook-secret", "", b"",
        {"X-Shopify-Hmac-Sha256": "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw=", "X-Shopify-Topic": "orders/create"},
        SHOPIFY, 0, "orders/create",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "secret", "public_url", "query", "headers", "body", "now", "type_"), VECTORS, ids=[v[0] for v in VECTORS]
)
def test_the_published_example_is_an_event(
    name: str, secret: str, public_url: str, query: bytes, headers: dict[str, str], body: bytes, now: int, type_: str
) -> None:
    known = definition(name)
    if name == "twilio":
        known = {**known, "path": "/myapp.php"}
    source = Source(name, known, [secret], public_url=public_url)
    event = source.receive_event(lower(headers), query, body, now)
    assert event.type == type_
    for wrong in (
        (lower(headers), query, body.replace(b"1", b"2", 1)),
        (lower({**headers, "Content-Type": FORM}), query, body + b"&x=1"),
        ([], query, body),
        *([(lower(headers), b"foo=1&bar=3", body)] if query else []),
    ):
        with pytest.raises(Rejected) as refused:
            source.receive_event(*wrong, now)
        assert refused.value.status == 401


# RFC 8032, section 7.1, test 2: a message of one byte.
RFC_KEY = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
RFC_SIGNATURE = (
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)
# From the tests of the vendor's own library.
MAIL_KEY = (
    "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfS"
    "mpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g=="
)
MAIL_SIGNATURE = "MEUCIGHQVtGj+Y3LkG9fLcxf3qfI10QysgDWmMOVmxG0u6ZUAiEAyBiXDWzM+uOe5W0JuG+luQAbPIqHh89M15TluLtEZtM="
MAIL_BODY = (
    b'[{"email":"hello@world.com","event":"dropped","reason":"Bounced Address","sg_event_id":"ZHJvcC0xMDk5NDkxOS1MUnpY'
    b'bF9OSFN0T0doUTRrb2ZTbV9BLTA","sg_message_id":"LRzXl_NHStOGhQ4kofSm_A.filterdrecv-p3mdw1-756b745b58-kmzbl-18-5F5'
    b'FC76C-9.0","smtp-id":"<LRzXl_NHStOGhQ4kofSm_A@ismtpd0039p1iad1.sendgrid.net>","timestamp":1600112492}]\r\n'
)
ED25519: Any = {"header": "S", "algorithm": "ed25519", "encoding": "hex", "key": {"encoding": "hex"}}
ECDSA: Any = {
    "header": "S", "algorithm": "ecdsa-p256-sha256", "encoding": "base64", "key": {"encoding": "base64"},
    "signed": "{timestamp}{body}", "timestamp": {"header": "T"},
}  # fmt: skip


def test_published_signatures_pass_and_nothing_else() -> None:
    PublicKeySignature(ED25519, ["aa" * 32, RFC_KEY]).check_delivery([(b"s", RFC_SIGNATURE.encode())], b"\x72", NOW)
    mail = PublicKeySignature(ECDSA, [MAIL_KEY])
    headers = [(b"s", MAIL_SIGNATURE.encode()), (b"t", b"1600112502")]
    mail.check_delivery(headers, MAIL_BODY, 1600112502)
    for body, now, signature in (
        (MAIL_BODY + b" ", 1600112502, MAIL_SIGNATURE),
        (MAIL_BODY, 1600112502 + 301, MAIL_SIGNATURE),
        (MAIL_BODY, 1600112502, MAIL_SIGNATURE[:-8]),
        (MAIL_BODY, 1600112502, "ü"),
        (MAIL_BODY, 1600112502, ""),
    ):
        with pytest.raises(Rejected):
            mail.check_delivery([(b"s", signature.encode()), (b"t", b"1600112502")], body, now)


def test_a_key_in_its_standard_envelope_is_the_same_key() -> None:
    """Of 32 bytes, or wrapped as other tools write it (RFC 8410)."""
    wrapped = "302a300506032b6570032100" + RFC_KEY
    proof = PublicKeySignature(ED25519, [wrapped, "aa" * 32])
    proof.check_delivery([(b"s", RFC_SIGNATURE.encode())], b"\x72", NOW)
    assert proof.summary == "signatures in S, 2 public keys"
    assert PublicKeySignature(ED25519, [RFC_KEY, RFC_KEY]).summary == "signatures in S, 1 public key"


@pytest.mark.parametrize("table", [ED25519, ECDSA], ids=["ed25519", "ecdsa"])
@pytest.mark.parametrize("secret", ["zz", "", "00", "ab" * 31, MAIL_KEY, RFC_KEY, RFC_KEY + "\n"])
def test_what_is_no_public_key_of_that_kind_is_refused(table: Any, secret: str) -> None:
    fits = {RFC_KEY: ED25519, MAIL_KEY: ECDSA}.get(secret)
    if fits is table:
        PublicKeySignature(table, [secret])
        return
    with pytest.raises(UsageError) as refused:
        PublicKeySignature(table, [secret])
    assert not secret.strip() or secret.strip() not in str(refused.value)


@pytest.mark.parametrize(
    ("table", "headers", "query", "genuine"),
    [
        ({"header": "X-Gitlab-Token"}, {"X-Gitlab-Token": "s3cret"}, b"", True),
        ({"header": "X-Gitlab-Token"}, {"X-Gitlab-Token": "s3cre"}, b"", False),
        ({"header": "X-Gitlab-Token"}, {"X-Gitlab-Token": ""}, b"", False),
        ({"header": "X-Gitlab-Token"}, {}, b"X-Gitlab-Token=s3cret", False),
        ({"header": "Authorization", "prefix": "Bearer "}, {"Authorization": "bearer s3cret"}, b"", True),
        ({"header": "Authorization", "prefix": "Bearer "}, {"Authorization": "Basic s3cret"}, b"", False),
        ({"header": "Authorization", "prefix": "Bearer "}, {"Authorization": "s3cret"}, b"", False),
        ({"query": "token"}, {}, b"a=1&token=s3cret", True),
        ({"query": "token"}, {}, b"a=1&token=s3cret2", False),
        ({"query": "token"}, {"token": "s3cret"}, b"", False),
    ],
)
def test_a_plain_token_is_the_whole_secret_at_its_place(
    table: Any, headers: dict[str, str], query: bytes, genuine: bool
) -> None:
    source = Source("x", {"title": "X", "path": "/x", "type": "payload.type", "token": table}, ["other", "s3cret"])
    if genuine:
        assert source.receive_event(lower(headers), query, b'{"type": "a"}', NOW).type == "a"
        return
    with pytest.raises(Rejected) as refused:
        source.receive_event(lower(headers), query, b'{"type": "a"}', NOW)
    assert refused.value.status == 401
    assert "s3cret" not in refused.value.detail


SEED = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
SECRETS = {"standard": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"}


@pytest.mark.parametrize("name", ["gitlab", "slack", "shopify", "twilio", "discord", "meta", "github", "standard"])
def test_a_delivery_made_here_is_an_event(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = definition(name)
    secret = SEED if "public_key" in known else SECRETS.get(name, "a secret")
    monkeypatch.setattr("time.time", lambda: NOW)
    payload, headers = make_payload(known, "message", {"text": "Hällo & more", "from": "+1"}, "id-1", ())
    if name == "discord":  # the public half of the seed, made by the library
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        raw = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(secret)).public_key().public_bytes_raw()
        kept = raw.hex()
    else:
        kept = secret
    made = plain_delivery(known, payload, headers, secret, "https://hooks.example.com/hook" + known["path"])
    source = Source(name, known, [kept], public_url="https://hooks.example.com/hook")
    event = source.receive_event(lower(made.headers), b"", made.body, NOW)
    assert event.type == "message"
    assert (event.id is None) == ("id" not in known)


def test_a_form_holds_fields_or_json() -> None:
    known: Any = {"title": "X", "path": "/x", "type": "payload.type", "content": "any", "form_field": "payload"}
    source = Source("x", known)
    form = [(b"content-type", b"application/json")]  # not signed, so not looked at
    assert source.receive_event(form, b"", b"type=a&n=1&n=2&e=", NOW).payload == {"type": "a", "n": "2", "e": ""}
    event = source.receive_event(form, b"", b"payload=%7B%22type%22%3A%22b%22%2C%22n%22%3A1.10%7D", NOW)
    assert event.type == "b"
    assert event.text == b'{"type":"b","n":1.10}'
    assert source.receive_event([], b"", b'{"type": "c"}', NOW).type == "c"
    for body in (b"type", b"=&=", b"type=a&" + b"&".join(b"f=%d" % n for n in range(1001)), b"type=\xff", b"payload=1"):
        with pytest.raises(Rejected) as refused:
            source.receive_event(form, b"", body, NOW)
        assert refused.value.status == 400


def asked(name: str, payload: bytes, secret: str | None = None) -> Challenged:
    known = definition(name)
    questions = [Challenge(each, ["verify me"]) for each in known["challenge"]]
    with pytest.raises(Challenged) as found:
        Source(name, known, [secret] if secret else (), answers=questions).receive_event([], b"", payload, NOW)
    return found.value


def test_a_sender_that_asks_is_answered() -> None:
    slack = asked("slack", b'{"token":"x","challenge":"3eZbrw1a","type":"url_verification"}')
    assert (slack.body, slack.content_type) == (b"3eZbrw1a", b"text/plain; charset=utf-8")
    assert asked("discord", b'{"version":1,"application_id":"1","type":0}').body == b""
    with pytest.raises(Rejected) as refused:  # a question is proved as events are
        asked("slack", b'{"challenge":"x","type":"url_verification"}', "a secret")
    assert refused.value.status == 401


@pytest.mark.parametrize(
    ("query", "secrets", "answer"),
    [
        (b"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=verify+me", ["verify me"], b"1158201444"),
        (b"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=verify", ["verify me"], 401),
        (b"hub.mode=subscribe&hub.challenge=1158201444", ["verify me"], 401),
        (b"hub.mode=subscribe&hub.challenge=%s&hub.verify_token=verify+me" % (b"1" * 5000), ["verify me"], 400),
        (b"hub.mode=subscribe&hub.challenge=1&hub.verify_token=", [], None),
        (b"hub.challenge=1&hub.verify_token=verify+me", ["verify me"], None),
        (b"", ["verify me"], None),
    ],
)
def test_a_question_in_a_get_needs_its_token(query: bytes, secrets: list[str], answer: bytes | int | None) -> None:
    known = definition("meta")
    source = Source("meta", known, ["x"], answers=[Challenge(each, secrets) for each in known["challenge"]])
    if isinstance(answer, int):
        with pytest.raises(Rejected) as refused:
            source.answer_to_question([], query)
        assert refused.value.status == answer
        return
    found = source.answer_to_question([], query)
    assert (found and found.body) == answer


def test_tokens_alone_make_their_headers_credible() -> None:
    """What a signature does not cover is not believed; a token covers nothing and proves who sent everything."""
    assert Source("gitlab", definition("gitlab"), ["s"]).id_is_signed
    assert not Source("shopify", definition("shopify"), ["s"]).id_is_signed


def test_the_published_list_of_events_is_its_events() -> None:
    headers = {
        "X-Twilio-Email-Event-Webhook-Signature": MAIL_SIGNATURE,
        "X-Twilio-Email-Event-Webhook-Timestamp": "1600112502",
    }
    source = Source("sendgrid", definition("sendgrid"), [MAIL_KEY])
    (event,) = source.receive_list(lower(headers), b"", MAIL_BODY, 1600112502)
    assert (event.type, event.id, event.time) == (
        "dropped",
        "ZHJvcC0xMDk5NDkxOS1MUnpYbF9OSFN0T0doUTRrb2ZTbV9BLTA",
        1600112492,
    )
    for body, now in ((MAIL_BODY.replace(b"dropped", b"opened"), 1600112502), (MAIL_BODY, 1600112502 + 26 * 3600)):
        with pytest.raises(Rejected) as refused:
            source.receive_list(lower(headers), b"", body, now)
        assert refused.value.status == 401
