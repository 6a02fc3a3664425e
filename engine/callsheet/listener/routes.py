"""Routes ready for use: which handlers an event goes to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import translate
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from ..errors import DefinitionError, UsageError, did_you_mean, slip_of
from ..language.compiled_jmespath import Ast, Evaluate, compile_condition, compile_fast, compile_node, expression_tree
from ..language.template import is_true
from .handlers.concurrency_limits import ConcurrencyLimit
from .handlers.event_content import RouteReply
from .handlers.target import HandlerTarget

if TYPE_CHECKING:
    from ..language.shape import listener as shape
    from .handlers.base_handler import Base
    from .verify.event import Event

# Which of many routes a given event meets, without asking each of them.
#
# Routes that demand a fixed value somewhere (`body.course_id == `7``) are found by that value in a dictionary; only
# the other conditions are tried one by one.

ValueGetter = Callable[[Any], Any]


class _Entry(NamedTuple):
    position: int
    condition: Callable[[Any], bool] | None
    item: Any


class _FixedValue(NamedTuple):
    """What a condition cannot hold without: a constant at a path. `is_all` where that is the whole condition."""

    path: str
    get_value: ValueGetter
    value: Any
    is_all: bool


class RouteIndex:
    """Items in order, each with an optional condition."""

    def __init__(self, items: Iterable[tuple[str | None, Any]]) -> None:
        self._tried: list[_Entry] = []
        self._by_value: dict[str, tuple[ValueGetter, dict[Any, list[_Entry]]]] = {}
        for position, (when, item) in enumerate(items):
            fixed = _fixed_value(expression_tree(when)) if when else None
            condition = None if when is None or (fixed is not None and fixed.is_all) else compile_condition(when)
            entry = _Entry(position, condition, item)
            if fixed is None:
                self._tried.append(entry)
            else:
                _, entries = self._by_value.setdefault(fixed.path, (fixed.get_value, {}))
                entries.setdefault(fixed.value, []).append(entry)

    @property
    def unconditional_items(self) -> list[Any] | None:
        """The items, where none of them has a condition."""
        if self._by_value or any(entry.condition is not None for entry in self._tried):
            return None
        return [entry.item for entry in self._tried]

    def matching_items(self, scope: Any) -> list[Any]:
        """The items whose conditions hold, in order."""
        entries = list(self._tried)
        for get_value, by_value in self._by_value.values():
            value = get_value(scope)
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                entries += by_value.get(value, ())
        entries = [entry for entry in entries if entry.condition is None or entry.condition(scope)]
        entries.sort(key=lambda entry: entry.position)
        return [entry.item for entry in entries]


def _fixed_value(node: Ast | None) -> _FixedValue | None:
    if node is None:
        return None
    if node["type"] == "and_expression":
        found = next((fixed for child in node["children"] if (fixed := _fixed_value(child))), None)
        return found and found._replace(is_all=False)
    if node["type"] != "comparator" or node["value"] != "eq":
        return None
    first, second = node["children"]
    return _value_at(first, second) or _value_at(second, first)


def _value_at(path: Ast, literal: Ast) -> _FixedValue | None:
    get_value = compile_node(path) if path["type"] in ("field", "subexpression") else None
    if get_value is None or literal["type"] != "literal":
        return None
    value = literal["value"]
    is_usable = isinstance(value, str | int | float) and not isinstance(value, bool) and is_true(value)
    return _FixedValue(repr(path), get_value, value, is_all=True) if is_usable else None


# Routes ready for use: which events are wanted, and what is to be done with each.

_MAX_PLANS = 4096


class Job(NamedTuple):
    """One handler of one route; `id` stays the same over restarts, so that a retry knows what succeeded."""

    id: str
    handler: Base
    order: Evaluate | None
    concurrency_limits: tuple[ConcurrencyLimit, ...]
    target: HandlerTarget
    reply: RouteReply | None = None


class Route(NamedTuple):
    name: str
    definition: shape.RouteDefinition
    jobs: tuple[Job, ...]


class EventPlan(NamedTuple):
    """What becomes of one type of event of one source. `requires` is what such an event cannot be without.

    `jobs` are there where no route has a condition.
    """

    known: bool
    wanted: bool
    requires: Callable[[Any], bool] | None
    routes: RouteIndex
    jobs: list[Job] | None


def make_route(
    name: str,
    definition: shape.RouteDefinition,
    handlers: Sequence[Base],
    note: Callable[[str], None],
    processes: int = 1,
) -> Route:
    """`note` is told of handlers that are left alone. Raises `DefinitionError` for an answer that cannot be made."""
    reply = RouteReply(definition["reply"]) if "reply" in definition else None
    if reply is not None and len(handlers) > 1:
        raise DefinitionError(
            "the route must have one handler, whose result it sees: put the others into another route"
        )
    order = compile_fast(definition["order"]) if "order" in definition else None
    limit = definition.get("concurrency")
    jobs = []
    for number, (handler, table) in enumerate(zip(handlers, definition["do"], strict=True), 1):
        concurrency_limits = (
            (ConcurrencyLimit(limit), *handler.concurrency_limits) if limit else handler.concurrency_limits
        )
        id = f"{name}/{table.get('name', number)}"
        target = HandlerTarget(cast("Mapping[str, Any]", table), id, note, processes)
        jobs.append(Job(id, handler, order, concurrency_limits, target, reply))
    return Route(name, definition, tuple(jobs))


class RoutingTable:
    """`types` maps an event's source and type, or pattern, to its definition; `filters` limit both."""

    def __init__(
        self, types: Mapping[tuple[str, str], Any], routes: Sequence[Route], filters: Sequence[str] = ()
    ) -> None:
        self.routes = routes
        self._exact = {key: event for key, event in types.items() if not is_pattern(key[1])}
        self._patterns = [
            (key[0], compile_pattern(key[1]), event) for key, event in types.items() if is_pattern(key[1])
        ]
        self._filters = [compile_pattern(word) for word in filters]
        self._plans: dict[tuple[str, str], EventPlan] = {}

    def plan_of_event(self, event: Event) -> EventPlan:
        key = (event.source.name, event.type)
        found = self._plans.get(key)
        if found is None:
            if len(self._plans) >= _MAX_PLANS:
                self._plans.clear()
            found = self._plans[key] = self._make_plan(*key)
        return found

    def jobs_for_event(self, plan: EventPlan, event: Event) -> list[Job]:
        """What is to be done with an event, in the order of the routes."""
        if plan.jobs is not None:
            return plan.jobs
        return [job for route in plan.routes.matching_items(event.fast_scope) for job in route.jobs]

    def _make_plan(self, source: str, type_: str) -> EventPlan:
        event = self._definition_of(source, type_)
        known = event is not None
        wanted = known and (not self._filters or any(regex.match(type_) for regex in self._filters))
        matching = [route for route in self.routes if wanted and is_for_type(route.definition, source, type_)]
        requires = compile_condition(event["requires"]) if event and "requires" in event else None
        index = RouteIndex((route.definition.get("when"), route) for route in matching)
        routes = index.unconditional_items
        jobs = None if routes is None else [job for route in routes for job in route.jobs]
        return EventPlan(known, wanted, requires, index, jobs)

    def _definition_of(self, source: str, type_: str) -> Any:
        """The definition of a type: its own, or that of the first pattern that fits."""
        if (source, type_) in self._exact:
            return self._exact[source, type_]
        found = (event for name, regex, event in self._patterns if name == source and regex.match(type_))
        return next(found, None)


