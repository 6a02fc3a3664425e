"""Getting the secret that an authentication method needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from ...sites.credentials.oauth import Authority
from ...sites.credentials.schemes import clean, clean_token, scheme
from ...sites.credentials.unauthenticated_client import UnauthenticatedClient
from .answers import Answers
from .browser import consent, granted
from .request import SignInRequest

if TYPE_CHECKING:
    from ...language.shape.access import AuthDefinition
    from ..context import Context


class NewSecret(NamedTuple):
    """`record` is what a store keeps; None where the method knows no secret."""

    wanted: SignInRequest
    record: dict[str, Any] | None

    @property
    def secret(self) -> str:
        """What is presented to the site."""
        record = self.record or {}
        return str(record.get("access_token") or record.get("token") or "")

    def __repr__(self) -> str:
        return f"Obtained({self.wanted!r}, ...)"


def obtain(context: Context, answers: Answers, wanted: SignInRequest, web: UnauthenticatedClient) -> NewSecret:
    auth = context.catalog.get("auth", wanted.method)
    how = scheme(auth["scheme"])
    if not how.takes_secret:
        return NewSecret(wanted, None)
    if how.by_consent:
        return _consent(context, answers, wanted, auth, web)
    name = auth.get("secret", "secret")
    answers.check_host(wanted.base_url)
    if answers.interactive and "page" in auth and not answers.option("token"):
        context.say(f"{name}: make one at {auth['page']}")
    if how.takes_user:
        wanted = wanted._replace(email=_user(answers, wanted))
        return NewSecret(wanted, {"token": clean(answers.secret("token", name, variable="TOKEN"), f"the {name}")})
    token = clean_token(answers.secret("token", name, variable="TOKEN"), f"the {name}")
    return NewSecret(wanted._replace(email=None), {"token": token})


def _user(answers: Answers, wanted: SignInRequest) -> str:
    return answers.text("email", "E-mail address (or user name)", variable="EMAIL", default=wanted.email or "")


def _consent(
    context: Context, answers: Answers, wanted: SignInRequest, auth: AuthDefinition, web: UnauthenticatedClient
) -> NewSecret:
    table = auth["oauth"]
    client_id = answers.text("client-id", "Client id of your app", variable="CLIENT_ID", default=wanted.client_id or "")
    secret = ""
    if table.get("confidential"):
        secret = answers.secret("client-secret", auth.get("secret", "client secret"), variable="CLIENT_SECRET")
    authority = Authority(table, client_id, secret, web)
    scopes = answers.scopes(list(wanted.scopes) or table.get("scopes", []))
    record = consent(
        authority,
        scopes,
        port=answers.option("port"),
        browser=not answers.option("no-browser"),
        say=context.say,
        typed=context.streams.input,
    )
    cloud_id = granted(authority, record, wanted.base_url)
    known = wanted._replace(client_id=client_id, scopes=tuple(scopes), cloud_id=cloud_id, email=None)
    return NewSecret(known, record)
