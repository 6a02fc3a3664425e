"""Routes and types of events out of the definitions in use, and out of the files named for one run."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ...errors import DefinitionError, UsageError, did_you_mean
from ...files import changeable_by_others
from ...language.layers import Layer
from ...language.problem import place_of
from ...language.source_file import Definitions
from ..handlers import HandlerContext, make_handlers
from .route import Route, RoutingTable, check_event_types, event_types, make_route

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog
    from ...language.shape import listener as shape


class RouteSelection(NamedTuple):
    """What one run of the listener was asked for."""

    sources: tuple[str, ...]
    events: tuple[str, ...]
    files: tuple[str, ...]
    handlers: tuple[str, ...]
    forwards: tuple[str, ...] = ()


class RouteSet(NamedTuple):
    types: dict[tuple[str, str], shape.EventDefinition]
    routes: list[Route]
    routing_table: RoutingTable

    @property
    def ordered(self) -> list[str]:
        """The routes whose events are handled one by one."""
        return [route.name for route in self.routes if "order" in route.definition]


def check_order(route_set: RouteSet, processes: int, *, shares_queue: bool) -> None:
    """Raises `UsageError` where several processes could handle events that are to be handled one by one."""
    if route_set.ordered and (processes > 1 or shares_queue):
        others = "a queue is for any number of processes" if shares_queue else f"--workers asks for {processes}"
        hint = "handle these events by `webhook listen --inbox`" if shares_queue else "leave out --workers"
        name = route_set.ordered[0]
        raise UsageError(f'route "{name}": order holds in one process only, and {others}', hint=f"{hint}, or order")


def check_replies(route_set: RouteSet, *, keeps_events: bool) -> None:
    """Raises `UsageError` where senders are answered before their events are handled."""
    names = [route.name for route in route_set.routes if "reply" in route.definition]
    if names and keeps_events:
        raise UsageError(
            f'route "{names[0]}": reply: with an inbox or a queue, senders are answered before handlers run',
            hint="leave out --inbox and --queue, or reply",
        )


_ALLOWED_KINDS = {"route", "event", "envelope", "defaults", "schema"}
LocatedRoute = tuple[str, "shape.RouteDefinition", str]


def read_routes(catalog: Catalog, selection: RouteSelection, context: HandlerContext) -> RouteSet:
    """Raises `UsageError` for what is broken, naming file and line; nothing is changed then."""
    is_used = selection.files or catalog.ids("route")
    definitions = load_checked(catalog.layers, selection.files) if is_used else Definitions()
    events = {id: definition.table for (kind, id), definition in definitions.items() if kind == "event"} or catalog.all(
        "event"
    )
    own = {id: definition.table for (kind, id), definition in definitions.items() if kind == "envelope"}
    envelopes = cast("dict[str, shape.EnvelopeDefinition]", own) or catalog.all("envelope")
    types = event_types(cast("dict[str, shape.EventDefinition]", events), selection.sources)
    check_event_types(selection.events, types, lambda _: "--events")
    chosen = [
        *_defined_routes(definitions),
        *_handler_routes(selection.handlers),
        *_forward_routes(selection.forwards),
    ]
    tables = [cast("dict[str, Any]", table) for _, definition, _ in chosen for table in definition["do"]]
    logins = {name for table in tables if (name := table.get("login", {}).get("env"))}
    context = context._replace(
        hidden=context.hidden | logins,
        envelopes=envelopes,
        brokers=catalog.all("broker"),
        stored=_stored(catalog, context),
    )
    routes = []
    for name, definition, folder in chosen:
        where = partial(_where, definitions, name)
        check_event_types(definition.get("on", ()), _types_for(definition, types), partial(where, "on"))
        context = context._replace(folder=folder, wants_result="reply" in definition)
        handlers = make_handlers(definition["do"], context, partial(where, "do"))
        try:
            routes.append(make_route(name, definition, handlers, context.report))
        except DefinitionError as error:
            raise UsageError(f"{where('reply')}: {error.message}", hint=error.hint) from None
    return RouteSet(types, routes, RoutingTable(types, routes, selection.events))


def _stored(catalog: Catalog, context: HandlerContext) -> Callable[[str], str]:
    """What finds a secret in the key store by its name."""

    def get(name: str) -> str:
        from ..verify.secret_options import NamedSecrets

        prefix = catalog.get("program", catalog.program)["prefix"]
        return NamedSecrets(prefix, context.environ, catalog.program).get(name)

    return get


def _where(definitions: Definitions, name: str, *path: str | int) -> str:
    """File, line and place of a defined route; options have their own names."""
    found = definitions.get(("route", name))
    return f'route "{name}"' if found is None else place_of(found, path)


def _types_for(
    definition: shape.RouteDefinition, types: Mapping[tuple[str, str], shape.EventDefinition]
) -> dict[tuple[str, str], shape.EventDefinition]:
    sources = definition.get("source")
    return {key: event for key, event in types.items() if sources is None or key[0] in sources}


def _defined_routes(definitions: Definitions) -> list[LocatedRoute]:
    """Routes by name with the folder that their relative paths start from: that of the file which said it last."""
    return [
        (
            id,
            cast("shape.RouteDefinition", definition.table),
            os.path.dirname(os.path.abspath(definition.files[-1].path)),
        )
        for (kind, id), definition in definitions.items()
        if kind == "route"
    ]


def load_checked(layers: Sequence[Layer], files: Sequence[str]) -> Definitions:
    from ...catalog.compile import qualified_names
    from ...language.check import check_definitions
    from ...language.load import load_definitions
    from ...language.source_file import read_definition_file
    from ...registry import registered_names

    for path in files:
        if not os.path.isfile(path):
            raise UsageError(f"--routes: no file {path}")
        doubt = changeable_by_others(path)
        if doubt is not None:  # they say which programs run
            raise UsageError(f"--routes: {doubt}", hint=doubt.remedy)
        if other := set(read_definition_file(path).tables) - _ALLOWED_KINDS:
            name = min(other)
            near, hint = did_you_mean(name, _ALLOWED_KINDS), f"allowed: {', '.join(sorted(_ALLOWED_KINDS))}"
            raise UsageError(f"--routes: {path}: {name!r} is not allowed in this file{near}", hint=hint)
    definitions = load_definitions([*layers, *(Layer(os.path.abspath(path)) for path in files)])
    check_definitions(definitions, {"operation": qualified_names(definitions)}, registered_names())
    return definitions


def _handler_routes(handlers: Sequence[str]) -> list[LocatedRoute]:
    """`--handler CMD`: a route for every event, run where the listener was started."""
    routes: list[LocatedRoute] = []
    for number, text in enumerate(handlers, 1):
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--handler: {text!r}: {error}") from None
        if not words:
            raise UsageError("--handler: no program")
        table: Any = {"handler": "exec", "run": [_escape_template(word) for word in words]}
        routes.append((f"--handler {number}", {"do": [table]}, ""))
    return routes


def _forward_routes(urls: Sequence[str]) -> list[LocatedRoute]:
    """`--forward-to URL`: a route that sends every event on as it came."""
    tables: list[Any] = [{"handler": "forward", "url": _escape_template(url)} for url in urls]
    return [(f"--forward-to {number}", {"do": [table]}, "") for number, table in enumerate(tables, 1)]


def _escape_template(text: str) -> str:
    """A template that is just this text."""
    return text.replace("{", "{{").replace("}", "}}")
