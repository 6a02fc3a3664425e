"""The ways to prove a delivery genuine with something that sender and listener were given. A token has its own way."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from re import ASCII, fullmatch
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl
from zlib import crc32

from ...durations import duration_seconds
from ...errors import UsageError, count_of
from ...language.compiled_jmespath import expression_tree, first_names
from ...language.template import expressions_in_text, fill_text, to_text
from .payload import fields_of, member_of, not_genuine, parse_any
from .secret_options import refuse_byte_order_mark

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

    from ...language.shape.listener import (
        CertificateDefinition,
        Hmac,
        PlainTokenDefinition,
        PublicKey,
        SecretForm,
        Signed,
    )

# What a signature covers, and where it stands, as a source's definition describes it.

_BESIDE = ("headers", "query")


def are_signed(expression: str, signed: str) -> bool:
    """Whether all that an expression reads is part of what is signed, by the template of that.

    Where single members of the body are signed, it must be one of them.
    """
    if any("payload" in first_names(text) for text in expressions_in_text(signed)):
        return expression in expressions_in_text(signed)
    covered = {part for text in expressions_in_text(signed) for part in _names_beside_payload(expression_tree(text))}
    return _names_beside_payload(expression_tree(expression)) <= covered


def _names_beside_payload(node: Any) -> set[str]:
    """`headers.name` for each value that is looked at beside the payload, or `headers` where it is not plain which."""
    if not isinstance(node, dict):
        return set()
    children = node.get("children", [])
    if node["type"] == "subexpression" and all(child["type"] == "field" for child in children):
        names = [child["value"] for child in children]
        return {".".join(names[:2])} if names[0] in _BESIDE else set()
    if node["type"] == "field":
        return {node["value"]} & set(_BESIDE)
    return {part for child in children for part in _names_beside_payload(child)}


Headers = Sequence[tuple[bytes, bytes]]

_BODY = "{body}"


class SignedRequest(NamedTuple):
    """What a signature may cover beside headers and body: the address that was called, and its query."""

    url: str = ""
    query: bytes = b""


NO_REQUEST = SignedRequest()


_PORTS = {"http": ":80", "https": ":443"}


def other_spellings(url: str) -> list[str]:
    """The same address with the usual port, or without it: senders sign either."""
    scheme, slashes, rest = url.partition("://")
    port = _PORTS.get(scheme)
    if port is None:
        return []
    host, slash, path = rest.partition("/")
    if host.endswith(port):
        host = host.removesuffix(port)
    elif ":" not in host.rpartition("]")[2]:
        host += port
    else:
        return []
    return [f"{scheme}{slashes}{host}{slash}{path}"]


class SentValues:
    """Where a sender puts a signature, a time or a secret: in a header, in the body, or in the query."""

    def __init__(self, definition: Mapping[str, Any]) -> None:
        place = next(place for place in ("member", "header", "query") if place in definition)
        self.name: str = definition[place]
        self.shown = {"member": "{!r} in the body", "header": "{} header", "query": "{!r} in the query"}[place].format(
            self.name
        )
        self._place = place
        self._header = self.name.lower().encode()
        self._separator = definition.get("separator", "").encode()
        self._prefix = definition.get("prefix", "").encode()

    def find_values(self, headers: Headers, body: bytes, query: bytes = b"") -> list[bytes]:
        if self._place == "header":
            return [value for name, value in headers if name == self._header]
        if self._place == "member":
            return member_of(body, self.name)
        fields = parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
        return [value.encode("latin-1") for name, value in fields if name == self.name]

    def split_values(self, given: list[bytes]) -> list[bytes]:
        """The parts that begin with the prefix, without it."""
        if self._separator:
            given = [part.strip() for value in given for part in value.split(self._separator)]
        return [part[len(self._prefix) :] for part in given if part.startswith(self._prefix)] if self._prefix else given


def _sent_headers(definition: Mapping[str, Any]) -> dict[str, str]:
    """The templates of the headers that hold the time and the signature, as these are found in them."""
    found: dict[str, str] = {}
    for place, value in ((definition.get("timestamp", {}), "{timestamp}"), (definition, "{signature}")):
        if "header" in place:
            before = found.get(place["header"])
            text = place.get("prefix", "") + value
            found[place["header"]] = text if before is None else before + place.get("separator", "") + text
    return found


class SignedMessage:
    """Finds the signatures of a delivery, and the bytes that they must be of."""

    def __init__(self, definition: Signed | CertificateDefinition) -> None:
        self._signatures = SentValues(definition)
        self.name = definition.get("header") or definition["member"]
        signed = definition.get("signed", _BODY)
        self.before, self.has_body, self.after = signed.partition(_BODY)
        names = set[str]().union(*(first_names(text) for text in expressions_in_text(signed)))
        self.reads_payload, self.reads_form = "payload" in names, "form" in names
        self._stamp = SentValues(definition["timestamp"]) if "timestamp" in definition else None
        self.tolerance = duration_seconds(definition.get("tolerance", "5m"))
        self.sent = _sent_headers(definition)
        self.is_body = signed == _BODY and self._stamp is None

    def sent_signatures(self, headers: Headers, body: bytes) -> list[bytes]:
        """The signatures that were sent. Raises `Rejected` where there is none."""
        given = self._signatures.find_values(headers, body)
        if not given:
            raise not_genuine("signature_missing", f"no {self._signatures.shown}")
        return self._signatures.split_values(given)

    def signed_message(
        self, headers: Headers, body: bytes, now: float, request: SignedRequest, *, secret: str = ""
    ) -> bytes:
        """What must have been signed; `secret` is part of it where it is no key.

        Raises `Rejected` for a time of signing that is missing, or too far from now.
        """
        if self.is_body:
            return body
        timestamp = self._signing_time(self._stamp, headers, body, now) if self._stamp else ""
        return self._message_of_template(
            body, {"headers": text_headers(headers), "timestamp": timestamp, "secret": secret}, request
        )

    def headers_for(
        self,
        body: bytes,
        headers: Mapping[str, str],
        now: float,
        request: SignedRequest,
        sign: Callable[[bytes], str],
    ) -> dict[str, str]:
        """The headers of a delivery made here, with what `sign` makes of the message; `headers` are its other ones."""
        scope: dict[str, Any] = {"headers": {name.lower(): value for name, value in headers.items()}}
        scope["timestamp"] = str(int(now))
        beside = {name.lower(): text for name, text in self.sent.items() if "{signature}" not in text}
        scope["headers"] |= {name: to_text(fill_text(text, scope)) for name, text in beside.items()}
        scope["signature"] = sign(self._message_of_template(body, scope, request))
        return {name: to_text(fill_text(text, scope)) for name, text in self.sent.items()}

    def _message_of_template(self, body: bytes, scope: Mapping[str, Any], request: SignedRequest) -> bytes:
        scope = {**scope, "url": request.url}
        if self.reads_payload:
            scope["payload"] = parse_any(body)
            body = b""
        elif self.reads_form:
            scope["form"] = [{"name": name, "value": value} for name, value in dict.fromkeys(fields_of(body))]
            body = b""
        elif not self.has_body:
            scope["crc32"] = crc32(body)
            body = b""
        return to_text(fill_text(self.before, scope)).encode() + body + to_text(fill_text(self.after, scope)).encode()

    def _signing_time(self, stamp: SentValues, headers: Headers, body: bytes, now: float) -> str:
        found = stamp.split_values(stamp.find_values(headers, body))
        text = found[0].decode("latin-1") if found else ""
        signed_at = _seconds_of_time(text)
        if signed_at is None:
            raise not_genuine("timestamp_missing", f"no timestamp in {stamp.name}")
        if abs(now - signed_at) > self.tolerance:
            raise not_genuine(
                "timestamp_old", f"signed at {text[:32]}, which differs from now by more than {self.tolerance:g} s"
            )
        return text


# As seconds, so large a number is after the year 5000.
_FIRST_MILLISECONDS = 10**11
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)"


def _seconds_of_time(text: str) -> float | None:
    """Seconds since 1970 of a time in seconds or milliseconds, or as RFC 3339 writes it; nothing where it is none."""
    if text.isascii() and text.isdigit():
        number = int(text[:18])
        return number / 1000 if number >= _FIRST_MILLISECONDS else number
    if not fullmatch(_ISO, text, ASCII):
        return None
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):  # no such day
        return None


def text_headers(headers: Headers) -> dict[str, str]:
    """Names are lower case already; of a header that occurs twice the last one counts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}


