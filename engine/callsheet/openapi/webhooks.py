"""The webhooks and callbacks of a document as the events of a source."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .document import Document

if TYPE_CHECKING:
    from ..jsontext import JsonObject

_PLAIN = re.compile(r"[A-Za-z0-9_.:/-]{1,100}")
_MEMBER = re.compile(r"[A-Za-z_]\w*")
_IDS = ("event_id", "eventId", "webhook_id", "delivery_id", "id", "uuid")


class _Webhook(NamedTuple):
    """`members` are the properties of its body, `marks` what has known values only: the place → these."""

    name: str
    operation: JsonObject
    members: dict[str, JsonObject]
    marks: dict[str, list[str]]


def source_of_webhooks(document: Document, product: str, title: str, notes: list[str]) -> dict[str, JsonObject]:
    """A `source` and its `event`s: those of which something in each delivery tells which event it is."""
    documented = [_read_webhook(document, name, operation) for name, operation in webhook_operations(document)]
    place, found = _told_apart(documented)
    if left_out := ", ".join(webhook.name for webhook in documented if webhook not in found):
        why = f"{place} does not tell them from others" if place else "nothing in all of them tells one from another"
        notes.append(f"webhooks and callbacks {left_out} are left out: {why}")
    if not found:
        return {}
    source: JsonObject = {"title": title, "path": f"/{product}", "type": place}
    common = set.intersection(*(set(webhook.members) for webhook in found))
    if id := next((name for name in _IDS if name in common), None):
        source["id"] = f"payload.{id}"
    times = [name for name in found[0].members if name in common and _is_time(found[0].members[name])]
    if times:
        source["time"] = f"payload.{times[0]}"
    source["body"] = "payload"
    source |= _sample_delivery(place, source)
    events = {
        f"{product}.{mark}": {
            "source": product,
            "type": mark,
            "category": " ".join(str((webhook.operation.get("tags") or [title])[0]).split())[:60] or title,
        }
        for webhook in found
        for mark in webhook.marks[place]
    }
    notes.append(
        f"webhooks are the events of source {product}: the document does not say how a delivery is proved genuine, "
        f"so add hmac, public_key or token to [extend.source.{product}] in a file of your own"
    )
    return {"source": {product: source}, "event": events}


def webhook_operations(document: Document) -> Iterator[tuple[str, JsonObject]]:
    """Those of the document, and those that its operations call back."""
    for name, item in document.table_of(document.tree.get("webhooks")).items():
        yield from _posted_operations(document, str(name), item)
    for call in document.http_operations([]):
        for name, callback in document.table_of(call.operation.get("callbacks")).items():
            for item in document.table_of(callback).values():
                yield from _posted_operations(document, str(name), item)


def _posted_operations(document: Document, name: str, item: Any) -> Iterator[tuple[str, JsonObject]]:
    operation = document.table_of(document.table_of(item).get("post"))
    if operation:
        yield name, operation


def _read_webhook(document: Document, name: str, operation: JsonObject) -> _Webhook:
    members: dict[str, JsonObject] = {}
    for media, content in document.table_of(document.table_of(operation.get("requestBody")).get("content")).items():
        if str(media).partition(";")[0].endswith("json"):
            members |= _members_of(document, document.table_of(content).get("schema"))
    marks = {f"payload.{member}": values for member, schema in members.items() if (values := _known_values(schema))}
    for parameter in map(document.table_of, operation.get("parameters") or ()):
        if parameter.get("in") == "header" and (values := _known_values(document.table_of(parameter.get("schema")))):
            marks[f'headers."{str(parameter.get("name")).lower()}"'] = values
    return _Webhook(name, operation, members, marks)


def _members_of(document: Document, schema: Any, depth: int = 0) -> dict[str, JsonObject]:
    table = document.table_of(schema)
    found: dict[str, JsonObject] = {}
    for part in table.get("allOf") or () if depth < 8 else ():
        found |= _members_of(document, part, depth + 1)
    for name, node in document.table_of(table.get("properties")).items():
        if _MEMBER.fullmatch(str(name)):
            found[str(name)] = document.table_of(node)
    return found


def _known_values(schema: Mapping[str, Any]) -> list[str]:
    """The texts that it can be, where the document says all of them."""
    values = schema.get("enum") or [schema.get("const")]
    are_plain = isinstance(values, list) and all(isinstance(each, str) and _PLAIN.fullmatch(each) for each in values)
    return list(dict.fromkeys(values)) if are_plain else []


def _told_apart(documented: list[_Webhook]) -> tuple[str, list[_Webhook]]:
    """The place where most of them have values that no other has, and these."""
    chosen: tuple[str, list[_Webhook]] = ("", [])
    for place in dict.fromkeys(place for webhook in documented for place in webhook.marks):
        seen = Counter(value for webhook in documented for value in webhook.marks.get(place, ()))
        own = [each for each in documented if place in each.marks and all(seen[one] == 1 for one in each.marks[place])]
        if len(own) > len(chosen[1]):
            chosen = place, own
    return chosen


def _is_time(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == "date-time"


def _sample_delivery(place: str, source: Mapping[str, Any]) -> JsonObject:
    """A delivery made here, for `trigger`."""
    members = {source[key].removeprefix("payload."): f"{{{key}}}" for key in ("id", "time") if key in source}
    if place.startswith("payload."):
        return {"sample": {place.removeprefix("payload."): "{type}", **members}}
    return {"sample": members, "sample_headers": {place.removeprefix("headers.").strip('"'): "{type}"}}
