"""OAuth 2.0: a person's consent in the browser or on another device, tokens, and their renewal."""

from __future__ import annotations

import contextlib
import hmac
import os
import queue
import secrets
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import isfinite
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO
from urllib.parse import parse_qs, parse_qsl, quote_plus, urlencode, urlsplit

from ...client.http.redact import Redactor
from ...durations import HOUR
from ...errors import CallsheetError, NotAllowed, UsageError
from ...jsontext import JSONError, parse_json
from ...urls import base_url_problem, url_origin

if TYPE_CHECKING:
    from oauthlib.oauth2 import WebApplicationClient

    from ...client.http.reply import Reply
    from ...client.request.http_request import NetworkSettings
    from ...language.shape.access import Consent
    from . import CredentialRecord


# The device authorisation grant of OAuth 2.0 (RFC 8628): a person agrees on another device, by typing a code there.


DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
WAITING = ("authorization_pending", "slow_down")
_USUAL_PAUSE = 5.0
_LONGEST_PAUSE = 60.0
_LONGEST_LIFE = 1800.0


class Pending(Exception):
    """The person has not agreed yet; `slower`: ask less often from now on."""

    def __init__(self, *, slower: bool) -> None:
        super().__init__("pending")
        self.slower = slower


class DeviceCode(NamedTuple):
    """`address` and `user_code` are for the person, `secret` for the server; `pause` and `life` are seconds."""

    address: str
    user_code: str
    secret: str
    pause: float
    life: float

    def __repr__(self) -> str:
        return f"DeviceCode({self.address!r}, ...)"


def device_code(reply: Reply) -> DeviceCode:
    """What the server gave out; raises `NotAllowed` or `CallsheetError` for anything else."""
    if not reply.ok:
        shown = Redactor().url(reply.text[:300]).strip()
        raise NotAllowed(
            f"the authorization server refused to give out a code ({reply.status}): {shown}",
            hint="check the client id; the app must be allowed to use device codes",
            status=reply.status,
        )
    body = reply.json()
    table = body if isinstance(body, dict) else {}
    texts = [table.get(name) for name in ("user_code", "device_code")]
    address = table.get("verification_uri") or table.get("verification_url")  # the second is Google's
    if not isinstance(address, str) or not address.startswith(("https://", "http://")) or not all(texts):
        raise CallsheetError("the authorization server answered without a valid device code")
    pause, life = (
        _seconds_or_usual(table.get("interval"), _USUAL_PAUSE),
        _seconds_or_usual(table.get("expires_in"), _LONGEST_LIFE),
    )
    return DeviceCode(address, str(texts[0]), str(texts[1]), min(pause, _LONGEST_PAUSE), min(life, _LONGEST_LIFE))


