"""One documented operation → its definition."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from .bodies import ANY, JSON, body_of, is_json
from .document import Document, HttpOperation
from .ids import file_slug, first_tag
from .paging import paging_of, success_codes
from .parameters import params_of
from .prose import first_paragraph
from .removals import takes_away
from .schemas import Schemas
from .unsaid import unsaid_of_operation

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import OperationDefinition, PaginatorDefinition

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
