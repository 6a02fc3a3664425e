"""What is allowed in routes and may go wrong, and routes that can never match."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...language.compiled_jmespath import Ast, expression_tree
from .route import Route, accepts, is_pattern, pattern

if TYPE_CHECKING:
    from .route_set import RouteSet


def warnings(route_set: RouteSet, filters: Sequence[str]) -> list[str]:
    return [text for route in route_set.routes for text in _route_warnings(route, route_set, filters)]


def _route_warnings(route: Route, route_set: RouteSet, filters: Sequence[str]) -> Iterator[str]:
    name = f'route "{route.name}"'
    types = [(source, type_) for source, type_ in route_set.types if accepts(route.definition, source, type_)]
    unclear = any(is_pattern(type_) for _, type_ in route_set.types)
    if not types and not unclear:
        yield f"{name} can never match: no source that is received sends such events"
    elif filters and not unclear and not any(pattern(word).match(type_) for word in filters for _, type_ in types):
        yield f"{name} can never match: --events leaves none of its types"
    when = route.definition.get("when")
    if when is not None and (node := expression_tree(when)) is not None:
        yield from (f"{name} can never match: when: {text}" for text in _condition(when, node, [t for _, t in types]))


def _condition(when: str, node: Ast, types: Sequence[str]) -> Iterator[str]:
    if node["type"] == "comparator" and node["value"] in ("lt", "lte", "gt", "gte"):
        sides = [side for side in node["children"] if side["type"] == "literal"]
        if any(isinstance(side["value"], bool | list | dict | type(None)) for side in sides):
            yield f"{when!r} compares the order of what has none"
    demanded = _required_type(node)
    if demanded is not None and types and not any(is_pattern(each) for each in types) and demanded not in types:
        yield f"{when!r} demands a type that `on` excludes"


def _required_type(node: Ast) -> Any:
    if node["type"] != "comparator" or node["value"] != "eq":
        return None
    first, second = node["children"]
    for field, literal in ((first, second), (second, first)):
        if field.get("value") == "event_type" and field["type"] == "field" and literal["type"] == "literal":
            return literal["value"]
    return None


def doubts(rules: RouteSet, only: Sequence[str]) -> list[str]:
    """`only` are the types that are handled at all."""
    return [*warnings(rules, only), *doubts_of_handlers(rules)]


def doubts_of_handlers(rules: RouteSet) -> list[str]:
    jobs = [job for route in rules.routes for job in route.jobs]
    return [f"handler {job.id}: {text}" for job in jobs for text in job.handler.doubts()]
