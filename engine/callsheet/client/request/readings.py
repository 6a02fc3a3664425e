"""The ways in which a server may read a request: its method and its path, however they are spelled or overridden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from .model import Request
from .pairs import pairs_in

# What frameworks let stand in the place of the method (X-HTTP-Method-Override and its relatives).
_OVERRIDES = re.compile(r"(?:x-)?(?:http-)?method-override|x-(?:http-|original-|forwarded-)?method|http-method|-method")
_METHOD = re.compile(r"[A-Z]+")
# Headers that name an address of somebody else. Any other path in a header may stand in the place of the request's own,
# as servers and proxies do with X-Original-URL and X-Rewrite-URL.
_OF_OTHERS = frozenset({"origin", "referer"})
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://[^/?#]*)?(/[^?#]*)(?:[?#].*)?", re.IGNORECASE | re.DOTALL)
_DECODINGS = 4
_SEPARATORS = re.compile(r"[/\\]")
_END = re.compile(r"[?#\0].*", re.DOTALL)  # of a path: who decodes it first sees a query, a fragment or the end there
_FORMAT = re.compile(r"(?<=.)\.\w{1,10}\Z")  # what frameworks take off the end of a path

Segments = tuple[str, ...]


def overriding_methods(request: Request) -> set[str]:
    """Methods that a header, a parameter or a field of the body may put in the place of the request's own."""
    found: set[str] = set()
    for name, value in (*request.headers, *request.query, *pairs_in(request.body)):
        if _overrides(name):
            found.update(word for text in _texts(value) for word in _METHOD.findall(text.upper()))
    return found


@lru_cache(maxsize=1024)
def _overrides(name: str) -> bool:
    """Many requests have the same few names."""
    return bool(_OVERRIDES.fullmatch(name.strip(" \t[]\ufeff\ufffd").lower().replace("_", "-")))


def overriding_paths(request: Request) -> list[str]:
    """Paths that a header may put in the place of the request's own."""
    values = (value.strip() for name, value in request.headers if name.strip().lower() not in _OF_OTHERS)
    return [found[1] for value in values if (found := _ADDRESS.fullmatch(value))]


def path_of(request: Request) -> str:
    return urlsplit(request.root).path + request.path


def leaves_base(path: str) -> bool:
    """Whether a segment of the path is `.` or `..`, however often it is encoded."""
    return any(segment in {".", ".."} for text in _decoded(path) for segment in _SEPARATORS.split(text))


def is_encoded_too_often(path: str) -> bool:
    """Whether a server that decodes it again and again would read something else than all that is known here."""
    last = _decoded(path)[-1]
    return unquote(last) != last


def readings(path: str) -> Iterator[Segments]:
    """The segments that servers may see in a path: as it is, decoded, without what changes nothing or says a format."""
    for text in _spellings(path):
        kept: list[str] = []
        for segment in _SEPARATORS.split(text):
            plain = segment.partition(";")[0].strip()
            if plain == "..":
                del kept[-1:]
            elif plain.strip("."):
                kept.append(plain.rstrip(". "))
        yield tuple(kept)
        if kept and (plain := _FORMAT.sub("", kept[-1])) != kept[-1]:
            yield (*kept[:-1], plain)


def _spellings(path: str) -> Iterator[str]:
    for text in _decoded(path):
        yield text
        if (cut := _END.sub("", text)) != text:
            yield cut
        if not text.isascii():
            yield _folded(text)


def _folded(text: str) -> str:
    """With plain letters for others that some servers take for them, and without what cannot be seen."""
    from unicodedata import category, normalize

    return "".join(letter for letter in normalize("NFKC", text) if category(letter) != "Cf")


def _decoded(path: str) -> list[str]:
    found = [path]
    while len(found) <= _DECODINGS and (plain := unquote(found[-1])) != found[-1]:
        found.append(plain)
    return found


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, str)]
