"""Signed test events, as a source's sender would make them, and key sets to verify them with."""

from __future__ import annotations

import base64
import contextlib
import copy
import hashlib
import hmac
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from ..errors import UsageError
from ..files import open_regular
from ..jsontext import dump_json, parse_json
from ..language.compiled_jmespath import expression_tree
from ..language.template import evaluate, fill_template, fill_text, to_text
from .server.listening_sockets import ListenAddress, bind_sockets, urls_of_sockets
from .verify.payload import CONTENT_TYPE
from .verify.proofs import Signature, SignedMessage, SignedRequest, arguments_of, key_of
from .verify.secret_options import refuse_byte_order_mark
from .verify.signed_tokens import request_hash

if TYPE_CHECKING:
    import http.server

    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

    from ..language.shape import listener as shape
    from ..language.shape.listener import PlainTokenDefinition, PublicKey

# Proofs of deliveries made here that a receiver cannot make: it has only the public half, or compares what is sent.

_SEED_SIZE = 32


def with_token(definition: PlainTokenDefinition, secret: str, url: str) -> tuple[dict[str, str], str]:
    """The header with the secret, or the address with it in its query. In a body it stands already."""
    if "member" in definition:
        return {}, url
    if "header" in definition:
        return {definition["header"]: definition.get("prefix", "") + secret}, url
    return {}, url + ("&" if urlsplit(url).query else "?") + urlencode({definition["query"]: secret})


def signed_privately(
    definition: PublicKey, secret: str, body: bytes, headers: Mapping[str, str], now: float, request: SignedRequest
) -> dict[str, str]:
    """The headers with a signature by a private key: a seed (ed25519) or PKCS #8. Raises `UsageError`."""
    key = _private_key_of(definition, key_of(secret, definition.get("key")))
    more = arguments_of(definition["algorithm"])

    def sign(message: bytes) -> str:
        signature: bytes = key.sign(message, *more)
        return signature.hex() if definition["encoding"] == "hex" else base64.b64encode(signature).decode()

    return SignedMessage(definition).headers_for(body, headers, now, request, sign)


def _private_key_of(definition: PublicKey, data: bytes) -> Any:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    is_ed25519 = definition["algorithm"] == "ed25519"
    key: Any = None
    try:
        is_seed = is_ed25519 and len(data) == _SEED_SIZE
        key = Ed25519PrivateKey.from_private_bytes(data) if is_seed else load_der_private_key(data, None)
    except (ValueError, TypeError):
        key = None
    if not isinstance(key, Ed25519PrivateKey if is_ed25519 else EllipticCurvePrivateKey):
        raise UsageError(
            f"the secret is not a private key for {definition['algorithm']}",
            hint="an event is signed with the private key, and verified with the public one",
        )
    return key


# Deliveries made here, as a source's sender would make them: to try a listener without the real system.


class Delivery(NamedTuple):
    """`proof` is "signature", "token" or "none"; `id` is the one that the receiver will see, if any; `url` where to."""

    headers: dict[str, str]
    body: bytes
    proof: str
    id: str
    url: str


def make_payload(
    definition: shape.SourceDefinition, type_: str, body: Any, id: str, changes: Sequence[str]
) -> tuple[Any, dict[str, str]]:
    """The payload in the source's envelope and the headers that are part of it. Raises `UsageError` for a change."""
    moment = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    scope = {"id": id, "type": type_, "time": moment, "body": body}
    payload, headers = _sample_of(definition, scope)
    for change in changes:
        _set_member(payload, change)
    return payload, headers


_DEFAULT = {"id": "{id}", "event_type": "{type}", "event_time": "{time}", "body": "{body}"}


def _sample_of(definition: shape.SourceDefinition, scope: Mapping[str, Any]) -> tuple[Any, dict[str, str]]:
    headers = {name: to_text(fill_text(text, scope)) for name, text in definition.get("sample_headers", {}).items()}
    if "sample" not in definition and (derived := derived_sample(definition, scope)) is not None:
        payload, more = derived
        return payload, {**more, **headers}
    return fill_template(definition.get("sample", _DEFAULT), scope), headers


def derived_sample(definition: shape.SourceDefinition, values: Mapping[str, Any]) -> tuple[Any, dict[str, str]] | None:
    """A payload and headers in which a source finds these values by its expressions.

    Nothing where these do not say where the type is.
    """
    payload: Any = copy.deepcopy(values["body"]) if definition.get("body", "payload") == "payload" else {}
    headers: dict[str, str] = {}
    for key in ("body", "time", "id", "type"):
        root, *names = _members_read(str(definition.get(key, ""))) or [""]
        if root == "headers" and len(names) == 1:
            headers[names[0]] = to_text(values[key])
        elif not (root == "payload" and names and put_member(payload, ".".join(names), values[key])) and key == "type":
            return None
    if "events" in definition:
        root, *names = _members_read(definition["events"]) or [""]
        payload = [payload]
        for name in reversed(names):
            payload = {name: payload}
        if root != "payload":
            return None
    return payload, headers


