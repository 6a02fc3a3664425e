"""Whether a call gives its operation what it needs, and which operations a command can reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import did_you_mean
from ..merge import ON, deployment_variants
from ..safety import Safety, class_of_operation, is_milder, worst_safety
from ..source_file import Definition, Definitions, Path
from ..template import TemplateError, expressions_in_text
from .bodies import body_faults
from .links import shape_places
from .operations import argument_misfit
from .problem import Finding, Findings

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition, Param
    from ..shape.rest import OperationDefinition, OperationParam
    from ..shape.steps import Action, StepDefinition


# Whether a call gives its operation what it needs, and nothing that it does not take.


Problems = Iterator[tuple[Any, ...]]  # as in a `Finding`
Names = set[str]


class CallChecker:
    """`applies` tells for which deployments what is checked here holds."""

    def __init__(self, definitions: Definitions, operations: Mapping[str, str], applies: Callable[[str], bool]) -> None:
        self.definitions = definitions
        self.operations = operations
        self.applies = applies
        self.params: dict[str, Param] = {}  # those of the command, by the names that expressions have for them

    def table_of(self, kind: str, id: str) -> Any:
        """The table of a definition, of the shape of its kind; None where there is no such definition."""
        found = self.definitions.get((kind, self.operations.get(id, id) if kind == "operation" else id))
        return found.table if found else None

    def arguments(self, calling: Any, at: Path) -> Problems:
        """What anything with a `call` gives its operation: nothing it does not take, everything it must have."""
        step: Action = calling
        operation: OperationDefinition | None = self.table_of("operation", step["call"])
        if operation is None:
            return
        about = (("operation", self.operations.get(step["call"], step["call"])),)
        given = step.get("args", {})
        known = dict.fromkeys(
            name for here in (operation, *deployment_variants(operation).values()) for name in _takes(here)
        )
        for name in given:
            if name not in known:
                yield (*at, "args", name), f"{step['call']} does not take it{did_you_mean(name, known)}", about
        yield from self._values(operation, given, at)
        bodies = [here.get("body") for here in self._variants(operation) if not here.get("unavailable")]
        for key in ("body", "over", "files"):
            if key in step and bodies and all(body is None for body in bodies):
                yield (*at, key), f"{step['call']} takes no body", about
        schema = operation.get("body", {}).get("schema")
        if schema and "body" in step and "on" not in operation:
            faults = body_faults(self.definitions, {"ref": schema}, step["body"], params=self.params)
            yield from (((*at, "body", *path), text) for path, text in faults)
        for here in self._variants(operation):
            missing = [name for name, required in _takes(here).items() if required and name not in given]
            if missing and not here.get("unavailable"):
                yield (*at, "call"), f"{step['call']} requires {', '.join(missing)} in args", about

    def amount(self, step: Action, at: Path) -> Problems:
        """So many items can only be read of a list that comes in pages."""
        operation: OperationDefinition | None = self.table_of("operation", step["call"])
        if "limit" in step and operation is not None:
            paged = any(here.get("paginate") for here in (operation, *deployment_variants(operation).values()))
            if not paged:
                about = (("operation", self.operations.get(step["call"], step["call"])),)
                yield (*at, "limit"), f"{step['call']} has no pages", about

    def _values(self, operation: OperationDefinition, given: Mapping[str, Any], at: Path) -> Problems:
        """Constants, and the choices of a parameter that is handed on, against what the operation documents."""
        here = next(iter(self._variants(operation)), operation)
        params: dict[str, OperationParam] = {name: {"name": name, "in": "path"} for name in _in_path(here)}
        params |= {param["name"]: param for param in here.get("params", ()) if not param.get("remove")}
        for name, value in given.items():
            if name not in params:
                continue
            param = self.params.get(value[1:-1].strip()) if isinstance(value, str) and value[:1] == "{" else None
            for each in (param.get("choices", ()) if param else ()) or (() if _is_filled(value) else (value,)):
                if fault := argument_misfit(params[name], each):
                    yield (*at, "args", name), fault
                    break

    def _variants(self, operation: OperationDefinition) -> Iterator[OperationDefinition]:
        """The operation as it is on each deployment that matters here; as it is elsewhere for those not named."""
        there = deployment_variants(operation)
        if self.applies("") or not any(self.applies(word) for word in there):
            yield operation
        yield from (table for word, table in there.items() if self.applies(word))


def _is_filled(value: Any) -> bool:
    """Whether a value has placeholders; one that is broken counts as none of this check's business."""
    if isinstance(value, str):
        try:
            return bool(expressions_in_text(value))
        except TemplateError:
            return True
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    return any(_is_filled(part) for part in parts)


def _takes(operation: OperationDefinition) -> dict[str, bool]:
    """Name → required, path parameters and the parts of a form included."""
    known: dict[str, bool] = dict.fromkeys(operation.get("body", {}).get("parts", {}), False)
    for param in operation.get("params", ()):
        if param.get("in") != "path" and not param.get("remove"):
            known[param["name"]] = bool(param.get("required"))
    return known | dict.fromkeys(_in_path(operation), True)


def _in_path(operation: OperationDefinition) -> list[str]:
    """The parameters in the path, which are texts unless more is said of them."""
    path = str(operation["http"]).partition(" ")[2]
    return [piece.partition("}")[0] for piece in path.split("{")[1:]]


# Which operations a command can reach, and so how bad it is.


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
