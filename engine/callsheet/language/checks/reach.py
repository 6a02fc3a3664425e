"""Which operations a command can reach, and so how bad it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..definition import Definition, Definitions
from ..locate import Path
from ..safety import Safety, class_of_operation, is_milder, worst
from .problem import Finding, Findings
from .shapes import places

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition

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
    for place in places(definition.kind, definition.table):
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
    return worst([*classes, *([said] if said else [])])


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
        if its == "destroy" and not _asks(command.table):
            yield Finding((), f"a command that destroys needs 'confirm' ({id} destroys)", (("operation", id),))
            return
    if said == "destroy" and not _asks(command.table) and "builtin" not in command.table:
        yield Finding((), "a command that destroys needs 'confirm'")


def _asks(command: CommandDefinition) -> bool:
    """Whether a person is asked before it destroys anything, whatever was given."""
    plans = [step["each"]["plan"] for step in command.get("step", ()) if "plan" in step.get("each", {})]
    return "confirm" in command or any("when" not in plan for plan in plans)


def naming_findings(definitions: Definitions, naming: Definition, operations: Mapping[str, str]) -> Findings:
    """Names are asked for beside any table, so that nothing but reading will do."""
    id = operations.get(naming.table["call"], naming.table["call"])
    operation = definitions.get(("operation", id))
    if operation is not None and class_of_operation(operation.table) != "read":
        yield Finding(("call",), f"a naming only reads: {id} does not", (("operation", id),))
