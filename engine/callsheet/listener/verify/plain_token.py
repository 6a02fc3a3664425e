"""A secret that is sent as it is, in a header or the query: it proves the sender, and nothing of what is sent."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

from ...errors import counted
from .payload import member_of
from .rejection import not_genuine
from .signature import check_secret
from .signed_message import NO_REQUEST, Headers, SignedRequest

if TYPE_CHECKING:
    from ...language.shape.listener import PlainTokenDefinition as Definition


class PlainToken:
    """Raises `UsageError` for a secret that cannot be one."""

    def __init__(self, definition: Definition, secrets: Sequence[str]) -> None:
        for secret in secrets:
            check_secret(secret)
        self.header = definition.get("header", "")
        self.field = definition.get("query", "")
        self.member = definition.get("member", "")
        self.prefix = definition.get("prefix", "")
        # The scheme before a token is not case-sensitive (RFC 9110, section 11.1); a token is.
        self.keys = [secret.encode() for secret in dict.fromkeys(secrets)]

    @property
    def summary(self) -> str:
        return f"a token in {self._place}, {counted(len(self.keys), 'secret')}"

    def check(self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST) -> None:
        """Raises `Rejected` unless one of the secrets was sent."""
        if not any(self.matches(headers, body, now, request)):
            raise not_genuine("token_wrong", f"{self._place} matches none of the secrets ({len(self.keys)})")

    def matches(self, headers: Headers, body: bytes, now: float, request: SignedRequest = NO_REQUEST) -> list[bool]:
        """For each secret whether it was sent. Raises `Rejected` where none was."""
        given = self._given(headers, body, request.query)
        if not given:
            raise not_genuine("token_missing", f"no {self._place}")
        # Every pair is compared, and each in constant time, so that the time tells nothing of how much was right.
        return [sum(hmac.compare_digest(key, value) for value in given) > 0 for key in self.keys]

    @property
    def _place(self) -> str:
        if self.member:
            return f"{self.member!r} in the body"
        return f"{self.header} header" if self.header else f"{self.field!r} in the query"

    def _given(self, headers: Headers, body: bytes, query: bytes) -> list[bytes]:
        if self.member:
            return member_of(body, self.member)
        if self.header:
            name = self.header.lower().encode()
            return [self._token(value) for header, value in headers if header == name]
        fields = parse_qsl(query.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
        return [value.encode("latin-1") for name, value in fields if name == self.field]

    def _token(self, value: bytes) -> bytes:
        prefix = self.prefix.encode()
        return value[len(prefix) :] if value[: len(prefix)].lower() == prefix.lower() else b""
