"""Answering a list: which items, in which order, on which page, and what the page stands in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .entities import DEFAULT, Entities, compile_render, condition_holds, render_expression
from .paging import Window, facts, window
from .search import Searcher, sortable

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.rest import CompiledOperation, PaginatorDefinition
    from ..language.shape.sandbox import Listing
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

    def answer(self, listing: Listing, asked: Asked, scope: Scope) -> Any:
        """What the page stands in. Its headers go into the scope."""
        name = listing["entity"]
        view = listing.get("view", DEFAULT)
        paging = asked.definition.get("paginate")
        paginator = self.catalog.get("paginator", paging["using"]) if paging and not listing.get("whole") else None
        params = {**(asked.body if isinstance(asked.body, dict) else {}), **asked.params}
        place = window(paginator, params, _largest(asked.definition, paginator)) if paginator else Window(0, 10**9)
        items, total = self._selected(listing, scope, place)
        shown = [self.entities.show(name, item, view, seen_by_views(scope)) for item in items]
        if not paginator or not paging:
            told = {"items": shown, "total": total, "count": len(shown), "start": 0, "size": total, "last": True}
        else:
            told = facts(paginator, place, shown, total, asked.path, asked.query)
        envelope = (
            listing.get("envelope")
            or (paging and self._envelope(asked.definition["product"], paging["using"]))
            or "{items}"
        )
        scope[HEADERS] = compile_render(listing.get("headers", {}))({**scope, **told})
        body = compile_render(envelope)({**scope, **told})
        key = paging.get("items") if paging else None
        if isinstance(body, dict) and "@items" in body:
            body[key or "values"] = body.pop("@items")
        return body

    def _envelope(self, product: str, paginator: str) -> Any:
        return self.entities.simulation(product).get("pages", {}).get(paginator)

    def _selected(self, listing: Listing, scope: Scope, place: Window) -> tuple[list[Item], int]:
        name = listing["entity"]
        text = render_expression(listing["query"])(scope) if "query" in listing else None
        items = self._eligible(listing, scope)
        if text is not None or ("query" in listing and "sort" not in listing):
            return self.searcher.page(self.entities[name], str(text or ""), scope, place, items, listing.get("sort"))
        found = list(items)
        if "sort" in listing:
            key = render_expression(listing["sort"])
            found.sort(key=lambda item: sortable(key({**scope, "item": item})))
        if "descending" in listing and condition_holds(listing["descending"], scope):
            found.reverse()
        return found[place.start : place.start + place.size], len(found)

    def _eligible(self, listing: Listing, scope: Scope) -> Iterator[Item]:
        """What a list may hold, whatever its query says."""
        name, where = listing["entity"], listing.get("where")
        if "only" in listing:
            ids = [str(each) for each in render_expression(listing["only"])(scope) or []]
            items = iter([item for id in ids if (item := self.entities.find(name, id))])
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


def _largest(definition: CompiledOperation, paginator: PaginatorDefinition) -> int | None:
    """The largest page that the operation's own documents allow."""
    for param in definition.get("params", []):
        if param["name"] == paginator.get("size"):
            return int(param["maximum"]) if "maximum" in param else None
    return None
