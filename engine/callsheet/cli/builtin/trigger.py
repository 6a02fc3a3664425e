"""`webhook trigger`: send a signed event."""

from __future__ import annotations

import contextlib
import os
import re
import time
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx

from ...commands.context import Context, ParameterValues
from ...commands.without_site import check_change
from ...errors import (
    CallsheetError,
    Conflict,
    NetworkError,
    NotAllowed,
    NotFound,
    RateLimited,
    UsageError,
    did_you_mean,
)
from ...jsontext import parse_json
from ...listener.server.listening_sockets import parse_address
from ...listener.simulated_deliveries import TokenSigner, make_payload, plain_delivery, private_key, served_key_set
from ...listener.verify.proof_kinds import variable_of
from ...listener.verify.secret_options import collect_secrets
from ...urls import is_loopback, refuse_login, url_origin

if TYPE_CHECKING:
    from ...language.shape.listener import SourceDefinition
    from ...listener.simulated_deliveries import Delivery

DEFAULT_HOST = "http://127.0.0.1:8080"
KEYS_OPTION = "--keys-addr"
TIME_LIMIT = 20.0
_HOST_AND_PORT = re.compile(r"[A-Za-z0-9.-]*:\d{1,5}")
LEARNING = 12
_ERRORS: dict[int, type[CallsheetError]] = {
    401: NotAllowed, 403: NotAllowed, 404: NotFound, 409: Conflict, 429: RateLimited, 503: RateLimited,
}  # fmt: skip
_REFUSED = {
    "none": "it was sent without a signature: give --secret-file, --secret-key or --jwt-key",
    "signature": "the listener expects another secret, or a signed token",
    "token": "the listener takes no tokens, or has the key set of another address",
}

Make = Callable[[str], "Delivery"]


def trigger_event(context: Context, values: ParameterValues) -> None:
    definition = context.catalog.sources.get(values["source"])
    body = _event_body(context, values)
    if values["count"] < 1:
        raise UsageError(f"--count: {values['count']} is not a number of events, expected 1 or more")
    check_change(context, "write", "webhook trigger")
    url = listener_url(values.get("to"), definition["path"])
    with _delivery_maker(context, values, definition, body, url) as make, _http_client(url) as client:
        for _ in range(values["count"]):
            delivery = make(uuid.uuid4().hex)
            try:
                _send_until_known(client, delivery.url, delivery, LEARNING if values.get("jwt-key") else 0)
            except NotAllowed as error:
                error.hint = _refusal_hint(definition, delivery.proof)
                raise
            context.streams.out.write(f"{delivery.id}\n")


def listener_url(to: str | None, path: str) -> str:
    """Where the listener is. `:8080` and `host:8080` are what its `--addr` is called; the path is then the source's."""
    if to is None:
        return DEFAULT_HOST + path
    if not _HOST_AND_PORT.fullmatch(to):
        return to
    return f"http://{'127.0.0.1' if to.startswith(':') else ''}{to}{path}"


def _event_body(context: Context, values: ParameterValues) -> Any:
    """The body that was given, or else the sample of the type. Raises `UsageError` for a type there is none of."""
    from fnmatch import fnmatchcase

    events = {
        event.get("type", name): event
        for name, event in context.catalog.events.all().items()
        if event["source"] == values["source"]
    }
    wanted = values["type"]
    event = events.get(wanted) or next((events[name] for name in events if fnmatchcase(wanted, name)), None)
    if event is None:
        raise UsageError(
            f"unknown event type {wanted!r}{did_you_mean(wanted, events)}", hint="see `{program} webhook events`"
        )
    if values.get("data") is None:
        return event.get("sample", {})
    try:
        return parse_json(context.read_source(values["data"]))
    except ValueError as error:
        raise UsageError(f"--data: not JSON: {error}") from None


@contextlib.contextmanager
def _delivery_maker(
    context: Context, values: ParameterValues, definition: SourceDefinition, body: Any, url: str
) -> Iterator[Make]:

    def payload(id: str) -> tuple[Any, dict[str, str]]:
        return make_payload(definition, values["type"], body, id, values["set"] or ())

    path, keys_address = values.get("jwt-key"), parse_address(values["keys-addr"], KEYS_OPTION)
    if path is None:
        secret = _signing_secret(context, values, definition)
        is_token = secret is not None and "env" in definition.get("jwt", {})
        claims = _token_claims(context, definition) if is_token else {}
        yield lambda id: plain_delivery(definition, *payload(id), secret, url, claims)
        return
    if "jwt" not in definition:
        raise UsageError(f"source {values['source']!r} does not use signed tokens", hint="sign with --secret")
    signer = TokenSigner(private_key(path))
    claims = _token_claims(context, definition)
    with served_key_set(keys_address, signer.key_set, KEYS_OPTION) as address:
        context.note(f"key set at {address}")
        yield lambda id: signer.make_token(definition, *payload(id), url, claims)


