"""What a document has that definitions cannot say: told to the person who imports it, never dropped silently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..language.checks.body_schemas import can_hold
from ..language.checks.references import pattern_fault
from ..language.http_methods import METHODS
from .document import Document, HttpOperation, first_server, server_url
from .webhooks import webhook_operations

_LISTED = 3
# Of a parameter's schema: what a definition has no key for. Of bodies they are kept, as JSON Schema has them.
_UNCHECKED = (
    *("multipleOf", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength"),
    *("minItems", "maxItems", "uniqueItems"),
)
_STYLES = ("matrix", "label")


def unsaid_of_document(document: Document, *, with_access: bool = False) -> Iterator[str]:
    """`with_access`: ways of signing in and webhooks are left out, since the product is defined already."""
    if with_access and (names := [name for name, _ in webhook_operations(document)]):
        yield f"webhooks and callbacks {_listed_names(names)} are left out"
    servers = document.server_urls()
    if servers[1:]:
        yield f"servers: {servers[0]} is taken; also documented: {_listed_names(servers[1:])}"
    schemes = document.table_of(document.table_of(document.tree.get("components")).get("securitySchemes"))
    for name, node in schemes.items() if with_access else ():
        how = _scheme_of(document.table_of(node))
        yield f"security scheme {name!r} ({how}) is left out: `init --method` says how one signs in"
    for path, node in document.tree["paths"].items():
        if not str(path).startswith("/"):
            if not str(path).startswith("x-"):
                yield f"{path}: left out: a path begins with /"
        elif isinstance(node, Mapping):
            others = [*(["TRACE"] if "trace" in node else []), *document.table_of(node.get("additionalOperations"))]
            yield from (f"{method} {path} is left out" for method in others if method not in METHODS)


def _scheme_of(table: Mapping[str, Any]) -> str:
    kind = str(table.get("type", "of no type"))
    if kind == "apiKey":
        return f"a key in the {table.get('in')} {table.get('name')!r}"
    return f"{kind} {table['scheme']}" if "scheme" in table else kind


def unsaid_of_operation(document: Document, call: HttpOperation, *, at_its_own: bool) -> Iterator[str]:
    """`at_its_own`: it is sent to the server that is documented for it alone."""
    own = first_server(call.operation) or first_server(call.item)
    own_host = urlsplit(own).netloc
    if not at_its_own and own_host and own_host != urlsplit(first_server(document.tree)).netloc:
        yield f"documented at {own_host}, sent to the product's own address"
    servers = [server_url(server) for server in call.operation.get("servers") or call.item.get("servers") or ()]
    if servers[1:]:
        yield f"servers: {servers[0]} is taken; also documented: {_listed_names(servers[1:])}"


def unsaid_of_parameter(document: Document, parameter: Mapping[str, Any]) -> Iterator[str]:
    """After the parameter's name."""
    if (style := parameter.get("style")) in _STYLES:
        yield f"is sent without the signs of style {style}"
    if parameter.get("allowReserved") is True:
        yield "is sent with reserved characters encoded"
    schema = document.table_of(parameter.get("schema"))
    for table in (schema, document.table_of(schema.get("items"))):
        if isinstance(table.get("pattern"), str) and (fault := pattern_fault(table["pattern"])):
            yield f"pattern {table['pattern']!r} is not checked before it is sent: {fault}"
        unchecked = [key for key in _UNCHECKED if key in table]
        unchecked += [key for key in ("minimum", "maximum") if key in table and not can_hold(key, table[key])]
        if unchecked:
            yield f"{', '.join(unchecked)} {'is' if len(unchecked) == 1 else 'are'} not checked before it is sent"


def _listed_names(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def gathered_notes(notes: list[str]) -> list[str]:
    """Each note once; where many operations have the same one, the first of them with the number of the others."""
    by_text: dict[str, list[str]] = {}
    for note in notes:
        where, _, text = note.partition(": ")
        by_text.setdefault(text or note, []).append(where if text else "")
    told = []
    for text, given in by_text.items():
        places = list(dict.fromkeys(given))
        if len(places) <= _LISTED:
            told += [f"{place}: {text}" if place else text for place in places]
        else:
            told.append(f"{places[0]} and {len(places) - 1} others: {text}")
    return told
