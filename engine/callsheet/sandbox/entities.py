"""The entities of a simulated site, defined or derived from paths: finding, making, changing and showing items."""

from __future__ import annotations

import re
import secrets
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..client.request.sample_values import schema_properties, service_sample
from ..language.compiled_jmespath import compile_fast
from ..language.merge import on_deployment
from ..language.scopes import names_in, root_names
from ..language.template import TemplateError, compile_template, is_true, split_template, to_text
from .state import Item, State

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.rest import CompiledOperation, OperationParam, PaginatorDefinition
    from ..language.shape.sandbox import ActionHere, EntityDefinition, Identity, Refusal, SimulationDefinition
    from ..language.template import Scope


_PATH = re.compile(r"!?[A-Za-z_][\w-]*(\.[A-Za-z_][\w-]*)*\Z")


def list_pages(catalog: Catalog, operation: CompiledOperation) -> dict[str, Any]:
    """How a list is answered; whole, where it has no pages or they go on in a way that cannot be turned round."""
    paging = operation.get("paginate")
    if not paging:
        return {"whole": True}
    paginator = catalog.paginators.get(paging["using"])
    key = paging.get("items")
    if paginator.get("reads") == "headers":
        link = {"headers": {"Link": "{link && join('', ['<', site, link, '>; rel=\"next\"']) || `null`}"}}
        rest: dict[str, Any] = link if paginator["kind"] == "link" else {"whole": True}
        return {**rest, **({"envelope": {"@items": "{items}"}} if key else {})}
    written = _written_by_paginator(paginator)
    turned = all(_PATH.match(path) for path in written)
    if not key:
        return {} if not written else {"whole": True}
    envelope: dict[str, Any] = {"@items": "{items}"}
    for path, fact in written.items():
        if _PATH.match(path):
            _put_at_path(envelope, path.lstrip("!"), f"{{!{fact}}}" if path.startswith("!") else f"{{{fact}}}")
    return {"envelope": envelope, **({} if turned else {"whole": True})}


def _written_by_paginator(paginator: PaginatorDefinition) -> dict[str, str]:
    """Where the paginator reads something of a page → what belongs there."""
    found = {}
    if "next" in paginator:
        found[paginator["next"]] = "link" if paginator["kind"] == "link" else "next"
    if "last" in paginator:
        found[paginator["last"]] = "last"
    if "total" in paginator:
        found[paginator["total"]] = "total"
    return found


def _put_at_path(table: dict[str, Any], path: str, value: str) -> None:
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

    @property
    def operations(self) -> set[str]:
        return {*self.collection.values(), *self.item.values()}


def derived_entities(
    catalog: Catalog, simulated: Iterable[str], described: Collection[str] = ()
) -> dict[str, EntityDefinition]:
    """One entity for each collection of each product that is not among the `simulated`.

    A collection of which an operation is `described` is that definition's, with all that it does.
    """
    operations = catalog.operations.all()
    by_product: dict[str, dict[str, dict[str, str]]] = {}
    for id, operation in operations.items():
        if operation["product"] not in simulated:
            method, _, path = operation["http"].partition(" ")
            by_product.setdefault(operation["product"], {}).setdefault(path, {})[method] = id
    return {
        f"{product}{path}": _Table(catalog, product, path, tables, operations).entity_definition()
        for product, paths in by_product.items()
        for found in [_collections_in_paths(paths)]
        for tables in [{path: each for path, each in found.items() if not each.operations & {*described}}]
        for path in tables
    }


