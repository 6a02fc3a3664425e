"""Signatures made with a shared secret, in the form that a source's definition describes."""

from __future__ import annotations

import base64
import binascii
import hmac
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...durations import seconds
from ...errors import UsageError
from ...language.template import fill_text, to_text
from ..byte_order_mark import refuse_byte_order_mark
from .rejection import not_genuine

if TYPE_CHECKING:
    from ...language.shape.listener import Hmac, Pick

Headers = Sequence[tuple[bytes, bytes]]

_BODY = "{body}"


class Signature:
    """Checks and makes the signatures of one source. Raises `UsageError` for a secret that cannot be one."""

    def __init__(self, definition: Hmac, secrets: Sequence[str]) -> None:
        self.definition = definition
        self.algorithm = definition["algorithm"]
        self.keys = [key_of(secret, definition) for secret in dict.fromkeys(secrets)]
        self.header = definition["header"].lower().encode()
        self.prefix = definition.get("prefix", "").encode()
        self.separator = definition.get("separator", "").encode()
        self.in_hex = definition["encoding"] == "hex"
        self.before, _, self.after = definition.get("signed", _BODY).partition(_BODY)
        self.stamp = definition.get("timestamp")
        self.tolerance = seconds(definition.get("tolerance", "5m"))

    def check(self, headers: Headers, body: bytes, now: float) -> None:
        """Raises `Rejected` unless one of the signatures was made with one of the secrets."""
        given = [value for name, value in headers if name == self.header]
        if not given:
            raise not_genuine("signature_missing", f"no {self.definition['header']} header")
        candidates = self._candidates(given)
        message = body if self.stamp is None and not self.before else self._message(headers, body, now)
        for key in self.keys:
            expected = self._sign(key, message)
            for candidate in candidates:
                if hmac.compare_digest(expected, candidate):
                    return
        raise not_genuine("signature_wrong", f"{self.definition['header']} matches none of {len(self.keys)} secrets")

    def _candidates(self, given: list[bytes]) -> list[bytes]:
        if not self.separator and not self.prefix:
            return given
        return _parts(given, self.separator, self.prefix)

    def _message(self, headers: Headers, body: bytes, now: float) -> bytes:
        timestamp = self._timestamp(headers, now) if self.stamp else ""
        scope = {"headers": text_headers(headers), "timestamp": timestamp}
        return self._around(body, scope)

    def _around(self, body: bytes, scope: Mapping[str, Any]) -> bytes:
        return to_text(fill_text(self.before, scope)).encode() + body + to_text(fill_text(self.after, scope)).encode()

    def _timestamp(self, headers: Headers, now: float) -> str:
        stamp: Pick = self.stamp or {"header": ""}
        name = stamp["header"].lower().encode()
        found = _parts(
            [value for header, value in headers if header == name],
            stamp.get("separator", "").encode(),
            stamp.get("prefix", "").encode(),
        )
        text = found[0].decode("latin-1") if found else ""
        if not text.isascii() or not text.isdigit():
            raise not_genuine("timestamp_missing", f"no time of signing in {stamp['header']}")
        if abs(now - int(text[:18])) > self.tolerance:
            raise not_genuine("timestamp_old", f"signed at {text[:18]}, more than {self.tolerance:g} s from now")
        return text

    def _sign(self, key: bytes, message: bytes) -> bytes:
        digest: bytes = hmac.digest(key, message, self.algorithm)
        return digest.hex().encode() if self.in_hex else base64.b64encode(digest)

    def headers_for(self, body: bytes, headers: Mapping[str, str], now: float) -> dict[str, str]:
        """The headers of a delivery made here, signed with the first secret; `headers` are its other ones."""
        timestamp = str(int(now))
        scope: dict[str, Any] = {"headers": {name.lower(): value for name, value in headers.items()}}
        scope["timestamp"] = timestamp
        message = self._around(body, scope)
        scope["signature"] = self._sign(self.keys[0], message).decode()
        plain = {self.definition["header"]: self.prefix.decode() + "{signature}"}
        return {name: to_text(fill_text(text, scope)) for name, text in self.definition.get("send", plain).items()}


def _parts(given: list[bytes], separator: bytes, prefix: bytes) -> list[bytes]:
    parts = [part.strip() for value in given for part in value.split(separator)] if separator else given
    return [part[len(prefix) :] for part in parts if part.startswith(prefix)]


def text_headers(headers: Headers) -> dict[str, str]:
    """Names are lower case already; of a header that occurs twice the last one counts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}


def check_plain(secret: str) -> None:
    """Raises `UsageError`, without the secret, for one that was not copied as it is."""
    if not secret:
        raise UsageError("a secret is empty")
    refuse_byte_order_mark(secret.encode("utf-8", "surrogateescape"), "a secret")
    if secret != secret.strip():
        raise UsageError(
            "a secret has whitespace around it", hint="copy it again without blanks or line ends: it is used as it is"
        )


def key_of(secret: str, definition: Hmac) -> bytes:
    """The key that a secret stands for. Raises `UsageError`, without the secret, where it cannot be one."""
    check_plain(secret)
    form = definition.get("secret")
    if form is None:
        return secret.encode()
    text = secret.removeprefix(form.get("prefix", ""))
    try:
        if form.get("encoding") == "base64":
            return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
        return bytes.fromhex(text) if form.get("encoding") == "hex" else text.encode()
    except (binascii.Error, ValueError):
        raise UsageError(f"a secret is not in {form.get('encoding')}, as its source writes them") from None