class KeyedProof:
    """Something that sender and listener were given proves a delivery.

    `mismatch` says that it does not, and `summary` what is looked at.
    """

    reason = "signature_wrong"
    mismatch: str
    summary: str

    def check_delivery(self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST) -> None:
        """Raises `Rejected` unless one of what was given proves it."""
        if not any(self.matching_secrets(headers, body, now, request)):
            raise not_genuine(self.reason, self.mismatch)

    def matching_secrets(
        self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST
    ) -> Iterable[bool]:
        """For each of what was given whether it proves the delivery. Raises `Rejected` where that cannot be told."""
        raise NotImplementedError


class SignatureProof(KeyedProof):
    """Signatures of what the source's definition describes, each tried with each of the keys.

    A verifier says whether one of the signatures that were sent is its own of a message.
    """

    what = "secret"

    def __init__(self, definition: Hmac | PublicKey, verifiers: Sequence[Callable[[bytes, list[bytes]], bool]]) -> None:
        self.algorithm: str = definition["algorithm"]
        self.signed = SignedMessage(definition)
        self.verifiers = verifiers
        self.mismatch = f"{self.signed.name} matches none of the {self.what}s ({len(verifiers)})"
        self.summary = f"signatures in {self.signed.name}, {count_of(len(verifiers), self.what)}"

    def matching_secrets(
        self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST
    ) -> Iterator[bool]:
        sent = self.signed.sent_signatures(headers, body)
        message = self.signed.signed_message(headers, body, now, request)
        for verify in self.verifiers:
            yield verify(message, sent)


