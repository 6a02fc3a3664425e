"""Signed tokens (RFC 7515, RFC 7519): compact form in, claims out.

Keys are PyJWT's; its `decode` is not used because it spends twice the time of the signature check on everything around
it, and reads keys and algorithms from places that this listener must ignore.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote

from msgspec.json import Decoder

from ...durations import duration_seconds
from .payload import not_genuine, parse_payload

if TYPE_CHECKING:
    from ...language.shape.listener import Jwt
    from .key_set import Key
    from .proofs import Headers

# Base64 of tokens (RFC 7515, section 2) to bytes.

_MINUS, _UNDERSCORE, _BACKSLASH = b"-_\\"  # numbers, as in `jws`
_STANDARD = bytes.maketrans(b"-_", b"+/")
_PADDING = (b"", b"===", b"==", b"=")  # by the length modulo 4; three are refused, as no base64 has that length

# A JSON text that holds bytes is base64, and this library reads it in half the time of `binascii`.
_decode_text = Decoder(bytes).decode


def decode_base64url(segment: bytes) -> bytes:
    """Without its padding. Raises `ValueError` for what is not base64; the standard alphabet is read too."""
    if _MINUS in segment or _UNDERSCORE in segment:  # in the payload of most tokens there is neither
        segment = segment.translate(_STANDARD)
    if _BACKSLASH in segment:  # it would begin an escape of JSON
        raise ValueError("not base64")
    return _decode_text(b'"%b%b"' % (segment, _PADDING[len(segment) % 4]))


_MAX_HEADER_SIZE = 4096
_MAX_KID_LENGTH = 256
_MAX_KNOWN_HEADERS = 64
_DOT, _EQUALS = b".="  # numbers: to look for one takes a tenth of looking for bytes

KeyLookup = Callable[[str | None, str], "Key"]


class TokenVerifier:
    """Checks the tokens of one source."""

    def __init__(self, definition: Jwt, expected: Mapping[str, Collection[str]] | None = None) -> None:
        """`expected`: values that a claim may have."""
        self.header = definition.get("header", "")
        self._prefix = definition.get("prefix", "").encode().lower()
        self._expected = expected or {}
        self.algorithms = frozenset(definition["algorithms"])
        self._request_claim = definition.get("request", "")
        self._constants = definition.get("constants", {})
        self.leeway = duration_seconds(definition.get("leeway", "60s"))
        self.unquote = definition.get("unquote", False)
        self.issuers = frozenset(definition.get("issuer", ()))
        self.audiences = frozenset(definition.get("audience", ()))
        self.names_parties = bool(self.issuers or self.audiences)
        # Headers of tokens that were genuine: all tokens of one key have the same one.
        self._known_headers: dict[bytes, tuple[str | None, str]] = {}

    @property
    def place(self) -> str:
        return self.header or "the body"

    def token_of(self, headers: Headers, body: bytes) -> bytes:
        """The token of a delivery, in the body or beside it. Raises `Rejected` where there is none."""
        if not self.header:
            return self._unquoted_body(body)
        name = self.header.lower().encode()
        for header, value in headers:
            if header == name and value[: len(self._prefix)].lower() == self._prefix:
                return value[len(self._prefix) :]
        raise not_genuine("token_missing", f"no token in {self.header}")

    def verified_claims(self, token: bytes, find_key: KeyLookup, now: float) -> tuple[dict[str, Any], bytes]:
        """The claims of a genuine token, and their JSON. `find_key` gives a key by id and algorithm, or raises."""
        signed, _, signature = token.rpartition(b".")
        header, dot, payload = signed.partition(b".")
        if not dot or _DOT in payload or not token.isascii():
            raise not_genuine("token_malformed", f"{self.place} is not a signed token")
        kid, algorithm = self._known_headers.get(header) or self._read_header(header)
        if not find_key(kid, algorithm).verify(signed, _base64url_decode(signature, "signature")):
            raise not_genuine("token_wrong", f"the signature was not made with key {kid!r}")
        if header not in self._known_headers:
            self._remember_header(header, kid, algorithm)
        text = _base64url_decode(payload, "payload")
        claims = parse_payload(text)
        if "exp" in claims or "nbf" in claims:
            self._check_times(claims, now)
        if self.names_parties:
            self._check_parties(claims)
        for name, values in self._expected.items():
            found = claims.get(name)
            if not set(_texts_among(*(found if isinstance(found, list) else [found]))) & set(values):
                said = f"claim {name} is {str(found)[:80]!r}" if name in claims else f"there is no claim {name}"
                raise not_genuine("token_claim", said)
        for name, value in self._constants.items():
            if type(claims.get(name)) is not type(value) or claims[name] != value:
                raise not_genuine("token_claim", f"claim {name} is not {str(value).lower()}")
        return claims, text

    def check_request(self, claims: Mapping[str, Any], path: str, query: bytes) -> None:
        """Raises `Rejected` for a token that was made for another request, where its source says what it is for."""
        if self._request_claim and claims.get(self._request_claim) != request_hash("POST", path, query):
            raise not_genuine("token_claim", f"claim {self._request_claim} is not of POST {path} with its query")

    def _remember_header(self, header: bytes, kid: str | None, algorithm: str) -> None:
        if len(self._known_headers) >= _MAX_KNOWN_HEADERS:
            self._known_headers.clear()
        self._known_headers[header] = (kid, algorithm)

    def _unquoted_body(self, body: bytes) -> bytes:
        token = body.strip()
        if self.unquote and token[:1] == b'"' and token[-1:] == b'"':
            return token[1:-1]
        return token

    def _read_header(self, segment: bytes) -> tuple[str | None, str]:
        """Key id and algorithm. Keys that the header brings along (`jwk`, `jku`, `x5c`, `x5u`) are never looked at."""
        if len(segment) > _MAX_HEADER_SIZE:
            raise not_genuine("token_malformed", "the token's header is too long")
        try:
            header = json.loads(_base64url_decode(segment, "header"))
        except (ValueError, RecursionError):
            raise not_genuine("token_malformed", "the token's header is not JSON") from None
        if not isinstance(header, dict):
            raise not_genuine("token_malformed", "the token's header is not an object")
        kid, algorithm = header.get("kid"), header.get("alg")
        if not isinstance(algorithm, str) or algorithm not in self.algorithms:
            raise not_genuine("token_algorithm", f"algorithm {str(algorithm)[:32]!r} is not accepted")
        if "crit" in header:
            raise not_genuine("token_malformed", "the token's header has critical extensions")
        if kid is not None and (not isinstance(kid, str) or len(kid) > _MAX_KID_LENGTH):
            raise not_genuine("token_malformed", "the token's key id is not a text")
        return kid, algorithm

    def _check_times(self, claims: dict[str, Any], now: float) -> None:
        if (expiry := _numeric_date(claims, "exp")) is not None and now > expiry + self.leeway:
            raise not_genuine("token_expired", f"expired at {expiry:.15g}")
        if (start := _numeric_date(claims, "nbf")) is not None and now < start - self.leeway:
            raise not_genuine("token_early", f"not valid before {start:.15g}")

    def _check_parties(self, claims: dict[str, Any]) -> None:
        if self.issuers and self.issuers.isdisjoint(_texts_among(claims.get("iss"))):
            raise not_genuine("token_issuer", f"issued by {str(claims.get('iss'))[:80]!r}")
        if self.audiences:
            audience = claims.get("aud")
            if self.audiences.isdisjoint(
                _texts_among(*audience) if isinstance(audience, list) else _texts_among(audience)
            ):
                raise not_genuine("token_audience", f"meant for {str(audience)[:80]!r}")


def request_hash(method: str, path: str, query: bytes) -> str:
    """SHA-256 of a request without its body, written in the one way that a "query string hash" is made of.

    The query is sorted, without a token in it; values of one name are joined with commas.
    """
    values: dict[str, list[str]] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
        if name != "jwt":
            values.setdefault(quote(name, safe="~"), []).append(quote(value, safe="~"))
    joined = "&".join(f"{name}={','.join(sorted(values[name]))}" for name in sorted(values))
    canonical = f"{method}&{path.rstrip('/').replace('&', '%26') or '/'}&{joined}"
    return hashlib.sha256(canonical.encode()).hexdigest()


def _texts_among(*values: Any) -> list[str]:
    """Those that are texts. Senders can put anything where one belongs."""
    return [value for value in values if isinstance(value, str)]


def _numeric_date(claims: dict[str, Any], name: str) -> float | None:
    value = claims.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise not_genuine("token_malformed", f"claim {name} is not a valid time")
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _base64url_decode(segment: bytes, part: str) -> bytes:
    if _EQUALS in segment:
        raise not_genuine("token_malformed", f"the token's {part} is padded")
    try:
        return decode_base64url(segment)
    except ValueError:
        raise not_genuine("token_malformed", f"the token's {part} is not base64url") from None
