"""What an authorization server answers: none of it is printed as a secret, and nothing of it ends in a traceback."""

from __future__ import annotations

import json
from typing import Any

import pytest

from callsheet.errors import CallsheetError
from callsheet.sites.credentials.oauth import Authority, UnauthenticatedClient, matches_state
from support.fakes import FakeSite
from support.server import Scripted, exchange, reply, serve

SECRET, CODE, VERIFIER, REFRESH = "client-secret-1", "code-4711-abc", "verifier-0815-xyz", "refresh-0123-def"
FRESH = "fresh-access-token-42"


def told(answer: Scripted, *, renew: bool) -> CallsheetError:
    """The error that an answer of the token endpoint leads to."""
    with serve([exchange("POST", "/token", answer)]) as server:
        consent = {"authorize": server.url, "token": f"{server.url}/token", "port": 1, "path": "/"}
        authority = Authority(consent, "app", SECRET, UnauthenticatedClient(FakeSite(), {}))
        with pytest.raises(CallsheetError) as caught:
            authority.renew_token({"refresh_token": REFRESH}, []) if renew else authority.redeem_code(
                CODE, "http://127.0.0.1:1/", VERIFIER
            )
    return caught.value


def shown(error: CallsheetError) -> str:
    return f"{error.message} {error.hint} {error.details} {error!r}"


@pytest.mark.parametrize("renew", [True, False])
@pytest.mark.parametrize("name", ["error", "error_description", "both"])
@pytest.mark.parametrize("form", [True, False])
def test_what_it_says_is_redacted(renew: bool, name: str, form: bool) -> None:
    sent = [SECRET, REFRESH] if renew else [SECRET, CODE, VERIFIER]
    echo = f"no good: {' '.join(sent)} but {FRESH} and ?access_token=other-token-99"
    body: dict[str, Any] = {"error": "invalid_grant", "access_token": FRESH}
    body |= {"error": echo, "error_description": echo} if name == "both" else {name: echo}
    from urllib.parse import urlencode

    answer = reply(400, text=urlencode(body)) if form else reply(400, json=body)
    error = told(answer, renew=renew)
    for secret in [*sent, FRESH, "other-token-99"]:
        assert secret not in shown(error)
    assert "no good: ***" in error.message


@pytest.mark.parametrize(
    "answer",
    [
        reply(200, json={"access_token": "abcdefghij", "expires_in": "soon"}),
        reply(200, json={"access_token": "abcdefghij", "expires_in": [1]}),
        reply(200, json={"access_token": "abcdefghij", "token_type": "Bearer", "expires_in": "1e999"}),
        reply(200, json={"access_token": {"a": 1}, "token_type": "Bearer", "expires_in": "never"}),
        reply(200, json={"access_token": "abcdefghij\r\nX-Evil: y", "token_type": "Bearer"}),
        reply(200, json={"access_token": "abcdefghij\u00e9", "token_type": "Bearer"}),
        reply(200, body=b'{"access_token": "abcdefghij", "token_type": "Bearer", "expires_in": 1e999}'),
        reply(200, json=[]),
        reply(200, json=None),
        reply(200, json="text"),
        reply(200, text="<html>"),
        reply(200, body=b"\xff\xfe"),
        reply(500, text="["),
        reply(200, text="[" * 100_000),
        reply(200, json={"error": {"a": [1]}}),
        reply(200, json={"error": ["x"], "error_description": {"b": 1}}),
        reply(302, headers={"Location": "https://[evil"}),
    ],
    ids=lambda answer: json.dumps(answer.body[:40].decode("latin-1")) + str(answer.status),
)
def test_odd_answers_are_worded_errors(answer: Scripted) -> None:
    error = told(answer, renew=False)
    assert CODE not in shown(error)
    assert "abcdefghij" not in shown(error)
    assert len(error.message) < 1000


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://127.0.0.1:1/callback?code=a&state=right", True),
        ("http://127.0.0.1:1/callback?code=a&state=wrong", False),
        ("http://127.0.0.1:1/callback?code=a", False),
        ("http://127.0.0.1:1/callback?code=a&state=", False),
        ("http://127.0.0.1:1/callback?code=a&state=right&state=wrong", False),
        ("http://[/?state=right", False),
        ("state=right", False),
        ("", False),
        ("?state=%ff%fe\udc80", False),
    ],
)
def test_only_the_own_state_belongs(url: str, own: bool) -> None:
    assert matches_state(url, "right") is own
