"""What an operation answers, as far as its document tells: one thing or a list, and the fields that it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .document import Document, HttpOperation
from .facts import facts_of
from .paging import LISTS, properties_of, reply_schema

if TYPE_CHECKING:
    from ..jsontext import JsonObject

_MOST_FIELDS = 40


class DocumentedReply(NamedTuple):
    """`fields` are those of one thing, name → what its schema says; `items` is the key that a list stands under."""

    is_list: bool
    items: str | None
    fields: dict[str, JsonObject]


def reply_of(document: Document, call: HttpOperation, table: Mapping[str, Any]) -> DocumentedReply:
    """`table` is the operation as it was imported."""
    if table.get("reply", "json") != "json":
        return DocumentedReply(is_list=False, items=None, fields={})
    schema = reply_schema(document, call)
    if schema.get("type") == "array":
        return DocumentedReply(is_list=True, items=None, fields=_fields(document, schema.get("items")))
    properties = properties_of(document, schema)
    items = table.get("paginate", {}).get("items") or _list_in(document, properties)
    if items:
        inner: Any = schema
        for name in items.split("."):
            inner = properties_of(document, inner).get(name)
        return DocumentedReply(is_list=True, items=items, fields=_fields(document, document.table(inner).get("items")))
    return DocumentedReply(is_list="paginate" in table, items=None, fields=_fields(document, schema))


def _list_in(document: Document, properties: Mapping[str, Any]) -> str | None:
    """The list that a reply is there for: one under a usual name, or the only member that is not a plain value."""
    lists = [name for name, node in properties.items() if document.table(node).get("type") == "array"]
    usual = [name for name in LISTS if name in lists]
    if usual:
        return usual[0]
    plain = ("string", "integer", "number", "boolean")
    rest = [name for name, node in properties.items() if document.table(node).get("type") not in plain]
    has_identity = {"id", "name", "key", "uuid"} & properties.keys()
    return lists[0] if len(lists) == 1 and not has_identity and len(rest) <= len(lists) + 1 else None


def _fields(document: Document, schema: Any) -> dict[str, JsonObject]:
    table = document.table(schema)
    alternatives = table.get("oneOf") or table.get("anyOf") or ()
    found = dict(properties_of(document, table))
    for part in alternatives:
        found = {**properties_of(document, part), **found}
    return {str(name): _facts(document, found[name]) for name in list(found)[:_MOST_FIELDS]}


def _facts(document: Document, schema: Any) -> JsonObject:
    """What a field holds; of a list also that its items are texts, which a parameter need not say."""
    facts = facts_of(document, schema)
    if facts.get("type") == "array" and "items" not in facts:
        item = document.table(document.table(schema).get("items"))
        facts |= {"items": "string"} if item.get("type") == "string" else {}
    return facts
