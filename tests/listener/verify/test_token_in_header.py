"""Tokens beside a body: Pub/Sub and Google Chat. A genuine token of somebody else proves nothing."""

from __future__ import annotations

import json
import time
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from callsheet.listener.recent_deliveries import proof_steps
from callsheet.listener.simulated_deliveries import TokenSigner, make_payload
from callsheet.listener.verify.key_set import read_keys
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.source import Source

from .test_senders import definition

ACCOUNT = "push@myproject.iam.gserviceaccount.com"
CLAIMS = {"pubsub": {"aud": ["https://me"], "email": [ACCOUNT]}, "google-chat": {"aud": ["1234567890"]}}
BODY = b'{"message":{"data":"SGk=","messageId":"2070443601311540","publishTime":"2021-02-26T19:13:55Z"},"type":"ADDED"}'
SIGNER = TokenSigner(rsa.generate_private_key(public_exponent=65537, key_size=2048))


class Keys:
    """Those of the signer, as a fetched set has them."""

    def find_key(self, kid: str | None, algorithm: str) -> Any:
        assert kid is not None
        return read_keys(SIGNER.key_set, frozenset({"RS256"}))[(kid, algorithm)]


def source(name: str) -> Source:
    keys: Any = Keys()
    return Source(name, definition(name), keys=keys, claims=CLAIMS[name])


def received(name: str, value: bytes | None, body: bytes = BODY) -> Any:
    headers = [(b"authorization", value)] if value is not None else []
    return source(name).receive_event(headers, b"", body, time.time())


def token(name: str, **changed: Any) -> bytes:
    known = {claim: values[0] for claim, values in CLAIMS[name].items()}
    claims = {"iss": definition(name)["jwt"]["issuer"][0], "exp": int(time.time()) + 60, **known}
    claims |= {**definition(name)["jwt"].get("constants", {}), **changed}
    claims = {claim: value for claim, value in claims.items() if value is not None}
    return b"Bearer " + jwt.encode(claims, SIGNER.key, "RS256", {"kid": SIGNER.kid}).encode()


@pytest.mark.parametrize("name", list(CLAIMS))
def test_a_genuine_token_beside_the_body_proves_who_sends(name: str) -> None:
    event = received(name, token(name))
    assert event.type == ("message" if name == "pubsub" else "ADDED")
    assert received(name, token(name).replace(b"Bearer", b"bearer")).type == event.type
    assert received("pubsub", token("pubsub")).id == "2070443601311540"


@pytest.mark.parametrize("name", list(CLAIMS))
@pytest.mark.parametrize(
    "changed",
    [{"aud": "https://other"}, {"aud": None}, {"aud": ["x"]}, {"iss": "https://evil.example"}, {"exp": 1}],
)
def test_a_token_that_is_meant_for_another_is_refused(name: str, changed: dict[str, Any]) -> None:
    with pytest.raises(Rejected) as caught:
        received(name, token(name, **changed))
    assert caught.value.status == 401


@pytest.mark.parametrize("email", ["other@project.iam.gserviceaccount.com", None, 7, {"a": 1}])
def test_a_token_of_another_account_is_refused(email: Any) -> None:
    with pytest.raises(Rejected, match="claim email"):
        received("pubsub", token("pubsub", email=email))


@pytest.mark.parametrize("verified", [False, None, "", 1])
def test_a_token_whose_address_nobody_verified_is_refused(verified: Any) -> None:
    with pytest.raises(Rejected, match="claim email_verified"):
        received("pubsub", token("pubsub", email_verified=verified))


@pytest.mark.parametrize("value", [None, b"", b"Bearer ", b"Basic abc", b"Bearer a.b.c", BODY])
def test_a_delivery_without_a_token_is_refused(value: bytes | None) -> None:
    with pytest.raises(Rejected) as caught:
        received("pubsub", value)
    assert caught.value.status == 401


@pytest.mark.parametrize("name", list(CLAIMS))
def test_what_is_sent_to_try_a_listener_is_genuine(name: str) -> None:
    known = definition(name)
    payload, headers = make_payload(known, "test", {"data": "", "message": {}}, "e-1", ())
    proving = {claim: values[0] for claim, values in CLAIMS[name].items()}
    sent = SIGNER.make_token(known, payload, headers, "http://127.0.0.1/", proving)
    assert received(name, sent.headers["Authorization"].encode(), sent.body).type == "test"


def test_the_page_says_what_is_wrong_with_a_token_beside_the_body() -> None:
    def steps(value: bytes | None) -> list[str]:
        headers = [(b"authorization", value)] if value is not None else []
        return [step["text"] for step in proof_steps(source("pubsub"), headers, b"", BODY, time.time())][1:]

    named = f"a token: alg=RS256 kid={SIGNER.kid}"
    assert steps(None) == ["no token in Authorization"]
    assert steps(b"Bearer abc") == ["Authorization is not a signed token (JWT): it has no header that can be read"]
    assert steps(token("pubsub", aud=None)) == [named, "there is no claim aud"]
    assert steps(token("pubsub", aud="https://other")) == [named, "claim aud is 'https://other'"]
    assert steps(token("pubsub")) == [named, "signature and claims of the token"]


def test_a_live_event_of_canvas_is_the_claims_of_its_token() -> None:
    """As the page about Live Events has a submission; the token comes in quotes, too."""
    meta = {"event_name": "submission_created", "event_time": "2019-11-01T19:11:03.933Z", "producer": "canvas"}
    body = {"submission_id": "21070000000000098", "assignment_id": "21070000000000371"}
    keys: Any = Keys()
    canvas = Source("canvas", definition("canvas"), keys=keys)
    sent = SIGNER.make_token(canvas.definition, {"metadata": meta, "body": body}, {}, "http://127.0.0.1/").body
    for data in (sent, sent.strip(b'"')):
        event = canvas.receive_event([], b"", data, time.time())
        assert (event.type, event.time, event.scope["body"]) == (meta["event_name"], meta["event_time"], body)
    with pytest.raises(Rejected):
        canvas.receive_event([], b"", json.dumps({"metadata": meta, "body": body}).encode(), time.time())
