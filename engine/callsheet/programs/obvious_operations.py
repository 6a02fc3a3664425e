"""Which operations are the obvious ones: what is listed, shown, created, changed and deleted at one path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from .naming import NO_RESOURCE

Replies = Mapping[str, Any]

_PARAMETER = re.compile(r"\{([^{}]+)\}(?:\.\w+)?")
_CALL = re.compile(r"[A-Za-z]+(?:\.[A-Za-z]+)+")
_ENDING = re.compile(r"\.(?:json|xml)$")


class Resource(NamedTuple):
    """Operations at one path: verb → id. `path` holds its words, `depth` counts these and its parameters."""

    tag: str
    path: tuple[str, ...]
    depth: int
    verbs: dict[str, str]

    @property
    def name(self) -> str:
        return self.path[-1]


def resources_of(operations: Mapping[str, Mapping[str, Any]], replies: Replies) -> list[Resource]:
    """In the order of the document. Where two operations would be the same verb the first one is."""
    found: dict[tuple[str, str], Resource] = {}
    for id, table in sorted(operations.items(), key=lambda pair: pair[1].get("deprecated", False)):
        method, _, path = table["http"].partition(" ")
        parts = _parts(path)
        of_item = bool(parts) and _PARAMETER.fullmatch(parts[-1]) is not None
        collection = parts[:-1] if of_item else parts
        words = tuple(part for part in collection if "{" not in part and not NO_RESOURCE.fullmatch(part))
        verb = _verb(method, of_item=of_item, is_list=id in replies and replies[id].is_list)
        if verb is None or not words or "{" in collection[-1]:
            continue
        tag = table.get("tag") or words[0]
        key = (tag, "/".join(_PARAMETER.sub("{}", part) for part in collection))
        parameters = sum("{" in part for part in collection)
        resource = found.setdefault(key, Resource(tag, words, len(words) + parameters, {}))
        _put(resource.verbs, verb, id, method)
    order = {id: place for place, id in enumerate(operations)}
    listed = sorted(found.values(), key=lambda each: min(order[id] for id in each.verbs.values()))
    return _joined(listed)


def _joined(resources: list[Resource]) -> list[Resource]:
    """One of two that are called the same and have no verb in common: parts of it are at another address."""
    found: dict[tuple[str, str, int], Resource] = {}
    for each in resources:
        key = (each.tag, each.name, each.depth - len(each.path))
        before = found.get(key)
        if before is not None and not before.verbs.keys() & each.verbs.keys():
            before.verbs.update(each.verbs)
        else:
            found[(*key[:2], key[2] if before is None else -len(found) - 1)] = each
    return list(found.values())


def _parts(path: str) -> list[str]:
    """The parts of a path; where an API names its calls in one part (`chat.update`), that is several."""
    found: list[str] = []
    for part in (_ENDING.sub("", each) for each in path.split("/") if each):
        found += part.split(".") if _CALL.fullmatch(part) else [part]
    return found


def _verb(method: str, *, of_item: bool, is_list: bool) -> str | None:
    if method == "GET":
        return "get" if of_item or not is_list else "list"
    if of_item:
        return {"PATCH": "update", "PUT": "update", "DELETE": "delete"}.get(method)
    return {"POST": "create", "PATCH": "update", "PUT": "update"}.get(method)


def _put(verbs: dict[str, str], verb: str, id: str, method: str) -> None:
    """A PATCH changes what it names, a PUT replaces all: the first is what people mean by a change."""
    if verb not in verbs or (verb == "update" and method == "PATCH"):
        verbs[verb] = id
