"""How a secret is put into a request."""

from __future__ import annotations

import binascii
from collections.abc import Callable, Mapping
from functools import partial
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ...errors import NotAllowed
from ...registry import AUTH_SCHEMES, resolve_entry

if TYPE_CHECKING:
    from ...language.shape.access import (
        AuthDefinition,
        AuthPart,
        BearerAuth,
        Consent,
        ConsentAuth,
        KeyAuth,
        SeveralAuth,
    )
    from ..profiles.validate import Access

_HEADER = "Authorization"
_QUERY, _BODY = attrgetter("query"), attrgetter("body")


class Secret(NamedTuple):
    """A secret, where it is from (to word errors), when it ends (seconds since the epoch), where its user is said."""

    text: str
    place: str
    expires_at: float = inf
    user: str = "`email` of the profile"

    def __repr__(self) -> str:
        return f"Secret(..., {self.place!r})"


SecretLookup = Callable[[], Secret]


class Credential:
    """What is sent with a request: headers, pairs of the query, members of the body.

    `secrets` is every text that must not be shown.
    """

    __slots__ = ("body", "expires_at", "headers", "query", "secrets")

    def __init__(
        self,
        headers: Mapping[str, str],
        secrets: tuple[str, ...],
        expires_at: float = inf,
        query: tuple[tuple[str, str], ...] = (),
        body: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.headers = dict(headers)
        self.query = query
        self.body = body
        self.secrets = secrets
        self.expires_at = expires_at

    def __repr__(self) -> str:
        return "Credential(...)"


Present = Callable[[Any, "Access", SecretLookup], Credential]


class Scheme(NamedTuple):
    """`present` makes a credential of an auth definition, a site's settings and its secret.

    `shape` is that of the definition, or where it is found, since shapes load pydantic. Sign-in asks for what the rest
    says.
    """

    present: Present
    shape: Any = ".language.shape.access:AuthDefinition"
    takes_user: bool = False
    takes_secret: bool = True
    by_consent: bool = False  # the secret is what an authorization server grants


def scheme_named(name: str) -> Scheme:
    return cast("Scheme", resolve_entry(AUTH_SCHEMES[name]))


def is_typed(auth: AuthDefinition) -> bool:
    """Whether a person types the secret, rather than granting it in a browser."""
    how = scheme_named(auth["scheme"])
    return how.takes_secret and not how.by_consent


def takes_secret(auth: AuthDefinition) -> bool:
    """Whether a way of signing in (a definition) presents a secret at all."""
    return scheme_named(auth["scheme"]).takes_secret


def consent_of(auth: AuthDefinition) -> Consent | None:
    """The authorization server that grants the secret, where the scheme has one."""
    return cast("ConsentAuth", auth).get("oauth")


def basic(auth: AuthDefinition | AuthPart, access: Access, find: SecretLookup) -> Credential:
    del auth
    found = find()
    secret = clean(found.text, found.place)
    user = access.get("email")
    if not user:
        raise NotAllowed("this way of signing in needs an e-mail address or user name", hint=f"set {found.user}")
    if ":" in user:
        raise NotAllowed(
            f"{user!r} is not an e-mail address or user name: it contains a colon", hint=f"set {found.user}"
        )
    pair = binascii.b2a_base64(f"{user}:{secret}".encode(), newline=False).decode()
    return Credential({_HEADER: f"Basic {pair}"}, (pair, secret))


def bearer(auth: BearerAuth | AuthPart, access: Access, find: SecretLookup) -> Credential:
    del access
    found = find()
    token = clean_token(found.text, found.place)
    return Credential({_HEADER: auth.get("prefix", "Bearer ") + token}, (token,), found.expires_at)


def key(auth: KeyAuth | AuthPart, access: Access, find: SecretLookup) -> Credential:
    """A key as it is, in a header, the query, a cookie or the body."""
    del access
    found = find()
    text = clean_token(found.text, found.place)
    if "query" in auth:
        return Credential({}, (text,), query=((auth["query"], text),))
    if "body" in auth:
        return Credential({}, (text,), body=((auth["body"], text),))
    if "cookie" in auth:
        if any(character in text for character in '",;\\'):
            raise NotAllowed(f"{found.place} contains characters that are not allowed in a cookie")
        return Credential({"Cookie": f"{auth['cookie']}={text}"}, (text,))
    return Credential({auth["header"]: auth.get("prefix", "") + text}, (text,))


def several(auth: SeveralAuth, access: Access, find: SecretLookup) -> Credential:
    """Each part presents its own line of the secret."""
    found = find()
    lines, parts = found.text.strip().splitlines(), auth["parts"]
    if len(lines) != len(parts):
        raise NotAllowed(
            f"{found.place} has {len(lines)} line{'s'[: len(lines) != 1]}, expected {len(parts)}: one for each secret"
        )
    made = [
        scheme_named(part["scheme"]).present(part, access, partial(found._replace, text=line))
        for part, line in zip(parts, lines, strict=True)
    ]
    headers = {name: text for each in made for name, text in each.headers.items()}
    cookies = [each.headers["Cookie"] for each in made if "Cookie" in each.headers]
    if cookies:
        headers["Cookie"] = "; ".join(cookies)
    secrets = tuple(text for each in made for text in each.secrets)
    query, body = (tuple(pair for each in made for pair in part(each)) for part in (_QUERY, _BODY))
    return Credential(headers, secrets, found.expires_at, query, body)


def nothing(auth: AuthDefinition | AuthPart, access: Access, find: SecretLookup) -> Credential:
    del auth, access, find
    return Credential({}, ())


BASIC = Scheme(basic, takes_user=True)
BEARER = Scheme(bearer, ".language.shape.access:BearerAuth")
KEY = Scheme(key, ".language.shape.access:KeyAuth")
ALL = Scheme(several, ".language.shape.access:SeveralAuth")
OAUTH2 = Scheme(bearer, ".language.shape.access:ConsentAuth", by_consent=True)
NONE = Scheme(nothing, takes_secret=False)


def clean(secret: str, where: str) -> str:
    """A secret without the blanks and line ends that pasting leaves around it; raises `NotAllowed`."""
    secret = secret.strip()
    if not secret:
        raise NotAllowed(f"{where} is empty")
    if not secret.isprintable():
        raise NotAllowed(f"{where} contains a line break or control character")
    return secret


def clean_token(secret: str, where: str) -> str:
    """The same for a secret that stands in a header as it is."""
    secret = clean(secret, where)
    if not secret.isascii() or " " in secret:
        raise NotAllowed(f"{where} contains characters that are not allowed in a token")
    return secret
