"""What an operation does: what it names is found, conditions are checked, changes are made, and it answers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import UsageError
from ..registry import BEHAVIORS, resolve_entry
from .entities import (
    BRIEF,
    DEFAULT,
    Entities,
    Entity,
    RefusedError,
    compile_render,
    condition_holds,
    looks_at_item,
    refusal_of,
    render_expression,
    without_null,
)
from .list_pages import Window, page_facts, page_window
from .search import Searcher, parse_item_time, sortable_value

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.rest import CompiledOperation, PaginatorDefinition
    from ..language.shape.sandbox import ActionHere, Change, EntitySearch, Listing, Refusal, Repeat
    from ..language.template import Scope
    from .state import Item


FIND, HEADERS = "@find", "@headers"  # no expression can name them


class Asked(NamedTuple):
    """A request for an operation: who asks, with what, when."""

    operation: str
    definition: CompiledOperation
    params: dict[str, Any]
    body: Any
    files: list[tuple[str, str, bytes]]  # name, media type, content
    me: Item | None
    now: str
    path: str
    query: list[tuple[str, str]]


class Lists:
    """Answers the lists of all entities."""

    def __init__(self, catalog: Catalog, entities: Entities, searcher: Searcher) -> None:
        self.catalog = catalog
        self.entities = entities
        self.searcher = searcher

    def answer_list(self, listing: Listing, asked: Asked, scope: Scope) -> Any:
        """What the page stands in. Its headers go into the scope."""
        name = listing["entity"]
        view = listing.get("view", DEFAULT)
        paging = asked.definition.get("paginate")
        paginator = self.catalog.paginators.get(paging["using"]) if paging and not listing.get("whole") else None
        params = {**(asked.body if isinstance(asked.body, dict) else {}), **asked.params}
        place = (
            page_window(paginator, params, _largest_page(asked.definition, paginator))
            if paginator
            else Window(0, 10**9)
        )
        items, total = self._selected_items(listing, scope, place)
        shown = [self.entities.show_item(name, item, view, seen_by_views(scope)) for item in items]
        if not paginator or not paging:
            told = {"items": shown, "total": total, "count": len(shown), "start": 0, "size": total, "last": True}
        else:
            told = page_facts(paginator, place, shown, total, asked.path, asked.query)
        envelope = (
            listing.get("envelope")
            or (paging and self._envelope_of(asked.definition["product"], paging["using"]))
            or "{items}"
        )
        scope[HEADERS] = compile_render(listing.get("headers", {}))({**scope, **told})
        body = compile_render(envelope)({**scope, **told})
        key = paging.get("items") if paging else None
        if isinstance(body, dict) and "@items" in body:
            body[key or "values"] = body.pop("@items")
        return body

    def _envelope_of(self, product: str, paginator: str) -> Any:
        return self.entities.simulation_of(product).get("pages", {}).get(paginator)

    def _selected_items(self, listing: Listing, scope: Scope, place: Window) -> tuple[list[Item], int]:
        name = listing["entity"]
        text = render_expression(listing["query"])(scope) if "query" in listing else None
        items = self._eligible_items(listing, scope)
        if text is not None or ("query" in listing and "sort" not in listing):
            return self.searcher.search_page(
                self.entities[name], str(text or ""), scope, place, items, listing.get("sort")
            )
        found = list(items)
        if "sort" in listing:
            key = render_expression(listing["sort"])
            found.sort(key=lambda item: sortable_value(key({**scope, "item": item})))
        if "descending" in listing and condition_holds(listing["descending"], scope):
            found.reverse()
        return found[place.start : place.start + place.size], len(found)

    def _eligible_items(self, listing: Listing, scope: Scope) -> Iterator[Item]:
        """What a list may hold, whatever its query says."""
        name, where = listing["entity"], listing.get("where")
        if "only" in listing:
            ids = [str(each) for each in render_expression(listing["only"])(scope) or []]
            items = iter([item for id in ids if (item := self.entities.find_item(name, id))])
        else:
            items = self.entities.state.items(
                name, render_expression(listing["of"])(scope) if "of" in listing else None
            )
        if where is None:
            return items
        return (item for item in items if condition_holds(where, {**scope, "item": item}))


def seen_by_views(scope: Scope) -> Mapping[str, Any]:
    """What a view sees of the request, and of what it found."""
    return {name: scope[name] for name in ("params", "me", "now", *scope[FIND])}


def _largest_page(definition: CompiledOperation, paginator: PaginatorDefinition) -> int | None:
    """The largest page that the operation's own documents allow."""
    for param in definition.get("params", []):
        if param["name"] == paginator.get("size"):
            return int(param["maximum"]) if "maximum" in param else None
    return None


