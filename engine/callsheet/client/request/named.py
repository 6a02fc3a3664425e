"""Which projects, spaces and the like a request names, as far as it tells: in its path, its query and its body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from ...jsontext import JSONError, parse
from ...policy.facts import NamedThings
from ...policy.rule import path_pattern
from .model import Body, Form, Json, Multipart, Raw, Request
from .restricted import restricted_to
from .safety import Meaning

if TYPE_CHECKING:
    from ...language.shape.policy import ContainerDefinition

Pairs = Iterator[tuple[str, Any]]


def named_in(
    containers: Mapping[str, ContainerDefinition], request: Request, meaning: Meaning
) -> dict[str, NamedThings]:
    """By kind of container. Where no operation has the path, each of its segments may be a name.

    What is about something in a container by its id is unclear, and so is a search, unless its query is restricted.
    """
    pairs = [*meaning.arguments, *request.query, *_of_body(request.body)]
    return {id: _named(container, pairs, meaning) for id, container in containers.items()}


def _named(container: ContainerDefinition, pairs: list[tuple[str, Any]], meaning: Meaning) -> NamedThings:
    keys, names, unclear = frozenset(container["keys"]), set[str](), False
    wanted = re.compile(container["pattern"])
    for name, value in pairs:
        for text in _texts(value, container.get("key")) if name in keys else ():
            match = wanted.fullmatch(text)
            names.update([match[1]] if match else ())
            unclear = unclear or match is None
    queries = [*_queries(container, pairs)]
    for text in queries:
        for value in restricted_to(text, container.get("fields", ())) or [""]:
            match = wanted.fullmatch(value)
            names.update([match[1]] if match else ())
            unclear = unclear or match is None
    names.update(match[1] for segment in meaning.unknown if (match := wanted.fullmatch(segment)))
    return NamedThings(frozenset(names), unclear or (not queries and _is_within(container, meaning)))


def _queries(container: ContainerDefinition, pairs: list[tuple[str, Any]]) -> Iterator[str]:
    keys = frozenset(container.get("queries", ()))
    for name, value in pairs:
        if name in keys and value is not None:
            yield from map(str, value if isinstance(value, list | tuple) else [value])


def _is_within(container: ContainerDefinition, meaning: Meaning) -> bool:
    for text in container.get("within", ()):
        method, _, path = text.rpartition(" ")
        if (not method or method in meaning.methods) and any(map(path_pattern(path).fullmatch, meaning.paths)):
            return True
    return False


def _texts(value: Any, key: str | None) -> Iterator[str]:
    """The texts that may be names; an empty one, which no pattern fits, for what cannot tell."""
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, key)
    elif isinstance(value, Mapping):
        yield from _texts(value[key], None) if key is not None and value.get(key) else ("",)
    else:
        yield from (part.strip() for part in str(value).split(","))


def _of_body(body: Body | None) -> Pairs:
    match body:
        case Json(value):
            yield from _inside(value)
        case Form(pairs):
            yield from pairs
        case Multipart(parts):
            yield from ((part.name, part.text) for part in parts if part.text is not None)
        case Raw(data, _):
            yield from _of_bytes(data)


def _of_bytes(data: bytes) -> Pairs:
    """As JSON or as a form, whatever its type says: a server may read it so."""
    try:
        yield from _inside(parse(data))
    except JSONError:
        yield from parse_qsl(data.decode("utf-8", "replace"))


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
