"""How a secret is put into a request, and which secrets cannot be."""

from __future__ import annotations

import base64
from math import inf
from typing import Any

import pytest

from callsheet.errors import NotAllowed
from callsheet.sites.credentials.schemes import Secret, scheme, takes_secret


def present(name: str, text: str, access: dict[str, Any] | None = None, **secret: Any) -> Any:
    return scheme(name).present(access or {}, lambda: Secret(text, "the place", **secret))


def test_a_user_and_a_secret() -> None:
    made = present("basic", " s€cret \n", {"email": "me@x.org"})
    pair = base64.b64encode("me@x.org:s€cret".encode()).decode()
    assert (made.header, made.secrets, made.ends) == (f"Basic {pair}", (pair, "s€cret"), inf)


def test_a_token_ends_when_its_secret_does() -> None:
    made = present("bearer", " tok \n", ends=7.0)
    assert (made.header, made.secrets, made.ends) == ("Bearer tok", ("tok",), 7.0)
    assert present("oauth2", "tok", ends=7.0).header == "Bearer tok"


def test_nothing_is_presented_and_nothing_looked_up() -> None:
    def refused() -> Secret:
        raise AssertionError("it was looked up")

    made = scheme("none").present({}, refused)
    assert (made.header, made.secrets) == ("", ())


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
    found = scheme(name)
    assert (found.takes_user, found.takes_secret, found.by_consent) == (user, secret, consent)
    assert takes_secret({"scheme": name}) is secret


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("basic", " \n", "the place is empty"),
        ("bearer", "", "the place is empty"),
        ("basic", "a\nb", "the place holds a line break or control character"),
        ("basic", "a\x07b", "the place holds a line break or control character"),
        ("bearer", "a b", "the place holds characters that no token has"),
        ("bearer", "aé", "the place holds characters that no token has"),
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
