"""OAuth 2.0: authorization code with PKCE, client credentials, device code, and renewal.

Sources: RFC 6749 (sections 4.1, 4.4 and 6), RFC 7636 (PKCE, S256), RFC 8252 (programs of a person's own machine). The
messages are oauthlib's, the transport is this program's.
"""

from __future__ import annotations

import secrets
import time
from base64 import b64encode
from collections.abc import Callable, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

from ...client.http.redact import Redactor
from ...durations import HOUR
from ...errors import CallsheetError, NotAllowed, UsageError
from ...jsontext import JSONError, parse_json
from ...urls import base_url_problem
from .device import DEVICE_GRANT, WAITING, DeviceCode, Pending, device_code
from .unauthenticated_client import UnauthenticatedClient

if TYPE_CHECKING:
    from oauthlib.oauth2 import WebApplicationClient

    from ...client.http.reply import Reply
    from ...language.shape.access import Consent
    from .record import CredentialRecord

CLIENT_CREDENTIALS = "client_credentials"
_SECRET = "client_secret"  # noqa: S105 - the name of a field


class Authority:
    """An authorization server, as the `oauth` table of an auth definition describes it, and one app there."""

    def __init__(
        self,
        consent: Consent,
        client_id: str,
        client_secret: str,
        web: UnauthenticatedClient,
        *,
        reads_only: bool = False,
    ) -> None:
        """Raises `UsageError` where the app's id is missing, or its secret; `reads_only` exchanges nothing."""
        from oauthlib.oauth2 import WebApplicationClient

        page = f"register an app at {consent['register']}" if "register" in consent else None
        if not client_id:
            raise UsageError("OAuth 2.0 needs the client id of an app of your own (--client-id)", hint=page)
        needs_secret = consent.get("confidential") or consent.get("grant") == CLIENT_CREDENTIALS
        if needs_secret and not client_secret and not reads_only:
            raise UsageError(
                f"OAuth 2.0 needs the client secret of the app {client_id} (--client-secret)",
                hint="the app's settings page shows it, next to the client id",
            )
        self._consent = consent
        self._secret = client_secret
        self._web = web
        self._client: WebApplicationClient = WebApplicationClient(client_id)

    def redirect(self, port: int | None = None) -> str:
        """The redirect URL; it must be registered with the server exactly like this."""
        consent = self._consent
        return f"http://{consent.get('host', '127.0.0.1')}:{port or consent['port']}{consent['path']}"

    def start(self, redirect: str, scopes: list[str]) -> PendingSignIn:
        return PendingSignIn(self, self._client, redirect, _unique([*scopes, *self._consent.get("renew", ())]))

    def redeem(self, code: str, redirect: str, verifier: str) -> CredentialRecord:
        """The tokens that a code stands for; `NotAllowed` when it is refused."""
        body = self._client.prepare_request_body(
            code=code, redirect_uri=redirect, code_verifier=verifier, include_client_id=True, **self._client_secret()
        )
        return self._post_token_request(body, [code, verifier])

    def renew(self, record: CredentialRecord, scopes: Sequence[str]) -> CredentialRecord:
        """A new access token and, where the server rotates them, a new refresh token. `NotAllowed` when refused."""
        refresh_token = record.get("refresh_token")
        if not refresh_token:
            return self.grant_to_app(scopes)
        body = self._client.prepare_refresh_body(
            refresh_token=refresh_token, client_id=self._client.client_id, **self._client_secret()
        )
        return {"refresh_token": refresh_token, **self._post_token_request(body, [refresh_token])}

    def grant_to_app(self, scopes: Sequence[str]) -> CredentialRecord:
        """An access token for the app itself (RFC 6749, section 4.4); `NotAllowed` when it is refused."""
        form = {"grant_type": CLIENT_CREDENTIALS, "client_id": self._client.client_id, **self._client_secret()}
        if scopes:
            form["scope"] = " ".join(scopes)
        return {"grant": CLIENT_CREDENTIALS, **self._post_token_request(urlencode(form), [])}

    def start_on_device(self, scopes: Sequence[str]) -> DeviceCode:
        """A code that a person types at an address, on whatever device (RFC 8628, section 3.1)."""
        asked = _unique([*scopes, *self._consent.get("renew", ())])
        form = {"client_id": self._client.client_id, "scope": " ".join(asked)}
        return device_code(self._web.post(self._consent["device"], urlencode(form), [self._secret]))

    def poll(self, code: DeviceCode) -> CredentialRecord:
        """The tokens, once the person has agreed; `Pending` before that (RFC 8628, section 3.4)."""
        form = {"grant_type": DEVICE_GRANT, "device_code": code.secret, "client_id": self._client.client_id}
        return self._post_token_request(urlencode({**form, **self._client_secret()}), [code.secret])

    @property
    def grant(self) -> str:
        return self._consent.get("grant", "authorization_code")

    def _client_secret(self) -> dict[str, str]:
        """The app's secret, where it is sent in the form."""
        return {_SECRET: self._secret} if self._secret and self._consent.get("client") != "header" else {}

    def _basic(self) -> str:
        """Id and secret as a header has them: both encoded as in a form first (RFC 6749, section 2.3.1)."""
        if self._consent.get("client") != "header":
            return ""
        pair = f"{quote_plus(self._client.client_id)}:{quote_plus(self._secret)}"
        return "Basic " + b64encode(pair.encode()).decode()

    @property
    def authorize(self) -> str:
        return str(self._consent["authorize"])

    @property
    def params(self) -> dict[str, str]:
        return dict(self._consent.get("params", {}))

    def _post_token_request(self, body: str, hidden: list[str]) -> CredentialRecord:
        from oauthlib.oauth2 import OAuth2Error

        reply = self._web.post(self._consent["token"], body, [self._secret, *hidden], authorization=self._basic())
        redactor = Redactor([self._secret, *hidden, *_secrets_in(reply)])
        try:
            token = self._client.parse_request_body_response(reply.text)
            kept: CredentialRecord = {"expires_at": _finite(time.time() + float(token.get("expires_in") or HOUR))}
            if token.get("access_token"):
                kept["access_token"] = _sendable(token["access_token"])
            if token.get("refresh_token"):
                kept["refresh_token"] = _sendable(token["refresh_token"])
        except OAuth2Error as error:
            if error.error in WAITING:
                raise Pending(slower=error.error == "slow_down") from None
            raise _token_error(reply.status, error, redactor) from None
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            raise CallsheetError(
                f"the authorization server answered {reply.status}without valid tokens",
                hint="try again later",
                status=reply.status,
            ) from None
        if self._secret:
            kept["client_secret"] = self._secret
        return kept

    @property
    def lists_sites(self) -> bool:
        return "sites" in self._consent

    def sites(self, access_token: str) -> list[dict[str, Any]]:
        """The sites a token reaches: `url`, `id`, `scopes`. Empty where the server has no such list."""
        from ...language.template import evaluate

        if not self.lists_sites:
            return []
        reply = self._web.get(self._consent["sites"], bearer=access_token)
        if not reply.ok:
            raise NotAllowed(f"the list of sites was refused with status {reply.status}", status=reply.status)
        listed = reply.json()
        if not isinstance(listed, list):
            raise CallsheetError("the authorization server's list of sites is not a list", status=reply.status)
        consent = self._consent
        named = {"url": consent.get("site_url"), "id": consent.get("site_id"), "scopes": consent.get("site_scopes")}
        return [
            {name: evaluate(expression, site) for name, expression in named.items() if expression is not None}
            for site in listed
        ]