def _seconds_or_usual(value: object, usual: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return usual
    return float(value) if value > 0 else usual


# The browser's part of a sign-in: open the page, wait for the browser to come back.


PATIENCE = 300.0
_POLL = 0.2
_PAGE = (
    b"<!doctype html><title>Back to the terminal</title><p>You can close this window and go back to the terminal.</p>\n"
)


_STRAY = (
    b"<!doctype html><title>Not this sign-in</title><p>This answer does not belong to the sign-in that is waiting at "
    b"the terminal. Open the page that is named there.</p>\n"
)


def matches_state(url: str, state: str) -> bool:
    """Whether a URL that came back holds the state of this sign-in; any page can send a browser to it with another."""
    try:
        states = parse_qs(urlsplit(url).query).get("state", [])
    except ValueError:
        return False
    # Twice is refused too: the page and this program might read different ones of the two.
    return len(states) == 1 and hmac.compare_digest(states[0].encode("utf-8", "replace"), state.encode())


class _Handler(BaseHTTPRequestHandler):
    server: _Listener
    timeout = 10

    def do_GET(self) -> None:
        """Anything but the answer to this sign-in is turned away, and the wait goes on."""
        expected = self.server.expected
        path, _, query = self.path.partition("?")
        if path != urlsplit(expected).path:
            self.send_error(404)
            return
        returned = f"{expected}?{query}"
        own = matches_state(returned, self.server.state)
        page = _PAGE if own else _STRAY
        self.send_response(200 if own else 400)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(page)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(page)
        if own:
            self.server.returned = returned

    def log_message(self, format: str, *args: object) -> None:
        """Silent: the request line holds the code."""


class _Listener(ThreadingHTTPServer):
    """Waits on the loopback address of a redirect URL. Threads, because browsers open connections they never use."""

    daemon_threads = True
    # Elsewhere the option lets a second program listen on the same port, and take the code.
    allow_reuse_address = os.name == "posix"

    def __init__(self, redirect: str, state: str) -> None:
        self.expected = redirect
        self.state = state
        self.returned: str | None = None
        parts = urlsplit(redirect)
        super().__init__((parts.hostname or "127.0.0.1", parts.port or 0), _Handler)
        self.timeout = _POLL


def returned_url(
    url: str,
    redirect: str,
    state: str,
    *,
    browser: bool,
    say: Callable[[str], None],
    typed: TextIO,
    patience: float = PATIENCE,
) -> str:
    """Send a person to `url`, and give back the URL they return to: one that holds `state`.

    It arrives at the redirect URL on this machine or, without a browser here, is pasted on `typed`.
    """
    try:
        listener = _Listener(redirect, state)
    except OSError as error:
        if browser:
            reason = (error.strerror or str(error)).lower()
            raise CallsheetError(
                f"cannot wait for the browser at {redirect}: {reason}",
                hint="stop the program that uses this port, or choose another registered port with --port",
            ) from None
        listener = None
    with contextlib.closing(_FirstAnswer(listener, None if browser else typed, state, say)) as answers:
        if browser:
            # In a thread: a browser that runs in the terminal only returns when it is closed.
            threading.Thread(target=_open_browser, args=(url,), daemon=True).start()
            say(f"opening your browser; if nothing happens, open this page:\n{url}")
        else:
            say(f"open this page in a browser:\n{url}\nthen wait here, or paste the address the browser was sent to:")
        return answers.wait(patience)


def _open_browser(url: str) -> None:
    import webbrowser

    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(url)


class _FirstAnswer:
    """Whatever comes first: a request at the redirect URL or a pasted line."""

    def __init__(
        self, listener: _Listener | None, typed: TextIO | None, state: str, say: Callable[[str], None]
    ) -> None:
        self._listener = listener
        self._state = state
        self._say = say
        self._lines: queue.Queue[str] = queue.Queue()
        if typed is not None:
            threading.Thread(target=self._read_typed, args=(typed,), daemon=True).start()

    def _read_typed(self, typed: TextIO) -> None:
        for line in _lines_typed(typed):
            if "code=" not in line and "error=" not in line:
                continue
            if matches_state(line.strip(), self._state):
                self._lines.put(line.strip())
                return
            self._say("that address does not belong to this sign-in; paste the one that the page above led to:")

    def wait(self, patience: float) -> str:
        end = time.monotonic() + patience
        while time.monotonic() < end:
            with contextlib.suppress(queue.Empty):
                return self._lines.get(timeout=0 if self._listener else _POLL)
            if self._listener:
                self._listener.handle_request()
                if self._listener.returned:
                    return self._listener.returned
        raise NotAllowed(f"nobody signed in within {patience:.0f} seconds", hint="start the sign-in again")

    def close(self) -> None:
        if self._listener:
            self._listener.server_close()


def _lines_typed(typed: TextIO) -> Iterator[str]:
    """Lines of a stream. Read below Python's buffers: a thread that waits in one would block the end of the program."""
    try:
        descriptor = typed.fileno()
    except (OSError, ValueError):
        yield from typed
        return
    rest = b""
    while chunk := os.read(descriptor, 65536):
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode("utf-8", "replace") for line in lines)
    yield rest.decode("utf-8", "replace")


# Requests that sign-in makes by itself: a site's way out, but never its credential unless it is given here.


