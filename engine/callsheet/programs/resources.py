"""Which operations are the obvious ones: what is listed, shown, created, changed and deleted at one path."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

VERBS = ("list", "get", "create", "update", "delete")
Replies = Mapping[str, Any]

_PARAMETER = re.compile(r"\{([^{}]+)\}(?:\.\w+)?")
_CALL = re.compile(r"[A-Za-z]+(?:\.[A-Za-z]+)+")
_ENDING = re.compile(r"\.(?:json|xml)$")
# Parts of a path that say where an API is, and nothing of what is in it.
_NO_RESOURCE = re.compile(r"v\d+(?:[._]\d+)*|api|rest|latest|public|\d{4}-\d{2}-\d{2}", re.IGNORECASE)


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
        words = tuple(part for part in collection if "{" not in part and not _NO_RESOURCE.fullmatch(part))
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


class NamedCommand(NamedTuple):
    """One command: its words, the operation, the verb, and what one thing of its resource is called."""

    words: tuple[str, ...]
    operation: str
    verb: str
    noun: str


def named_commands(resources: list[Resource], taken: set[str], program: str) -> list[NamedCommand]:
    """Words for every verb of every resource: a group for each tag, a group in it where a tag has several resources.

    `taken` are words at the top that mean something already.
    """
    by_tag: dict[str, list[Resource]] = {}
    for resource in resources:
        by_tag.setdefault(resource.tag, []).append(resource)
    found: dict[tuple[str, ...], NamedCommand] = {}
    for tag, members in by_tag.items():
        group = word(tag) or "more"
        group = f"{program}-{group}" if group in taken else group
        best = max(members, key=lambda each: _rank(each, group))
        first = best if _is_main(best, group) else None
        for resource in sorted(members, key=lambda each: (each is not first, -len(each.verbs), each.depth)):
            for named in _of_resource(resource, group, is_first=resource is first):
                if not _clashes(named.words, found):
                    found[named.words] = named
    return list(found.values())


def _is_main(resource: Resource, group: str) -> bool:
    """Whether a group can be about one resource: a single change of something is a command among others."""
    return _rank(resource, group)[0] or len(resource.verbs) > 1 or "list" in resource.verbs


def _rank(resource: Resource, group: str) -> tuple[bool, int, int]:
    return (singular(word(resource.name)) == singular(group), len(resource.verbs), -resource.depth)


def _of_resource(resource: Resource, group: str, *, is_first: bool) -> list[NamedCommand]:
    """Verbs of the first resource stand in the group itself, several verbs of another in a group of their own."""
    verbs = [(verb, resource.verbs[verb]) for verb in VERBS if verb in resource.verbs]
    name = word(resource.name)
    noun = singular(name)
    if is_first:
        return [NamedCommand((group, verb), id, verb, noun) for verb, id in verbs]
    if len(verbs) == 1:
        verb, id = verbs[0]
        is_named = verb in ("list", "get") or (verb == "create" and noun == name)
        return [NamedCommand((group, name if is_named else f"{verb}-{noun}"), id, verb, noun)]
    return [NamedCommand((group, name, verb), id, verb, noun) for verb, id in verbs]


def _clashes(words: tuple[str, ...], found: Mapping[tuple[str, ...], NamedCommand]) -> bool:
    """Whether a command would be called like another one, or like a group."""
    return any(words[: len(other)] == other or other[: len(words)] == words for other in found)


def singular(name: str) -> str:
    for ending, instead in (("ies", "y"), ("ses", "s"), ("s", "")):
        if name.endswith(ending) and len(name) > len(ending) + 1:
            return name.removesuffix(ending) + instead
    return name


def word(text: str) -> str:
    """A name of an API as a word of a command line: `petId` → `pet-id`, `Pets & co` → `pets-co`."""
    spaced = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3-\2\4", text)
    return re.sub(r"[^a-z0-9]+", "-", spaced.lower()).strip("-")
