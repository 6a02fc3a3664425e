"""Documented parameters → `params` of an operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .document import Document, HttpOperation
from .facts import facts_of
from .prose import first_paragraph
from .unsaid import unsaid_of_parameter

if TYPE_CHECKING:
    from ..jsontext import JsonObject

# Named by OpenAPI itself as never being parameters: they follow from the body, the reply and the credential.
_NOT_PARAMETERS = frozenset({"accept", "content-type", "authorization"})
_STYLES = {
    ("spaceDelimited", False): "space",
    ("pipeDelimited", False): "pipe",
    ("deepObject", True): "deep",
    ("deepObject", False): "deep",
    ("form", False): "comma",
}


def params_of(document: Document, call: HttpOperation, notes: list[str], *, descriptions: bool) -> list[JsonObject]:
    """The parameters worth a line, in the document's order: path, query and header, cookies left out."""
    found = []
    for parameter in documented_parameters(document, call):
        place = parameter.get("in")
        if place not in ("path", "query", "header"):
            notes.append(f"{call.method} {call.path}: {place} parameter {parameter.get('name')!r} is left out")
        elif not (place == "header" and str(parameter["name"]).lower() in _NOT_PARAMETERS):
            record = _record(document, call, parameter, notes, descriptions=descriptions)
            named = f"{call.method} {call.path}: {parameter['name']!r}"
            notes.extend(f"{named} {text}" for text in unsaid_of_parameter(document, parameter))
            if set(record) != {"name", "in", "required"} or place != "path":
                found.append(record)
    return found


def documented_parameters(document: Document, call: HttpOperation) -> list[JsonObject]:
    """Parameters of the path item and the operation; the operation's own stand in the place of the item's."""
    merged: dict[tuple[Any, Any], JsonObject] = {}
    for node in (*(call.item.get("parameters") or ()), *(call.operation.get("parameters") or ())):
        parameter = document.table(node)
        if isinstance(parameter.get("name"), str) and parameter["name"]:
            merged[parameter.get("in"), parameter["name"]] = parameter
    placeholders = {piece.partition("}")[0] for piece in call.path.split("{")[1:]}
    return [found for key, found in merged.items() if key[0] != "path" or key[1] in placeholders]


def _record(
    document: Document, call: HttpOperation, parameter: Mapping[str, Any], notes: list[str], *, descriptions: bool
) -> JsonObject:
    facts = facts_of(document, parameter.get("schema"))
    if parameter.get("style") == "deepObject" and facts.get("type") != "array":
        facts = {"type": "object"}  # whatever else it may be: nothing else is written so
    record: JsonObject = {"name": parameter["name"]}
    if parameter["in"] != "query":
        record["in"] = parameter["in"]
    if parameter.get("required") is True or parameter["in"] == "path":
        record["required"] = True
    record |= facts
    if facts.get("type") in ("array", "object"):
        record |= _style(parameter)
    if "content" in parameter:
        notes.append(f"{call.method} {call.path}: {parameter['name']!r} is sent as the text it is given")
    if parameter.get("deprecated") is True:
        record["deprecated"] = True
    text = first_paragraph(parameter.get("description")) if descriptions else ""
    return {**record, "help": text} if text else record


def _style(parameter: Mapping[str, Any]) -> dict[str, str]:
    """How a list or object is written, where that is not the default of its place."""
    name = style_of(parameter.get("style", "form"), explode=parameter.get("explode"))
    return {"style": name} if name and parameter["in"] == "query" else {}


def style_of(style: str, *, explode: bool | None) -> str | None:
    """A style of OpenAPI as definitions call it; None for the usual one."""
    return _STYLES.get((style, style == "form" if explode is None else explode))