class WithoutCredential:
    """A host without a credential; `hidden` are texts that must not be shown all the same."""

    name = ""
    known_as: frozenset[str] = frozenset()
    deployment = ""
    rps = None

    def __init__(self, network: NetworkSettings, root: str, hidden: Sequence[str], *, known: bool) -> None:
        """`known`: the host is the site's own, so that it is shown the client certificate."""
        self._root = root
        self.policy = network.policy
        self.ca_bundle = network.ca_bundle
        self.client_cert = network.client_cert if known else None
        self.proxy = network.proxy
        self.timeout = network.timeout
        self._hidden = [text for text in hidden if text]

    def base_url(self, service: str) -> str:
        del service
        return self._root

    def headers(self, service: str) -> dict[str, str]:
        del service
        return {}

    def query(self, service: str) -> tuple[tuple[str, str], ...]:
        del service
        return ()

    def body(self, service: str) -> tuple[tuple[str, str], ...]:
        del service
        return ()

    def secrets(self) -> list[str]:
        return self._hidden


class UnauthenticatedClient:
    """Sends single requests. Network failures raise `NetworkError`; any status comes back as it is."""

    def __init__(self, network: NetworkSettings, environ: Mapping[str, str] = os.environ, *, home: str = "") -> None:
        """`home` is the address of the site that the client certificate is for; no other host is shown it."""
        self._network = network
        self._environ = environ
        self._home = home

    def get(self, url: str, *, bearer: str = "") -> Reply:
        headers = (("Authorization", f"Bearer {bearer}"),) if bearer else ()
        return self._send_request("GET", url, None, headers, [bearer])

    def post(self, url: str, form: str, hidden: Sequence[str], *, authorization: str = "") -> Reply:
        """`form` is an encoded form; `hidden` are the secrets in it; `authorization` is a header's value."""
        from ...client.request.http_request import Form

        headers = (("Authorization", authorization),) if authorization else ()
        hidden = [*hidden, authorization.partition(" ")[2]]
        return self._send_request("POST", url, Form(tuple(parse_qsl(form, keep_blank_values=True))), headers, hidden)

    def _send_request(
        self, method: str, url: str, body: Any, headers: tuple[tuple[str, str], ...], hidden: Sequence[str]
    ) -> Reply:
        from ...client.http.http_client import Client
        from ...client.request.http_request import Request

        parts = urlsplit(url)
        root = f"{parts.scheme}://{parts.netloc}"
        problem = base_url_problem(root)
        if problem:
            raise UsageError(problem)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True))
        known = bool(self._home) and url_origin(self._home) == url_origin(root)
        host = WithoutCredential(self._network, root, hidden, known=known)
        with Client(host, None, environ=self._environ) as client:
            return client.exchange(Request(method, root, parts.path, query, headers, body))


