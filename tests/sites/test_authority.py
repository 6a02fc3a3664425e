"""The messages of OAuth 2.0: what is sent to an authorization server, and what its answers mean."""

from __future__ import annotations

import base64
import json
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from callsheet.errors import CallsheetError, NotAllowed, UsageError
from callsheet.sites.credentials.oauth import Authority

CONSENT: dict[str, Any] = {
    "authorize": "https://auth.example/authorize",
    "token": "https://auth.example/token",
    "sites": "https://api.example/sites",
    "site_url": "url",
    "site_id": "id",
    "port": 8765,
    "path": "/back",
    "params": {"audience": "api.example"},
    "renew": ["offline"],
    "confidential": True,
    "register": "https://auth.example/apps",
}


class Answer:
    def __init__(self, body: Any, status: int = 200) -> None:
        self.text = body if isinstance(body, str) else json.dumps(body)
        self.content = self.text.encode()
        self.status, self.ok = status, status < 400

    def json(self) -> Any:
        return json.loads(self.text)


class Web:
    """Answers every request the same, and remembers what was asked."""

    def __init__(self, answer: Any = None, status: int = 200) -> None:
        self.answer = Answer(answer, status)
        self.posted: list[tuple[str, dict[str, list[str]], list[str]]] = []
        self.presented: list[str] = []
        self.asked: list[tuple[str, str]] = []

    def post(self, url: str, form: str, hidden: list[str], *, authorization: str = "") -> Answer:
        self.posted.append((url, parse_qs(form), list(hidden)))
        self.presented.append(authorization)
        return self.answer

    def get(self, url: str, *, bearer: str = "") -> Answer:
        self.asked.append((url, bearer))
        return self.answer


def authority(web: Web, secret: str = "s3cret-app", **changes: Any) -> Authority:
    consent = {key: value for key, value in {**CONSENT, **changes}.items() if value is not None}
    return Authority(consent, "app-1", secret, web)  # type: ignore[arg-type]


KEPT = {"refresh_token": "r-old"}
TOKENS = {"access_token": "a-token", "refresh_token": "r-token", "expires_in": 100, "token_type": "bearer"}


def test_an_app_has_an_id_and_where_asked_a_secret() -> None:
    for client, hint in (({}, "register an app at https://auth.example/apps"), ({"register": None}, None)):
        consent: Any = {key: value for key, value in {**CONSENT, **client}.items() if value is not None}
        with pytest.raises(UsageError, match="--client-id") as caught:
            Authority(consent, "", "x", Web())  # type: ignore[arg-type]
        assert caught.value.hint == hint
    with pytest.raises(UsageError, match="the client secret of the app app-1"):
        authority(Web(), secret="")
    assert authority(Web(), secret="", confidential=False).lists_sites
    assert not authority(Web(), sites=None).lists_sites


def test_the_page_to_open() -> None:
    here = authority(Web())
    assert here.redirect_url() == "http://127.0.0.1:8765/back"
    assert here.redirect_url(99) == "http://127.0.0.1:99/back"
    assert authority(Web(), host="localhost").redirect_url() == "http://localhost:8765/back"
    pending = here.start_sign_in(here.redirect_url(), ["read", "write", "read", "offline"])
    url = urlsplit(pending.url)
    asked = parse_qs(url.query)
    assert f"{url.scheme}://{url.netloc}{url.path}" == CONSENT["authorize"]
    challenge = asked.pop("code_challenge")
    assert len(challenge[0]) == 43, "a SHA-256 in base64url"
    assert asked == {
        "response_type": ["code"], "client_id": ["app-1"], "redirect_uri": [here.redirect_url()],
        "scope": ["read write offline"], "state": [pending.state], "code_challenge_method": ["S256"],
        "audience": ["api.example"],
    }  # fmt: skip
    other = here.start_sign_in(here.redirect_url(), [])
    assert other.state != pending.state
    assert parse_qs(urlsplit(other.url).query)["code_challenge"] != challenge


def test_plain_http_is_for_this_machine_alone() -> None:
    near = authority(Web(), authorize="http://127.0.0.1:9/authorize").start_sign_in("http://127.0.0.1:1/x", [])
    assert near.url.startswith("http://127.0.0.1:9/authorize?")
    with pytest.raises(UsageError, match="http is only for this machine"):
        authority(Web(), authorize="http://auth.example/authorize").start_sign_in("http://127.0.0.1:1/x", [])


@pytest.mark.parametrize("given", ["http://127.0.0.1:8765/back", " https://127.0.0.1:8765/back"])
def test_a_code_is_redeemed_with_what_proves_who_asked_for_it(given: str) -> None:
    web = Web(TOKENS)
    pending = authority(web).start_sign_in("http://127.0.0.1:8765/back", ["read"])
    record = pending.finish_sign_in(f"{given}?code=c-1&state={pending.state}")
    left = record.pop("expires_at") - time.time()
    assert 90 < left <= 100
    assert record == {"access_token": "a-token", "refresh_token": "r-token", "client_secret": "s3cret-app"}
    ((url, form, hidden),) = web.posted
    verifier = form.pop("code_verifier")[0]
    assert len(verifier) == 64
    assert (url, hidden) == (CONSENT["token"], ["s3cret-app", "c-1", verifier])
    assert form == {
        "grant_type": ["authorization_code"], "code": ["c-1"], "redirect_uri": ["http://127.0.0.1:8765/back"],
        "client_id": ["app-1"], "client_secret": ["s3cret-app"],
    }  # fmt: skip


