"""How bad a call can be: `local` sends nothing, `read` changes nothing, `write` changes, `destroy` removes for good.

The class of an operation follows from its method unless its definition says otherwise. The class of a command is the
worst of all operations that it can reach; compiling puts it into the command's `safety`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from ..patterns import lazy_pattern
from .http_methods import READING, REMOVING
from .merge import deployment_variants

if TYPE_CHECKING:
    from .shape.commands import CommandDefinition
    from .shape.rest import CompiledOperation, OperationDefinition
    from .shape.steps import StepDefinition

Safety = Literal["read", "write", "destroy", "local"]

CHANGES = ("write", "destroy")
SAFETY_CLASSES: tuple[Safety, ...] = ("local", "read", "write", "destroy")
_REMOVING_WORDS = frozenset(
    {"delete", "destroy", "discard", "erase", "purge", "redact", "remove", "removal", "removals", "revoke", "trash"}
)
_WORDS = lazy_pattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def by_method(method: str) -> Safety:
    """What a method may do where nothing else is known."""
    return "read" if method in READING else "destroy" if method in REMOVING else "write"


def removes_something(method: str, names: Iterable[str]) -> bool:
    """Whether a call takes something away by one of its names (its id, the end of its path), though not by its method.

    A word says so: `deleteAll`, `access-removals`. What only reads by its method does only that.
    """
    if by_method(method) != "write":
        return False
    return any(word.lower() in _REMOVING_WORDS for name in names for word in _WORDS.findall(name))


def worst_safety(classes: Iterable[Safety]) -> Safety:
    """The worst of them; `local` of none."""
    return max(classes, key=SAFETY_CLASSES.index, default="local")


def is_milder(one: Safety, other: Safety) -> bool:
    return SAFETY_CLASSES.index(one) < SAFETY_CLASSES.index(other)


def class_here(operation: OperationDefinition) -> Safety:
    """The class of an operation as its table stands: on one deployment, where `on` has been laid over the rest."""
    return operation.get("safety") or by_method(operation["http"].partition(" ")[0])


def class_for_policies(operation: CompiledOperation) -> Safety:
    """The class that policies judge by: an operation of a person's own that removes by its method destroys."""
    removing = by_method(operation["http"].partition(" ")[0]) == "destroy"
    return "destroy" if removing and operation.get("own") else class_here(operation)


def asks_whatever_is_given(command: CommandDefinition) -> bool:
    """Whether a person is always asked before something is done."""
    return "confirm" in command or any(has_plan(step) for step in command.get("step", ()))


def has_plan(step: StepDefinition) -> bool:
    """Whether it asks each time that it is taken."""
    plan = step.get("each", {}).get("plan")
    return plan is not None and "when" not in plan


def class_of_operation(operation: OperationDefinition) -> Safety:
    """The worst class that an operation has on any deployment."""
    return worst_safety(class_here(table) for table in (operation, *deployment_variants(operation).values()))
