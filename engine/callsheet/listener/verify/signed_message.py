"""What a signature covers, and where it stands, as a source's definition describes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from re import ASCII, fullmatch
from typing import TYPE_CHECKING, Any, NamedTuple

from ...durations import duration_seconds
from ...language.compiled_jmespath import expression_tree, first_names
from ...language.template import expressions_in_text, fill_text, to_text
from .payload import fields_of, member_of, parse_any
from .rejection import not_genuine

if TYPE_CHECKING:
    from ...language.shape.listener import Pick, Signed


_BESIDE = ("headers", "query")


def are_signed(expression: str, signed: str) -> bool:
    """Whether all that an expression reads is part of what is signed, by the template of that.

    Where single members of the body are signed, it must be one of them.
    """
    if any("payload" in first_names(text) for text in expressions_in_text(signed)):
        return expression in expressions_in_text(signed)
    covered = {part for text in expressions_in_text(signed) for part in _beside(expression_tree(text))}
    return _beside(expression_tree(expression)) <= covered


def _beside(node: Any) -> set[str]:
    """`headers.name` for each value that is looked at beside the payload, or `headers` where it is not plain which."""
    if not isinstance(node, dict):
        return set()
    children = node.get("children", [])
    if node["type"] == "subexpression" and all(child["type"] == "field" for child in children):
        names = [child["value"] for child in children]
        return {".".join(names[:2])} if names[0] in _BESIDE else set()
    if node["type"] == "field":
        return {node["value"]} & set(_BESIDE)
    return {part for child in children for part in _beside(child)}


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


class SignedMessage:
    """Finds the signatures of a delivery, and the bytes that they must be of."""

    def __init__(self, definition: Signed) -> None:
        self.member = definition.get("member", "")
        self.name = definition.get("header", self.member)
        self.header = self.name.lower().encode()
        self.prefix = definition.get("prefix", "").encode()
        self.separator = definition.get("separator", "").encode()
        signed = definition.get("signed", _BODY)
        self.before, self.has_body, self.after = signed.partition(_BODY)
        self.reads_payload = any("payload" in first_names(text) for text in expressions_in_text(signed))
        self.stamp = definition.get("timestamp")
        self.tolerance = duration_seconds(definition.get("tolerance", "5m"))
        sent = {} if self.member else {self.name: definition.get("prefix", "") + "{signature}"}
        self.sent = definition.get("send", sent)
        self.is_body = signed == _BODY and self.stamp is None

    def candidates(self, headers: Headers, body: bytes) -> list[bytes]:
        """The signatures that were sent. Raises `Rejected` where there is none."""
        if self.member:
            given = member_of(body, self.member)
        else:
            given = [value for name, value in headers if name == self.header]
        if not given:
            raise not_genuine("signature_missing", f"no {self.name}{' in the body' if self.member else ' header'}")
        if not self.separator and not self.prefix:
            return given
        return _parts(given, self.separator, self.prefix)

    def message(self, headers: Headers, body: bytes, now: float, request: SignedRequest) -> bytes:
        """What must have been signed. Raises `Rejected` for a time of signing that is missing, or too far from now."""
        if self.is_body:
            return body
        timestamp = self._timestamp(headers, body, now) if self.stamp else ""
        return self._around(body, {"headers": text_headers(headers), "timestamp": timestamp}, request)

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
        scope["signature"] = sign(self._around(body, scope, request))
        return {name: to_text(fill_text(text, scope)) for name, text in self.sent.items()}

    def _around(self, body: bytes, scope: Mapping[str, Any], request: SignedRequest) -> bytes:
        scope = {**scope, "url": request.url}
        if self.reads_payload:
            scope["payload"] = parse_any(body)
            body = b""
        elif not self.has_body:
            scope["form"] = [{"name": name, "value": value} for name, value in dict.fromkeys(fields_of(body))]
            body = b""
        return to_text(fill_text(self.before, scope)).encode() + body + to_text(fill_text(self.after, scope)).encode()

    def _timestamp(self, headers: Headers, body: bytes, now: float) -> str:
        stamp: Pick = self.stamp or {"header": ""}
        place = stamp.get("header") or stamp["member"]
        if "member" in stamp:
            found = member_of(body, place)
        else:
            name = place.lower().encode()
            found = _parts(
                [value for header, value in headers if header == name],
                stamp.get("separator", "").encode(),
                stamp.get("prefix", "").encode(),
            )
        text = found[0].decode("latin-1") if found else ""
        signed_at = _moment(text)
        if signed_at is None:
            raise not_genuine("timestamp_missing", f"no timestamp in {place}")
        if abs(now - signed_at) > self.tolerance:
            raise not_genuine(
                "timestamp_old", f"signed at {text[:32]}, which differs from now by more than {self.tolerance:g} s"
            )
        return text


# As seconds, so large a number is after the year 5000.
_FIRST_MILLISECONDS = 10**11
_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)"


def _moment(text: str) -> float | None:
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


def _parts(given: list[bytes], separator: bytes, prefix: bytes) -> list[bytes]:
    parts = [part.strip() for value in given for part in value.split(separator)] if separator else given
    return [part[len(prefix) :] for part in parts if part.startswith(prefix)]


def text_headers(headers: Headers) -> dict[str, str]:
    """Names are lower case already; of a header that occurs twice the last one counts."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}
