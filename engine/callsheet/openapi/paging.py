"""How an operation asks for the next page, recognised by the paginators that a program defines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..client.pagination.plan import page_kind
from ..language.functions import parse_expression, paths_in_expression
from .document import Document, HttpOperation
from .schemas import documented_parameters, is_json

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import PaginatorDefinition, Paging

_ASKING = ("GET", "POST")
# What lists stand under, the most usual first, and lists that stand beside the one that was asked for.
LISTS = ("items", "data", "results", "values", "value", "records", "entries", "list", "elements", "content")
_BESIDE = frozenset({"errors", "warnings", "links", "included", "messages"})


class _Answer(NamedTuple):
    """What a document tells of an operation's reply: its schema, the members of that, and its headers."""

    schema: Mapping[str, Any]
    properties: Mapping[str, Any]
    headers: Mapping[str, Any]

    @property
    def is_array(self) -> bool:
        return self.schema.get("type") == "array"


def paging_of(
    document: Document, call: HttpOperation, paginators: Mapping[str, PaginatorDefinition], notes: list[str]
) -> Paging | None:
    """The paginator whose parameter the operation takes and whose fields its reply has; the best fit wins."""
    if call.method not in _ASKING:
        return None
    sendable = _parameter_names(document, call)
    texts = _texts(document, call)
    candidates = {name: table for name, table in paginators.items() if _can_ask(table, sendable, texts)}
    if not candidates:
        return None
    schema = reply_schema(document, call)
    answer = _Answer(schema, properties_of(document, schema), _headers(document, call))
    ranked = [(_fit(document, table, answer), name) for name, table in candidates.items()]
    fits = [(fit, name) for fit, name in ranked if fit is not None]
    if not fits:
        sends = [
            str(table["send"]) for table in candidates.values() if {table.get("size"), table.get("send")} <= sendable
        ]
        if sends and call.method == "GET":
            names = " or ".join(dict.fromkeys(sends))
            notes.append(f"{call.method} {call.path}: has {names}, but its reply fits no paginator")
        return None
    using = max(fits, key=lambda pair: (pair[0], candidates[pair[1]].get("size") in sendable))[1]
    if answer.is_array:
        return {"using": using}
    items = _items(document, candidates[using], answer.properties)
    if items is None and _may_be_a_list(document, call, answer.properties, candidates[using], sendable):
        return {"using": using}
    if items is None:
        if call.method != "GET":
            return None
        notes.append(f"{call.method} {call.path}: pages by {using}, but its reply does not tell the items' key")
        return None
    omits_empty = candidates[using].get("omits_empty", False)
    return {"using": using, "items": f"{items} || `[]`" if omits_empty else items}


def _can_ask(table: PaginatorDefinition, sendable: set[str], texts: set[str]) -> bool:
    """A link needs no parameter of the operation; everything else does.

    What is counted is no text, unless the length of a page is called one too: then the document calls everything so.
    """
    kind = page_kind(table["kind"])
    if "send" not in table:
        return "send" not in kind.needs
    is_text = table["send"] in texts and table.get("size") not in texts
    return table["send"] in sendable and not (kind.counted and is_text)


def _texts(document: Document, call: HttpOperation) -> set[str]:
    """The parameters that are documented as texts, and not as numbers that somebody called so."""
    return {
        each["name"] for each in documented_parameters(document, call) if _is_text(document.table(each.get("schema")))
    }


def _is_text(schema: Mapping[str, Any]) -> bool:
    shown = (schema.get("default"), schema.get("example"))
    return schema.get("type") == "string" and not any(str(each).isdigit() for each in shown)


def _may_be_a_list(
    document: Document,
    call: HttpOperation,
    properties: Mapping[str, Any],
    table: PaginatorDefinition,
    sendable: set[str],
) -> bool:
    """Whether a reply that is documented as one thing is a list of such: it takes pages, and is no single thing's path.

    Documents that are made out of code often say only what the items of a list are.
    """
    counted = page_kind(table["kind"]).numbered and {table["send"], table.get("size")} <= sendable
    inner = [document.table(document.table(node).get("items")) for node in properties.values()]
    holds_things = any("properties" in each for each in inner)
    return call.method == "GET" and counted and not holds_things and not call.path.endswith("}")


def _parameter_names(document: Document, call: HttpOperation) -> set[str]:
    names = {parameter["name"] for parameter in documented_parameters(document, call) if parameter.get("in") == "query"}
    content = document.table(call.operation.get("requestBody")).get("content") or {}
    for media, entry in content.items():
        if is_json(media):
            names |= set(properties_of(document, (entry or {}).get("schema")))
    return names


