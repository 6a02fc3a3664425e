"""Entities of an API that no definition simulates: the paths of a collection and of its items become a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..client.request.sample import properties

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.rest import CompiledOperation, OperationParam, PaginatorDefinition
    from ..language.shape.sandbox import ActionHere, EntityDefinition


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


_NULLS = "zip(keys(body || `{}`), values(body || `{}`))[?[1] == `null`].[[0]][]"  # null in a change takes it away
_WITHOUT_OWN = "{{from_items(zip(keys(item), values(item))[?!contains({names}, [0])])}}"


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
        f"{product}{path}": _Table(catalog, product, path, tables, operations).entity()
        for product, paths in by_product.items()
        for tables in [_collections(paths)]
        for path in tables
    }


def _collections(paths: Mapping[str, dict[str, str]]) -> dict[str, _Paths]:
    found = {}
    for path, methods in paths.items():
        head, _, last = path.rpartition("/")
        if head in paths and last.startswith("{") and last.endswith("}"):
            found[head] = _Paths(last[1:-1], paths[head], methods)
    return found


class _Table:
    """One collection of a product; `tables` are all of them, by their paths."""

    def __init__(
        self,
        catalog: Catalog,
        product: str,
        path: str,
        tables: Mapping[str, _Paths],
        operations: Mapping[str, CompiledOperation],
    ) -> None:
        self.catalog, self.product, self.path, self.operations = catalog, product, path, operations
        self.paths = tables[path]
        self.name = f"{product}{path}"
        self.tables = tables
        head, _, last = path.rpartition("/")[0].rpartition("/")
        self.owner = last[1:-1] if last.startswith("{") else None  # the parameter that names whom the items belong to
        self.owners = head if self.owner and head in tables else None
        self.schema = self._schema()
        self.members = properties(catalog, self.schema) if self.schema else {}
        self.key = self.paths.key if self.paths.key in self.members else _key(self.paths.key, self.members)

    def _schema(self) -> str | None:
        """What a new item has to fit, else what a changed one has to."""
        ids = [self.paths.collection.get("POST"), *(self.paths.item.get(word) for word in ("PUT", "PATCH"))]
        schemas = [self.operations[id].get("body", {}).get("schema") for id in ids if id]
        return next((schema for schema in schemas if schema), None)

    def entity(self) -> EntityDefinition:
        below = [path for path in self.tables if path.rpartition("/")[0] == f"{self.path}/{{{self.paths.key}}}"]
        own = ["of"] if self.key == "id" else ["of", "id"]
        entity: dict[str, Any] = {
            "product": self.product,
            "id": self._identity(),
            "views": {"full": _WITHOUT_OWN.format(names=str(own))},
            "children": {path: {"entity": f"{self.product}{path}"} for path in below},
            "actions": self._actions(),
        }
        return {**entity, **({"schema": self.schema} if self.schema else {})}  # type: ignore[typeddict-item]  # made as its shape says

    def _identity(self) -> dict[str, Any]:
        """Ids are of the type that the schema says, else that of the parameter that names an item."""
        known = self.members.get(self.key) or self._parameter() or {}
        kind = {"integer": "number"}.get(known.get("type", ""), "text-number")
        kind = "uuid" if known.get("format") == "uuid" else kind
        return {"kind": kind, "start": 1, "member": self.key}

    def _parameter(self) -> OperationParam | None:
        params = [param for id in self.paths.item.values() for param in self.operations[id].get("params", [])]
        return next((param for param in params if param["name"] == self.paths.key), None)

    def _actions(self) -> dict[str, ActionHere]:
        actions: dict[str, Any] = {}
        owner = {"owner": _found(f"{self.product}{self.owners}", str(self.owner))} if self.owners else {}
        if id := self.paths.collection.get("GET"):
            actions[id] = {"find": owner, "list": self._listing(id)}
        if id := self.paths.collection.get("POST"):
            given = f'params."{self.owner}"'
            members = f"merge(body || `{{}}`, {{of: {given}}})" if self.owner else "body"
            twin = {"entity": self.name, "by": f'body."{self.key}"', "optional": True}
            taken = {"status": 409, "message": f"there is one with this {self.key} already"}
            actions[id] = {
                "find": {**owner, "twin": twin},
                "check": [{"unless": "!twin", "fail": taken}],
                "do": [{"create": self.name, "to": f"{{{members}}}"}],
                "view": "full",
                "status": 201,
            }
        for method, id in self.paths.item.items():
            if action := self._on_item(method, owner):
                actions[id] = action
        return actions

    def _on_item(self, method: str, owner: Mapping[str, Any]) -> dict[str, Any] | None:
        found = _found(self.name, self.paths.key)
        if self.owner:
            found["where"] = f'item.of == params."{self.owner}"'
        action: dict[str, Any] = {"find": {**owner, "item": found}, "view": "full"}
        if method == "GET":
            return action
        if method == "DELETE":
            return {"find": action["find"], "do": [{"delete": "item"}], "status": 204}
        if method in ("PUT", "PATCH"):
            kept = f"['id', 'of', '{self.key}', keys(body || `{{}}`)][]"
            rest = f"keys(item)[?!contains({kept.replace('body', '$body')}, @)]"
            clear = _NULLS if method == "PATCH" else rest
            return {**action, "do": [{"patch": "item", "to": "{body}", "clear": clear}]}
        return None

    def _listing(self, id: str) -> dict[str, Any]:
        """A page; parameters that are called like members of the items choose among them."""
        names = [param["name"] for param in self.operations[id].get("params", []) if param["name"] in self.members]
        where = " && ".join(
            f'(!(params."{name}") || contains([params."{name}"][], to_string(item."{name}")))' for name in names
        )
        listing: dict[str, Any] = {"entity": self.name, **pages(self.catalog, self.operations[id])}
        if self.owner:
            listing["of"] = f'params."{self.owner}"'
        return {**listing, **({"where": where} if where else {})}


def _found(entity: str, param: str) -> dict[str, Any]:
    return {"entity": entity, "by": f'params."{param}"', "missing": {"status": 404, "message": "not found"}}


def _key(param: str, members: Iterable[str]) -> str:
    """The member that a parameter of a path stands for: `order_id` for `orderId`, else `id`."""
    wanted = param.replace("_", "").replace("-", "").casefold()
    return next((name for name in members if name.replace("_", "").replace("-", "").casefold() == wanted), "id")
