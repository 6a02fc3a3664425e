"""`definitions import`: an OpenAPI document → operation definitions of one's own."""

from __future__ import annotations

import os
import re
import tempfile
from typing import Any

from ...commands.context import Context
from ...errors import DefinitionError, UsageError
from ...language.layers import Layer
from ...openapi import ImportResult, import_document, without, write_files
from ...openapi.definition_files import PRODUCT, directory_of, reached
from ...paths import own_definitions

_SHOWN = 10
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def import_definitions(context: Context, values: dict[str, Any]) -> None:
    """Nothing is written unless the definitions are sound together with those in use."""
    key = values["product"]
    if not _KEY.fullmatch(key):
        raise UsageError(f"--product {key!r}: expected letters, digits, hyphens and underscores")
    target = os.path.abspath(values.get("to") or _own_directory(context))
    result = _sound(context, _imported(context, values, key, target), key)
    for note in result.notes:
        context.note(note)
    counts = f"{len(result.operations)} operations and {len(result.schemas)} schemas in {len(result.files)} files"
    where = os.path.join(target, *directory_of(key).split("/"))
    if context.option("dry-run"):
        context.streams.out.write(f"{key}: {counts} would be written to {where}\n")
        return
    stale = write_files(result.files, target, key)
    left = f"; {len(stale)} files of an earlier import removed" if stale else ""
    context.streams.out.write(f"{key}: {counts} written to {where}{left}\n")


def _own_directory(context: Context) -> str:
    return own_definitions(context.environ, context.program)


def _imported(context: Context, values: dict[str, Any], key: str, target: str) -> ImportResult:
    products = context.catalog.all("product")
    known = products.get(key)
    introduced = os.path.join(target, *directory_of(key).split("/"), f"{PRODUCT}.toml")
    orders = {name: product.get("order", 1000) for name, product in products.items()}
    order = orders.get(key, max(orders.values(), default=0) + 1)
    return import_document(
        _text(context, values["spec"]),
        key,
        name="standard input" if values["spec"] == "-" else values["spec"],
        paginators=context.catalog.all("paginator"),
        taken=_taken(context, orders, key, order),
        experimental=known.get("import", {}).get("experimental") if known else None,
        descriptions=not values.get("no-descriptions"),
        introduce=order if known is None or os.path.exists(introduced) else None,
        title=values.get("title"),
        base_url=values.get("address"),
    )


def _taken(context: Context, orders: dict[str, int], key: str, order: int) -> set[str]:
    """The ids that belong to products which come before."""
    before = {name for name, place in orders.items() if name != key and place < order}
    return {id for id, operation in context.catalog.all("operation").items() if operation["product"] in before}


def _text(context: Context, spec: str) -> str:
    if re.match(r"https?://", spec):
        raise UsageError(f"{spec}: expected a file or -", hint="download the document first")
    raw = context.read("-" if spec == "-" else f"@{spec}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{spec}: not UTF-8: byte {error.start}") from None


def _sound(context: Context, result: ImportResult, key: str) -> ImportResult:
    """The result without the operations that the program would not accept, and why, among its notes.

    Raises `DefinitionError` when none is left, or when something else is wrong.
    """
    from ...catalog.compile import qualified_names
    from ...language.check import problems_in, refuse
    from ...language.load import load
    from ...registry import names

    with tempfile.TemporaryDirectory() as directory:
        write_files(result.files, directory, key)
        definitions = load([*context.layers, Layer(directory)])
        problems = problems_in(definitions, {"operation": qualified_names(definitions)}, names())
        reasons: dict[str, str] = {}
        for problem in problems:
            kind, id = problem.definition.kind, problem.definition.id
            told = f"{problem.where}{problem.finding.text}"
            ids = _users(result, kind, id)
            reasons |= {each: told for each in ids if each not in reasons}
            if not ids and problem.definition.files[-1].path.startswith(directory):
                raise DefinitionError(f'{kind} "{id}": {told}')
            if not ids:
                refuse([problem], definitions)
    if reasons and len(reasons) == len(result.operations):
        each = [f"{result.operations[id]['http']}: {reason}" for id, reason in reasons.items()]
        raise DefinitionError("none of its operations can be used", details=each[:_SHOWN])
    return _sound(context, without(result, key, reasons), key) if reasons else result


def _users(result: ImportResult, kind: str, id: str) -> list[str]:
    """The imported operations that cannot be used without a definition: itself, or those whose body needs a schema."""
    if kind == "operation" and id in result.operations:
        return [id]
    if kind != "schema" or id not in result.schemas:
        return []
    needing = {each: {each, *reached([each], result.schemas)} for each in result.schemas}
    schemas = {each for each, all_of_it in needing.items() if id in all_of_it}
    return [each for each, table in result.operations.items() if table.get("body", {}).get("schema") in schemas]
