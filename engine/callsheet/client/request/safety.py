"""What a request may do: read, write or destroy. The one place that judges it, however the request was spelled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ...language.deployment import deployment_variants
from ...language.safety import Safety, by_method, class_for_policies, removes_something, worst_safety
from .model import Request
from .readings import Segments, is_encoded_too_often, overriding_methods, overriding_paths, path_of, readings

if TYPE_CHECKING:
    from ...catalog.catalog import Catalog

_VERSION = re.compile(r"v?\d+(?:\.\d+)*|latest")
_HOLE = "{}"


class PathTemplate(NamedTuple):
    """The path of an operation, and what a call of it may do."""

    segments: Segments
    safety: Safety
    operation: str
    own: bool = False  # it stands in a person's own definitions

    @property
    def literal(self) -> int:
        return sum(not _is_placeholder(segment) for segment in self.segments)

    def fits(self, path: Segments) -> bool:
        """At the end of the path: a context path or a gateway's prefix may stand before it. Versions are alike."""
        if len(path) < len(self.segments) or (len(path) > len(self.segments) and _is_placeholder(self.segments[0])):
            return False
        pairs = zip(self.segments, path[-len(self.segments) :], strict=True)
        return all(_segments_match(wanted, segment) for wanted, segment in pairs)

    def arguments(self, path: Segments) -> Iterator[tuple[str, str]]:
        """Name and value of what stands in the path for a placeholder of its own."""
        for wanted, segment in zip(self.segments, path[-len(self.segments) :], strict=True):
            if wanted.startswith("{") and wanted.endswith("}"):
                yield wanted[1:-1], segment


class Meaning(NamedTuple):
    """What a request may do, and the documented operations that it may be, in all the ways to read it.

    `arguments` are the parameters in the path, by name; `unknown` the segments of readings that no operation has.
    `unbelieved` is the class where what a person's own definitions say of it does not count.
    """

    safety: Safety
    operations: frozenset[str]
    methods: frozenset[str]
    paths: frozenset[str]
    arguments: frozenset[tuple[str, str]] = frozenset()
    unknown: frozenset[str] = frozenset()
    unbelieved: Safety = "local"


class Templates:
    """The paths of all operations. They are read when the first request has to be looked up."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._by_end: dict[tuple[str, str], list[PathTemplate]] | None = None

    def closest(self, method: str, path: Segments) -> list[PathTemplate]:
        """The templates that fit the path; of several, those with the most that is literal.

        One of a person's own is never in the place of one that comes with the program.
        """
        fitting = [template for template in self._ending(method, path[-1:]) if template.fits(path)]
        shipped = _most_literal([template for template in fitting if not template.own])
        return shipped + _most_literal([template for template in fitting if template.own])

    def _ending(self, method: str, end: Segments) -> list[PathTemplate]:
        """Those of the method that end like the path, so that few have to be compared whole."""
        if self._by_end is None:
            by_end: dict[tuple[str, str], list[PathTemplate]] = {}
            for template, verb in self._all():
                by_end.setdefault((verb, _ending(template.segments[-1])), []).append(template)
            self._by_end = by_end  # whole: another thread that judges a request meanwhile must not miss any
        ends = {_HOLE, *map(_ending, end)}
        return [template for each in ends for template in self._by_end.get((method, each), ())]

    def _all(self) -> Iterator[tuple[PathTemplate, str]]:
        """Of every deployment: a path that means an operation on one of them is no riddle on another."""
        for id, operation in self._catalog.all("operation").items():
            own = bool(operation.get("own"))
            for table in (operation, *deployment_variants(operation).values()):
                yield _template(table["http"], class_for_policies(table), id, own=own)
        for http, safety, id in self._catalog.shipped_paths():
            yield _template(http, safety, id, own=False)


def _template(http: str, safety: Safety, operation: str, *, own: bool) -> tuple[PathTemplate, str]:
    verb, _, path = http.partition(" ")
    return PathTemplate(tuple(path.strip("/").split("/")), safety, operation, own), verb


def _most_literal(templates: list[PathTemplate]) -> list[PathTemplate]:
    most = max((template.literal for template in templates), default=0)
    return [template for template in templates if template.literal == most]


def with_safety(templates: Templates, request: Request, *, known: Safety | None = None) -> Request:
    """The request with its class: that of the catalogued operation which its method and path belong to.

    `known` is the class where the operation is known already. Without an operation the method decides, and the end of
    the path where it says delete or the like. A method that removes does so whatever the operation says. A request that
    can be read in several ways, by what overrides its method or path or is encoded in it, has the worst class of them.
    """
    overridden = bool(overriding_methods(request) - {request.method} or overriding_paths(request))
    if known is not None and not overridden:
        return replace(request, safety=known)
    found = _meaning(templates, request)
    return replace(request, safety=worst_safety([found.safety, *([known] if known is not None else [])]))


def meaning(templates: Templates, request: Request) -> Meaning:
    """All that a request may be. Where it was built as an operation, that is one of the ways to read it.

    So a definition that calls a request milder than the documented operation with the same path changes nothing.
    """
    found = _meaning(templates, request, by_method_too=request.operation is None)
    itself = [] if request.operation is None else [request.operation]
    return found._replace(
        safety=worst_safety([found.safety, request.safety]),
        unbelieved=worst_safety([found.unbelieved, request.safety]),
        operations=found.operations.union(itself),
    )


def _meaning(templates: Templates, request: Request, *, by_method_too: bool = True) -> Meaning:
    methods = {request.method, *overriding_methods(request)}
    spelled = [path_of(request), *overriding_paths(request)]
    paths = dict.fromkeys(reading for path in spelled for reading in readings(path))
    classes: list[Safety] = []
    guessed: list[Safety] = []
    operations: set[str] = set()
    arguments: set[tuple[str, str]] = set()
    unknown: set[str] = set()
    for method in methods:
        if by_method(method) != "read" and any(map(is_encoded_too_often, spelled)):
            classes.append("destroy")
        for reading in paths:
            fitting = templates.closest(method, reading)
            operations.update(template.operation for template in fitting)
            arguments.update(pair for template in fitting for pair in template.arguments(reading))
            unknown.update(() if fitting else reading)
            classes += [template.safety for template in fitting]
            guess: Safety = "destroy" if removes_something(method, reading[-1:]) else by_method(method)
            if by_method_too and (not fitting or guess == by_method(method) == "destroy"):
                classes.append(guess)
            if fitting and all(template.own for template in fitting):
                guessed.append(guess)
    said = frozenset(arguments), frozenset(unknown), worst_safety([*classes, *guessed])
    as_texts = frozenset("/" + "/".join(reading) for reading in paths)
    return Meaning(worst_safety(classes), frozenset(operations), frozenset(methods), as_texts, *said)


def _is_placeholder(segment: str) -> bool:
    return "{" in segment


def _ending(segment: str) -> str:
    """What the last segments of two paths share when they may be the same."""
    if _is_placeholder(segment):
        return _HOLE
    return "v" if _VERSION.fullmatch(segment) else segment.casefold()


def _segments_match(wanted: str, segment: str) -> bool:
    if _is_placeholder(wanted) or wanted.casefold() == segment.casefold():
        return True
    return bool(_VERSION.fullmatch(wanted) and _VERSION.fullmatch(segment))