def _collections_in_paths(paths: Mapping[str, dict[str, str]]) -> dict[str, _Paths]:
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
        self.schema = self._item_schema()
        self.members = schema_properties(catalog, self.schema) if self.schema else {}
        self.key = self.paths.key if self.paths.key in self.members else _member_of_param(self.paths.key, self.members)

    def _item_schema(self) -> str | None:
        """What a new item has to fit, else what a changed one has to."""
        ids = [self.paths.collection.get("POST"), *(self.paths.item.get(word) for word in ("PUT", "PATCH"))]
        schemas = [self.operations[id].get("body", {}).get("schema") for id in ids if id]
        return next((schema for schema in schemas if schema), None)

    def entity_definition(self) -> EntityDefinition:
        below = [path for path in self.tables if path.rpartition("/")[0] == f"{self.path}/{{{self.paths.key}}}"]
        own = ["of"] if self.key == "id" else ["of", "id"]
        entity: dict[str, Any] = {
            "product": self.product,
            "id": self._id_rule(),
            "views": {"full": _WITHOUT_OWN.format(names=str(own))},
            "children": {path: {"entity": f"{self.product}{path}"} for path in below},
            "actions": self._actions_of_paths(),
        }
        return {**entity, **({"schema": self.schema} if self.schema else {})}  # type: ignore[typeddict-item]  # made as its shape says

    def _id_rule(self) -> dict[str, Any]:
        """Ids are of the type that the schema says, else that of the parameter that names an item."""
        known = self.members.get(self.key) or self._id_parameter() or {}
        kind = {"integer": "number"}.get(known.get("type", ""), "text-number")
        kind = "uuid" if known.get("format") == "uuid" else kind
        return {"kind": kind, "start": 1, "member": self.key}

    def _id_parameter(self) -> OperationParam | None:
        params = [param for id in self.paths.item.values() for param in self.operations[id].get("params", [])]
        return next((param for param in params if param["name"] == self.paths.key), None)

    def _actions_of_paths(self) -> dict[str, ActionHere]:
        actions: dict[str, Any] = {}
        owner = {"owner": _find_by_param(f"{self.product}{self.owners}", str(self.owner))} if self.owners else {}
        if id := self.paths.collection.get("GET"):
            actions[id] = {"find": owner, "list": self._list_action(id)}
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
        found = _find_by_param(self.name, self.paths.key)
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

    def _list_action(self, id: str) -> dict[str, Any]:
        """A page; parameters that are called like members of the items choose among them."""
        names = [param["name"] for param in self.operations[id].get("params", []) if param["name"] in self.members]
        where = " && ".join(
            f'(!(params."{name}") || contains([params."{name}"][], to_string(item."{name}")))' for name in names
        )
        listing: dict[str, Any] = {"entity": self.name, **list_pages(self.catalog, self.operations[id])}
        if self.owner:
            listing["of"] = f'params."{self.owner}"'
        return {**listing, **({"where": where} if where else {})}


def _find_by_param(entity: str, param: str) -> dict[str, Any]:
    return {"entity": entity, "by": f'params."{param}"', "missing": {"status": 404, "message": "not found"}}


def _member_of_param(param: str, members: Iterable[str]) -> str:
    """The member that a parameter of a path stands for: `order_id` for `orderId`, else `id`."""
    wanted = param.replace("_", "").replace("-", "").casefold()
    return next((name for name in members if name.replace("_", "").replace("-", "").casefold() == wanted), "id")


# Templates of answers. Unlike those of requests they keep what is null: an answer says so.


Render = Callable[[Mapping[str, Any]], Any]
MEMBERS = "@members"


def compile_render(template: Any) -> Render:
    """The template as a function of a scope, made once."""
    if isinstance(template, str):
        return _render_text(template)
    if isinstance(template, Mapping):
        return _render_table(template)
    if isinstance(template, list):
        items = [compile_render(value) for value in template]
        return lambda scope: [item(scope) for item in items]
    return lambda _: template


def _render_table(template: Mapping[str, Any]) -> Render:
    """`@members` stands for the members of another table."""
    parts = [(key, compile_render(value)) for key, value in template.items() if key != MEMBERS]
    if MEMBERS not in template:
        return lambda scope: {key: part(scope) for key, part in parts}
    others = compile_render(template[MEMBERS])

    def table(scope: Mapping[str, Any]) -> dict[str, Any]:
        return {key: part(scope) for key, part in parts} | (others(scope) or {})

    return table


def _render_text(template: str) -> Render:
    pieces = list(split_template(template))
    if len(pieces) == 1 and pieces[0][0]:
        return render_expression(pieces[0][1])
    parts = compile_template(template)
    return lambda scope: "".join(part if isinstance(part, str) else to_text(part(scope)) for part in parts)


@lru_cache(maxsize=4096)
def render_expression(text: str) -> Render:
    """The value of an expression; null where it meets what it is not made for, as the requests of strangers do."""
    evaluate = compile_fast(text)

    def value(scope: Mapping[str, Any]) -> Any:
        try:
            return evaluate(scope)
        except (TemplateError, TypeError):
            return None

    return value


def condition_holds(text: str, scope: Mapping[str, Any]) -> bool:
    return is_true(render_expression(text)(scope))


@lru_cache(maxsize=1000)
def looks_at_item(text: str) -> bool:
    """Whether an expression can be different for each item."""
    return "item" in root_names(text)


def names_used(template: Any) -> frozenset[str]:
    return frozenset(names_in(template))