# OAuth 2.0: authorization code with PKCE, client credentials, device code, and renewal.
#
# Sources: RFC 6749 (sections 4.1, 4.4 and 6), RFC 7636 (PKCE, S256), RFC 8252 (programs of a person's own machine).
# The messages are oauthlib's, the transport is this program's.


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

    def redirect_url(self, port: int | None = None) -> str:
        """The redirect URL; it must be registered with the server exactly like this."""
        consent = self._consent
        return f"http://{consent.get('host', '127.0.0.1')}:{port or consent['port']}{consent['path']}"

    def start_sign_in(self, redirect: str, scopes: list[str]) -> PendingSignIn:
        return PendingSignIn(self, self._client, redirect, _unique_words([*scopes, *self._consent.get("renew", ())]))

    def redeem_code(self, code: str, redirect: str, verifier: str) -> CredentialRecord:
        """The tokens that a code stands for; `NotAllowed` when it is refused."""
        body = self._client.prepare_request_body(
            code=code, redirect_uri=redirect, code_verifier=verifier, include_client_id=True, **self._client_secret()
        )
        return self._post_token_request(body, [code, verifier])

    def renew_token(self, record: CredentialRecord, scopes: Sequence[str]) -> CredentialRecord:
        """A new access token and, where the server rotates them, a new refresh token. `NotAllowed` when refused."""
        refresh_token = record.get("refresh_token")
        if not refresh_token:
            return self.grant_to_app(scopes)
        body = self._client.prepare_refresh_body(
            refresh_token=refresh_token, client_id=self._client.client_id, **self._client_secret()
        )
        # A server that does not rotate refresh tokens leaves them out of its answer: the old one goes on being valid.
        return {"refresh_token": refresh_token, **self._post_token_request(body, [refresh_token])}

    def grant_to_app(self, scopes: Sequence[str]) -> CredentialRecord:
        """An access token for the app itself (RFC 6749, section 4.4); `NotAllowed` when it is refused."""
        form = {"grant_type": CLIENT_CREDENTIALS, "client_id": self._client.client_id, **self._client_secret()}
        if scopes:
            form["scope"] = " ".join(scopes)
        return {"grant": CLIENT_CREDENTIALS, **self._post_token_request(urlencode(form), [])}

    def start_on_device(self, scopes: Sequence[str]) -> DeviceCode:
        """A code that a person types at an address, on whatever device (RFC 8628, section 3.1)."""
        asked = _unique_words([*scopes, *self._consent.get("renew", ())])
        form = {"client_id": self._client.client_id, "scope": " ".join(asked)}
        return device_code(self._web.post(self._consent["device"], urlencode(form), [self._secret]))

    def poll_device(self, code: DeviceCode) -> CredentialRecord:
        """The tokens, once the person has agreed; `Pending` before that (RFC 8628, section 3.4)."""
        form = {"grant_type": DEVICE_GRANT, "device_code": code.secret, "client_id": self._client.client_id}
        return self._post_token_request(urlencode({**form, **self._client_secret()}), [code.secret])

    @property
    def grant(self) -> str:
        return self._consent.get("grant", "authorization_code")

    def _client_secret(self) -> dict[str, str]:
        """The app's secret, where it is sent in the form."""
        return {_SECRET: self._secret} if self._secret and self._consent.get("client") != "header" else {}

    def _basic_header(self) -> str:
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

        reply = self._web.post(
            self._consent["token"], body, [self._secret, *hidden], authorization=self._basic_header()
        )
        redactor = Redactor([self._secret, *hidden, *_secrets_in(reply)])
        try:
            token = self._client.parse_request_body_response(reply.text)
            kept: CredentialRecord = {
                "expires_at": _finite_seconds(time.time() + float(token.get("expires_in") or HOUR))
            }
            if token.get("access_token"):
                kept["access_token"] = _sendable_token(token["access_token"])
            if token.get("refresh_token"):
                kept["refresh_token"] = _sendable_token(token["refresh_token"])
        except OAuth2Error as error:
            if error.error in WAITING:
                # RFC 8628, section 3.5: `slow_down` means to ask less often from now on, not to give up.
                raise Pending(slower=error.error == "slow_down") from None
            raise _token_error(reply.status, error, redactor) from None
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
            raise CallsheetError(
                f"the authorization server answered {reply.status} without valid tokens",
                hint="try again later",
                status=reply.status,
            ) from None
        if self._secret:
            kept["client_secret"] = self._secret
        return kept

    @property
    def lists_sites(self) -> bool:
        return "sites" in self._consent

    def reachable_sites(self, access_token: str) -> list[dict[str, Any]]:
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
        # PKCE (RFC 7636): who sees the code in the redirect cannot exchange it without this.
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

    def finish_sign_in(self, returned: str) -> CredentialRecord:
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
        return self._authority.redeem_code(answer["code"], self._redirect, self._verifier)


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


def _sendable_token(token: Any) -> str:
    """A token that a header can carry; raises `ValueError`."""
    if isinstance(token, str) and token.isascii() and token.isprintable():
        return token
    raise ValueError


def _finite_seconds(seconds: float) -> float:
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


def _unique_words(words: list[str]) -> list[str]:
    return list(dict.fromkeys(words))