def is_for_type(definition: shape.RouteDefinition, source: str, type_: str) -> bool:
    """Whether a route is for events of this type, whatever its condition says."""
    if source not in definition.get("source", (source,)):
        return False
    return any(compile_pattern(word).match(type_) for word in definition.get("on", ("*",)))


def is_pattern(word: str) -> bool:
    return any(character in word for character in "*?[")


def compile_pattern(word: str) -> re.Pattern[str]:
    return re.compile(translate(word))


def event_types(
    events: Mapping[str, shape.EventDefinition], sources: Sequence[str]
) -> dict[tuple[str, str], shape.EventDefinition]:
    """Events by source and type, in the order of their definitions."""
    return {
        (event["source"], event.get("type", name)): event
        for name, event in events.items()
        if event["source"] in sources
    }


def check_event_types(words: Sequence[str], types: Mapping[tuple[str, str], Any], where: Callable[[int], str]) -> None:
    """Raises `UsageError` for a type or pattern that none of the types can be. `where` tells the place of a word."""
    names = [type_ for _, type_ in types]
    known = [name for name in names if not is_pattern(name)]
    for number, word in enumerate(words):
        unknown = not any(_may_match(word, name) for name in names)
        if unknown or (not is_pattern(word) and word not in known and slip_of(word, known)):
            what = "no event matches" if is_pattern(word) else "unknown event type"
            raise UsageError(
                f"{where(number)}: {what} {word!r}{did_you_mean(word, known)}", hint="see `{program} webhook events`"
            )


def _may_match(word: str, name: str) -> bool:
    """Whether a word of a filter can mean a defined type; of two patterns that is taken for granted."""
    if is_pattern(name):
        return is_pattern(word) or bool(compile_pattern(name).match(word))
    return bool(compile_pattern(word).match(name))


def split_commas(given: Sequence[str]) -> list[str]:
    """`["a, b", "c"]` → a, b, c."""
    return [word for text in given for part in text.split(",") if (word := part.strip())]
