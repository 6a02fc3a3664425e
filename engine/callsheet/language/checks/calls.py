"""Whether a call gives its operation what it needs, and nothing that it does not take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ..definition import Definitions
from ..deployment import deployment_variants
from ..locate import Path
from ..template import TemplateError, expressions_in_text
from .bodies import body_faults
from .operations import argument_misfit

if TYPE_CHECKING:
    from ..shape.commands import Param
    from ..shape.rest import OperationDefinition, OperationParam
    from ..shape.steps import Action

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
