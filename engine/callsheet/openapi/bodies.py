"""Documented request bodies → `body` of an operation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .document import Document, HttpOperation
from .facts import facts_of
from .parameters import style_of
from .prose import first_paragraph
from .schemas import Schemas

if TYPE_CHECKING:
    from ..jsontext import JsonObject

JSON = "application/json"
JSON_PATCH = "application/json-patch+json"  # RFC 6902: a list of changes, whatever a document says of it
MULTIPART = "multipart/form-data"
FORM = "application/x-www-form-urlencoded"
ANY = "*/*"
FILE_PART = "file"  # the name of the part where a document describes an upload as a bare list of files


def body_of(
    document: Document, call: HttpOperation, id: str, schemas: Schemas, *, notes: list[str], descriptions: bool
) -> JsonObject | None:
    node = call.operation.get("requestBody")
    request = document.table(node)
    content = request.get("content")
    if not isinstance(content, dict) or not content:
        return None
    media = choose_media(content)
    schema = (content[media] or {}).get("schema")
    body: JsonObject = {}
    kind = media.partition(";")[0].strip().lower()
    if kind == ANY and document.table(schema):
        kind = JSON
    if kind != JSON:
        body["media"] = kind
    if is_json(kind) and (kind != JSON_PATCH or document.table(schema).get("type") == "array"):
        name = schemas.body(schema, id, node)
        body |= {"schema": name} if name else {}
    elif kind in (MULTIPART, FORM):
        encoding = document.table((content[media] or {}).get("encoding"))
        body["parts"] = _parts(document, schema, encoding, descriptions=descriptions)
        if kind == MULTIPART and _is_meant_as_a_file(document, schema, body["parts"]):
            body["parts"][FILE_PART]["file"] = True
            notes.append(f"{call.method} {call.path}: the part {FILE_PART!r} is taken for a file")
    if request.get("required") is not True:
        body["optional"] = True
    others = sorted(set(content) - {media, ANY})
    if others:
        notes.append(f"{call.method} {call.path}: sent as {kind}; also documented: {', '.join(others)}")
    return body


def is_json(media: str) -> bool:
    kind = media.partition(";")[0].strip().lower()
    return kind == JSON or kind.endswith("+json")


def choose_media(content: Mapping[str, Any]) -> str:
    """The media type that is easiest to give on a command line: JSON, then parts, then form, then a file."""
    ranks = (
        lambda media: media == JSON,
        is_json,
        lambda media: media.startswith(MULTIPART),
        lambda media: media.startswith(FORM),
        lambda media: media != ANY,
    )
    for fits in ranks:
        for media in content:
            if fits(media):
                return media
    return next(iter(content))


def _parts(document: Document, schema: Any, encoding: JsonObject, *, descriptions: bool) -> JsonObject:
    table = document.table(schema)
    merged = dict(table.get("properties") or {})
    required = set(table.get("required") or ())
    for part in table.get("allOf") or ():
        merged |= document.table(part).get("properties") or {}
        required |= set(document.table(part).get("required") or ())
    if not merged:
        return {FILE_PART: {"file": True, "many": table.get("type") == "array", "required": True}}
    parts = {}
    for name, node in merged.items():
        how = _encoded(document.table(encoding.get(name)))
        parts[str(name)] = _part(document, node, how, required=name in required, descriptions=descriptions)
    return parts


def _encoded(said: Mapping[str, Any]) -> dict[str, str]:
    """How a part is written, where a document says so."""
    media = str(said.get("contentType", ""))
    if is_json(media):
        return {"media": media}
    style = style_of(str(said.get("style", "form")), explode=said.get("explode"))
    return {"style": style} if style else {}


def _part(document: Document, node: Any, how: dict[str, str], *, required: bool, descriptions: bool) -> JsonObject:
    table = document.table(node)
    many = table.get("type") == "array"
    inner = document.table(table.get("items")) if many else table
    part: JsonObject = {}
    if _is_file(inner):
        part["file"] = True
    else:
        kind = facts_of(document, inner).get("type", "string")
        kind = "object" if how.get("style") == "deep" and not many else kind
        part |= {} if kind == "string" else {"type": kind}
        part |= how
    if many:
        part["many"] = True
    if required:
        part["required"] = True
    text = first_paragraph(table.get("description")) if descriptions else ""
    return {**part, "help": text} if text else part


def _is_meant_as_a_file(document: Document, schema: Any, parts: Mapping[str, Any]) -> bool:
    """Whether the part called file is one, though documented as a text like any other.

    Nothing needs this media type but files. Where it has no other, the path of the file would be sent as a text.
    """
    part = parts.get(FILE_PART)
    if part is None or "type" in part or any(each.get("file") for each in parts.values()):
        return False
    node = document.table((document.table(schema).get("properties") or {}).get(FILE_PART))
    return not {"format", "enum", "const", "items"} & node.keys()


def _is_file(schema: Mapping[str, Any]) -> bool:
    return schema.get("format") == "binary" or (
        "contentMediaType" in schema and not is_json(str(schema["contentMediaType"]))
    )
