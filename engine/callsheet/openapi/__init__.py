"""OpenAPI 3 documents → operation definitions. The same document always gives the same files."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from ..errors import DefinitionError
from .definition_files import (
    NO_IMPORT,
    EarlierImport,
    ImportDifference,
    difference_from,
    files_of,
    introduction_of,
    names_since,
    write_files,
)
from .document import Document, read_document
from .operation_definitions import DocumentedReply, ImportRules, assign_ids, operation_of, reply_of
from .schemas import Schemas
from .security import CredentialPlace, add_access, credentials_of, take_out
from .unsaid import gathered_notes, unsaid_of_document

if TYPE_CHECKING:
    from ..jsontext import JsonObject
    from ..language.shape.rest import OperationDefinition, PaginatorDefinition

__all__ = ["DocumentedReply", "ImportResult", "import_document", "without", "write_files"]


class ImportResult(NamedTuple):
    """`files` by path relative to a directory of definitions; `notes` say what a document has that is left out.

    `replies` are what operations answer, where they were asked for.
    """

    files: dict[str, str]
    operations: dict[str, OperationDefinition]
    schemas: dict[str, JsonObject]
    notes: list[str]
    introduction: dict[str, JsonObject]
    replies: dict[str, DocumentedReply]
    earlier: EarlierImport

    @property
    def difference_to_earlier(self) -> ImportDifference:
        return difference_from(self.earlier, self.operations)


_SHOWN = 10


def import_document(
    text: str,
    product: str,
    *,
    name: str = "document",
    path: str | None = None,
    paginators: Mapping[str, PaginatorDefinition] | None = None,
    taken: Collection[str] = (),
    experimental: str | None = None,
    descriptions: bool = True,
    introduce: int | None = None,
    title: str | None = None,
    base_url: str | None = None,
    server: str | None = None,
    with_replies: bool = False,
    earlier: EarlierImport = NO_IMPORT,
    credential_names: Collection[CredentialPlace] = (),
) -> ImportResult:
    """Read a document (JSON or YAML) as the operations of one product.

    `taken` are the operation ids of the products that come before; `experimental` is an expression over an
    operation of the document; `introduce` defines the product itself too, at that place among the products. `server`
    is an address that stands in the place of the document's own. What `earlier` has and the document has not is
    remembered in a file of its own. `credential_names` are those by which services take credentials, and where.
    `path` is where the text was, if files beside it may belong to it.
    Raises `DefinitionError` when the text is not an OpenAPI 3 document or refers to what it does not hold.
    """
    with _worded_errors(name):
        document = read_document(text, name, path)
        if server is not None:
            document.tree["servers"] = [{"url": server}]
        found = _take_credentials_out(document, credential_names)
        notes = list(unsaid_of_document(document, with_access=introduce is None))
        schemas = Schemas(document, product, notes, descriptions=descriptions)
        further: dict[str, JsonObject] | None = {} if introduce is not None and server is None else None
        rules = ImportRules(paginators or {}, experimental, descriptions, further)
        replies: dict[str, DocumentedReply] | None = {} if with_replies else None
        operations = _operation_definitions(document, schemas, rules, notes, taken, replies)
        introduction = (
            {} if introduce is None else introduction_of(document, product, introduce, title, base_url, notes)
        )
        if found and introduction:
            notes += add_access(introduction, product, found)
        if further:
            introduction["service"] |= further
        told = gathered_notes(notes)
        result = ImportResult({}, operations, schemas.definitions, told, introduction, replies or {}, earlier)
        return _with_files(result, product)


def _take_credentials_out(document: Document, names: Collection[CredentialPlace]) -> list[CredentialPlace]:
    calls = list(document.http_operations([])) if names else []
    found = credentials_of(document, calls, names)
    take_out(document, calls, found)
    return found


def without_operations(result: ImportResult, product: str, reasons: Mapping[str, str]) -> ImportResult:
    """The same without some operations; `reasons` say by id why each is left out."""
    kept = {id: table for id, table in result.operations.items() if id not in reasons}
    notes = [f"{result.operations[id]['http']} is left out: {reason}" for id, reason in reasons.items()]
    return _with_files(result._replace(operations=kept, notes=[*result.notes, *notes]), product)


def _with_files(result: ImportResult, product: str) -> ImportResult:
    former = names_since(result.earlier, result.difference_to_earlier, result.operations, product)
    files = files_of(product, result.operations, result.schemas, result.introduction, former)
    return result._replace(files=files)


def _operation_definitions(
    document: Document,
    schemas: Schemas,
    rules: ImportRules,
    notes: list[str],
    taken: Collection[str],
    replies: dict[str, DocumentedReply] | None,
) -> dict[str, OperationDefinition]:
    """One that cannot be read is left out with a note; when none can, that is an error."""
    left_out: list[tuple[str, str]] = []
    calls = list(document.http_operations(left_out))
    operations = {}
    for id, call in zip(assign_ids(calls, schemas.product, taken), calls, strict=True):
        before, said = schemas.save_state(), len(notes)
        where = f"{call.method} {call.path}"
        try:
            with _worded_errors(where):
                table = operation_of(document, call, id, schemas, rules, notes=notes)
                if replies is not None:
                    replies[id] = reply_of(document, call, table)
                operations[id] = table
        except DefinitionError as error:
            schemas.restore_state(before)
            del notes[said:]
            left_out.append((where, _bare_message(error.message, where, document.name)))
    if not operations and not left_out:
        raise DefinitionError(f"{document.name}: the document has no operations")
    told = [f"{where} is left out: {reason}" for where, reason in left_out]
    if told and not operations:
        (where, reason), *_ = left_out
        raise DefinitionError(f"{document.name}: {where}: {reason}", details=told[1:_SHOWN])
    notes += told
    return operations


def _bare_message(message: str, *before: str) -> str:
    """A message without the places that stand before it."""
    for place in before:
        message = message.removeprefix(f"{place}: ")
    return message


@contextmanager
def _worded_errors(where: str) -> Iterator[None]:
    """A document may hold anything anywhere: what cannot be read is a fault of the document, not of the engine."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise DefinitionError(f"{where}: not valid OpenAPI ({error})") from error