class PendingSignIn:
    """One sign-in under way: the page to open, and what must come back from it."""

    def __init__(self, authority: Authority, client: WebApplicationClient, redirect: str, scopes: list[str]) -> None:
        self._authority = authority
        self._client = client
        self._redirect = redirect
        self.state = secrets.token_urlsafe(24)
        self._verifier = client.create_code_verifier(64)
        self.url = _allowing_loopback_http(authority.authorize, lambda url: self._request_url(url, scopes))

    def _request_url(self, url: str, scopes: list[str]) -> str:
        challenge = self._client.create_code_challenge(self._verifier, "S256")
        made: str = self._client.prepare_request_uri(
            url,
            redirect_uri=self._redirect,
            scope=" ".join(scopes),
            state=self.state,
            code_challenge=challenge,
            code_challenge_method="S256",
            **self._authority.params,
        )
        return made

    def finish(self, returned: str) -> CredentialRecord:
        """Redeem the code in the URL that the browser was sent back to; raises `NotAllowed`."""
        from oauthlib.oauth2 import MismatchingStateError, MissingCodeError, OAuth2Error

        # oauthlib wants https; a redirect to this machine's loopback address is plain http by RFC 8252, section 7.3.
        secured = "https" + returned.strip().removeprefix("https").removeprefix("http")
        try:
            answer = self._client.parse_request_uri_response(secured, state=self.state)
        except MismatchingStateError:
            raise NotAllowed("the answer does not belong to this sign-in (its state differs)", hint=_AGAIN) from None
        except MissingCodeError:
            raise NotAllowed("the answer contains no authorization code", hint=_AGAIN) from None
        except OAuth2Error as error:
            raise NotAllowed(f"the sign-in was refused: {_describe_error(error)}", hint=_AGAIN) from None
        return self._authority.redeem(answer["code"], self._redirect, self._verifier)


