"""Entities of an API that no definition simulates: the paths of a collection and of its items become a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.sandbox import ActionHere, EntityDefinition

_WHOLE = {"@items": "{items}"}


class _Paths(NamedTuple):
    """The operations of a collection and of its items, by method; `key` is the parameter that names an item."""

    key: str
    collection: dict[str, str]
    item: dict[str, str]


def derived(catalog: Catalog, simulated: Iterable[str]) -> dict[str, EntityDefinition]:
    """One entity for each collection of each product that is not among the `simulated`."""
    operations = catalog.all("operation")
    by_product: dict[str, dict[str, dict[str, str]]] = {}
    for id, operation in operations.items():
        if operation["product"] not in simulated:
            method, _, path = operation["http"].partition(" ")
            by_product.setdefault(operation["product"], {}).setdefault(path, {})[method] = id
    return {
        f"{product}{path}": _entity(product, path, found, operations)
        for product, paths in by_product.items()
        for path, found in _collections(paths).items()
    }


def _collections(paths: Mapping[str, dict[str, str]]) -> dict[str, _Paths]:
    found = {}
    for path, methods in paths.items():
        head, _, last = path.rpartition("/")
        if head in paths and last.startswith("{") and last.endswith("}"):
            found[head] = _Paths(last[1:-1], paths[head], methods)
    return found


def _entity(product: str, path: str, paths: _Paths, operations: Mapping[str, Any]) -> EntityDefinition:
    name = f"{product}{path}"
    owner = next((part[1:-1] for part in reversed(path.split("/")) if part.startswith("{")), None)
    actions: dict[str, ActionHere] = {}
    if id := paths.collection.get("GET"):
        listed = {"entity": name, "whole": True, **({"of": f'params."{owner}"'} if owner else {})}
        paged = operations[id].get("paginate", {})
        actions[id] = {"list": {**listed, **({"envelope": _WHOLE} if paged.get("items") else {})}}  # type: ignore[typeddict-item]
    if id := paths.collection.get("POST"):
        members = f'merge(body || `{{}}`, {{of: params."{owner}"}})' if owner else "body"
        actions[id] = {"do": [{"create": name, "to": f"{{{members}}}"}], "view": "full", "status": 201}
    find = {"item": {"entity": name, "by": f'params."{paths.key}"', "missing": {"status": 404, "message": "not found"}}}
    for method, id in paths.item.items():
        action: ActionHere = {"find": find, "view": "full"}  # type: ignore[typeddict-item]
        if method in ("PUT", "PATCH"):
            action["do"] = [{"patch": "item", "to": "{body}"}]
        elif method == "DELETE":
            action = {"find": find, "do": [{"delete": "item"}], "status": 204}  # type: ignore[typeddict-item]
        elif method != "GET":
            continue
        actions[id] = action
    numbered = _type_of(operations, paths) == "integer"
    identity = {"kind": "number", "start": 1} if numbered else {"kind": "text-number", "start": 1}
    return {"product": product, "id": identity, "actions": actions}  # type: ignore[typeddict-item]


def _type_of(operations: Mapping[str, Any], paths: _Paths) -> str | None:
    """What the parameter that names an item is."""
    for id in paths.item.values():
        for param in operations[id].get("params", []):
            if param["name"] == paths.key:
                return str(param.get("type", "string"))
    return None
