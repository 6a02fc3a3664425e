"""What can never be reached, or never counts, because something else stands before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..compiled_jmespath import expression_tree
from ..definition import Definition, Definitions
from ..template import evaluate, is_true
from .links import expression_fault
from .problem import Finding, Findings, Key
from .shapes import ShapePlace

# Definitions of the first kind are of no use without one of the second.
_COMPANIONS = {"service": "deployment", "source": "listener"}


def shadow_findings(found: list[ShapePlace]) -> Findings:
    for place in found:
        value = place.value
        if isinstance(value, list):
            yield from (Finding((*place.path, index), text) for index, text in _repeated(value))
        if isinstance(value, dict) and place.schema.get("title"):
            told_elsewhere = place.schema["title"] == "RouteDefinition"  # a route may be switched off so
            if isinstance(value.get("when"), str) and _constant(value["when"]) is False and not told_elsewhere:
                yield Finding((*place.path, "when"), f"{value['when']!r} is never true")
            if "keywords" in value and isinstance(value["keywords"], dict):
                yield from (Finding((*place.path, "keywords", name), text) for name, text in _folded(value["keywords"]))


def case_findings(_: Definitions, assignment: Definition) -> Findings:
    """The first case that is true counts; what follows one that is always true is never looked at."""
    before: dict[str, int] = {}
    for place, case in enumerate(assignment.table["cases"]):
        when = case.get("when")
        if "" in before:
            yield Finding(("cases", place), f"never reached: case {before['']} is for every field")
        elif when is not None and when in before:
            yield Finding(("cases", place, "when"), f"never reached: case {before[when]} has the same condition")
        elif fault := _taken(assignment.table["cases"], place):
            yield Finding(("cases", place, "example"), fault)
        always = when is None or _constant(when) is True
        before.setdefault("" if always else str(when), place)


def _taken(cases: list[Any], place: int) -> str | None:
    """What is wrong with the example of a case: an earlier case is true for it, or this one is not."""
    if "example" not in cases[place] or any(expression_fault(each.get("when", "@")) for each in cases[: place + 1]):
        return None
    example = cases[place]["example"]
    first = next((index for index, each in enumerate(cases) if evaluate(each.get("when", "`true`"), example)), None)
    if first is not None and first < place:
        return f"never reached for it: case {first} stands before and is true too"
    return None if first == place else "the condition of its case is not true for it"


def _repeated(items: list[Any]) -> Iterator[tuple[int, str]]:
    """Two of a name in one list: which of them counts nobody can tell."""
    seen: set[Any] = set()
    for place, item in enumerate(items):
        if isinstance(item, Mapping) and isinstance(item.get("name"), str) and "value" in item:
            name = item["name"].casefold()
            if name in seen:
                yield place, f"{item['name']!r} is the name of an earlier one"
            seen.add(name)


def _folded(keywords: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    seen: dict[str, str] = {}
    for name in keywords:
        if (folded := name.strip().casefold()) in seen:
            yield name, f"never reached: {seen[folded]!r} is the same word"
        seen.setdefault(folded, name)


def _constant(expression: str) -> bool | None:
    """Whether an expression that looks at nothing is true; None where it looks at something."""
    node = expression_tree(expression) if expression_fault(expression) is None else None
    return is_true(node["value"]) if node and node["type"] == "literal" else None


def companion_findings(definitions: Definitions, definition: Definition) -> Findings:
    """What works only together with a definition of another kind."""
    wanted = _COMPANIONS[definition.kind]
    first = next(id for kind, id in definitions if kind == definition.kind)
    if definition.id == first and not any(kind == wanted for kind, _ in definitions):
        gone: tuple[Key, ...] = tuple(key for key in definitions.removed if key[0] == wanted)
        yield Finding((), f"a program with a {definition.kind} needs a [{wanted}.<id>] too", gone)