def reply_schema(document: Document, call: HttpOperation) -> JsonObject:
    """The schema of the JSON that a success answers, or what its example tells; empty when there is neither."""
    responses = call.operation.get("responses") or {}
    for code in success_codes(responses):
        for media, entry in (document.table(responses[code]).get("content") or {}).items():
            if is_json(media) or media == "*/*":
                found: JsonObject = document.table((entry or {}).get("schema"))
                return (
                    found if {"type", "properties", "allOf"} & set(found) else _of_example((entry or {}).get("example"))
                )
    return {}


def _of_example(example: Any) -> JsonObject:
    """The outline of an example, which some documents give as JSON text inside the document."""
    if isinstance(example, str):
        try:
            example = json.loads(example)
        except ValueError:
            return {}
    if isinstance(example, list):
        return {"type": "array"}
    if isinstance(example, dict):
        return {"type": "object", "properties": {key: _of_example(value) for key, value in example.items()}}
    return {}


def success_codes(responses: Mapping[str, Any]) -> list[str]:
    """Documented successes, likeliest first; `default` counts when there is no other."""
    codes = sorted((code for code in responses if str(code).startswith("2")), key=lambda code: (str(code), code))
    return codes or [code for code in responses if code == "default"]


def properties_of(document: Document, schema: Any) -> JsonObject:
    """Those of a schema and of all that it is made of, each part once: parts may share parts, or be very many."""
    merged: JsonObject = {}
    waiting, seen = [schema], set()
    while waiting:
        table = document.table(waiting.pop())
        if id(table) not in seen:
            seen.add(id(table))
            merged |= table.get("properties") or {}
            waiting += reversed(table.get("allOf") or ())
    return merged


def _fit(document: Document, table: PaginatorDefinition, answer: _Answer) -> int | None:
    """How many of the fields that a paginator reads stand in the reply; none when it cannot be this one."""
    kind = page_kind(table["kind"])
    reads_headers = table.get("reads") == "headers"
    if answer.is_array and not (kind.bare or kind.numbered or reads_headers):
        return None
    if not answer.is_array and (kind.bare or not answer.properties):
        return None
    keys = [key for key in ("next", "last", "total") if key in table]
    if reads_headers:
        found = {key: _is_header(table[key], answer.headers) for key in keys}
    else:
        found = {key: has_fields(table[key], document, answer.properties) for key in keys}
    if found.get("next") is False or (found and not any(found.values())):
        return None
    return sum(found.values())


def _is_header(expression: str, headers: Mapping[str, Any]) -> bool:
    """Whether the headers that an expression reads are documented; `links` are made of the one called Link."""
    return all(("link" if path[0] == "links" else path[0]) in headers for path in field_paths(expression))


def _headers(document: Document, call: HttpOperation) -> JsonObject:
    """The documented headers of a success, by their lower-case names."""
    responses = call.operation.get("responses") or {}
    return {
        str(name).lower(): entry
        for code in success_codes(responses)
        for name, entry in (document.table(responses[code]).get("headers") or {}).items()
    }


def has_fields(expression: str, document: Document, properties: Mapping[str, Any]) -> bool:
    """Whether every path in a JMESPath expression begins, and as far as the schema tells goes on, in it."""
    return all(_resolves(document, properties, path) for path in field_paths(expression))


def field_paths(expression: str) -> set[tuple[str, ...]]:
    """The plain paths in an expression: `a.b || !c` → (a, b), (c)."""
    return set(paths_in_expression(parse_expression(expression).parsed))


def _resolves(document: Document, properties: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    if path[0] not in properties:
        return False
    inner = properties_of(document, properties[path[0]])
    return len(path) == 1 or not inner or _resolves(document, inner, path[1:])


def _items(document: Document, table: PaginatorDefinition, properties: Mapping[str, Any]) -> str | None:
    lists = [name for name, node in properties.items() if document.table(node).get("type") == "array"]
    usual = [name for name in table.get("items", ()) if name in lists]
    rest = [name for name in lists if name not in _BESIDE]
    if usual or len(rest) == 1:
        return str((usual or rest)[0])
    inner = {name: properties_of(document, node) for name, node in properties.items() if name not in lists}
    paths = [f"{name}.{items}" for name, below in inner.items() if (items := _usual_list(document, below))]
    return paths[0] if len(paths) == 1 and not lists else None


def _usual_list(document: Document, properties: Mapping[str, Any]) -> str | None:
    """A list under a usual name, in a reply that has everything in one member."""
    found = [name for name in LISTS if document.table(properties.get(name)).get("type") == "array"]
    return found[0] if found else None
