"""How a secret is put into a request."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, NamedTuple, cast

from ...errors import NotAllowed
from ...registry import AUTH_SCHEMES, resolve


class Secret(NamedTuple):
    """A secret, where it is from (to word errors), when it ends (seconds since the epoch), where its user is said."""

    text: str
    place: str
    expires_at: float = inf
    user: str = "`email` of the profile"

    def __repr__(self) -> str:
        return f"Found(..., {self.place!r})"


SecretLookup = Callable[[], Secret]


class Credential:
    """The value of one Authorization header (empty: none is sent), and every text that must not be shown."""

    __slots__ = ("expires_at", "header", "secrets")

    def __init__(self, header: str, secrets: tuple[str, ...], expires_at: float = inf) -> None:
        self.header = header
        self.secrets = secrets
        self.expires_at = expires_at

    def __repr__(self) -> str:
        return "Credential(...)"


class Scheme(NamedTuple):
    """`present` makes a credential of a site's settings and its secret. Sign-in asks for what the rest says."""

    present: Callable[[Mapping[str, Any], SecretLookup], Credential]
    takes_user: bool = False
    takes_secret: bool = True
    by_consent: bool = False  # the secret is what an authorisation server grants


def scheme(name: str) -> Scheme:
    return cast("Scheme", resolve(AUTH_SCHEMES[name]))


def takes_secret(auth: Mapping[str, Any]) -> bool:
    """Whether a way of signing in (a definition) presents a secret at all."""
    return scheme(auth["scheme"]).takes_secret


def basic(access: Mapping[str, Any], find: SecretLookup) -> Credential:
    found = find()
    secret = clean(found.text, found.place)
    user = access.get("email")
    if not user:
        raise NotAllowed("this way of signing in needs an e-mail address or user name", hint=f"set {found.user}")
    if ":" in user:
        raise NotAllowed(
            f"{user!r} is not an e-mail address or user name: it contains a colon", hint=f"set {found.user}"
        )
    pair = base64.b64encode(f"{user}:{secret}".encode()).decode()
    return Credential(f"Basic {pair}", (pair, secret))


def bearer(access: Mapping[str, Any], find: SecretLookup) -> Credential:
    del access
    found = find()
    token = clean_token(found.text, found.place)
    return Credential(f"Bearer {token}", (token,), found.expires_at)


def nothing(access: Mapping[str, Any], find: SecretLookup) -> Credential:
    del access, find
    return Credential("", ())


BASIC = Scheme(basic, takes_user=True)
BEARER = Scheme(bearer)
OAUTH2 = Scheme(bearer, by_consent=True)
NONE = Scheme(nothing, takes_secret=False)


def clean(secret: str, where: str) -> str:
    """A secret without the blanks and line ends that pasting leaves around it; raises `NotAllowed`."""
    secret = secret.strip()
    if not secret:
        raise NotAllowed(f"{where} is empty")
    if not secret.isprintable():
        raise NotAllowed(f"{where} holds a line break or control character")
    return secret


def clean_token(secret: str, where: str) -> str:
    """The same for a secret that stands in a header as it is."""
    secret = clean(secret, where)
    if not secret.isascii() or " " in secret:
        raise NotAllowed(f"{where} holds characters that no token has")
    return secret
