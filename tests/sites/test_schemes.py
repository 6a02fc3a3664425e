"""How a secret is put into a request, and which secrets cannot be."""

from __future__ import annotations

import base64
from math import inf
from typing import Any

import pytest

from callsheet.errors import NotAllowed
from callsheet.sites.credentials.secrets import Secret, scheme_named, takes_secret


def present(
    name: str, text: str, access: dict[str, Any] | None = None, auth: dict[str, Any] | None = None, **secret: Any
) -> Any:
    definition: Any = auth or {}
    return scheme_named(name).present(definition, access or {}, lambda: Secret(text, "the place", **secret))


def test_a_user_and_a_secret() -> None:
    made = present("basic", " s€cret \n", {"email": "me@x.org"})
    pair = base64.b64encode("me@x.org:s€cret".encode()).decode()
    assert (made.headers, made.secrets) == ({"Authorization": f"Basic {pair}"}, (pair, "s€cret"))
    assert (made.expires_at, made.query) == (inf, ())


@pytest.mark.parametrize("name", ["bearer", "oauth2"])
def test_a_token_ends_when_its_secret_does(name: str) -> None:
    made = present(name, " tok \n", expires_at=7.0)
    assert (made.headers, made.secrets, made.expires_at) == ({"Authorization": "Bearer tok"}, ("tok",), 7.0)
    assert present(name, "tok", auth={"prefix": "Token "}).headers == {"Authorization": "Token tok"}


@pytest.mark.parametrize(
    ("auth", "headers", "query"),
    [
        ({"header": "X-Key"}, {"X-Key": "k"}, ()),
        ({"header": "X-Key", "prefix": "key="}, {"X-Key": "key=k"}, ()),
        ({"query": "key"}, {}, (("key", "k"),)),
        ({"cookie": "session"}, {"Cookie": "session=k"}, ()),
    ],
)
def test_a_key_stands_where_its_definition_says(auth: dict[str, Any], headers: Any, query: Any) -> None:
    made = present("key", " k\n", auth=auth)
    assert (made.headers, made.query, made.secrets) == (headers, query, ("k",))


@pytest.mark.parametrize("text", ['a"', "a,b", "a;b", "a\\b"])
def test_a_cookie_takes_less_than_a_header(text: str) -> None:
    assert present("key", text, auth={"header": "X"}).headers == {"X": text}
    with pytest.raises(NotAllowed, match="the place contains characters that are not allowed in a cookie"):
        present("key", text, auth={"cookie": "c"})


PARTS = [
    {"scheme": "key", "header": "X-App"},
    {"scheme": "key", "query": "token"},
    {"scheme": "key", "cookie": "a"},
    {"scheme": "key", "cookie": "b"},
]


def test_several_secrets_are_presented_together() -> None:
    made = present("all", "one\ntwo\nthree\nfour\n", auth={"parts": PARTS}, expires_at=9.0)
    assert made.headers == {"X-App": "one", "Cookie": "a=three; b=four"}
    assert (made.query, made.expires_at) == ((("token", "two"),), 9.0)
    assert made.secrets == ("one", "two", "three", "four")
    assert present("all", "one", auth={"parts": PARTS[:1]}).headers == {"X-App": "one"}
    with pytest.raises(NotAllowed, match="the place has 3 lines, expected 4: one for each secret"):
        present("all", "one\ntwo\nthree", auth={"parts": PARTS})


def test_nothing_is_presented_and_nothing_looked_up() -> None:
    def refused() -> Secret:
        raise AssertionError("it was looked up")

    definition: Any = {}
    made = scheme_named("none").present(definition, {}, refused)
    assert (made.headers, made.secrets, made.query) == ({}, (), ())


@pytest.mark.parametrize(
    ("name", "user", "secret", "consent"),
    [
        ("basic", True, True, False),
        ("bearer", False, True, False),
        ("oauth2", False, True, True),
        ("none", False, False, False),
    ],
)
def test_what_sign_in_asks_for(name: str, user: bool, secret: bool, consent: bool) -> None:
    found = scheme_named(name)
    assert (found.takes_user, found.takes_secret, found.by_consent) == (user, secret, consent)
    assert takes_secret({"scheme": name}) is secret


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("basic", " \n", "the place is empty"),
        ("bearer", "", "the place is empty"),
        ("basic", "a\nb", "the place contains a line break or control character"),
        ("basic", "a\x07b", "the place contains a line break or control character"),
        ("bearer", "a b", "the place contains characters that are not allowed in a token"),
        ("bearer", "aé", "the place contains characters that are not allowed in a token"),
    ],
)
def test_what_no_request_can_carry(name: str, text: str, problem: str) -> None:
    with pytest.raises(NotAllowed) as caught:
        present(name, text, {"email": "me"})
    assert caught.value.message == problem


@pytest.mark.parametrize(("user", "problem"), [("", "needs an e-mail address"), ("a:b", "it contains a colon")])
def test_a_user_that_cannot_be_sent(user: str, problem: str) -> None:
    with pytest.raises(NotAllowed, match=problem) as caught:
        present("basic", "s", {"email": user}, user="SUITE_EMAIL")
    assert caught.value.hint == "set SUITE_EMAIL"
