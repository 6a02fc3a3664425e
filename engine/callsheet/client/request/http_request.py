"""What building and sending requests asks of a site."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, Protocol
from urllib.parse import quote

from ...errors import UsageError
from ...language.safety import Safety
from ...policy.policy import Policy
from ...urls import url_origin


class NetworkSettings(Protocol):
    """How hosts are reached from here, and what may be sent."""

    @property
    def policy(self) -> Policy: ...
    @property
    def ca_bundle(self) -> str | None: ...
    @property
    def client_cert(self) -> str | tuple[str, str] | None: ...
    @property
    def proxy(self) -> str | None: ...
    @property
    def timeout(self) -> float | None: ...


class SenderSite(NetworkSettings, Protocol):
    """What sending asks; `secrets` is what must never be shown.

    `known_as` are its own addresses, also where requests go through a gateway, and names of other sites that are there.
    `headers`, `query` and `body` hold the credential of a service. `base_url` is where that may go: no other origin.
    """

    @property
    def name(self) -> str: ...
    @property
    def known_as(self) -> frozenset[str]: ...
    @property
    def rps(self) -> float | None: ...
    @property
    def deployment(self) -> str: ...
    def base_url(self, service: str) -> str: ...
    def headers(self, service: str) -> dict[str, str]: ...
    def query(self, service: str) -> tuple[tuple[str, str], ...]: ...
    def body(self, service: str) -> tuple[tuple[str, str], ...]: ...
    def secrets(self) -> list[str]: ...


class RequestSite(Protocol):
    """What building a request asks."""

    @property
    def deployment(self) -> str: ...
    def base_url(self, service: str) -> str: ...


# What one HTTP request is made of.


class Placeholder(str):
    """Stands in a dry run for a value that only an earlier answer could supply; passes every check."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Json:
    value: Any
    media: str = "application/json"


@dataclass(frozen=True, slots=True)
class Raw:
    data: bytes
    media: str | None


@dataclass(frozen=True, slots=True)
class File:
    """A body that is read from disk while it is sent; in a form under another `name` than its own."""

    path: str
    media: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Form:
    pairs: tuple[tuple[str, str], ...]
    media: str = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class MultipartPart:
    """One part of a multipart body: a text, or a file that is read from disk while it is sent."""

    name: str
    text: str | None = None
    file: File | None = None
    media: str | None = None  # of a text


@dataclass(frozen=True, slots=True)
class Multipart:
    parts: tuple[MultipartPart, ...]


# A path, `part=path`, or a table of the path and the name that it is sent under.
FileToSend = str | Mapping[str, Any]

Body = Json | Raw | File | Form | Multipart


@dataclass(frozen=True, slots=True)
class Request:
    """`root` is the service's base URL, `path` is percent-encoded and starts with `/`, `query` holds decoded pairs.

    Raises `UsageError` for any other path: behind a host's name it would make another host or port of it.
    """

    method: str
    root: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    body: Body | None = None
    operation: str | None = None
    product: str | None = None
    service: str = ""
    safety: Safety = "read"
    reply: Literal["json", "binary", "none", "location"] = "json"

    def __post_init__(self) -> None:
        if self.path and not self.path.startswith("/"):
            raise UsageError(f"{self.name}: path {self.path!r} does not start with a slash", hint="nothing was sent")

    @property
    def url(self) -> str:
        return self.root + self.path + query_text(self.query)

    @property
    def origin(self) -> str:
        return url_origin(self.root)

    @property
    def name(self) -> str:
        """What the request is called in messages."""
        return self.operation or f"{self.method} {self.path}"

    def with_query(self, values: dict[str, str]) -> Request:
        """The same request with these query parameters in the place of earlier ones of the same names."""
        kept = tuple(pair for pair in self.query if pair[0] not in values)
        return replace(self, query=kept + tuple(values.items()))

    def with_json(self, values: dict[str, Any]) -> Request:
        """The same request with these keys set in its JSON object."""
        body = self.body if isinstance(self.body, Json) else Json({})
        return replace(self, body=replace(body, value={**(body.value or {}), **values}))


def with_members(body: Body | None, members: tuple[tuple[str, str], ...]) -> Body | None:
    """The body with these at the top, where it is an object or a form; any other as it is."""
    match body:
        case Json(value) if isinstance(value, dict):
            return replace(body, value={**value, **dict(members)})
        case Form(pairs):
            return replace(body, pairs=(*pairs, *members))
        case Multipart(parts):
            return replace(body, parts=(*(MultipartPart(name, text=text) for name, text in members), *parts))
        case _:
            return body


def percent_encoded(text: str, *, safe: str = "") -> str:
    """Percent-encoded; a placeholder stays readable."""
    return text if isinstance(text, Placeholder) else quote(text, safe=safe)


def query_text(pairs: tuple[tuple[str, str], ...]) -> str:
    """`?a=1&b=2`, or nothing. Commas stay as they are: they separate the items of a joined list."""
    if not pairs:
        return ""
    return "?" + "&".join(f"{quote(name, safe='')}={percent_encoded(value, safe=',')}" for name, value in pairs)


# Media types: which of them are JSON, and which type a file is sent as.


OCTET_STREAM = "application/octet-stream"
FORM = "application/x-www-form-urlencoded"


def media_essence(media: str) -> str:
    """`text/html` of `Text/HTML; charset=utf-8`."""
    return media.partition(";")[0].strip().lower()


def is_json_media(media: str) -> bool:
    kind = media_essence(media)
    return kind.endswith(("/json", "+json"))


def is_text_media(media: str) -> bool:
    return media_essence(media).startswith("text/")


def is_form_media(media: str) -> bool:
    return media_essence(media) == FORM


def is_multipart_media(media: str) -> bool:
    return media_essence(media).startswith("multipart/")


def media_type_of_file(path: str) -> str:
    """By the file's name."""
    import mimetypes

    kind, coding = mimetypes.guess_type(path)
    return kind if kind and not coding else OCTET_STREAM


def media_type_for_file(path: str, documented: str) -> str:
    """The type a raw body is sent as: the documented one, or where that is a wildcard, the file's own."""
    pattern = media_essence(documented)
    if "*" not in pattern:
        return documented
    own = media_type_of_file(path)
    if not fnmatchcase(own, pattern):
        raise UsageError(f"{path}: expected a file of type {pattern}, its name says {own}")
    return own
