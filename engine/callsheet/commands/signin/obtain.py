"""Getting the secret that an authentication method needs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple, cast

from ...errors import UsageError
from ...sites.credentials.oauth import CLIENT_CREDENTIALS, Authority
from ...sites.credentials.schemes import clean, clean_token, scheme_named
from ...sites.credentials.unauthenticated_client import UnauthenticatedClient
from .answers import Answers
from .browser import consent, device_consent, granted
from .request import SignInRequest

if TYPE_CHECKING:
    from ...language.shape.access import AuthPart, ConsentAuth, SeveralAuth
    from ...sites.credentials.record import CredentialRecord
    from ..context import Context


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
