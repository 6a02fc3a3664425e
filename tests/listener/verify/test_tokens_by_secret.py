"""Tokens that sender and listener sign with a secret, each for one request: Connect apps of Jira and Confluence."""

from __future__ import annotations

import time
from typing import Any

import jwt
import pytest

from callsheet.listener.simulated_deliveries import make_payload, plain_delivery
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.signed_tokens import request_hash
from callsheet.listener.verify.source import Source

from .test_senders import definition

SECRET = "t7y2s-shared-secret-of-one-site-that-is-long-enough-for-all"
OTHER = "another-secret-of-another-site-that-is-long"
BODY = b'{"timestamp":1676056940508,"webhookEvent":"jira:issue_created","issue":{"key":"DEMO-1"}}'


def source(name: str = "jira-connect", *secrets: str) -> Source:
    return Source(name, definition(name), token_secrets=secrets or (OTHER, SECRET))


def token(query: bytes = b"", secret: str = SECRET, algorithm: str = "HS256", **changed: Any) -> bytes:
    now = int(time.time())
    claims = {"iss": "jira:7a3b4c77", "iat": now, "exp": now + 180, "qsh": request_hash("POST", "/jira-connect", query)}
    claims = {name: value for name, value in {**claims, **changed}.items() if value is not None}
    return b"JWT " + jwt.encode(claims, secret, algorithm).encode()


def received(value: bytes | None, query: bytes = b"", body: bytes = BODY) -> Any:
    headers = [(b"authorization", value)] if value is not None else []
    return source().receive_event(headers, query, body, time.time())


# What https://developer.atlassian.com/cloud/bitbucket/query-string-hash and add-ons that print theirs have.
QUERY = (
    b"lic=none&tz=Europe%2FMoscow&cp=%2Fjira&user_key=admin&loc=en-US&user_id=admin&jwt=x"
    b"&xdm_e=http%3A%2F%2Flocalhost%3A2990&xdm_c=channel-servlet-click-me&xdm_p=1"
)
PUBLISHED = [("GET", "/addon", QUERY, "3a6ff1b66f60eb275d0e4cb6be4261d5d3b0216b91c58dc6524509227ef346de")]
SAME = [
    (b"a=x&b=y", b"b=y&a=x"),
    (b"a=2&a=1", b"a=1&a=2"),
    (b"a=x%20y", b"a=x+y"),
    (b"a=x", b"a=x&jwt=secret"),
    (b"a=%7E-._", b"a=~-._"),
]


@pytest.mark.parametrize(("method", "path", "query", "expected"), PUBLISHED)
def test_a_request_has_the_hash_that_was_published(method: str, path: str, query: bytes, expected: str) -> None:
    assert request_hash(method, path, query) == expected


@pytest.mark.parametrize(("one", "other"), SAME)
def test_one_request_has_one_hash_however_it_is_written(one: bytes, other: bytes) -> None:
    assert request_hash("POST", "/a", one) == request_hash("POST", "/a/", other)
    assert request_hash("POST", "/a", one) != request_hash("POST", "/a", b"a=z")


def test_what_is_signed_for_this_request_is_genuine() -> None:
    event = received(token(b"a=1"), b"a=1")
    assert (event.type, event.scope["body"]["issue"]["key"]) == ("jira:issue_created", "DEMO-1")


@pytest.mark.parametrize(
    ("value", "query"),
    [
        (token(secret="x" * 64), b""),
        (token(algorithm="HS384"), b""),
        (token(algorithm="none", secret=""), b""),
        (token(exp=1), b""),
        (token(qsh=None), b""),
        (token(qsh="context-qsh"), b""),
        (token(b"a=1"), b""),
        (token(), b"a=1"),
        (token()[:-4] + b"AAAA", b""),
        (token().replace(b"JWT ", b"Bearer "), b""),
        (b"JWT ", b""),
        (b"", b""),
        (None, b""),
    ],
    ids=[str(number) for number in range(13)],  # tokens are never the same
)
def test_what_was_signed_for_another_request_or_by_another_is_refused(value: bytes | None, query: bytes) -> None:
    with pytest.raises(Rejected) as caught:
        received(value, query)
    assert caught.value.status == 401


@pytest.mark.parametrize("name", ["jira-connect", "confluence-connect"])
def test_what_is_sent_to_try_a_listener_is_genuine(name: str) -> None:
    known = definition(name)
    payload, headers = make_payload(known, "page_created", {"id": 1}, "e-1", ())
    sent = plain_delivery(known, payload, headers, SECRET, f"http://127.0.0.1/{name}?event=page_moved")
    own = [(b"authorization", sent.headers["Authorization"].encode())]
    event = source(name, SECRET).receive_event(own, b"event=page_moved", sent.body, time.time())
    assert event.type == ("page_moved" if name == "confluence-connect" else "page_created")
