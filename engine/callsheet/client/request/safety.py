"""What a request may do: read, write or destroy. The one place that judges it, however the request was spelled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from ...language.deployment import variants
from ...language.safety import Safety, by_method, class_here, worst
from . import media
from .model import Body, Form, Json, Multipart, Raw, Request

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog

# What frameworks let stand in the place of the method (X-HTTP-Method-Override and its relatives), and its field.
_OVERRIDES = re.compile(r"(?:x-)?(?:http-)?method-override|x-(?:http-)?method")
_FIELD = "_method"
_METHOD = re.compile(r"[A-Z]+")
_VERSION = re.compile(r"v?\d+(?:\.\d+)*|latest")
_DECODINGS = 4

Segments = tuple[str, ...]


class Template(NamedTuple):
    """The path of an operation, and what a call of it may do."""

    segments: Segments
    safety: Safety

    @property
    def literal(self) -> int:
        return sum(not _is_placeholder(segment) for segment in self.segments)

    def fits(self, path: Segments) -> bool:
        """At the end of the path: a context path or a gateway's prefix may stand before it. Versions are alike."""
        if len(path) < len(self.segments) or (len(path) > len(self.segments) and _is_placeholder(self.segments[0])):
            return False
        pairs = zip(self.segments, path[-len(self.segments) :], strict=True)
        return all(_segments_match(wanted, segment) for wanted, segment in pairs)


def with_safety(catalog: Catalog, request: Request, *, known: Safety | None = None) -> Request:
    """The request with its class: that of the catalogued operation which its method and path belong to.

    `known` is the class where the operation is known already. Without an operation the method decides. A request that
    can be read in several ways, by an overriding method or by what is encoded in its path, has the worst class of them.
    """
    path = urlsplit(request.root).path + request.path
    readings = list(dict.fromkeys(_readings(path)))
    overriding = sorted(set(_overriding_methods(request)) - {request.method})
    classes = [] if known is None else [known]
    for method in [*([] if known else [request.method]), *overriding]:
        templates = _templates(catalog, method)
        classes += [_safety_of(templates, method, reading) for reading in readings]
    return replace(request, safety=worst(classes))


def leaves_base(path: str) -> bool:
    """Whether a segment of the path is `.` or `..`, however often it is encoded."""
    return any(segment in {".", ".."} for text in _decoded(path) for segment in re.split(r"[/\\]", text))


def _safety_of(templates: list[Template], method: str, path: Segments) -> Safety:
    fitting = [template for template in templates if template.fits(path)]
    closest = max((template.literal for template in fitting), default=0)
    found = [template.safety for template in fitting if template.literal == closest]
    return worst(found) if found else by_method(method)


def _templates(catalog: Catalog, method: str) -> list[Template]:
    """Of every deployment: a path that means an operation on one of them is no riddle on another."""
    found: list[Template] = []
    for operation in catalog.all("operation").values():
        for table in (operation, *variants(operation).values()):
            verb, _, path = table["http"].partition(" ")
            if verb == method:
                found.append(Template(tuple(path.strip("/").split("/")), class_here(table)))
    return found


def _is_placeholder(segment: str) -> bool:
    return "{" in segment


def _segments_match(wanted: str, segment: str) -> bool:
    if _is_placeholder(wanted) or wanted == segment:
        return True
    return bool(_VERSION.fullmatch(wanted) and _VERSION.fullmatch(segment))


def _readings(path: str) -> Iterator[Segments]:
    """The segments that servers may see in a path: as it is, decoded, without what changes nothing."""
    for text in _decoded(path):
        kept: list[str] = []
        for segment in re.split(r"[/\\]", text):
            plain = segment.partition(";")[0]
            if plain == "..":
                del kept[-1:]
            elif plain not in {"", "."}:
                kept.append(plain)
        yield tuple(kept)


def _decoded(path: str) -> Iterator[str]:
    for _ in range(_DECODINGS):
        yield path
        if (plain := unquote(path)) == path:
            return
        path = plain


def _overriding_methods(request: Request) -> Iterator[str]:
    """Methods that a header, a parameter or a field of the body may put in the place of the request's own."""
    for name, text in (*request.headers, *request.query, *_fields(request.body)):
        plain = name.strip().lower().replace("_", "-")
        if name == _FIELD or _OVERRIDES.fullmatch(plain):
            yield from _METHOD.findall(text.upper())


def _fields(body: Body | None) -> Iterator[tuple[str, str]]:
    match body:
        case Form(pairs):
            yield from pairs
        case Multipart(parts):
            yield from ((part.name, part.text) for part in parts if part.text is not None)
        case Raw(data, type) if type is not None and media.is_form(type):
            yield from parse_qsl(data.decode("utf-8", "replace"))
        case Json(value) if isinstance(value, Mapping):
            yield from _named_texts(value)


def _named_texts(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from ((name, text) for name, text in value.items() if isinstance(text, str))
