"""What a sender's signature does not cover is not believed: a captured delivery is the same event under any name."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callsheet.catalog.catalog import open_catalog
from callsheet.listener.verify.payload import Rejected
from callsheet.listener.verify.proofs import are_signed
from callsheet.listener.verify.source import Source
from support.listening import listening

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.mark.parametrize(
    ("expression", "signed", "wanted"),
    [
        ("payload.id", "{body}", True),
        ('headers."x-id"', "{body}", False),
        ('headers."x-id"', '{headers."x-id"}.{body}', True),
        ('headers."x-id"', '{headers."x-other"}.{body}', False),
        ('payload.id || headers."x-id"', "{body}", False),
        ("query.id", "{body}", False),
        ("values(headers)", '{headers."x-id"}{body}', False),
        ("payload.headers.id", "{body}", True),
    ],
)
def test_what_is_signed(expression: str, signed: str, wanted: bool) -> None:
    assert are_signed(expression, signed) is wanted


def made(name: str, *secrets: str) -> Source:
    catalog = open_catalog("lms", os.environ)
    try:
        definition: Any = catalog.sources.get(name)
    finally:
        catalog.close()
    return Source(name, definition, secrets)


def github(body: bytes, **headers: str) -> dict[str, str]:
    signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={signature}", **{name.replace("_", "-"): headers[name] for name in headers}}


@pytest.mark.parametrize(("name", "trusted"), [("lms", True), ("stripe", True), ("standard", True), ("github", False)])
def test_which_shipped_sources_sign_their_ids(name: str, trusted: bool) -> None:
    assert made(name, SECRET).id_is_signed is trusted
    assert made(name).id_is_signed, "where nothing is signed there is nothing to tell apart"


def test_a_header_cannot_make_another_event_of_a_signed_body() -> None:
    source = made("github", SECRET)
    body = b'{"action": "opened", "issue": {}}'

    def key(**headers: str) -> str:
        raw = [(name.lower().encode(), value.encode()) for name, value in github(body, **headers).items()]
        return source.receive_event(raw, b"", body, 0).key

    first = key(X_GitHub_Event="issues", X_GitHub_Delivery="1")
    assert key(X_GitHub_Event="issues", X_GitHub_Delivery="2") == first
    assert key(X_GitHub_Event="push", X_GitHub_Delivery="1") == first
    assert key(X_GitHub_Event="issues") == first
    assert made("jira", SECRET).type_is_signed


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_captured_delivery_runs_once(tmp_path: Path) -> None:
    routes = '[route.r]\nsource = ["github"]\ndo = [{ handler = "append", file = "got" }]\n'
    secret = {"GITHUB_WEBHOOK_SECRET": SECRET}
    body = json.dumps({"action": "opened", "issue": {"number": 5}}).encode()
    with listening(tmp_path, "--source", "github", routes=routes, environ=secret) as listener:

        def send(**headers: str) -> int:
            return listener.post(body, github(body, **headers), path="/github").status

        assert send(X_GitHub_Event="push", X_GitHub_Delivery="0") == 400
        assert "other_type" in listener.logged("400")
        assert send(X_GitHub_Event="issues", X_GitHub_Delivery="1") == 200
        assert send(X_GitHub_Event="issues", X_GitHub_Delivery="2") == 200
        assert send(X_GitHub_Event="star", X_GitHub_Delivery="1") == 200
        assert listener.logged("200 duplicate")
    assert len((tmp_path / "got").read_text(encoding="utf-8").splitlines()) == 1


NAMES = st.text(st.characters(codec=None, categories=("L", "Cs", "Cc", "So")), max_size=6) | st.sampled_from(
    ["x" * 256, "x" * 257, "y" * 1024, "y" * 1025]
)


@given(type=NAMES, id=NAMES | st.integers() | st.sampled_from([10**1024, 10**1025, -(10**1100)]))
def test_types_and_ids_that_cannot_be_written_down_are_no_events(type: str, id: Any) -> None:
    body = json.dumps({"event_type": type, "id": id}).encode()
    try:
        event = made_lms.receive_event([], b"", body, 0)
    except Rejected as refused:
        status = refused.status
    else:
        status = 200
        event.type.encode()
        str(event.id).encode()
        assert event.key.isascii() or event.key.encode()
        assert 0 < len(event.type) <= 256
        assert len(str(event.id)) <= 1026
    assert status in (200, 400)


made_lms = made("lms")
