"""Every name and value that the body of a request holds, at any depth, in all the ways that a server may read it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import parse_qsl, unquote

from ...errors import UsageError
from .model import Body, Form, Json, Multipart, Raw, query_text

Pairs = Iterator[tuple[str, Any]]

_DECODINGS = 4

_PART = re.compile(rb'\bname="?([^";\r\n]+)"?[^\r\n]*(?:\r?\n[^\r\n]+)*\r?\n\r?\n(.*?)(?=\r?\n--|\Z)', re.DOTALL)


def pairs_in(body: Body | None) -> Pairs:
    """Raises `UsageError` for bytes that are nested too deeply to be read. Files are not read."""
    match body:
        case Json(value):
            yield from _inside(value)
        case Form(pairs):
            yield from pairs
            yield from pairs_of_text(query_text(pairs))
        case Multipart(parts):
            yield from ((part.name, part.text) for part in parts if part.text is not None)
        case Raw(data, _):
            yield from _of_bytes(data)


def pairs_of_text(text: str) -> Iterator[tuple[str, str]]:
    """The pairs of a query or a form, with either separator and however often it is encoded."""
    for each in decoded(text):
        for separator in ("&", ";"):
            yield from ((name.strip(), value) for name, value in parse_qsl(each, separator=separator))


def decoded(text: str) -> list[str]:
    """The text, and what is read by those who take away its percent-encoding again and again."""
    found = [text]
    while len(found) <= _DECODINGS and (plain := unquote(found[-1])) != found[-1]:
        found.append(plain)
    return found


def _of_bytes(data: bytes) -> Pairs:
    """As JSON, or as a form of either kind, whatever its type says. Of a name that occurs twice, either may count."""
    found: list[tuple[str, Any]] = []

    def keep(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found.extend(pairs)
        return dict(pairs)

    try:
        json.loads(data, object_pairs_hook=keep, parse_int=str, parse_float=str)
    except RecursionError:
        raise UsageError("the body is nested too deeply", hint="nothing was sent") from None
    except ValueError:
        plain = data.replace(b"\0", b"")  # of UTF-16 that is what names and methods are in
        found += pairs_of_text(plain.decode("utf-8", "replace"))
        found += ((name.decode("utf-8", "replace"), text.decode("utf-8", "replace")) for name, text in _parts(plain))
    yield from found


def _parts(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    for part in _PART.finditer(data) if b"form-data" in data else ():
        yield part[1], part[2]


def _inside(value: Any) -> Pairs:
    """Every key at any depth, with its value. What is waiting is kept in a list, so depth costs no stack."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Mapping):
            yield from each.items()
            waiting.extend(each.values())
        elif isinstance(each, list | tuple):
            waiting.extend(each)
