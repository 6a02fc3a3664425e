from __future__ import annotations

import contextlib
from base64 import b64encode, urlsafe_b64encode
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.client.http.redact import Redactor
from callsheet.errors import CallsheetError
from support.canary import TOKEN, basic, text_leaks
from support.server import exchange, reply
from support.shop import shop

SECRET = "s3cr3t+/=?&ä~token"


@settings(max_examples=60)
@given(before=st.binary(max_size=8), after=st.binary(max_size=8))
def test_base64_of_a_secret_is_hidden_wherever_it_stands(before: bytes, after: bytes) -> None:
    secret = "a-long-enough-secret-value"
    redactor = Redactor([secret])
    for encode in (b64encode, urlsafe_b64encode):
        text = encode(before + secret.encode() + after).decode()
        hidden = redactor.text(f"x {text} y")
        assert "***" in hidden
        assert len(hidden) <= len(text) - len(secret) + len(before) * 2 + len(after) * 2 + 15


@settings(max_examples=60)
@given(before=st.binary(max_size=8), after=st.binary(max_size=8))
def test_of_base64_the_characters_that_stand_for_the_secret_alone_are_hidden(before: bytes, after: bytes) -> None:
    secret = b"a-long-enough-secret-value"
    text = b64encode(before + secret + after).decode()
    first, last = -(-len(before) * 8 // 6), (len(before) + len(secret)) * 8 // 6
    assert Redactor([secret.decode()]).text(text) == f"{text[:first]}***{text[last:]}"


@pytest.mark.parametrize("form", [SECRET, quote(SECRET, safe=""), quote_plus(SECRET)])
def test_encoded_forms_are_hidden(form: str) -> None:
    assert Redactor([SECRET]).text(f"a {form} b") == "a *** b"


def test_credentials_in_a_url_are_hidden_by_their_names() -> None:
    redactor = Redactor([])
    assert (
        redactor.url("https://h/x?access_token=abc&a=1&client_secret=d#f")
        == "https://h/x?access_token=***&a=1&client_secret=***#f"
    )
    assert redactor.url("https://h/x?nextPageToken=abc&page_token=d") == "https://h/x?nextPageToken=abc&page_token=d"


SIGNED = "https://files.example/x?X-Amz-Credential=canary-1&X-Amz-Signature=canary-2&X-Amz-Security-Token=canary-3"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://h/x?sig=canary&se=2026", "https://h/x?sig=***&se=2026"),
        ("https://h/cb?code=canary#access_token=canary", "https://h/cb?code=***#access_token=***"),
        ("</x?jwt=canary>; rel=next, </y?cursor=1>", "</x?jwt=***>; rel=next, </y?cursor=1>"),
        ("/login?to=https%3A%2F%2Fh%2Fx%3Fsig%3Dcanary%26b%3D1", "/login?to=https%3A%2F%2Fh%2Fx%3Fsig%3D***%26b%3D1"),
        ("https://robin:canary@h/x?key=DEMO&projectKey=D", "https://***@h/x?key=DEMO&projectKey=D"),
        ("0; url=https://h/x?GoogleAccessId=me&Signature=canary", "0; url=https://h/x?GoogleAccessId=me&Signature=***"),
        ("https://h/x?a=1;token=canary", "https://h/x?a=1;token=***"),
        ("https://h/x?nextPageToken=abc", "https://h/x?nextPageToken=abc"),
        ("/x?token[]=canary&token%5B%5D=canary", "/x?token[]=***&token%5B%5D=***"),
        ("/x?otp=canary&pwd=canary&SAMLResponse=canary", "/x?otp=***&pwd=***&SAMLResponse=***"),
        ("/x?hmac=canary&csrf=canary&access_key=canary", "/x?hmac=***&csrf=***&access_key=***"),
        ("/x?sid=canary&session=canary&Authorization=canary", "/x?sid=***&session=***&Authorization=***"),
        ("/x?side=left&passage=1&sessions=2&AWSAccessKeyId=me", "/x?side=left&passage=1&sessions=2&AWSAccessKeyId=me"),
    ],
)
def test_what_opens_an_address_is_hidden_in_it(text: str, shown: str) -> None:
    redactor = Redactor()
    assert redactor.url(text) == shown
    assert redactor.header("location", text) == shown