# Signatures made with a shared secret, in the form that a source's definition describes.

_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


class KeyedHash:
    """Both hashes have taken the key up once. Copying those two costs a third of what copying OpenSSL's HMAC does."""

    def __init__(self, key: bytes, algorithm: str) -> None:
        size = hashlib.new(algorithm).block_size
        if len(key) > size:
            key = hashlib.new(algorithm, key).digest()
        padded = key.ljust(size, b"\0")
        self._inner = hashlib.new(algorithm, padded.translate(_INNER))
        self._outer = hashlib.new(algorithm, padded.translate(_OUTER))

    def digest_of(self, message: bytes) -> bytes:
        inner = self._inner.copy()
        inner.update(message)
        outer = self._outer.copy()
        outer.update(inner.digest())
        return outer.digest()


class Signature(SignatureProof):
    """Checks and makes the signatures of one source. Raises `UsageError` for a secret that cannot be one."""

    def __init__(self, definition: Hmac, secrets: Sequence[str]) -> None:
        keys = [key_of(secret, definition.get("secret")) for secret in dict.fromkeys(secrets)]
        self._encode = binascii.hexlify if definition["encoding"] == "hex" else base64.b64encode
        self._hashes = [KeyedHash(key, definition["algorithm"]) for key in keys]
        super().__init__(definition, [self._make_verifier(keyed) for keyed in self._hashes])

    def _make_verifier(self, keyed: KeyedHash) -> Callable[[bytes, list[bytes]], bool]:
        def verify(message: bytes, sent: list[bytes]) -> bool:
            expected = self._encode(keyed.digest_of(message))
            return any(hmac.compare_digest(expected, each) for each in sent)

        return verify

    def headers_for(
        self, body: bytes, headers: Mapping[str, str], now: float, request: SignedRequest = NO_REQUEST
    ) -> dict[str, str]:
        """The headers of a delivery made here, signed with the first secret; `headers` are its other ones."""
        return self.signed.headers_for(body, headers, now, request, self.sign_message)

    def sign_message(self, message: bytes) -> str:
        """With the first secret."""
        return self._encode(self._hashes[0].digest_of(message)).decode()


def check_secret(secret: str) -> None:
    """Raises `UsageError`, without the secret, for one that was not copied as it is."""
    if not secret:
        raise UsageError("a secret is empty")
    refuse_byte_order_mark(secret.encode("utf-8", "surrogateescape"), "a secret")
    if secret != secret.strip():
        raise UsageError(
            "a secret has leading or trailing whitespace",
            hint="copy it again without spaces or line breaks: it is used exactly as given",
        )


def key_of(secret: str, secret_form: SecretForm | None) -> bytes:
    """The key that a secret stands for. Raises `UsageError`, without the secret, where it cannot be one."""
    check_secret(secret)
    if secret_form is None:
        return secret.encode()
    text = secret.removeprefix(secret_form.get("prefix", ""))
    try:
        if secret_form.get("encoding") == "base64":
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        return bytes.fromhex(text) if secret_form.get("encoding") == "hex" else text.encode()
    except (binascii.Error, ValueError):
        raise UsageError(f"a secret is not valid {secret_form.get('encoding')}") from None


# A secret that is sent as it is, in a header or the query: it proves the sender, and nothing of what is sent.