def _members_read(expression: str) -> list[str]:
    """The names of `payload.event.type`, or of the first alternative of several; nothing for anything else."""
    node = expression_tree(expression) if expression else None
    while node and node["type"] in ("or_expression", "function_expression") and node["children"]:
        node = node["children"][0]
    parts = node["children"] if node and node["type"] == "subexpression" else [node or {"type": ""}]
    return [part["value"] for part in parts] if all(part["type"] == "field" for part in parts) else []


def id_of(definition: shape.SourceDefinition, payload: Any, headers: Mapping[str, str]) -> str:
    """The id as the source's own expression finds it, whatever of the delivery was changed."""
    lower = {name.lower(): value for name, value in headers.items()}
    scope = {"payload": payload, "headers": lower, "query": {}}
    if "events" in definition:
        scope["payload"] = next(iter(evaluate(definition["events"], scope) or ()), None)
    return to_text(evaluate(definition.get("id", "`null`"), scope))


def _set_member(payload: Any, change: str) -> None:
    """`body.score=55`: the value is JSON where it can be, else text."""
    path, sign, text = change.partition("=")
    if not sign or not path:
        raise UsageError(f"--set: {change!r}: expected PATH=VALUE", hint="example: --set body.score=55")
    try:
        value = parse_json(text)
    except ValueError:
        value = text
    if not put_member(payload, path, value):
        raise UsageError(f"--set: {path}: there is no object to set it in")


def put_member(payload: Any, path: str, value: Any) -> bool:
    """Whether there is an object to set it in."""
    *steps, last = path.split(".")
    table = payload
    for step in steps:
        if isinstance(table, list):
            table = table[int(step)] if step.isdecimal() and int(step) < len(table) else None
        else:
            table = table.setdefault(step, {}) if isinstance(table, dict) else None
    if isinstance(table, dict):
        table[last] = value
    return isinstance(table, dict)


def plain_delivery(
    definition: shape.SourceDefinition,
    payload: Any,
    headers: Mapping[str, str],
    secret: str | None,
    url: str,
    proving: Mapping[str, str] | None = None,
) -> Delivery:
    """A body of JSON or, where the source takes nothing else, a form; proved where there is a secret, for `url`.

    `proving` are the claims that a token has to have, where one is signed with the secret.
    """
    is_form = definition.get("content") == "form"
    if secret is not None:
        _prove_inside(definition, payload, secret, url)
    body = _form_of_payload(definition, payload) if is_form else dump_json(payload).encode()
    own = {"Content-Type": CONTENT_TYPE if is_form else "application/json", **headers}
    if secret is None or "certificate" in definition:  # whose key the sender alone has
        return Delivery(own, body, "none", id_of(definition, payload, headers), url)
    if "token" in definition:
        more, url = with_token(definition["token"], secret, url)
    elif "hmac" in definition:
        more = Signature(definition["hmac"], [secret]).headers_for(body, headers, time.time(), SignedRequest(url))
    elif "public_key" in definition:
        more = signed_privately(definition["public_key"], secret, body, headers, time.time(), SignedRequest(url))
    elif "env" in definition.get("jwt", {}):
        more = _shared_token(definition["jwt"], secret, url, proving or {})
    else:
        raise UsageError("this source does not use a shared secret or public key: leave out the secret")
    return Delivery(own | more, body, "signature", id_of(definition, payload, headers), url)


def _shared_token(jwt: shape.Jwt, secret: str, url: str, proving: Mapping[str, str]) -> dict[str, str]:
    """The header with a token that the secret signs (HS256), for this one request."""
    parts = urlsplit(url)
    claims = {"iss": "test", **_claims_beside(jwt, proving)}
    if "request" in jwt:
        claims[jwt["request"]] = request_hash("POST", parts.path, parts.query.encode())
    head = {"alg": "HS256", "typ": "JWT"}
    token = _compact(head, claims, lambda signed: hmac.digest(secret.encode(), signed, "sha256"))
    return {jwt["header"]: jwt.get("prefix", "") + token}


def _prove_inside(definition: shape.SourceDefinition, payload: Any, secret: str, url: str) -> None:
    """Put the secret, or the time and the signature, into a payload that holds them."""
    if (member := definition.get("token", {}).get("member")) is not None:
        put_member(payload, member, secret)
    described = definition.get("hmac", {})
    if (member := described.get("timestamp", {}).get("member")) is not None:
        put_member(payload, member, str(int(time.time())))
    if (member := described.get("member")) is not None:
        signed = Signature(definition["hmac"], [secret])
        data = dump_json(payload).encode()
        now = time.time()
        message = signed.signed.signed_message([], data, now, SignedRequest(url))
        put_member(payload, member, described.get("prefix", "") + signed.sign_message(message))


def _form_of_payload(definition: shape.SourceDefinition, payload: Any) -> bytes:
    field = definition.get("form_field")
    fields = payload if field is None else {field: payload}
    return urlencode({name: to_text(value) for name, value in fields.items()}).encode()