_AGAIN = "start the sign-in again"
_SHOWN = 300
_SHORTEST = 8  # characters of a text that may be a secret


def _secrets_in(reply: Reply) -> list[str]:
    """Every text of the answer that may be a secret: an error may repeat what was sent, or hold what was made."""
    try:
        body = parse_json(reply.content)
    except JSONError:
        body = dict(parse_qsl(reply.text))
    table = body if isinstance(body, dict) else {}
    texts = [text for name, text in table.items() if isinstance(text, str) and not name.startswith("error")]
    return [text for text in texts if len(text) >= _SHORTEST]


def _token_error(status: int, error: Any, redactor: Redactor) -> CallsheetError:
    """What the token endpoint's error means for the person."""
    text = redactor.url(f"the authorization server answered {status}: {_describe_error(error)}")
    if error.error in ("invalid_client", "unauthorized_client", "access_denied"):
        return NotAllowed(text, hint="check the app's client id and client secret", status=status)
    if error.error in ("invalid_grant", "invalid_request", "invalid_scope"):
        return NotAllowed(text, hint=_AGAIN, status=status)
    return CallsheetError(text, hint="try again later", status=status)


def _sendable(token: Any) -> str:
    """A token that a header can carry; raises `ValueError`."""
    if isinstance(token, str) and token.isascii() and token.isprintable():
        return token
    raise ValueError


def _finite(seconds: float) -> float:
    if isfinite(seconds):
        return seconds
    raise ValueError


def _describe_error(error: Any) -> str:
    described = str(error.description or "")[:_SHOWN]
    code = str(error.error)[:_SHOWN]
    return f"{code}: {described}" if described and described != code else code


def _allowing_loopback_http(url: str, make: Callable[[str], str]) -> str:
    """`make(url)` with http allowed for this machine alone; oauthlib knows only https."""
    problem = base_url_problem(f"{urlsplit(url).scheme}://{urlsplit(url).netloc}")
    if problem:
        raise UsageError(problem)
    if url.startswith("http:"):
        return "http" + make("https" + url.removeprefix("http")).removeprefix("https")
    return make(url)


def _unique(words: list[str]) -> list[str]:
    return list(dict.fromkeys(words))
