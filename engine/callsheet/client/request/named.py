"""Which projects, spaces and the like a request names, as far as it tells: in its path, its query and its body."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...language.safety import by_method
from ...language.template import TemplateError, evaluate
from ...policy.facts import NamedThings
from ...policy.rule import path_pattern
from .model import Body, Json, Request
from .pairs import pairs_in
from .restricted import restricted_to
from .safety import Meaning

if TYPE_CHECKING:
    from ...language.shape.agents import ContainerDefinition

Pairs = Sequence[tuple[str, Any]]


def named_in(
    containers: Mapping[str, ContainerDefinition], request: Request, meaning: Meaning
) -> dict[str, NamedThings]:
    """By kind of container. Where no operation has the path, each of its segments may be a name.

    What is about something in a container by its id is unclear, and so is a search, unless its query is restricted.
    """
    written = [*pairs_in(request.body)]
    asking = request.query if by_method(request.method) == "read" else written  # where a search has its query
    deciding = asking if len(meaning.methods) == 1 else []
    pairs = [*meaning.arguments, *request.query, *written]
    return {id: _named(container, pairs, deciding, meaning, request.body) for id, container in containers.items()}


def _named(
    container: ContainerDefinition, pairs: Pairs, deciding: Pairs, meaning: Meaning, body: Body | None
) -> NamedThings:
    keys, names, unclear = frozenset(container.get("keys", ())), set[str](), False
    wanted = re.compile(container["pattern"])
    values = [*(value for name, value in pairs if name in keys), *_told(container.get("bodies", {}), body, meaning)]
    for value in values:
        for text in _texts(value, container.get("key")):
            match = wanted.fullmatch(text)
            names.update([match[1]] if match else ())
            unclear = unclear or match is None
    certain = re.compile(container.get("query_pattern", container["pattern"]))
    for text in _queries(container, pairs):
        for value in restricted_to(text, container.get("fields", ())) or [""]:
            match = certain.fullmatch(value)
            names.update([match[1]] if match else ())
            unclear = unclear or match is None
    names.update(match[1] for segment in meaning.unknown if (match := wanted.fullmatch(segment)))
    return NamedThings(frozenset(names), unclear or _is_hidden(container, deciding, meaning))


def _told(bodies: Mapping[str, str], body: Body | None, meaning: Meaning) -> Iterator[Any]:
    """What the body tells if the request is one of these operations; an empty text where it cannot be read as JSON."""
    for operation in sorted(meaning.operations.intersection(bodies)):
        try:
            yield evaluate(bodies[operation], body.value) if isinstance(body, Json) else ""
        except TemplateError:
            yield ""


def _is_hidden(container: ContainerDefinition, deciding: Pairs, meaning: Meaning) -> bool:
    """Whether the request is about something without saying where that is."""
    if all(_is_one_of(container.get("searches", ()), path, meaning) for path in meaning.paths):
        return not any(_queries(container, deciding))
    anywhere = [*container.get("within", ()), *container.get("searches", ())]
    return any(_is_one_of(anywhere, path, meaning) for path in meaning.paths)


def _queries(container: ContainerDefinition, pairs: Pairs) -> Iterator[str]:
    keys = frozenset(container.get("queries", ()))
    for name, value in pairs:
        if name in keys and value is not None:
            yield from map(str, value if isinstance(value, list | tuple) else [value])


def _is_one_of(patterns: Sequence[str], path: str, meaning: Meaning) -> bool:
    for text in patterns:
        method, _, wanted = text.rpartition(" ")
        if (not method or method in meaning.methods) and path_pattern(wanted).fullmatch(path):
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