def without_null(value: Any) -> Any:
    """Tables without their members that are null, at every depth."""
    kind = type(value)
    if kind is dict:
        return {key: without_null(item) for key, item in value.items() if item is not None}
    return [without_null(item) for item in value] if kind is list else value


# The entities of a simulated site: finding items, making and changing them, and showing them in views.


_USUAL: Identity = {"kind": "text-number"}
_UNSAID: SimulationDefinition = {"error": {"message": "{message}"}}
BRIEF, DEFAULT = "brief", "full"
_DEEPEST = 6
_KEPT = 5_000
_FIRST = 10000


class Entity:
    """One entity as it is on a deployment, its expressions ready to be applied."""

    def __init__(self, name: str, definition: EntityDefinition, deployment: str) -> None:
        here = on_deployment(definition, deployment)
        self.name = name
        self.product = here["product"]
        self.identity = here.get("id", _USUAL)
        self.schema = definition.get("schema")
        self.refs = here.get("refs", {})
        self.children = here.get("children", {})
        self.takes = here.get("takes", [])
        self.new = compile_render(here.get("new", {}))
        self.history = here.get("history", [])
        self.query = here.get("query")
        self.actions = here.get("actions", {})
        self.seed = here.get("seed", [])
        self._names = [render_expression(text) for text in here.get("names", [])]
        self._views: dict[str, tuple[Render, frozenset[str]]] = {
            view: (compile_render(template), names_used(template)) for view, template in here.get("views", {}).items()
        }

    def view_of(self, name: str) -> tuple[Render, frozenset[str]] | None:
        """How an item is shown, and the names that this needs; what has no brief form is shown in full."""
        return self._views.get(name) or self._views.get(DEFAULT)

    def names_of(self, item: Item) -> Iterator[str]:
        for name in self._names:
            value = name(item)
            for each in value if isinstance(value, list) else [value]:
                if each is not None:
                    yield str(each)