class PlainToken(KeyedProof):
    """Raises `UsageError` for a secret that cannot be one."""

    reason = "token_wrong"

    def __init__(self, definition: PlainTokenDefinition, secrets: Sequence[str]) -> None:
        for secret in secrets:
            check_secret(secret)
        self._place = SentValues({name: text for name, text in definition.items() if name != "prefix"})
        # The scheme before a token is not case-sensitive (RFC 9110, section 11.1); a token is.
        self._prefix = definition.get("prefix", "").encode()
        self.keys = [secret.encode() for secret in dict.fromkeys(secrets)]
        self.mismatch = f"{self._place.shown} matches none of the secrets ({len(self.keys)})"
        self.summary = f"a token in {self._place.shown}, {count_of(len(self.keys), 'secret')}"

    def matching_secrets(
        self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST
    ) -> list[bool]:
        given = [self._token_of_value(value) for value in self._place.find_values(headers, body, request.query)]
        if not given:
            raise not_genuine("token_missing", f"no {self._place.shown}")
        # Every pair is compared, and each in constant time, so that the time tells nothing of how much was right.
        return [sum(hmac.compare_digest(key, value) for value in given) > 0 for key in self.keys]

    def _token_of_value(self, value: bytes) -> bytes:
        prefix = self._prefix
        return value[len(prefix) :] if value[: len(prefix)].lower() == prefix.lower() else b""


# Signatures that a sender makes with its private key, checked with the public one.

# RSASSA-PKCS1-v1_5 (RFC 8017, section 8.2.2): what a signature holds is compared as a whole with what it must hold. The
# library's own check makes hash, padding and their types anew for each message: a fifth of its time.
# This stands before the hash (section 9.2, note 1).
_PREFIXES = {
    "sha256": bytes.fromhex("3031300d060960864801650304020105000420"),
    "sha384": bytes.fromhex("3041300d060960864801650304020205000430"),
    "sha512": bytes.fromhex("3051300d060960864801650304020305000440"),
}


def rsa_check(key: RSAPublicKey, algorithm: str) -> Callable[[bytes, bytes], bool]:
    """A function that tells whether a message has a signature. `algorithm` is the hash, by its name in `hashlib`."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15

    recover, padding, size = key.recover_data_from_signature, PKCS1v15(), (key.key_size + 7) // 8
    digest, prefix = getattr(hashlib, algorithm), _PREFIXES[algorithm]

    def check(message: bytes, signature: bytes) -> bool:
        if len(signature) != size:  # without a zero at its beginning it would be the same number
            return False
        expected: bytes = prefix + digest(message).digest()
        try:
            return recover(signature, padding, None) == expected
        except InvalidSignature:
            return False

    return check


_RAW_SIZE = 32


def decoded(text: bytes, encoding: str) -> bytes:
    """The bytes of a signature; nothing, which is none, where it is not written so."""
    try:
        return bytes.fromhex(text.decode("ascii")) if encoding == "hex" else base64.b64decode(text, validate=True)
    except ValueError:  # that of base64 too
        return b""


class PublicKeySignature(SignatureProof):
    """Raises `UsageError` for a key that cannot be one.

    A key is 32 raw bytes (Ed25519 only: RFC 8032, section 5.1.5) or a SubjectPublicKeyInfo in DER (RFC 5280, 4.1.2.7).
    """

    what = "public key"

    def __init__(self, definition: PublicKey, secrets: Sequence[str]) -> None:
        keys = [key_of(secret, definition.get("key")) for secret in dict.fromkeys(secrets)]
        super().__init__(definition, [self._make_verifier(definition, key) for key in keys])

    def _make_verifier(self, definition: PublicKey, data: bytes) -> Callable[[bytes, list[bytes]], bool]:
        from cryptography.exceptions import InvalidSignature

        key, more = self._load_public_key(definition["algorithm"], data), arguments_of(definition["algorithm"])

        def is_signed(message: bytes, signature: bytes) -> bool:
            try:
                key.verify(signature, message, *more)
            except InvalidSignature:
                return False
            return True

        return lambda message, sent: any(is_signed(message, decoded(each, definition["encoding"])) for each in sent)

    @staticmethod
    def _load_public_key(algorithm: str, data: bytes) -> Any:
        from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_der_public_key

        is_ed25519 = algorithm == "ed25519"
        try:
            key: Any = Ed25519PublicKey.from_public_bytes(data) if is_ed25519 and len(data) == _RAW_SIZE else None
            key = key or load_der_public_key(data)
        except Exception:  # noqa: BLE001 - the library raises many kinds, and all mean the same
            key = None
        if not isinstance(key, Ed25519PublicKey if is_ed25519 else EllipticCurvePublicKey):
            raise UsageError(f"a key is not a public key for {algorithm}", hint="copy it again from the sender")
        return key


def arguments_of(algorithm: str) -> tuple[Any, ...]:
    """What verifying takes beside signature and message."""
    if algorithm == "ed25519":
        return ()
    from cryptography.hazmat.primitives.asymmetric.ec import ECDSA
    from cryptography.hazmat.primitives.hashes import SHA256

    return (ECDSA(SHA256()),)
