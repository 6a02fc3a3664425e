"""The pages of a derived list: what its paginator reads is written where it reads it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.compiled import CompiledOperation
    from ..language.shape.paging import PaginatorDefinition

_PATH = re.compile(r"!?[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*\Z")


def pages(catalog: Catalog, operation: CompiledOperation) -> dict[str, Any]:
    """How a list is answered; whole, where it has no pages or they go on in a way that cannot be turned round."""
    paging = operation.get("paginate")
    if not paging:
        return {"whole": True}
    paginator = catalog.get("paginator", paging["using"])
    key = paging.get("items")
    if paginator.get("reads") == "headers":
        link = {"headers": {"Link": "{link && join('', ['<', site, link, '>; rel=\"next\"']) || `null`}"}}
        rest: dict[str, Any] = link if paginator["kind"] == "link" else {"whole": True}
        return {**rest, **({"envelope": {"@items": "{items}"}} if key else {})}
    written = _written(paginator)
    turned = all(_PATH.match(path) for path in written)
    if not key:
        return {} if not written else {"whole": True}
    envelope: dict[str, Any] = {"@items": "{items}"}
    for path, fact in written.items():
        if _PATH.match(path):
            _put(envelope, path.lstrip("!"), f"{{!{fact}}}" if path.startswith("!") else f"{{{fact}}}")
    return {"envelope": envelope, **({} if turned else {"whole": True})}


def _written(paginator: PaginatorDefinition) -> dict[str, str]:
    """Where the paginator reads something of a page → what belongs there."""
    found = {}
    if "next" in paginator:
        found[paginator["next"]] = "link" if paginator["kind"] == "link" else "next"
    if "last" in paginator:
        found[paginator["last"]] = "last"
    if "total" in paginator:
        found[paginator["total"]] = "total"
    return found


def _put(table: dict[str, Any], path: str, value: str) -> None:
    *heads, last = path.split(".")
    for head in heads:
        table = table.setdefault(head, {})
    table[last] = value
