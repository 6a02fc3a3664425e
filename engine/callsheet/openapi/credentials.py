"""Parameters and members that are credentials: a site's credential fills them, so no operation takes them.

A document may list what one signs in with among the parameters of its operations, beside its security schemes or in
their place.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .bodies import choose_media, is_json
from .document import Document, HttpOperation
from .parameters import documented_parameters

if TYPE_CHECKING:
    from ..jsontext import JsonObject

BODY = "body"
_PLACES = ("header", "query")
_ORDER = (*_PLACES, BODY)
_FEWEST = 3  # operations that have it; what fewer have is about a credential, and none
_DEEPEST = 8


class CredentialPlace(NamedTuple):
    """Where a credential stands, and what it is called there."""

    place: str
    name: str


def credentials_of(
    document: Document, calls: Collection[HttpOperation], names: Collection[CredentialPlace]
) -> list[CredentialPlace]:
    """Those of a key that the document describes, and those of these names that a third of all take."""
    said = document.table(document.table(document.tree.get("components")).get("securitySchemes"))
    keys = [document.table(node) for node in said.values()]
    described = {(key.get("in"), _folded(key.get("name"))) for key in keys if key.get("type") == "apiKey"}
    usual = {(place, _folded(name)) for place, name in names}
    taken = [dict.fromkeys(_taken(document, call)) for call in calls]
    every = dict.fromkeys(each for table in taken for each in table)
    wanted = [each for each in every if (each.place, _folded(each.name)) in usual]
    names_taken = ({_folded(each.name) for each in table if each in wanted} for table in taken)
    counts = Counter(name for found in names_taken for name in found)
    often = max(_FEWEST, len(calls) / 3)
    by_name = {each for each in wanted if counts[_folded(each.name)] >= often}
    return [each for each in every if each in by_name or (each.place, _folded(each.name)) in described]


def _folded(name: Any) -> str:
    return re.sub(r"[^a-z0-9]", "", str(name).lower())


def _taken(document: Document, call: HttpOperation) -> Iterator[CredentialPlace]:
    for parameter in documented_parameters(document, call):
        if parameter.get("in") in _PLACES:
            yield CredentialPlace(parameter["in"], parameter["name"])
    for table in _bodies(document, call):
        yield from (CredentialPlace(BODY, str(name)) for name in table.get("properties") or ())


def _bodies(document: Document, call: HttpOperation) -> Iterator[JsonObject]:
    """The schemas that the members at the top of a body stand in."""
    content = document.table(call.operation.get("requestBody")).get("content")
    if isinstance(content, dict) and content:
        media = choose_media(content)
        if is_json(media) or "form" in media:
            yield from _parts(document, (content[media] or {}).get("schema"), 0)


def _parts(document: Document, schema: Any, depth: int) -> Iterator[JsonObject]:
    table = document.table(schema)
    if depth <= _DEEPEST:
        yield table
        for part in table.get("allOf") or ():
            yield from _parts(document, part, depth + 1)


def take_out(document: Document, calls: Collection[HttpOperation], found: Collection[CredentialPlace]) -> None:
    """Take them out of the document: out of bodies, and out of what operations list."""
    members = {each.name for each in found if each.place == BODY}
    taken = {(each.place, each.name) for each in found}
    for call in calls:
        for node in (call.operation, call.item):
            if isinstance(listed := node.get("parameters"), list):
                node["parameters"] = [each for each in listed if _key(document.table(each)) not in taken]
        for table in _bodies(document, call) if members else ():
            known = table.get("properties")
            if isinstance(known, dict):
                table["properties"] = {name: node for name, node in known.items() if name not in members}
            if isinstance(required := table.get("required"), list):
                table["required"] = [name for name in required if name not in members]
        if members and (bodies := list(_bodies(document, call))) and not any(each.get("properties") for each in bodies):
            call.operation["requestBody"] = {**document.table(call.operation["requestBody"]), "required": False}


def _key(parameter: Mapping[str, Any]) -> tuple[Any, Any]:
    return parameter.get("in"), parameter.get("name")


def add_access(introduction: dict[str, JsonObject], product: str, found: Collection[CredentialPlace]) -> Iterator[str]:
    """Where the document describes no way of signing in: by these. Gives what is told of them."""
    names = list(dict.fromkeys(each.name for each in sorted(found, key=lambda each: _ORDER.index(each.place))))
    yield f"{', '.join(names)}: filled from the credential of a site, no parameters of operations"
    if "auth" in introduction:
        return
    parts = [{"scheme": "key", _place(found, name): name, "secret": name} for name in names]
    one = {"title": names[0], **parts[0]}
    access = one if len(parts) == 1 else {"title": " and ".join(names), "scheme": "all", "parts": parts}
    introduction["auth"] = {f"{product}-key": access}
    introduction["service"][product]["auth"] = [f"{product}-key"]


def _place(found: Collection[CredentialPlace], name: str) -> str:
    """The first of the places that it is sent at."""
    return next(place for place in _ORDER if CredentialPlace(place, name) in found)
