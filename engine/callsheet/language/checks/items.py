"""Whether what is done to many items is sound: the plan, the service's own operations, what is kept of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ..deployment import deployment_variants
from ..locate import Path
from ..scopes import names_in, root_names
from .expression_names import expression_faults, value_faults

if TYPE_CHECKING:
    from ..shape.items import Bulk, Keep, Plan
    from ..shape.steps import ItemStep, SnapshotDefinition

Problems = Iterator[tuple[Any, ...]]  # as in a `Finding`
Names = set[str]


def plan_problems(plan: Plan, names: Names, at: Path) -> Problems:
    for key in ("when", "sample"):
        if key in plan:
            yield from expression_faults(plan[key], names, (*at, key))
    yield from value_faults(plan.get("question"), names | {"total"}, (*at, "question"))


def bulk_problems(bulk: Bulk, names: Names, at: Path) -> Problems:
    if "when" in bulk:
        yield from expression_faults(bulk["when"], names, (*at, "when"))
    yield from value_faults(bulk.get("read", {}).get("args"), names | {"batch"}, (*at, "read", "args"))
    seen = names | {"batch"} | ({"read"} if "read" in bulk else set())
    if "items" in bulk:
        yield from expression_faults(bulk["items"], seen, (*at, "items"))
    for key in ("args", "body"):
        yield from value_faults(bulk.get(key), seen, (*at, key))
    if task := bulk.get("task"):
        yield from value_faults(task.get("args"), names | {"started"}, (*at, "task", "args"))
        yield from expression_faults(task["name"], names | {"item", "was"}, (*at, "task", "name"))


def keep_problems(keep: Keep, snapshot: SnapshotDefinition | None, names: Names, at: Path) -> Problems:
    """`args` see what the command named; the snapshot sees what they hand over."""
    yield from value_faults(keep.get("args"), names, (*at, "args"))
    given = {*keep.get("args", {}), "site"}
    for here in (snapshot, *deployment_variants(snapshot).values()) if snapshot else ():
        used = {*names_in(here.get("args")), *names_in(here.get("body"))} - {"ids", "id"}
        used |= set(root_names(here["state"])) - {"found"}
        for name in sorted(used - given):
            yield at, f"the snapshot {keep['snapshot']!r} needs {name!r} in args"


def added_by(steps: Sequence[ItemStep]) -> Names:
    """The names that steps give their answers."""
    named = [step["as"] for step in steps if "as" in step]
    return {name for names in named for name in (names if isinstance(names, dict) else (names,))}
