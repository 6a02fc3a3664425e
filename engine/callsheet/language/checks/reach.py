"""Which operations a command can reach, and so how bad it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..definition import Definition, Definitions
from ..deployment import ON, deployment_variants
from ..locate import Path
from ..safety import Safety, class_of_operation, is_milder, worst_safety
from .problem import Finding, Findings
from .shapes import shape_places

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition
    from ..shape.steps import StepDefinition

# What may call something in its turn; a reference to anything else leads to no call of this command's.
_ON_THE_WAY = frozenset({"lookup", "assignment"})


class Reached(NamedTuple):
    """An operation, and where in the command's table the way to it begins."""

    path: Path
    operation: str


def reached(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Iterator[Reached]:
    """Every operation that a command can call on any deployment: steps, look-ups, what a conflict asks."""
    for path, kind, id in _references(command):
        yield from (Reached(path, each) for each in _operations(definitions, kind, id, aliases, frozenset()))


def _references(definition: Definition) -> Iterator[tuple[Path, str, str]]:
    for place in shape_places(definition.kind, definition.table):
        kind = place.schema.get("reference")
        if (kind == "operation" or kind in _ON_THE_WAY) and isinstance(place.value, str):
            yield place.path, kind, place.value


def _operations(
    definitions: Definitions, kind: str, id: str, aliases: Mapping[str, str], seen: frozenset[tuple[str, str]]
) -> Iterator[str]:
    if kind == "operation":
        yield aliases.get(id, id)
        return
    found = definitions.get((kind, id))
    if found is not None and (kind, id) not in seen:
        for _, inner, name in _references(found):
            yield from _operations(definitions, inner, name, aliases, seen | {(kind, id)})


def class_of_command(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Safety:
    """What its definition says, or the worst class of all operations that it can reach, whichever is worse."""
    calls = (each.operation for each in reached(definitions, command, aliases))
    classes = [
        class_of_operation(definitions["operation", id].table) for id in calls if ("operation", id) in definitions
    ]
    said: Safety | None = command.table.get("safety")
    return worst_safety([*classes, *([said] if said else [])])


def safety_findings(definitions: Definitions, command: Definition, aliases: Mapping[str, str]) -> Findings:
    """A class that is milder than what the command does; what destroys without asking."""
    said: Safety | None = command.table.get("safety")
    for path, id in reached(definitions, command, aliases):
        operation = definitions.get(("operation", id))
        if operation is None:
            continue
        its = class_of_operation(operation.table)
        if said and is_milder(said, its):
            way = ".".join(map(str, path))
            text = f"{said!r} is milder than what {way} does: {id} is {its!r}"
            yield Finding(("safety",), text, (("operation", id),))
            return
        if its == "destroy" and not _asks_before(command.table, path):
            yield Finding((), f"a command that destroys needs 'confirm' ({id} destroys)", (("operation", id),))
            return
    if said == "destroy" and not _asks_at_all(command.table) and "builtin" not in command.table:
        yield Finding((), "a command that destroys needs 'confirm'")


def _asks_before(command: CommandDefinition, path: Path) -> bool:
    """Whether a person is asked before the call at `path`, whatever was given: by the command, or by a plan."""
    if "confirm" in command:
        return True
    here = deployment_variants(command)[str(path[1])] if path[:1] == (ON,) else command
    path = path[2:] if path[:1] == (ON,) else path
    if path[:1] != ("step",) or not isinstance(path[1], int):
        return False
    steps = here["step"][: path[1] + 1]
    return _has_plan(steps[-1]) or any(_has_plan(step) and "when" not in step for step in steps)


def _asks_at_all(command: CommandDefinition) -> bool:
    return "confirm" in command or any(_has_plan(step) for step in command.get("step", ()))


def _has_plan(step: StepDefinition) -> bool:
    """Whether it asks each time that it is taken."""
    plan = step.get("each", {}).get("plan")
    return plan is not None and "when" not in plan


_ASKED_BESIDE = {
    "naming": "a naming",
    "snapshot": "a snapshot",
    "product": "a question about a product",
    "program": "a mention",
}


def reading_findings(definitions: Definitions, definition: Definition, operations: Mapping[str, str]) -> Findings:
    """What is asked beside a command's own calls, and counts for the class of none, only reads."""
    for path, kind, id in _references(definition):
        for called in _operations(definitions, kind, id, operations, frozenset()):
            operation = definitions.get(("operation", called))
            if operation is not None and class_of_operation(operation.table) != "read" and "undo" not in path:
                text = f"{_ASKED_BESIDE[definition.kind]} only reads: {called} does not"
                yield Finding(path, text, (("operation", called),))
