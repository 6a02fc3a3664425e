"""One documented operation → its definition: parameters, answer, paging, help."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..language.safety import removes_something
from .document import Document, HttpOperation
from .paging import LISTS, paging_of, properties_of, reply_schema, success_codes
from .schemas import ANY, JSON, Schemas, body_of, facts_of, first_paragraph, is_json, params_of
from .unsaid import unsaid_of_operation

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import OperationDefinition, PaginatorDefinition


# What an operation answers, as far as its document tells: one thing or a list, and the fields that it has.


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


# Operations that take something away, though their method does not say so.


def takes_away(call: HttpOperation, id: str) -> bool:
    """By a word of the id or of the end of the path. A definition corrects it where another call takes it back."""
    literal = [segment for segment in call.path.split("/") if segment and "{" not in segment]
    return removes_something(call.method, [id.rpartition(".")[2], *literal[-1:]])


# Which operation gets which id, so that no two of a program share one.


def assign_ids(calls: Sequence[HttpOperation], product: str, taken: Collection[str]) -> list[str]:
    """One id a call, in order; `taken` are those of the products that come before.

    The first to have an operation id gets it bare, the next one behind the product, the next behind product and
    tag, the next behind the path segment that tells them apart.
    """
    owners: dict[str, str] = dict.fromkeys(taken, "")
    return [_assign(call, product, owners) for call in calls]


def _assign(call: HttpOperation, product: str, owners: dict[str, str]) -> str:
    for candidate in _candidates(call, product, owners):
        if candidate not in owners:
            owners[candidate] = call.path
            return candidate
    raise AssertionError("an endless row of candidates ended")


def _candidates(call: HttpOperation, product: str, owners: dict[str, str]) -> Iterator[str]:
    name = operation_name(call)
    yield name
    yield f"{product}.{name}"
    tag = first_tag(call)
    if tag:
        yield f"{product}.{tag_word(tag)}.{name}"
    rivals = {segment for id, path in owners.items() if id.endswith(name) for segment in path.split("/")}
    for segment in call.path.split("/"):
        if segment and "{" not in segment and segment not in rivals:
            yield f"{product}.{segment}.{name}"
    count = 2
    while True:
        yield f"{product}.{name}-{count}"
        count += 1


def operation_name(call: HttpOperation) -> str:
    """The document's operation id, or one made of method and path: `getPetsByPetId`."""
    given = call.operation.get("operationId")
    if isinstance(given, str) and given.strip():
        return re.sub(r"\s+", "-", given.strip())
    words = [call.method.lower()]
    for segment in call.path.split("/"):
        words += ["By"] if segment.startswith("{") else []
        words += [word[:1].upper() + word[1:] for word in re.findall(r"[A-Za-z0-9]+", segment)]
    return "".join(words)


def first_tag(call: HttpOperation) -> str:
    tags = call.operation.get("tags")
    return str(tags[0]) if isinstance(tags, list) and tags else ""


def tag_word(tag: str) -> str:
    return re.sub(r"\s+", "-", tag.strip().lower())


def file_slug(text: str) -> str:
    """A tag as a file name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


# One documented operation → its definition.


_EMPTY = frozenset({"204", "205"})


class ImportRules(NamedTuple):
    """How one product's document is read: its program's paginators, and where it keeps what OpenAPI has no word for."""

    paginators: Mapping[str, PaginatorDefinition]
    experimental: str | None
    descriptions: bool
    servers: dict[str, JsonObject] | None = None  # further servers found, by service; None: there are none


def operation_of(
    document: Document, call: HttpOperation, id: str, schemas: Schemas, rules: ImportRules, *, notes: list[str]
) -> OperationDefinition:
    operation = call.operation
    record: JsonObject = {"http": f"{call.method} {call.path}"}
    if rules.descriptions:
        record |= _prose(operation)
    if params := params_of(document, call, notes, descriptions=rules.descriptions):
        record["params"] = params
    body = body_of(document, call, id, schemas, notes=notes, descriptions=rules.descriptions)
    if body is not None:
        record["body"] = body or {"media": JSON}
    if paginate := paging_of(document, call, rules.paginators, notes):
        record["paginate"] = paginate
    if (reply := _reply(document, call)) != "json":
        record["reply"] = reply
    if takes_away(call, id):
        record["safety"] = "destroy"
    if scopes := _scopes(document, operation):
        record["scopes"] = scopes
    if operation.get("deprecated") is True:
        record["deprecated"] = True
    if rules.experimental and _says(operation, rules.experimental):
        record["experimental"] = True
    if rules.servers is not None and (server := document.own_server(call)):
        record["service"] = _further(document, call, schemas.product, server, rules.servers)
        how = "with" if rules.servers[record["service"]].get("credential") else "without"
        notes.append(f"{call.method} {call.path}: sent to {server}, {how} the credential")
    unsaid = unsaid_of_operation(document, call, at_its_own="service" in record)
    notes.extend(f"{call.method} {call.path}: {text}" for text in unsaid)
    return cast("OperationDefinition", {"product": schemas.product, "tag": first_tag(call), **record})


def _further(document: Document, call: HttpOperation, product: str, server: str, known: dict[str, JsonObject]) -> str:
    """The service of a server; it is shown the credential where the document asks for one."""
    secured = call.operation.get("security", document.tree.get("security"))
    key: JsonObject = {"credential": True} if secured and all(secured) else {}
    table: JsonObject = {"title": server, "base_url": server, "beside": product, **key}
    first = f"{product}-{file_slug(server.partition('://')[2].partition('.')[0])}" + ("" if key else "-open")
    ids = [first, *(f"{first}-{number}" for number in range(2, len(known) + 3))]
    id = next(each for each in ids if known.get(each, table) == table)
    known[id] = table
    return id


def _prose(operation: Mapping[str, Any]) -> dict[str, str]:
    texts = {"title": operation.get("summary"), "help": operation.get("description")}
    return {key: text for key, raw in texts.items() if (text := first_paragraph(raw))}


def _reply(document: Document, call: HttpOperation) -> str:
    """What a success answers. Where reading something is answered by a bare redirect, that leads to a file."""
    responses = {str(code): response for code, response in (call.operation.get("responses") or {}).items()}
    contents = {code: document.table(response).get("content") or {} for code, response in responses.items()}
    codes = success_codes(responses)
    for code in codes:
        if contents[code] and code not in _EMPTY:
            return _kind(document, contents[code])
    if call.method == "GET" and any(code.startswith("3") and not contents[code] for code in responses):
        return "binary"
    return "none" if codes else "json"


def _kind(document: Document, content: Mapping[str, Any]) -> str:
    others = [media for media in content if not is_json(media) and media != ANY]
    if not others:
        schemas = [document.table((entry or {}).get("schema")) for entry in content.values()]
        return "binary" if any(schema.get("format") == "binary" for schema in schemas) else "json"
    # A document that lists JSON beside files says so of its errors or of one of several representations.
    return "json" if any(is_json(media) for media in content) and not _files(others) else "binary"


def _files(media: list[str]) -> bool:
    return any(kind.partition("/")[0] in ("image", "audio", "video") or "octet-stream" in kind for kind in media)


def _scopes(document: Document, operation: Mapping[str, Any]) -> list[str]:
    """The scopes of the first alternative that names any."""
    security = operation.get("security", document.tree.get("security"))
    for alternative in security or ():
        scopes = [str(scope) for needed in (alternative or {}).values() for scope in needed or ()]
        if scopes:
            return scopes
    return []


def _says(operation: Mapping[str, Any], expression: str) -> bool:
    from ..language.template import evaluate

    return bool(evaluate(expression, operation))