def _claims_beside(jwt: shape.Jwt, proving: Mapping[str, str]) -> dict[str, Any]:
    """What a token beside the body has to say, by its definition."""
    now = int(time.time())
    issuer = {"iss": jwt["issuer"][0]} if "issuer" in jwt else {}
    audience = {"aud": jwt["audience"][0]} if "audience" in jwt else {}
    return {"iat": now, "exp": now + 300, **proving, **issuer, **audience, **jwt.get("constants", {})}


class TokenSigner:
    """Signs tokens, and tells the key set that proves them."""

    def __init__(self, key: RSAPrivateKey) -> None:
        from jwt.algorithms import RSAAlgorithm

        self.key = key
        self.public: dict[str, Any] = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
        self.kid = hashlib.sha256(self.public["n"].encode()).hexdigest()[:16]

    @property
    def key_set(self) -> bytes:
        listed = {name: self.public[name] for name in ("kty", "n", "e")}
        return json.dumps({"keys": [{**listed, "kid": self.kid, "alg": "RS256", "use": "sig"}]}).encode()

    def make_token(
        self,
        definition: shape.SourceDefinition,
        payload: Mapping[str, Any],
        headers: Mapping[str, str],
        url: str,
        proving: Mapping[str, str] | None = None,
    ) -> Delivery:
        """`proving` are further claims of a token that stands beside the body."""
        from jwt.algorithms import RSAAlgorithm

        head = {"alg": "RS256", "typ": "JWT", "kid": self.kid}
        now = int(time.time())
        jwt = definition["jwt"]
        is_beside = "header" in jwt
        said = _claims_beside(jwt, proving or {}) if is_beside else {"iat": now, "exp": now + 300, **payload}
        claims = {"jti": uuid.uuid4().hex, **said}
        token = _compact(head, claims, lambda signed: RSAAlgorithm(RSAAlgorithm.SHA256).sign(signed, self.key))
        own = {"Content-Type": "application/json", **headers}
        if is_beside:
            own[jwt["header"]] = jwt.get("prefix", "") + token
            return Delivery(own, dump_json(payload).encode(), "token", id_of(definition, payload, headers), url)
        body = f'"{token}"' if jwt.get("unquote", False) else token
        return Delivery(own, body.encode(), "token", id_of(definition, payload, headers), url)


def _compact(head: Mapping[str, Any], claims: Mapping[str, Any], sign: Callable[[bytes], bytes]) -> str:
    """A token in its compact form (RFC 7515, section 7.1)."""
    signed = f"{_encode_segment(json.dumps(head).encode())}.{_encode_segment(dump_json(claims).encode())}"
    return f"{signed}.{_encode_segment(sign(signed.encode()))}"


def _encode_segment(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# The private key of deliveries made here: a PEM file, made when it is not there.


def private_key(path: str) -> RSAPrivateKey:
    """Raises `UsageError` for a file that holds no RSA key."""
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import load_pem_private_key

    try:
        if not os.path.exists(path):
            return _new_key_file(path)
        with open_regular(path) as file:
            data = file.read()
        refuse_byte_order_mark(data, f"--jwt-key: {path}")
        key = load_pem_private_key(data, None)
    except OSError as error:
        raise UsageError(f"--jwt-key: {path}: {error.strerror}") from None
    except (ValueError, TypeError):
        raise UsageError(f"--jwt-key: {path}: no private key in PEM without a password") from None
    if not isinstance(key, rsa.RSAPrivateKey):
        raise UsageError(f"--jwt-key: {path}: not an RSA key")
    return key


def _new_key_file(path: str) -> RSAPrivateKey:
    from cryptography.hazmat.primitives.asymmetric import rsa
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    text = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(text)
    return key


# A key set served on this host for as long as events are sent that it proves.

PATH = "/jwks.json"


@contextlib.contextmanager
def served_key_set(address: ListenAddress, text: bytes, option: str) -> Iterator[str]:
    """The address of the key set. Errors name the option that `address` was given by."""
    import http.server

    class KeySetRequestHandler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == PATH else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text) if self.path == PATH else 0))
            self.end_headers()
            if self.path == PATH:
                self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            """Nobody asked."""

    sockets = bind_sockets(address, option)
    servers = [_server_on_socket(opened, KeySetRequestHandler) for opened in sockets]
    threads = [threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True) for server in servers]
    for thread in threads:
        thread.start()
    try:
        yield urls_of_sockets(sockets, "http")[0] + PATH
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


def _server_on_socket(
    opened: socket.socket, handler: type[http.server.BaseHTTPRequestHandler]
) -> http.server.ThreadingHTTPServer:
    import http.server

    server = http.server.ThreadingHTTPServer(("", 0), handler, bind_and_activate=False)
    server.socket.close()
    opened.settimeout(None)
    server.socket = opened
    server.server_address = opened.getsockname()[:2]
    return server