class Entities:
    """All entities of a site, over the state that keeps their items."""

    def __init__(self, catalog: Catalog, deployment: str, state: State) -> None:
        self.catalog = catalog
        self.state = state
        self.simulations: dict[str, SimulationDefinition] = {
            name: on_deployment(it, deployment) for name, it in catalog.simulations.all().items()
        }
        self._site = ""
        self._shown: dict[tuple[str, Any, str], Any] = {}  # what other items show, until something changes
        self._shown_at = -1
        self.bases = {
            name: on_deployment(it, deployment).get("base", "") for name, it in catalog.products.all().items()
        }
        defined: dict[str, EntityDefinition] = catalog.entities.all()
        described = [id for it in defined.values() for id in it.get("actions", ())]
        stubs = derived_entities(catalog, catalog.simulations.ids(), described)
        self._all = {name: Entity(name, it, deployment) for name, it in {**defined, **stubs}.items()}

    def simulation_of(self, product: str | None) -> SimulationDefinition:
        """How a product answers, as far as a definition says so."""
        return self.simulations.get(product or "", _UNSAID)

    @property
    def site(self) -> str:
        """Its address."""
        return self._site

    @site.setter
    def site(self, address: str) -> None:
        self._site = address
        self._shown.clear()

    def __iter__(self) -> Iterator[Entity]:
        return iter(self._all.values())

    def __getitem__(self, name: str) -> Entity:
        return self._all[name]

    def find_item(self, entity: str, name: Any) -> Item | None:
        """By its id, else by another name."""
        if isinstance(name, bool) or not isinstance(name, str | int):
            return None
        return self.state.get(entity, str(name)) or self.state.item_named(entity, str(name))

    def create_item(self, entity: str, members: Mapping[str, Any], scope: Scope) -> Item:
        """A new item, kept."""
        kind = self._all[entity]
        owner = members.get("of")
        number = self.state.next_number(f"number of {entity} in {owner}")
        known: Scope = {**scope, **members, "number": number}
        item: Item = {**_present_members(kind.new(known)), **_present_members(members)}
        member = kind.identity.get("member", "id")
        item["id"] = item[member] if member in item else self._new_id(kind, {**known, **item})
        item[member] = item["id"]
        if kind.schema:
            formats = {"date-time": scope["now"], "date": scope["now"][:10]}
            item = {**service_sample(self.catalog, kind.schema, formats), **item}
        self.keep_item(entity, item)
        return item

    def _new_id(self, kind: Entity, scope: Scope) -> str | int:
        rule = kind.identity
        if "value" in rule and (given := compile_render(rule["value"])(scope)):
            return str(given)
        if rule["kind"] == "uuid":
            return str(uuid.uuid4())
        if rule["kind"] == "hex":
            return secrets.token_hex(12)
        start = rule.get("start", _FIRST)
        while True:  # an item may have brought an id of its own
            number = self.state.next_number(f"id of {kind.name}", start)
            if self.state.get(kind.name, str(number)) is None:
                return number if rule["kind"] == "number" else str(number)

    def keep_item(self, entity: str, item: Item) -> None:
        self.state.put_item(entity, item, self._all[entity].names_of(item))

    def patch_item(
        self, entity: str, item: Item, members: Mapping[str, Any], cleared: Iterable[str], by: Scope
    ) -> None:
        """Change an item where it is; what changed of the members with a history is kept."""
        before = {name: item.get(name) for name in self._all[entity].history}
        item.update(_present_members(members))
        for name in cleared:
            item.pop(name, None)
        for name, old in before.items():
            if old != item.get(name):
                item.setdefault("history", []).append(
                    {
                        "field": name,
                        "from": old,
                        "to": item.get(name),
                        "at": by["now"],
                        "by": (by["me"] or {}).get("id"),
                    }
                )
        self.keep_item(entity, item)

    def delete_item(self, entity: str, id: str) -> None:
        """With what belongs to it, and what it takes along."""
        kind, gone = self._all[entity], self.state.get(entity, str(id))
        if gone is None:
            return
        self.state.delete_item(entity, str(id))
        for child in kind.children.values():
            for item in list(self.state.items(child["entity"], str(id))):
                self.delete_item(child["entity"], item["id"])
        for name in kind.takes:
            given = gone.get(name)
            for each in given if isinstance(given, list) else [given]:
                if each is not None:
                    self.delete_item(kind.refs[name], str(each))

    def show_item(
        self, entity: str, item: Item, view: str = DEFAULT, also: Mapping[str, Any] | None = None, depth: int = 0
    ) -> Any:
        """An item as an answer has it: what it refers to and what belongs to it are shown in turn."""
        kind = self._all[entity]
        found = kind.view_of(view)
        if found is None or depth > _DEEPEST:
            return {name: value for name, value in item.items() if name != "of"}
        render, used = found
        scope: Scope = {"site": self.site, "base": self.bases[kind.product], **(also or {}), **item, "item": item}
        for name, target in kind.refs.items():
            if name in used:
                scope[name] = self._referred_item(target, item.get(name), depth)
        for name, child in kind.children.items():
            if name in used:
                items = self.state.items(child["entity"], item["id"])
                scope[name] = [
                    self._part_view(child["entity"], each, child.get("view", BRIEF), depth) for each in items
                ]
        return render(scope)

    def _referred_item(self, entity: str, id: Any, depth: int) -> Any:
        if isinstance(id, list):
            return [shown for each in id if (shown := self._referred_item(entity, each, depth)) is not None]
        if id is None:
            return None
        if self._shown_at == self.state.changes and (known := self._shown.get((entity, str(id), BRIEF))) is not None:
            return known
        item = self.state.get(entity, str(id))
        return None if item is None else self._part_view(entity, item, BRIEF, depth)

    def _part_view(self, entity: str, item: Item, view: str, depth: int) -> Any:
        """An item as a part of another one: the same for everybody who asks."""
        if self._shown_at != self.state.changes:
            self._shown.clear()
            self._shown_at = self.state.changes
        key = (entity, str(item["id"]), view)
        found = self._shown.get(key)
        if found is None:
            found = without_null(self.show_item(entity, item, view, None, depth + 1))
            if depth == 0 and len(self._shown) < _KEPT:  # deeper ones may be cut
                self._shown[key] = found
        return found


def _present_members(members: Any) -> Item:
    return {name: value for name, value in (members or {}).items() if value is not None}


# Why a simulated service does not do what it was asked.


class RefusedError(Exception):
    """An answer that is an error; its body is written as the product writes its errors."""

    def __init__(
        self,
        status: int,
        message: str | None = None,
        fields: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message or str(status))
        self.status = status
        self.message = message
        self.fields = dict(fields or {})
        self.headers = dict(headers or {})


def refusal_of(rule: Refusal, scope: Mapping[str, Any]) -> RefusedError:
    """The refusal that a definition describes."""
    message = compile_render(rule["message"])(scope) if "message" in rule else None
    return RefusedError(rule["status"], message, compile_render(rule.get("fields", {}))(scope))