@settings(max_examples=60)
@given(st.text(alphabet="?&#;=%3F26tokensig:/@ a", max_size=200))
def test_hiding_ends_and_is_done_once(text: str) -> None:
    redactor = Redactor()
    assert redactor.url(redactor.url(text)) == redactor.url(text)


@pytest.mark.parametrize("name", ["Location", "Link", "Content-Location", "Refresh", "X-Next"])
def test_a_verbose_run_shows_no_signature(name: str) -> None:
    answer = reply(302 if name == "Location" else 200, json={}, headers={name: SIGNED})
    with shop([exchange("GET", "/api/3/item/1", answer, repeat=None)], proxy="http://127.0.0.1:1") as here:
        with contextlib.suppress(CallsheetError):
            here.send("getItem", {"id": "1"})
        seen = "\n".join([*here.log, *here.notes])
    assert f"{name.lower()}: https://files.example/x?X-Amz-Credential=***&X-Amz-Signature=***" in seen
    assert "canary-1" not in seen
    assert "canary-2" not in seen
    assert "canary-3" not in seen


def test_no_error_shows_where_a_redirect_with_a_signature_led() -> None:
    answer = reply(302, headers={"Location": "https://[bad/x?sig=canary-sig"})
    with shop([exchange("GET", "/api/3/item/1", answer)]) as here:
        error = here.fail("getItem", {"id": "1"})
    assert "redirected to 'https://[bad/x?sig=***" in error.message
    assert "canary-sig" not in error.message


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Authorization", "Bearer ***"),
        ("Proxy-Authorization", "Bearer ***"),
        ("X-Api-Key", "***"),
        ("Cookie", "***"),
        ("X-Session-Id", "***"),
        ("X-Client-Secret", "***"),
        ("X-Check-Token", "Bearer abc"),
        ("Accept", "Bearer abc"),
    ],
)
def test_headers_that_carry_credentials_are_hidden(name: str, shown: str) -> None:
    assert Redactor([]).header(name, "Bearer abc") == shown


def test_secrets_are_learnt_on_the_way() -> None:
    redactor = Redactor([])
    redactor.add(["first-secret"])
    redactor.add(["second-secret", ""])
    assert redactor.text("first-secret second-secret") == "*** ***"


def test_no_secret_is_harmless() -> None:
    assert Redactor(["", "x" * 3]).text("abc") == "abc"


def test_an_unreadable_answer_shows_no_secret() -> None:
    with shop([exchange("GET", "/api/3/item/1", reply(text=f"you sent {TOKEN}"))]) as here:
        error = here.fail("getItem", {"id": "1", "token": "hush"})
    assert error.message.endswith("/item/1?token=***: answered with text/plain where JSON was expected: you sent ***")


def test_a_verbose_run_shows_everything_but_the_credential() -> None:
    echoed = reply(
        400,
        json={"message": f"bad {TOKEN}"},
        headers={"X-Echo": basic("robin").removeprefix("Basic "), "Set-Cookie": "s=1"},
    )
    with shop([exchange("GET", "/api/3/item/1", echoed)]) as here:
        error = here.fail("getItem", {"id": "1", "token": "hush"})
        log = "\n".join(here.log)
    assert not text_leaks("\n".join([log, error.message, str(error), *error.details]))
    assert f"> GET {here.server.url}/api/3/item/1?token=***" in log
    assert ">   Authorization: Basic ***" in log
    assert "< 400 Bad Request after" in log
    assert "<   x-echo: ***" in log
    assert "<   set-cookie: ***" in log
    for text in (log, error.message, str(error), *error.details):
        assert "canary-secret" not in text
        assert "cm9iaW46Y2FuYXJ5" not in text


def test_a_secret_in_other_letters_is_hidden_too() -> None:
    assert Redactor(["tok-Secret-1"]).text("illegal header value b'bearer tok-secret-1'").endswith("bearer ***'")
