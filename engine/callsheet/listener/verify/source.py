"""A source's definition, ready for use: proving deliveries genuine and reading events out of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from ...language.compiled_jmespath import compile_fast, first_names
from ...language.template import compile_expression
from .event import Event
from .jws import Tokens
from .keyset import KeySet, UnknownKey
from .payload import parse_payload
from .rejection import NO_EVENT, Rejected, unreadable
from .signature import Headers, Signature
from .signed_parts import are_signed

if TYPE_CHECKING:
    from ...language.shape import listener as shape

_LONGEST_TYPE = 256
_LONGEST_ID = 1024
_LARGEST_ID = 10**_LONGEST_ID
_REGISTERED = ("iss", "sub", "aud", "exp", "nbf", "iat", "jti")


class Source:
    """`keys` is the key set for tokens, if any is used."""

    def __init__(
        self, name: str, definition: shape.SourceDefinition, secrets: Sequence[str] = (), keys: KeySet | None = None
    ) -> None:
        self.name = name
        self.definition = definition
        self.path = definition["path"]
        self.volatile = frozenset(definition.get("volatile", ()))
        self.registered = frozenset(definition.get("jwt", {}).get("registered", _REGISTERED))
        self.keys = keys
        self.tokens = Tokens(definition["jwt"]) if keys is not None else None
        self.signature = Signature(definition["hmac"], secrets) if secrets else None
        self.needs_headers = bool({"headers", "query"} & self._names("type", "id"))
        self.trusts_type, self.trusts_id = self._trusts("type"), self._trusts("id")
        self._type = compile_fast(definition["type"])
        self._id = compile_fast(definition.get("id", "`null`"))
        self.time_of: Callable[[Any], Any] = compile_expression(definition.get("time", "`null`"))
        self.body_of: Callable[[Any], Any] = compile_expression(definition.get("body", "`null`"))

    def _names(self, *keys: str) -> set[str]:
        texts = (self.definition.get(key) for key in keys)
        return set().union(*(first_names(text) for text in texts if isinstance(text, str)))

    def _trusts(self, key: Literal["type", "id"]) -> bool:
        """Whether what is read there was signed, not only sent beside it. Where nothing is signed, all is believed."""
        if not self.is_verified or key not in self.definition:
            return True
        signed = self.definition.get("hmac", {}).get("signed", "") if self.tokens is None else ""
        return are_signed(self.definition[key], signed)

    @property
    def is_verified(self) -> bool:
        return self.tokens is not None or self.signature is not None

    def receive(self, headers: Headers, query: bytes, data: bytes, now: float) -> Event:
        """The event of a genuine delivery. Raises `Rejected`; `UnknownKey` where keys may be missing."""
        if self.tokens is None or self.keys is None:
            if self.signature is not None:
                self.signature.check(headers, data, now)
            return Event(self, parse_payload(data), headers, query, data, data)
        try:
            claims, text = self.tokens.claims(data, self.keys.find, now)
        except Rejected as refused:
            if self.signature is None or refused.status == NO_EVENT:
                raise
            self._check_signature_too(self.signature, headers, data, now, refused)
            return Event(self, parse_payload(data), headers, query, data, data)
        return Event(self, claims, headers, query, data, text)

    async def learn(self, unknown: UnknownKey) -> None:
        """Look for the key that a token names. Raises `Rejected`."""
        if self.keys is not None:
            await self.keys.learn(unknown.wanted)

    def _check_signature_too(
        self, signature: Signature, headers: Headers, data: bytes, now: float, first: Rejected
    ) -> None:
        try:
            signature.check(headers, data, now)
        except Rejected as second:
            if isinstance(first, UnknownKey):
                raise first from None
            detail = f"{first.detail}; {second.detail}"
            raise Rejected(second.status, second.reason, detail) from None

    def identify(self, scope: dict[str, Any]) -> tuple[str, str | int | None]:
        """Type and id of an event. Raises `Rejected` where there is no event."""
        type_ = self._type(scope)
        if not isinstance(type_, str) or not type_:
            raise unreadable("not an event: it names no type")
        if len(type_) > _LONGEST_TYPE or not (type_.isascii() or _is_text(type_)):
            raise unreadable("not an event: its type is too long, or no text")
        id_ = self._id(scope)
        if isinstance(id_, str):
            if len(id_) > _LONGEST_ID or not (id_.isascii() or _is_text(id_)):
                raise unreadable("not an event: its id is too long, or no text")
            return type_, id_ or None
        if id_ is not None and (isinstance(id_, bool) or not isinstance(id_, int)):
            raise unreadable("not an event: its id is neither text nor an integer")
        if id_ is not None and abs(id_) > _LARGEST_ID:
            raise unreadable("not an event: its id is too long")
        return type_, id_

    def rest_of(self, payload: dict[str, Any]) -> dict[str, Any]:
        """The body of an event that has none: the claims beside the registered ones, or nothing."""
        if self.tokens is None:
            return {}
        return {name: value for name, value in payload.items() if name not in self.registered}


def _is_text(text: str) -> bool:
    """Whether it can be written down: half of a surrogate pair cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