def _token_claims(context: Context, definition: SourceDefinition) -> dict[str, str]:
    """What a token has to say, by the variables of its receiver. Raises `UsageError` where one is not set."""
    prefix, named = context.definition["prefix"], definition["jwt"].get("claims", {})
    found = {
        claim: collect_secrets((), (), (), variable, context.environ, prefix, context.program)
        for claim, variable in named.items()
    }
    missing = [variable for claim, variable in named.items() if not found[claim]]
    if missing:
        raise UsageError(
            f"{' and '.join(missing)}: not set",
            hint="the token has to say what the listener expects: set the same value",
        )
    return {claim: values[0] for claim, values in found.items()}


def _signing_secret(context: Context, values: ParameterValues, definition: SourceDefinition) -> str | None:

    given = [values["secret"]] if values.get("secret") is not None else []
    files = [values["secret-file"]] if values.get("secret-file") else []
    names = [values["secret-key"]] if values.get("secret-key") else []
    variable = variable_of(definition)
    prefix = context.definition["prefix"]
    found = collect_secrets(given, files, names, variable, context.environ, prefix, context.program)
    return found[0] if found else None


def _http_client(url: str) -> httpx.Client:
    """Raises `UsageError` for what no host can be called. This machine is never reached through a proxy."""
    from ...client.http.connections import ssl_context

    refuse_login(url, "--to", "events are signed with --secret-file, --secret-key or --jwt-key")
    try:
        url_origin(url)
    except UsageError as error:
        raise UsageError(f"--to: {error.message}", hint=error.hint) from None
    local = is_loopback(urlsplit(url).hostname or "")
    trusted = ssl_context(None, os.environ)  # which authorities are is the environment's to say, on this machine too
    return httpx.Client(timeout=TIME_LIMIT, follow_redirects=False, trust_env=not local, verify=trusted)


def _send_until_known(client: httpx.Client, url: str, delivery: Delivery, patience: int) -> None:
    """A listener that asked for the key set before it was served asks again within some seconds."""
    for _ in range(patience):
        try:
            _send_delivery(client, url, delivery)
        except (NotAllowed, RateLimited):  # the set was fetched without this key, or not at all
            time.sleep(1)
        else:
            return
    _send_delivery(client, url, delivery)


def _send_delivery(client: httpx.Client, url: str, delivery: Delivery) -> None:

    try:
        answer = client.post(url, content=delivery.body, headers=delivery.headers)
    except httpx.InvalidURL as error:
        raise UsageError(f"--to: {url!r}: {error}") from None
    except httpx.UnsupportedProtocol:
        raise UsageError(f"--to: {url!r} is not an http address") from None
    except httpx.RequestError as error:
        raise _network_error(error, url) from None
    if not answer.is_success:
        kind = _ERRORS.get(answer.status_code, CallsheetError)
        raise kind(f"{url} answered {answer.status_code} {answer.reason_phrase}", status=answer.status_code)


def _refusal_hint(definition: SourceDefinition, proof: str) -> str:
    """What may be wrong with a proof that a listener did not accept."""
    if proof == "signature" and "public_key" in definition:
        return "give the private half of the key that the listener has, with --secret or --secret-file"
    if proof == "signature" and "{url}" in definition.get("hmac", {}).get("signed", ""):
        return "the signature covers the address: --to must begin as the listener's --public-url, or the secret differs"
    if "certificate" in definition:
        return "only its sender has the key of its certificate: for events of your own, listen with --insecure"
    if proof == "token" and (claims := definition["jwt"].get("claims")):
        return f"the listener has another {' or '.join(claims.values())}, or the key set of another address"
    return _REFUSED[proof]


def _network_error(error: httpx.RequestError, url: str) -> NetworkError:

    from ...client.http.retry import explain_network_error

    text, hint = explain_network_error(error, TIME_LIMIT)
    if isinstance(error, httpx.TimeoutException):
        hint = None
    elif url.startswith("http:"):
        refused = isinstance(error, httpx.ConnectError)
        hint = "is a listener running there?" if refused else "does the listener there serve https?"
    return NetworkError(f"{url}: {text}", hint=hint)
