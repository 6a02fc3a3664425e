"""`definitions import`: an OpenAPI document → operation definitions of one's own."""

from __future__ import annotations

import os
import re

from ...commands.context import Context, ParameterValues
from ...errors import UsageError, counted
from ...openapi import ImportResult, import_document, write_files
from ...openapi.definition_files import PRODUCT, directory_of
from ...openapi.earlier import read_earlier
from ...openapi.sound import without_unsound_operations
from ...paths import own_definitions
from ...programs.manifest import read_manifest
from .document_file import document_text, path_of_document, say_changes

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def import_definitions(context: Context, values: ParameterValues) -> None:
    """Nothing is written unless the definitions are sound with the new files in the place of the old ones."""
    key = values["product"]
    if not _KEY.fullmatch(key):
        raise UsageError(f"--product {key!r}: expected letters, digits, hyphens and underscores")
    own = _own_directory(context)
    target = os.path.abspath(values.get("to") or own)
    if key == context.program and target == own and read_manifest(own).files:
        from .programs_update import update_from_document

        update_from_document(context, key, values["spec"], values.get("address"), values.get("title"))
        return
    found = without_unsound_operations(context.layers, _imported(context, values, key, target), key, target)
    result = found.result
    say_changes(context, found)
    made = [(len(result.operations), "operation"), (len(result.schemas), "schema"), (len(result.files), "file")]
    counts = "{} and {} in {}".format(*(counted(number, noun) for number, noun in made))
    where = os.path.join(target, *directory_of(key).split("/"))
    if context.option("dry-run"):
        context.streams.out.write(f"{key}: {counts} would be written to {where}\n")
        return
    stale = write_files(result.files, target, key)
    left = f"; {counted(len(stale), 'file')} of an earlier import removed" if stale else ""
    context.streams.out.write(f"{key}: {counts} written to {where}{left}\n")


def _own_directory(context: Context) -> str:
    return own_definitions(context.environ, context.program)


def _imported(context: Context, values: ParameterValues, key: str, target: str) -> ImportResult:
    products = context.catalog.all("product")
    known = products.get(key)
    introduced = os.path.join(target, *directory_of(key).split("/"), f"{PRODUCT}.toml")
    orders = {name: product.get("order", 1000) for name, product in products.items()}
    order = orders.get(key, max(orders.values(), default=0) + 1)
    return import_document(
        document_text(context, values["spec"]),
        key,
        name="standard input" if values["spec"] == "-" else values["spec"],
        path=path_of_document(values["spec"]),
        paginators=context.catalog.all("paginator"),
        taken=_taken(context, orders, key, order),
        experimental=known.get("import", {}).get("experimental") if known else None,
        descriptions=not values.get("no-descriptions"),
        introduce=order if known is None or os.path.exists(introduced) else None,
        title=values.get("title"),
        base_url=values.get("address"),
        earlier=read_earlier(target, key),
    )


def _taken(context: Context, orders: dict[str, int], key: str, order: int) -> set[str]:
    """The ids that belong to products which come before."""
    before = {name for name, place in orders.items() if name != key and place < order}
    return {id for id, operation in context.catalog.all("operation").items() if operation["product"] in before}
