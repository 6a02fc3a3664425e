"""The ways of signing in that a site has, and a credential by one of them."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO, cast

from ...errors import NotAllowed, UsageError, did_you_mean
from ...sites.credentials.oauth import CLIENT_CREDENTIALS, Authority, Pending, UnauthenticatedClient, returned_url
from ...sites.credentials.schemes import clean, clean_token, scheme_named
from ...sites.site import first_services
from ...urls import url_origin
from .answers import Answers
from .request import SignInRequest

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape.access import AuthPart, ConsentAuth, SeveralAuth
    from ...sites.credentials.record import CredentialRecord
    from ..context import Context


# Which ways of signing in a site offers: those of one service, or those that no service keeps for itself.


_OF_CONSENT = ("client-id", "client-secret", "scopes", "no-browser", "port")
_OF_A_TOKEN = ("token", "token-stdin")


def ways_of(catalog: Catalog, service: str | None) -> list[str]:
    """Ids of auth definitions, the usual way first where the service says so."""
    services = first_services(catalog)
    service = next(iter(services)) if service is None and len(services) == 1 else service
    own = services[service].get("auth") if service in services else None
    if own:
        return list(own)
    claimed = {way for each in services.values() for way in each.get("auth", ())}
    return [id for id in catalog.ids("auth") if id not in claimed]


def usual_way(catalog: Catalog, deployment: str, service: str | None, *, with_user: bool) -> str:
    """The way that is meant where nobody says one; `with_user`: an address or user name was given."""
    ways = ways_of(catalog, service)
    if with_user:
        named = [id for id in ways if scheme_named(catalog.get("auth", id)["scheme"]).takes_user]
        if named:
            return named[0]
    usual: str = catalog.get("deployment", deployment)["method"]
    return usual if usual in ways else ways[0]


def check_way(catalog: Catalog, service: str | None, method: str) -> None:
    """Raises `UsageError` for a way that the service does not take."""
    ways = ways_of(catalog, service)
    if method not in ways:
        whose = f" to {service}" if service else ""
        near = did_you_mean(method, ways)
        raise UsageError(f"--method: {method!r} is not a way to sign in{whose}{near} (one of: {', '.join(ways)})")


def check_options(catalog: Catalog, method: str, given: Callable[[str], Any]) -> None:
    """Raises `UsageError` for an option of sign-in that the method has no use for; `given` gives its value."""
    options = (*_OF_CONSENT, *_OF_A_TOKEN, "email")
    unused = (name for name in options if given(name) not in (None, False, ()) and not _takes(name, catalog, method))
    if (wrong := next(unused, None)) is None:
        return
    takes = [id for id in catalog.ids("auth") if _takes(wrong, catalog, id)]
    hint = f"it goes with --method {' or '.join(takes)}" if takes else None
    raise UsageError(f"--{wrong} cannot be used with --method {method}", hint=hint)


def _takes(option: str, catalog: Catalog, method: str) -> bool:
    how = scheme_named(catalog.get("auth", method)["scheme"])
    if option in _OF_CONSENT:
        return how.by_consent
    return how.takes_user if option == "email" else how.takes_secret and not how.by_consent


# Signing in with OAuth 2.0: consent in the browser, then the site that the token is for.


_SLOWER = 5.0  # seconds added by `slow_down` (RFC 8628, section 3.5)


def consent(
    authority: Authority,
    scopes: list[str],
    *,
    port: int | None,
    browser: bool,
    say: Callable[[str], None],
    typed: TextIO,
) -> CredentialRecord:
    """The tokens a person agreed to; raises `NotAllowed`, `CallsheetError`."""
    redirect = authority.redirect(port)
    attempt = authority.start(redirect, scopes)
    return attempt.finish(returned_url(attempt.url, redirect, attempt.state, browser=browser, say=say, typed=typed))


def device_consent(
    authority: Authority, scopes: list[str], *, say: Callable[[str], None], sleep: Callable[[float], None]
) -> CredentialRecord:
    """The tokens a person agreed to on another device; raises `NotAllowed` when the code has ended before that."""
    code = authority.start_on_device(scopes)
    say(f"open {code.address} on any device and enter the code {code.user_code}")
    pause, left = code.pause, code.life
    while left > 0:
        sleep(pause)
        left -= pause
        try:
            return authority.poll(code)
        except Pending as pending:
            pause += _SLOWER if pending.slower else 0.0
    raise NotAllowed("nobody entered the code in time", hint="start the sign-in again")


def granted(authority: Authority, record: CredentialRecord, wanted: str) -> str | None:
    """The id of the site at the address `wanted` among those that the token reaches.

    None where the server lists no sites; `NotAllowed` when it is not among them.
    """
    sites = authority.sites(record["access_token"])
    for site in sites:
        with suppress(UsageError):  # an address that is none
            if url_origin(str(site.get("url"))) == url_origin(wanted):
                return str(site["id"])
    if not sites and not authority.lists_sites:
        return None
    reached = ", ".join(str(site.get("url")) for site in sites) or "no site"
    raise NotAllowed(
        f"the token does not reach {wanted}, only {reached}", hint="sign in again and choose that site in the browser"
    )


# Getting the secret that an authentication method needs.


class NewSecret(NamedTuple):
    """`record` is what a store keeps; None where the method knows no secret."""

    wanted: SignInRequest
    record: CredentialRecord | None

    @property
    def secret(self) -> str:
        """What is presented to the site."""
        record = self.record or {}
        return str(record.get("access_token") or record.get("token") or "")

    def __repr__(self) -> str:
        return f"NewSecret({self.wanted!r}, ...)"


def obtain(context: Context, answers: Answers, wanted: SignInRequest, web: UnauthenticatedClient) -> NewSecret:
    auth = context.catalog.get("auth", wanted.method)
    how = scheme_named(auth["scheme"])
    if not how.takes_secret:
        return NewSecret(wanted, None)
    if how.by_consent:
        return _consent(context, answers, wanted, cast("ConsentAuth", auth), web)
    answers.check_host(wanted.base_url)
    if "parts" in auth:
        lines = _several(answers, cast("SeveralAuth", auth)["parts"])
        return NewSecret(wanted._replace(email=None), {"token": lines})
    name = auth.get("secret", "secret")
    if answers.interactive and "page" in auth and not answers.option("token"):
        context.say(f"{name}: create one at {auth['page']}")
    if how.takes_user:
        wanted = wanted._replace(email=_user(answers, wanted))
        return NewSecret(wanted, {"token": clean(answers.secret("token", name, variable="TOKEN"), f"the {name}")})
    token = clean_token(answers.secret("token", name, variable="TOKEN"), f"the {name}")
    return NewSecret(wanted._replace(email=None), {"token": token})


def _several(answers: Answers, parts: list[AuthPart]) -> str:
    """A line for each part: all at once from an option or a variable, else asked for one by one."""
    names = [part.get("secret", "secret") for part in parts]
    lines = [line.strip() for line in answers.secrets("token", names, variable="TOKEN")]
    if len(lines) != len(names):
        raise UsageError(f"{len(lines)} secrets were given, expected {len(names)}: {', '.join(names)}, one a line")
    return "\n".join(clean_token(line, f"the {name}") for line, name in zip(lines, names, strict=True))


def _user(answers: Answers, wanted: SignInRequest) -> str:
    return answers.text("email", "E-mail address (or user name)", variable="EMAIL", default=wanted.email or "")


def _consent(
    context: Context, answers: Answers, wanted: SignInRequest, auth: ConsentAuth, web: UnauthenticatedClient
) -> NewSecret:
    table = auth["oauth"]
    client_id = answers.text("client-id", "Client id of your app", variable="CLIENT_ID", default=wanted.client_id or "")
    secret = ""
    if table.get("confidential") or table.get("grant") == CLIENT_CREDENTIALS:
        secret = answers.secret("client-secret", auth.get("secret", "client secret"), variable="CLIENT_SECRET")
    authority = Authority(table, client_id, secret, web)
    scopes = answers.scopes(list(wanted.scopes) or table.get("scopes", []))
    record = _granted(context, answers, authority, scopes)
    cloud_id = granted(authority, record, wanted.base_url)
    known = wanted._replace(client_id=client_id, scopes=tuple(scopes), cloud_id=cloud_id, email=None)
    return NewSecret(known, record)


def _granted(context: Context, answers: Answers, authority: Authority, scopes: list[str]) -> CredentialRecord:
    """Tokens, in the way that the server grants them."""
    if authority.grant == CLIENT_CREDENTIALS:
        return authority.grant_to_app(scopes)
    if authority.grant == "device_code":
        return device_consent(authority, scopes, say=context.say, sleep=time.sleep)
    return consent(
        authority,
        scopes,
        port=answers.option("port"),
        browser=not answers.option("no-browser"),
        say=context.say,
        typed=context.streams.input,
    )
