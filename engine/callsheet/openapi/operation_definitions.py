"""How an operation asks for the next page, recognised by the paginators that a program defines."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from zlib import crc32

from ..client.pagination.paging_plan import page_kind
from ..language.functions import parse_expression, paths_in_expression
from ..language.safety import removes_something
from .document import Document, HttpOperation
from .schemas import ANY, JSON, Schemas, body_of, documented_parameters, facts_of, first_paragraph, is_json, params_of
from .unsaid import unsaid_of_operation

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import OperationDefinition, PaginatorDefinition, Paging


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
    parameters = documented_parameters(document, call)
    sendable = _parameter_names(document, call, parameters)
    texts = {each["name"] for each in parameters if _is_documented_as_text(document.table_of(each.get("schema")))}
    candidates = {name: table for name, table in paginators.items() if _can_ask(table, sendable, texts)}
    if not candidates:
        return None
    schema = reply_schema(document, call)
    answer = _Answer(schema, properties_of(document, schema), _success_headers(document, call))
    ranked = [(_fields_that_fit(document, table, answer), name) for name, table in candidates.items()]
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
    items = _items_path(document, candidates[using], answer.properties)
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


def _is_documented_as_text(schema: Mapping[str, Any]) -> bool:
    """And not as a number that somebody called so."""
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
    inner = [document.table_of(document.table_of(node).get("items")) for node in properties.values()]
    holds_things = any("properties" in each for each in inner)
    return call.method == "GET" and counted and not holds_things and not call.path.endswith("}")


def _parameter_names(document: Document, call: HttpOperation, parameters: Sequence[Mapping[str, Any]]) -> set[str]:
    names = {parameter["name"] for parameter in parameters if parameter.get("in") == "query"}
    content = document.table_of(call.operation.get("requestBody")).get("content") or {}
    for media, entry in content.items():
        if is_json(media):
            names |= set(properties_of(document, (entry or {}).get("schema")))
    return names


def reply_schema(document: Document, call: HttpOperation) -> JsonObject:
    """The schema of the JSON that a success answers, or what its example tells; empty when there is neither."""
    responses = call.operation.get("responses") or {}
    for code in success_codes(responses):
        for media, entry in (document.table_of(responses[code]).get("content") or {}).items():
            if is_json(media) or media == "*/*":
                found: JsonObject = document.table_of((entry or {}).get("schema"))
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
        table = document.table_of(waiting.pop())
        if id(table) not in seen:
            seen.add(id(table))
            merged |= table.get("properties") or {}
            waiting += reversed(table.get("allOf") or ())
    return merged


def _fields_that_fit(document: Document, table: PaginatorDefinition, answer: _Answer) -> int | None:
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


def _success_headers(document: Document, call: HttpOperation) -> JsonObject:
    """The documented headers of a success, by their lower-case names."""
    responses = call.operation.get("responses") or {}
    return {
        str(name).lower(): entry
        for code in success_codes(responses)
        for name, entry in (document.table_of(responses[code]).get("headers") or {}).items()
    }


def has_fields(expression: str, document: Document, properties: Mapping[str, Any]) -> bool:
    """Whether every path in a JMESPath expression begins, and as far as the schema tells goes on, in it."""
    return all(_path_resolves(document, properties, path) for path in field_paths(expression))


@lru_cache(maxsize=256)  # those of few paginators, for each operation
def field_paths(expression: str) -> frozenset[tuple[str, ...]]:
    """The plain paths in an expression: `a.b || !c` → (a, b), (c)."""
    return frozenset(paths_in_expression(parse_expression(expression).parsed))


def _path_resolves(document: Document, properties: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    if path[0] not in properties:
        return False
    inner = properties_of(document, properties[path[0]])
    return len(path) == 1 or not inner or _path_resolves(document, inner, path[1:])


def _items_path(document: Document, table: PaginatorDefinition, properties: Mapping[str, Any]) -> str | None:
    lists = [name for name, node in properties.items() if document.table_of(node).get("type") == "array"]
    usual = [name for name in table.get("items", ()) if name in lists]
    rest = [name for name in lists if name not in _BESIDE]
    if usual or len(rest) == 1:
        return str((usual or rest)[0])
    inner = {name: properties_of(document, node) for name, node in properties.items() if name not in lists}
    paths = [f"{name}.{items}" for name, below in inner.items() if (items := _usual_list(document, below))]
    return paths[0] if len(paths) == 1 and not lists else None


def _usual_list(document: Document, properties: Mapping[str, Any]) -> str | None:
    """A list under a usual name, in a reply that has everything in one member."""
    found = [name for name in LISTS if document.table_of(properties.get(name)).get("type") == "array"]
    return found[0] if found else None


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
        return DocumentedReply(is_list=True, items=None, fields=_documented_fields(document, schema.get("items")))
    properties = properties_of(document, schema)
    items = table.get("paginate", {}).get("items") or _list_in(document, properties)
    if items:
        inner: Any = schema
        for name in items.split("."):
            inner = properties_of(document, inner).get(name)
        return DocumentedReply(
            is_list=True, items=items, fields=_documented_fields(document, document.table_of(inner).get("items"))
        )
    return DocumentedReply(is_list="paginate" in table, items=None, fields=_documented_fields(document, schema))


def _list_in(document: Document, properties: Mapping[str, Any]) -> str | None:
    """The list that a reply is there for: one under a usual name, or the only member that is not a plain value."""
    lists = [name for name, node in properties.items() if document.table_of(node).get("type") == "array"]
    usual = [name for name in LISTS if name in lists]
    if usual:
        return usual[0]
    plain = ("string", "integer", "number", "boolean")
    rest = [name for name, node in properties.items() if document.table_of(node).get("type") not in plain]
    has_identity = {"id", "name", "key", "uuid"} & properties.keys()
    return lists[0] if len(lists) == 1 and not has_identity and len(rest) <= len(lists) + 1 else None


def _documented_fields(document: Document, schema: Any) -> dict[str, JsonObject]:
    table = document.table_of(schema)
    alternatives = table.get("oneOf") or table.get("anyOf") or ()
    found = dict(properties_of(document, table))
    for part in alternatives:
        found = {**properties_of(document, part), **found}
    return {str(name): _field_facts(document, found[name]) for name in list(found)[:_MOST_FIELDS]}


def _field_facts(document: Document, schema: Any) -> JsonObject:
    """What a field holds; of a list also that its items are texts, which a parameter need not say."""
    facts = facts_of(document, schema)
    if facts.get("type") == "array" and "items" not in facts:
        item = document.table_of(document.table_of(schema).get("items"))
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
    return [_assign_id(call, product, owners) for call in calls]


def _assign_id(call: HttpOperation, product: str, owners: dict[str, str]) -> str:
    for candidate in _candidate_ids(call, product, owners):
        if candidate not in owners:
            owners[candidate] = call.path
            return candidate
    raise AssertionError("an endless row of candidates ended")


def _candidate_ids(call: HttpOperation, product: str, owners: dict[str, str]) -> Iterator[str]:
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


_LONGEST = 100


def file_slug(text: str) -> str:
    """A tag as a file name, of a length that every system takes."""
    name = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    return name if len(name) <= _LONGEST else f"{name[:_LONGEST]}-{crc32(name.encode()):08x}"


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
        record |= _title_and_help(operation)
    if params := params_of(document, call, notes, descriptions=rules.descriptions):
        record["params"] = params
    body = body_of(document, call, id, schemas, notes=notes, descriptions=rules.descriptions)
    if body is not None:
        record["body"] = body or {"media": JSON}
    if paginate := paging_of(document, call, rules.paginators, notes):
        record["paginate"] = paginate
    if (reply := _reply_of_success(document, call)) != "json":
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
        record["service"] = _further_service(document, call, schemas.product, server, rules.servers)
        how = "with" if rules.servers[record["service"]].get("credential") else "without"
        notes.append(f"{call.method} {call.path}: sent to {server}, {how} the credential")
    unsaid = unsaid_of_operation(document, call, at_its_own="service" in record)
    notes.extend(f"{call.method} {call.path}: {text}" for text in unsaid)
    return cast("OperationDefinition", {"product": schemas.product, "tag": first_tag(call), **record})


def _further_service(
    document: Document, call: HttpOperation, product: str, server: str, known: dict[str, JsonObject]
) -> str:
    """The service of a server; it is shown the credential where the document asks for one."""
    secured = call.operation.get("security", document.tree.get("security"))
    key: JsonObject = {"credential": True} if secured and all(secured) else {}
    table: JsonObject = {"title": server, "base_url": server, "beside": product, **key}
    first = f"{product}-{file_slug(server.partition('://')[2].partition('.')[0])}" + ("" if key else "-open")
    ids = [first, *(f"{first}-{number}" for number in range(2, len(known) + 3))]
    id = next(each for each in ids if known.get(each, table) == table)
    known[id] = table
    return id


def _title_and_help(operation: Mapping[str, Any]) -> dict[str, str]:
    texts = {"title": operation.get("summary"), "help": operation.get("description")}
    return {key: text for key, raw in texts.items() if (text := first_paragraph(raw))}


def _reply_of_success(document: Document, call: HttpOperation) -> str:
    """What a success answers. Where reading something is answered by a bare redirect, that leads to a file."""
    responses = {str(code): response for code, response in (call.operation.get("responses") or {}).items()}
    contents = {code: document.table_of(response).get("content") or {} for code, response in responses.items()}
    codes = success_codes(responses)
    for code in codes:
        if contents[code] and code not in _EMPTY:
            return _kind_of_content(document, contents[code])
    if call.method == "GET" and any(code.startswith("3") and not contents[code] for code in responses):
        return "binary"
    return "none" if codes else "json"


def _kind_of_content(document: Document, content: Mapping[str, Any]) -> str:
    others = [media for media in content if not is_json(media) and media != ANY]
    if not others:
        schemas = [document.table_of((entry or {}).get("schema")) for entry in content.values()]
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
            return list(dict.fromkeys(scopes))
    return []


def _says(operation: Mapping[str, Any], expression: str) -> bool:
    from ..language.template import evaluate

    return bool(evaluate(expression, operation))