_NOT_THERE: Refusal = {"status": 404}


class Answer(NamedTuple):
    """`body` is a JSON value; bytes go out as they are."""

    status: int
    body: Any = None
    headers: tuple[tuple[str, str], ...] = ()
    event: Any = None


class Actions:
    """Runs the actions of all entities."""

    def __init__(self, catalog: Catalog, entities: Entities) -> None:
        self.catalog = catalog
        self.entities = entities
        self.reached: tuple[str | int, ...] = ()  # what of the last action was looked at last: where it was refused
        self.lists = Lists(catalog, entities, Searcher(catalog, entities))
        self.by_operation: dict[str, tuple[Entity, ActionHere]] = {
            catalog.canonical_id("operation", operation): (entity, action)
            for entity in entities
            for operation, action in entity.actions.items()
        }

    def run_operation(self, asked: Asked) -> Answer:
        """Raises `RefusedError`; then nothing has changed."""
        if asked.operation not in self.by_operation:
            raise RefusedError(501, f"the sandbox does not simulate {asked.operation}")
        entity, action = self.by_operation[asked.operation]
        scope: Scope = {
            FIND: action.get("find", {}),
            "params": asked.params,
            "body": asked.body,
            "me": asked.me,
            "now": asked.now,
            "site": self.entities.site,
            "base": self.entities.bases[entity.product],
            "files": [{"name": name, "media": media, "size": len(content)} for name, media, content in asked.files],
        }
        self.reached = ("body",)
        if entity.schema:
            self._check_body(asked)
        for name, search in action.get("find", {}).items():
            self.reached = ("find", name)
            scope[name] = self._find_named(search, scope)
        for case in action.get("cases", []):
            if condition_holds(case.get("when", "`true`"), scope):
                action = {**action, **case}  # type: ignore[typeddict-unknown-key]  # a case has `when` besides
                break
        for place, check in enumerate(action.get("check", [])):
            self.reached = ("check", place)
            if not condition_holds(check["unless"], scope):
                raise refusal_of(check["fail"], scope)
        if "repeat" in action:
            self._repeat_changes(action["repeat"], scope, asked)
        self.reached = ("do",)
        for change in action.get("do", []):
            self._make_changes(entity, change, scope, asked)
        return self._answer_of(entity, action, scope, asked)

    def _check_body(self, asked: Asked) -> None:
        """Against what the operation documents, where it documents something."""
        from ..client.request.json_body import check_json  # loads what checks schemas

        schema = asked.definition.get("body", {}).get("schema")
        if schema is None:
            return
        try:
            check_json(asked.body, schema, self.catalog, asked.operation, "")
        except UsageError as error:
            raise RefusedError(400, "; ".join([str(error), *error.details])) from None

    def _repeat_changes(self, repeat: Repeat, scope: Scope, asked: Asked) -> None:
        """What is refused of one entry does not end the others."""
        operation = self.catalog.canonical_id("operation", repeat["operation"])
        scope["answers"], scope["failed"] = [], []
        for place, body in enumerate(render_expression(repeat["each"])(scope) or []):
            try:
                scope["answers"].append(self.run_operation(asked._replace(operation=operation, body=body)).body)
            except RefusedError as refusal:
                told = {"status": refusal.status, "message": refusal.message, "fields": refusal.fields}
                scope["failed"].append({**told, "place": place})

    def _find_named(self, search: EntitySearch, scope: Scope) -> Item | list[Item] | None:
        value = render_expression(search["by"])(scope) if "by" in search else None
        if search.get("several"):
            return self._all_found(search, value, scope)
        given = next((each for each in value if each is not None), None) if isinstance(value, list) else value
        if given is None and search.get("optional"):
            return None
        return self._one_found(search, given, scope)

    def _all_found(self, search: EntitySearch, names: Any, scope: Scope) -> list[Item]:
        if "by" in search:
            found = [self._one_found(search, each, scope) for each in names or []]
            return [each for each in found if each is not None]
        where = search.get("where", "`true`")
        if not looks_at_item(where):  # the same for all: a view that was not asked for reads no table
            return list(self.entities.state.items(search["entity"])) if condition_holds(where, scope) else []
        return [
            item
            for item in self.entities.state.items(search["entity"])
            if condition_holds(where, {**scope, "item": item})
        ]

    def _one_found(self, search: EntitySearch, given: Any, scope: Scope) -> Item | None:
        item = None if given is None else self.entities.find_item(search["entity"], given)
        if item is None or not condition_holds(search.get("where", "`true`"), {**scope, "item": item}):
            if search.get("optional") and "missing" not in search:
                return None
            raise refusal_of(search.get("missing", _NOT_THERE), {**scope, "given": given})
        return item

    def _make_changes(self, entity: Entity, change: Change, scope: Scope, asked: Asked) -> None:
        entries = render_expression(change["each"])(scope) if "each" in change else [None]
        for entry in entries if isinstance(entries, list) else []:
            inner: Scope = {**scope, "entry": entry}
            if condition_holds(change.get("when", "`true`"), inner):
                self._apply_change(entity, change, inner, asked)
                scope.update({name: inner[name] for name in inner if name not in scope and name != "entry"})

    def _apply_change(self, entity: Entity, change: Change, scope: Scope, asked: Asked) -> None:
        members = compile_render(change.get("to", {}))(scope)
        if "create" in change:
            made = self.entities.create_item(change["create"], members, scope)
            scope[change.get("name", "made")] = made
            self._keep_file(made, scope, asked)
        elif "patch" in change:
            cleared = render_expression(change.get("clear", "`[]`"))(scope) or []
            for kind, item in self._items_changed(entity, change, change["patch"], scope):
                self.entities.patch_item(kind, item, members, cleared, scope)
                self._keep_file(item, scope, asked)
        elif "delete" in change:
            for kind, item in self._items_changed(entity, change, change["delete"], scope):
                self.entities.delete_item(kind, item["id"])
        elif "run" in change:
            resolve_entry(BEHAVIORS[change["run"]])(self.entities, members, scope)

    def _keep_file(self, made: Item, scope: Scope, asked: Asked) -> None:
        """The content of an uploaded file, where the item is made or changed for one."""
        entry = scope.get("entry")
        for (_, _, content), file in zip(asked.files, scope["files"], strict=True):
            if entry is file:
                self.entities.state.put_file(made["id"], content)

    def _items_changed(self, entity: Entity, change: Change, where: str, scope: Scope) -> list[tuple[str, Item]]:
        """The items that an expression gives or names, with the entity that they belong to."""
        search = scope[FIND].get(where)
        name = change.get("entity") or (search["entity"] if search else entity.name)
        value = render_expression(where)(scope)
        found = []
        for each in value if isinstance(value, list) else [value]:
            item = each if isinstance(each, dict) else self.entities.find_item(name, each)
            if item is None:
                raise RefusedError(404, f"{name} {each!r} does not exist")
            found.append((name, item))
        return found

    def _answer_of(self, entity: Entity, action: ActionHere, scope: Scope, asked: Asked) -> Answer:
        status = action.get("status", 200)
        body: Any = None
        if "file" in action:
            item = render_expression(action["file"])(scope)
            return self._file_answer(item)
        if "list" in action:
            body = self.lists.answer_list(action["list"], asked, scope)
        elif "reply" in action:
            body = compile_render(action["reply"])(scope)
        elif "view" in action:
            body = self._shown_for_event(entity, action, scope)
        for name, wanted in action.get("only", {}).items():
            _keep_only(body, name, render_expression(wanted)(scope))
        headers = tuple(without_null(scope.get(HEADERS, {})).items())
        return Answer(status, without_null(body), headers, self._send_event(entity, action, scope))

    def _send_event(self, entity: Entity, action: ActionHere, scope: Scope) -> Any:
        """What listeners are told, in the form of the product."""
        event = action.get("event")
        template = self.entities.simulation_of(entity.product).get("event")
        if event is None or template is None:
            return None
        shown = {name: self._event_part(action, name, scope) for name in event.get("shows", [])}
        people = self.entities.simulation_of(entity.product).get("me")
        user = self.entities.show_item(people, scope["me"], BRIEF) if people and scope["me"] else None
        millis = round(parse_item_time(scope["now"]).timestamp() * 1000)
        told = compile_render(template)(
            {**scope, "name": event["name"], "shown": shown, "user": user, "millis": millis}
        )
        return without_null(told)

    def _event_part(self, action: ActionHere, name: str, scope: Scope) -> Any:
        item = scope.get(name) or scope.get("made") or scope.get("item")
        search = action.get("find", {}).get(name)
        return None if item is None else self.entities.show_item(search["entity"] if search else name, item)

    def _shown_for_event(self, entity: Entity, action: ActionHere, scope: Scope) -> Any:
        shown = action.get("shown", "made || item")
        name = scope[FIND].get(shown, {}).get("entity") or self._entity_made(action, shown) or entity.name
        value = render_expression(shown)(scope)
        if isinstance(value, list):
            return [self.entities.show_item(name, each, action["view"], seen_by_views(scope)) for each in value]
        return self.entities.show_item(name, value or {}, action["view"], seen_by_views(scope))

    @staticmethod
    def _entity_made(action: ActionHere, name: str) -> str | None:
        """The entity of what a change of this action made under a name."""
        return next(
            (each["create"] for each in action.get("do", []) if each.get("name") == name and "create" in each), None
        )

    def _file_answer(self, item: Item | None) -> Answer:
        content = self.entities.state.file_content(item["id"]) if item else None
        if item is None or content is None:
            raise RefusedError(404)
        return Answer(200, content, (("Content-Type", str(item.get("media") or "application/octet-stream")),))


def _keep_only(body: Any, name: str, wanted: Any) -> None:
    """Only the members of a table that were asked for, in the answer or in each item of its lists."""
    if not wanted:
        return
    names = {
        part.strip() for each in (wanted if isinstance(wanted, list) else [wanted]) for part in str(each).split(",")
    }
    taken = {name[1:] for name in names if name.startswith("-")}
    everything = not (names - {f"-{each}" for each in taken}) or bool(names & {"*all", "*navigable"})
    for table in _tables_in_body(body):
        if isinstance(table.get(name), dict):
            table[name] = {
                key: value for key, value in table[name].items() if (everything or key in names) and key not in taken
            }


def _tables_in_body(body: Any) -> list[dict[str, Any]]:
    if isinstance(body, list):
        return [each for each in body if isinstance(each, dict)]
    if not isinstance(body, dict):
        return []
    lists = [value for value in body.values() if isinstance(value, list)]
    return [body, *(each for items in lists for each in items if isinstance(each, dict))]
