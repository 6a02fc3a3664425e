"""The ways in which a server may read a request: its method and its path, however they are spelled or overridden."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from .model import Request, query_text
from .pairs import decoded, pairs_in, pairs_of_text

# What frameworks let stand in the place of the method (X-HTTP-Method-Override and its relatives).
# Frameworks join words with what they like, take any of it for an underscore, and look into brackets; a word with
# letters before it is another name, such as that of a payment's method.
_OVERRIDES = re.compile(
    r"(?<![a-z0-9])(?<![a-z0-9][_-])(?:(?:x[\W_])?(?:http[\W_])?method[\W_]override"
    r"|x[\W_](?:http[\W_]|original[\W_]|forwarded[\W_])?method|http[\W_]method|[_.\-\s]method)(?![_-]*[a-z0-9])"
)
_METHOD = re.compile(r"[A-Z]+")
# Headers that name an address of somebody else. Any other path in a header may stand in the place of the request's own,
# as servers and proxies do with X-Original-URL and X-Rewrite-URL.
_OF_OTHERS = frozenset({"origin", "referer"})
_ADDRESS = re.compile(r"(?:[a-z][a-z0-9+.-]*:)?(?://[^/?#]*)?(/[^?#]*)(?:[?#].*)?", re.IGNORECASE | re.DOTALL)
_SEPARATORS = re.compile(r"[/\\]")
_END = re.compile(r"[?#\0].*", re.DOTALL)  # of a path: who decodes it first sees a query, a fragment or the end there
_FORMAT = re.compile(r"(?<=.)\.\w{1,10}\Z")  # what frameworks take off the end of a path

Segments = tuple[str, ...]


def overriding_methods(request: Request) -> set[str]:
    """Methods that a header, a parameter or a field of the body may put in the place of the request's own."""
    found: set[str] = set()
    query = query_text(request.query)
    read_again = pairs_of_text(query) if "%" in query else ()  # what is plain reads like its pairs
    for name, value in (*request.headers, *request.query, *read_again, *pairs_in(request.body)):
        if _overrides(name):
            found.update(word for text in _texts(value) for word in _METHOD.findall(_folded(text).upper()))
    return found


@lru_cache(maxsize=1024)
def _overrides(name: str) -> bool:
    """Many requests have the same few names."""
    return bool(_OVERRIDES.search(_folded(name).lower()))


def overriding_paths(request: Request) -> list[str]:
    """Paths that a header may put in the place of the request's own."""
    values = (value.strip() for name, value in request.headers if name.strip().lower() not in _OF_OTHERS)
    return [found[1] for value in values if (found := _ADDRESS.fullmatch(value))]


def path_of(request: Request) -> str:
    return urlsplit(request.root).path + request.path


def leaves_base(path: str) -> bool:
    """Whether a segment of the path is `.` or `..`, however often it is encoded."""
    return any(segment in {".", ".."} for text in decoded(path) for segment in _SEPARATORS.split(text))


def is_encoded_too_often(path: str) -> bool:
    """Whether a server that decodes it again and again would read something else than all that is known here."""
    last = decoded(path)[-1]
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
    for text in decoded(path):
        yield text
        if (cut := _END.sub("", text)) != text:
            yield cut
        if not text.isascii():
            yield _folded(text)


def _folded(text: str) -> str:
    """With plain letters for others that some servers take for them, and without what cannot be seen."""
    if text.isascii():
        return text
    from unicodedata import category, normalize

    return "".join(letter for letter in normalize("NFKC", text) if category(letter) != "Cf")


def _texts(value: Any) -> list[str]:
    values = value if isinstance(value, list | tuple) else [value]
    return [each for each in values if isinstance(each, str)]
