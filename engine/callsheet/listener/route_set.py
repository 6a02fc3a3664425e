"""Routes out of the definitions in use and out of files named for one run, and what may go wrong with them."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..errors import DefinitionError, UsageError, did_you_mean
from ..files import changeable_by_others
from ..language.layers import Layer
from ..language.problem import place_of
from ..language.source_file import Definitions
from ..language.value_kinds import type_faults, types_of_samples
from .handlers import HandlerContext
from .handlers.base_handler import make_handlers
from .routes import (
    Route,
    RoutingTable,
    check_event_types,
    compile_pattern,
    event_types,
    is_for_type,
    is_pattern,
    make_route,
)

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape import listener as shape
    from .routes import Job

# Routes and types of events out of the definitions in use, and out of the files named for one run.


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
    def jobs(self) -> list[Job]:
        return [job for route in self.routes for job in route.jobs]

    @property
    def ordered_routes(self) -> list[str]:
        """The routes whose events are handled one by one."""
        return [route.name for route in self.routes if "order" in route.definition]


def check_order(route_set: RouteSet, processes: int, *, shares_queue: bool) -> None:
    """Raises `UsageError` where several processes could handle events that are to be handled one by one."""
    if route_set.ordered_routes and (processes > 1 or shares_queue):
        others = "a queue is for any number of processes" if shares_queue else f"--workers asks for {processes}"
        hint = "handle these events by `webhook listen --inbox`" if shares_queue else "leave out --workers"
        name = route_set.ordered_routes[0]
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
    is_used = selection.files or catalog.routes.ids()
    definitions = load_checked(catalog.layers, selection.files) if is_used else Definitions()
    events = {
        id: definition.table for (kind, id), definition in definitions.items() if kind == "event"
    } or catalog.events.all()
    own = {id: definition.table for (kind, id), definition in definitions.items() if kind == "envelope"}
    envelopes = cast("dict[str, shape.EnvelopeDefinition]", own) or catalog.envelopes.all()
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
        brokers=catalog.brokers.all(),
        stored=_stored(catalog, context),
    )
    routes = []
    for name, definition, folder in chosen:
        where = partial(_place_of_route, definitions, name)
        check_event_types(definition.get("on", ()), _types_for(definition, types), partial(where, "on"))
        context = context._replace(folder=folder, wants_result="reply" in definition)
        handlers = make_handlers(definition["do"], context, partial(where, "do"))
        try:
            routes.append(make_route(name, definition, handlers, context.report, context.processes))
        except DefinitionError as error:
            raise UsageError(f"{where('reply')}: {error.message}", hint=error.hint) from None
    return RouteSet(types, routes, RoutingTable(types, routes, selection.events))


def _stored(catalog: Catalog, context: HandlerContext) -> Callable[[str], str]:
    """What finds a secret in the key store by its name."""

    def get(name: str) -> str:
        from .verify.secret_options import NamedSecrets

        prefix = catalog.programs.get(catalog.program)["prefix"]
        return NamedSecrets(prefix, context.environ, catalog.program).get_secret(name)

    return get


def _place_of_route(definitions: Definitions, name: str, *path: str | int) -> str:
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
    from ..catalog.compile import qualified_names
    from ..language.check import check_definitions
    from ..language.load import load_definitions
    from ..language.source_file import read_definition_file
    from ..registry import registered_names

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


# What is allowed in routes and may go wrong, and routes that can never match.


def warnings_of_routes(route_set: RouteSet, filters: Sequence[str]) -> list[str]:
    return [text for route in route_set.routes for text in _route_warnings(route, route_set, filters)]


def _route_warnings(route: Route, route_set: RouteSet, filters: Sequence[str]) -> Iterator[str]:
    name = f'route "{route.name}"'
    types = [(source, type_) for source, type_ in route_set.types if is_for_type(route.definition, source, type_)]
    unclear = any(is_pattern(type_) for _, type_ in route_set.types)
    if not types and not unclear:
        yield f"{name} can never match: no source that is received sends such events"
    elif (
        filters
        and not unclear
        and not any(compile_pattern(word).match(type_) for word in filters for _, type_ in types)
    ):
        yield f"{name} can never match: --events leaves none of its types"
    when = route.definition.get("when")
    if when is not None:
        bodies = [route_set.types[key]["sample"] for key in types if "sample" in route_set.types[key]]
        yield from (
            f"{name}: when: {text}, as far as the samples of its events tell"
            for text in type_faults(when, types_of_samples(bodies, "body"))
        )


def warnings_of_handlers(rules: RouteSet, only: Sequence[str]) -> list[str]:
    """`only` are the types that are handled at all."""
    return [*warnings_of_routes(rules, only), *doubts_of_handlers(rules)]


def doubts_of_handlers(rules: RouteSet) -> list[str]:
    return [f"handler {job.id}: {text}" for job in rules.jobs for text in job.handler.configuration_warnings()]


# Runs that exceeded their time and cannot be ended: how many, and what is done where they keep every place.

INTERVAL = 1.0


class OverdueRuns:
    """`rules` gives the routes of the moment. `restart` is there where another process takes over from this one."""

    def __init__(
        self, rules: Callable[[], RouteSet], note: Callable[[str], None], restart: Callable[[], None] | None
    ) -> None:
        self._rules = rules
        self._note = note
        self._restart = restart

    def counts_by_job(self) -> dict[str, float]:
        """Overdue runs by job, of those that have any."""
        return {job.id: float(job.handler.overdue_runs) for job in self._rules().jobs if job.handler.overdue_runs}

    def stuck_jobs(self) -> set[str]:
        """The jobs that can handle nothing until such a run ends."""
        return {job.id for job in self._rules().jobs if job.handler.is_stuck}

    async def watch_runs(self) -> None:
        reported: set[str] = set()
        while True:
            await asyncio.sleep(INTERVAL)
            stuck = self.stuck_jobs()
            for job in sorted(stuck - reported):
                self._note(f"{job}: runs that exceeded their time keep all its places: none is free")
            for job in sorted(reported - stuck):
                self._note(f"{job}: has a free place again")
            reported = stuck
            if stuck and self._restart is not None:
                self._note("this process ends its work and is started again")
                self._restart()
                return
