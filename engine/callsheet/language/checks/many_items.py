"""Whether what is done to many items is sound: the plan, the service's own operations, what is kept and put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..merge import deployment_variants
from ..safety import class_of_operation
from ..scopes import names_in, root_names
from ..source_file import Path
from .references import expression_faults, value_faults
from .requests import Names, Problems

if TYPE_CHECKING:
    from ..shape.steps import Bulk, ItemStep, Keep, Plan, SnapshotDefinition


def plan_problems(plan: Plan, names: Names, at: Path) -> Problems:
    for key in ("when", "sample"):
        if key in plan:
            yield from expression_faults(plan[key], names, (*at, key))
    yield from value_faults(plan.get("question"), names | {"total"}, (*at, "question"))


def bulk_problems(bulk: Bulk, names: Names, at: Path) -> Problems:
    if not {"batch", "read"} & {*names_in([bulk.get(key) for key in ("args", "body")])}:
        yield at, "nothing of it uses `batch`: each call would be sent the same"
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


def idle_undo_problems(each: Any, operation_table: Callable[[str], Any], at: Path) -> Problems:
    """What changes nothing back: it only reads, or does the same once more."""
    undo = [step for step in each.get("undo", ()) if "call" in step]
    tables = [table for step in undo if (table := operation_table(step["call"])) is not None]
    if tables and len(tables) == len(undo) and all(class_of_operation(table) == "read" for table in tables):
        yield at, f"only reads: {undo[0]['call']} puts nothing back"
    done = [_sent_by(step) for step in (each, *each.get("step", ())) if "call" in step]
    if undo and all(_sent_by(step) in done for step in undo):
        yield at, f"sends the same {undo[0]['call']} once more: put back what `was`"


def _sent_by(step: Any) -> dict[str, Any]:
    return {key: step[key] for key in ("call", "when", "args", "body", "over", "files") if key in step}
