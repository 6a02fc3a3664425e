"""What things are before they are changed and afterwards, read for many of them at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...client.listed import list_in_answer
from ...errors import NotFound
from ...language.deployment import on_deployment
from ...language.template import evaluate, fill_template, to_text

if TYPE_CHECKING:
    from ...language.shape.steps import Each, ItemStep, Keep, SnapshotDefinition
    from ..context import Context
    from .dispatcher import StepDispatcher

_WORKERS = 10
MISSING = object()  # the service does not tell of such a thing


def undo_steps(context: Context, each: Each) -> list[ItemStep]:
    """What puts an item back, by the command or else by the snapshot of its kind; none where nothing can."""
    if "undo" in each or "keep" not in each:
        return each.get("undo", [])
    table = context.catalog.get("snapshot", each["keep"]["snapshot"])
    here: SnapshotDefinition = on_deployment(table, context.site().deployment)
    return here.get("undo", [])


class Snapshots:
    """Reads items as a command's `keep` says. `scope` is what the command's expressions see."""

    def __init__(self, context: Context, dispatcher: StepDispatcher, keep: Keep, scope: Mapping[str, Any]) -> None:
        table = context.catalog.get("snapshot", keep["snapshot"])
        self.definition: SnapshotDefinition = on_deployment(table, context.site().deployment)
        self._dispatcher = dispatcher
        self._scope = {"site": scope["site"], **(fill_template(keep.get("args", {}), scope) or {})}

    def read_states(self, items: Sequence[Any]) -> list[Any]:
        """What each of them is, `MISSING` where there is none; raises what the requests raise."""
        from ...client.pagination.ahead import in_order

        size = self.definition.get("size", 1)
        groups = [items[start : start + size] for start in range(0, len(items), size)]
        return [value for group in in_order(self._read, groups, min(_WORKERS, len(groups))) for value in group]

    def _read(self, items: Sequence[Any]) -> list[Any]:
        try:
            found = self._answer(items)
        except NotFound:
            return [MISSING] * len(items)
        if "names" not in self.definition:
            return [self._value(found[0]) if found else MISSING] if len(items) == 1 else [MISSING] * len(items)
        by_name = {
            _folded(name): each
            for each in found
            for name in list_in_answer(evaluate(self.definition["names"], each) or [])
        }
        values = [by_name.get(_folded(item), MISSING) for item in items]
        if len(items) == 1 and len(found) == 1:  # it has another name by now
            values = found
        return [value if value is MISSING else self._value(value) for value in values]

    def _answer(self, items: Sequence[Any]) -> list[Any]:
        definition, scope = self.definition, {**self._scope, "ids": list(items), "id": items[0]}
        body = fill_template(definition["body"], scope) if "body" in definition else None
        request = self._dispatcher.build(
            definition["call"], fill_template(definition.get("args", {}), scope) or {}, body
        )
        answer = self._dispatcher.everything(definition["call"], request)
        return (
            list_in_answer(evaluate(definition["items"], answer), definition["items"])
            if "items" in definition
            else [answer]
        )

    def _value(self, found: Any) -> Any:
        return evaluate(self.definition["state"], {**self._scope, "found": found})


def _folded(name: Any) -> str:
    return to_text(name).casefold()