def test_a_public_app_sends_and_keeps_no_secret() -> None:
    web = Web({"access_token": "a-token", "token_type": "bearer"})
    record = authority(web, secret="", confidential=False).renew_token(KEPT, [])
    assert record.keys() == {"access_token", "refresh_token", "expires_at"}
    assert record["refresh_token"] == "r-old", "a server need not rotate it"
    assert 3500 < record["expires_at"] - time.time() <= 3600, "an hour where nothing is said"
    ((_, form, hidden),) = web.posted
    assert form == {"grant_type": ["refresh_token"], "refresh_token": ["r-old"], "client_id": ["app-1"]}
    assert hidden == ["", "r-old"]


def test_a_rotated_token_replaces_the_old_one() -> None:
    assert authority(Web(TOKENS)).renew_token(KEPT, [])["refresh_token"] == "r-token"


@pytest.mark.parametrize(
    ("query", "problem"),
    [
        ("code=c&state=other", "the answer does not belong to this sign-in"),
        ("state={state}", "the answer contains no authorization code"),
        ("error=access_denied&state={state}", "the sign-in was refused: access_denied"),
        ("error=x_y&error_description=Not+now&state={state}", "the sign-in was refused: x_y: Not now"),
    ],
)
def test_an_answer_that_is_none(query: str, problem: str) -> None:
    web = Web(TOKENS)
    pending = authority(web).start_sign_in("http://127.0.0.1:8765/back", [])
    with pytest.raises(NotAllowed) as caught:
        pending.finish_sign_in("http://127.0.0.1:8765/back?" + query.replace("{state}", pending.state))
    assert caught.value.message.startswith(problem)
    assert (caught.value.hint, web.posted) == ("start the sign-in again", [])


APP, AGAIN, LATER = "check the app's client id and client secret", "start the sign-in again", "try again later"


@pytest.mark.parametrize(
    ("error", "allowed", "hint"),
    [
        ("invalid_client", False, APP),
        ("unauthorized_client", False, APP),
        ("access_denied", False, APP),
        ("invalid_grant", False, AGAIN),
        ("invalid_request", False, AGAIN),
        ("invalid_scope", False, AGAIN),
        ("server_error", True, LATER),
    ],
)
def test_what_a_refusal_means(error: str, allowed: bool, hint: str) -> None:
    body = {"error": error, "error_description": "Because r-old s3cret-app", "told": "another-secret"}
    with pytest.raises(CallsheetError) as caught:
        authority(Web(body, 400)).renew_token(KEPT, [])
    assert isinstance(caught.value, NotAllowed) is not allowed
    assert caught.value.hint == hint
    assert caught.value.status == 400
    assert caught.value.message.startswith(f"the authorization server answered 400: {error}: Because ")
    assert "s3cret-app" not in caught.value.message


@pytest.mark.parametrize(
    "body",
    ["", "no", "[1]", "null", '{"access_token": "a", "expires_in": "soon", "token_type": "bearer"}'],
)
def test_tokens_that_are_none(body: str) -> None:
    with pytest.raises(CallsheetError) as caught:
        authority(Web(body, 200)).renew_token(KEPT, [])
    assert caught.value.message.startswith("the authorization server answered 200")
    assert caught.value.hint in (LATER, AGAIN)


def test_the_sites_that_a_token_reaches() -> None:
    web = Web([{"url": "https://a.example", "id": "1", "name": "A"}, {"id": "2"}])
    assert authority(web).reachable_sites("tok") == [{"url": "https://a.example", "id": "1"}, {"url": None, "id": "2"}]
    assert web.asked == [(CONSENT["sites"], "tok")]
    nothing = Web([])
    assert authority(nothing, sites=None).reachable_sites("tok") == []
    assert nothing.asked == []
    with pytest.raises(NotAllowed, match="refused with status 403") as refused:
        authority(Web({}, 403)).reachable_sites("tok")
    assert refused.value.status == 403
    with pytest.raises(CallsheetError, match="is not a list"):
        authority(Web({})).reachable_sites("tok")


def test_an_app_may_present_itself_in_a_header() -> None:
    web = Web(TOKENS)
    authority(web, secret="s3cret/app", client="header").renew_token(KEPT, [])
    ((_, form, _),) = web.posted
    assert "client_secret" not in form
    assert web.presented == ["Basic " + base64.b64encode(b"app-1:s3cret%2Fapp").decode()]


@pytest.mark.parametrize(("scopes", "asked"), [([], {}), (["read", "write"], {"scope": ["read write"]})])
def test_without_a_person_the_app_asks_for_itself(scopes: list[str], asked: dict[str, list[str]]) -> None:
    web = Web({"access_token": "a-token", "token_type": "bearer", "expires_in": 100})
    record = authority(web, grant="client_credentials").renew_token({}, scopes)
    assert (record["grant"], record["access_token"]) == ("client_credentials", "a-token")
    ((_, form, _),) = web.posted
    app = {"grant_type": ["client_credentials"], "client_id": ["app-1"], "client_secret": ["s3cret-app"]}
    assert form == {**app, **asked}
