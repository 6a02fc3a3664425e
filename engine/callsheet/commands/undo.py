"""Putting back what a journal says was changed, from what it was before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from json import dumps
from typing import TYPE_CHECKING, Any, cast

from ..errors import CallsheetError, Conflict, NotFound, UsageError
from ..language.merge import on_deployment
from ..language.parameters import to_identifier
from ..language.template import to_text
from .execute import check_operation, refuse_when_read_only
from .journal import DONE, UNDER_WAY, Recorded, fresh_path, hold_journal, new_journal
from .made_things import Removal, value_differences
from .rearranging import NameChange, moves_into_order, names_in_turn, set_aside, sibling_ranks
from .resources import Things, is_same_value
from .steps.converters import calls_of, item_name
from .steps.dispatcher import StepDispatcher
from .steps.each_item import WORKERS, Numbered, StepsOfItem, Work, name_in, run_for_each
from .steps.lookup import Lookups, precompute_each
from .steps.parameter_scope import of_the_run
from .steps.recording import JournalRecord, follow_record, head_of, shown_path
from .steps.resume import step_of
from .steps.run_steps import ItemRun, StepRun
from .steps.snapshot import undo_steps

if TYPE_CHECKING:
    from ..client.request.http_request import Request
    from ..language.shape.commands import CompiledCommand
    from ..language.shape.steps import Each, ItemStep, StepDefinition
    from .context import Context

_FORCE = "--force discards what was changed since, and puts it back"
Rows = list[dict[str, Any]]


def undo_changes(
    context: Context, found: Recorded, *, force: bool, path: str | None
) -> tuple[Rows, CallsheetError | None]:
    """Put back what was changed: a row for each item that is as it was, and what is to be told of the others.

    What was changed since then is left as it is, unless `force` is given. `path` is where the journal of this goes.
    """
    words = found.head["command"]
    command = context.catalog.commands.find(words)
    of_things = _of_things(context, found) if command is not None and "builtin" in command else None
    command = of_things or command
    if found.head["program"] != context.program or command is None:
        raise UsageError(f"{found.path} is a journal of `{found.command_words}`, which this program does not have")
    if "step" not in command:
        raise UsageError(f"{found.path}: `{found.command_words}` keeps no journal")
    with hold_journal(found.path):
        removal = Removal(context, found, force=force)
        here = on_deployment(command, context.site().deployment)
        resource = found.head["values"]["resource"] if of_things else None
        if not removal.made:
            return UndoRun(context, here, found, force=force, path=path, resource=resource).run_undo()
        run = None
        if any(entry.was_at >= 0 for entry in found.entries):
            run = UndoRun(context, here, found, force=force, path=path)
            run.check_undo()
        removal.check_before_sending()
        context.confirm(f"Remove {removal.words}, made by `{found.command_words}` of {found.head['started']}?")
        rows, failure = removal.remove_all()
        more, other = run.run_undo() if run is not None else ([], None)
        return [*rows, *more], failure or other


def _of_things(context: Context, found: Recorded) -> CompiledCommand | None:
    """The command of a journal of things of one resource, whose snapshot says how each is put back."""
    resource = found.head["values"].get("resource")
    known = context.catalog.resources.all()
    table = on_deployment(known[resource], context.site().deployment) if resource in known else {}
    if "update" not in table:
        return None
    given = found.head["values"].get("parents", {})
    args = {to_identifier(id): f"{{parents.{dumps(id)}}}" for id in table.get("parent", {}) if id in given}
    step: ItemStep = {"call": table["update"]["call"]}
    each: Each = {"items": "@", "keep": {"snapshot": resource, "args": args}, "step": [step], "done": ""}
    return {"help": "", "safety": "write", "step": [{"each": each}], "journal": found.head["command"]}


class UndoRun(StepRun):
    """All that the run before saw is seen again, and of each item what it `was`."""

    def __init__(
        self,
        context: Context,
        command: CompiledCommand,
        found: Recorded,
        *,
        force: bool,
        path: str | None,
        resource: str | None = None,
    ) -> None:
        self.command = command
        self.found = found
        self._resource = resource  # of a journal of things
        self.force = force
        scope = {**found.head["values"], **of_the_run(context)}
        super().__init__(context, StepDispatcher(context), command["step"], scope)
        self.lookups = Lookups(context, self.dispatcher, exact=True)
        self.step = step_of(self, found)
        steps = undo_steps(context, self.step["each"])
        if not steps:
            raise UsageError(f"`{found.command_words}` cannot be undone")
        self.back: Each = {**self.step["each"], "step": steps, "done": "restored {done} of {total}"}
        self.path = path or fresh_path(context.environ, context.program, f"undo {found.head['command']}")

    def check_undo(self) -> None:
        """Raises what is refused, before anything is sent."""
        self._check_policy()
        self._check_requests(self._items_changed())

    def run_undo(self) -> tuple[Rows, CallsheetError | None]:
        items = self._items_changed()
        self._check_policy()
        calls = [call for step in self.back["step"] for call in calls_of(cast("StepDefinition", step))]
        removes = "destroy" in map(self.dispatcher.safety_of, calls)
        total = len(items)
        what = "1 item" if total == 1 else f"{total} items"
        made = sum(self.is_made(each) for each in items)
        # Who names the journal of one change by its whole name means that one.
        if made or removes or not self.context.literal:
            removed = f": {made} of them {'is' if made == 1 else 'are'} removed" if made else ""
            self._agree_to_undo(
                f"{what} as before `{self.found.command_words}` of {self.found.head['started']}{removed}"
            )
        self._check_requests(items)
        ranks = self._ranks_now()
        if self.dispatcher.dry:
            return [], self._restore_all(items, None, ranks)[1]
        with new_journal(self.path) as journal:
            head = {**head_of(self, self.step), "undo": True, "of": self.found.path}
            head["values"] |= {
                "parts": {id: {n: of[::-1] for n, of in parts.items()} for id, parts in self._parts.items()}
            }
            if ranks:
                head["values"] |= {"order": {parent: [*of] for parent, of in ranks.items() if parent in self._order}}
            journal.write_head(head, self.found.items)
            self.context.note(self.context.journaling.journal_note(self.path, has_undo=not removes))
            again = f"to continue: {self.context.program} undo {shown_path(self.found.path)}"
            with follow_record(self, journal, self.step["each"], again) as record:
                return self._restore_all(items, record, ranks)

    def _agree_to_undo(self, what: str) -> None:
        """Which change is meant is said to whoever agreed without being asked, too."""
        if self.context.will_confirm(f"Put back {what}?"):
            self.context.confirm(f"Put back {what}?")
        else:
            self.context.note(f"putting back {what}")

    def _items_changed(self) -> list[Numbered]:
        pairs = list(enumerate(zip(self.found.items, self.found.entries, strict=True)))
        changed = [(number, item, entry) for number, (item, entry) in pairs if entry.state in (DONE, *UNDER_WAY)]
        unknown = [item for _, item, entry in changed if entry.was_at < 0]
        if unknown:
            self.context.note(f"{len(unknown)} cannot be undone: their old values are not in the journal")
        found = [Numbered(number, item) for number, item, entry in changed if entry.was_at >= 0]
        if not found:
            earlier = f"{self.context.program} journals list shows those of earlier changes"
            raise UsageError(f"nothing to undo: {self.found.path} has no item that was changed", hint=earlier)
        return found[::-1]

    def _check_policy(self) -> None:
        if not self.dispatcher.dry:
            refuse_when_read_only(self.context)
            for step in self.back["step"]:
                if "when" not in step:
                    for call in calls_of(cast("StepDefinition", step), certain=True):
                        check_operation(self.context, self.dispatcher.builder.operation_call(call))

    def is_made(self, item: Numbered) -> bool:
        """Whether there was no such thing before: to take that back is to remove it."""
        return self._resource is not None and self.found.state_before(item.number) is None

    def _states_of_item(self, item: Numbered) -> tuple[Any, Any]:
        """What it was and became; None where there was no such thing."""
        known = self.found.entries[item.number].now_at >= 0
        return self.found.state_before(item.number), self.found.state_after(item.number) if known else ...

    def removal_request(self, item: Numbered) -> Request:
        scope = {**self._things.expression_scope(self._parents), "id": item.item}
        return self._things.request_of_verb("delete", scope)

    def _check_requests(self, items: Sequence[Numbered]) -> None:
        """All that is to be sent is built, and judged by the policy, before anything is."""
        steps = precompute_each(self.back, self.scope, len(items), item_name(self.back), "was", "thing")["step"]
        for each in items:
            if self.is_made(each):
                self.dispatcher.check_before_sending(self.removal_request(each))
                continue
            scope = self._scope_of(each)
            for step in steps:
                self.check_step(cast("StepDefinition", step), scope)

    def _scope_of(self, item: Numbered) -> dict[str, Any]:
        name = self.back.get("item", "item")
        return {**self.scope, name: item.item, "thing": item.item, "was": self.found.state_before(item.number)}

    # Names that go round in a circle, and the order of things with one parent

    @property
    def _order(self) -> dict[str, list[str]]:
        """Parent → the things below it as they stood before, where one of them was moved."""
        found = self.found.head["values"].get("order")
        return found if self._resource is not None and isinstance(found, dict) else {}

    @property
    def _parts(self) -> dict[str, dict[str, list[Any]]]:
        """Id → its parts that were changed, each as it was and became."""
        found = self.found.head["values"].get("parts")
        return found if self._resource is not None and isinstance(found, dict) else {}

    def _put_part_back(self, id: str, name: str, was: Any, left: Any) -> None:
        now = self._things.part_of(name, id)
        if is_same_value(now, was):
            return
        if not self.force and not is_same_value(now, left):
            raise Conflict(f"{name} of {self._things.title} {id} changed since", hint=_FORCE)
        self._things.set_part(name, id, was)

    @cached_property
    def _things(self) -> Things:
        return Things(self.dispatcher, self._resource or "")

    def _ranks_now(self) -> dict[str, dict[str, float]]:
        return sibling_ranks(self._things, self._parents) if self._order else {}

    @property
    def _parents(self) -> dict[str, str]:
        return dict(self.found.head["values"].get("parents", {}))

    def _restore_all(
        self, items: list[Numbered], record: JournalRecord | None, ranks: Mapping[str, Mapping[str, float]]
    ) -> tuple[Rows, CallsheetError | None]:
        in_turn = self._free_names(items, record)
        rows, failure = self._restore_items(in_turn or items, record, in_turn=bool(in_turn))
        try:
            for id, parts in self._parts.items():
                for name, (was, left) in parts.items():
                    self._put_part_back(id, name, was, left)
            if self._order:
                self._put_in_order(ranks if self.dispatcher.dry else self._ranks_now())
        except CallsheetError as error:
            failure = failure or error
        return rows, failure

    def _put_in_order(self, ranks: Mapping[str, Mapping[str, float]]) -> None:
        for parent, before in self._order.items():
            here = ranks.get(parent, {})
            wanted = [id for id in before if id in here]
            for id, after, above in moves_into_order(wanted, [here[id] for id in wanted]):
                self._things.order_thing({"id": id}, self._parents, after=after, before=above)

    def _free_names(self, items: list[Numbered], record: JournalRecord | None) -> list[Numbered]:
        """The items in an order in which each name is free; empty where any order will do.

        One of a circle is called otherwise for a moment, as is what was made and has the name of another one.
        """
        field = self._things.name_field if self._resource is not None else None
        by_number = {each.number: each for each in items}
        names = (
            {number: NameChange(*self._names_of(each, field)) for number, each in by_number.items()} if field else {}
        )
        turns = names_in_turn({number: name for number, name in names.items() if name.was != name.wanted})
        aside = [by_number[number] for number, is_aside in turns if is_aside or self.is_made(by_number[number])]
        if record is not None and aside:
            record.before_items(aside)
        for each in aside:
            with suppress(CallsheetError):  # what is in its way is told when its turn comes
                if record is None or not self.is_back(each, record):
                    called = set_aside(names[each.number].wanted or names[each.number].was, each.item)
                    found = self._things.read_thing(each.item, self._parents)
                    self._things.update_thing(found, {field or "": called}, self._parents)
        first = [
            by_number[number] for number, is_aside in turns if not is_aside and not self.is_made(by_number[number])
        ]
        return [*first, *(each for each in items if each not in first)] if turns else []

    def _names_of(self, item: Numbered, field: str) -> Iterator[str | None]:
        """What it was left with, and what it gets."""
        for state in self._states_of_item(item)[::-1]:
            name = state.get(field) if isinstance(state, dict) else None
            yield None if name is None else to_text(name)

    def state_now(self, item: Numbered, record: JournalRecord) -> Any:
        """What was read of it; with the name that it was left with, where it only waits for its own."""
        current, left = record.was[item.number], self._states_of_item(item)[1]
        field = self._things.name_field if self._resource is not None else None
        if field and isinstance(current, dict) and isinstance(left, dict) and field in left:
            names = [name for name in self._names_of(item, field) if name is not None]
            if current.get(field) in [set_aside(name, item.item) for name in names]:
                return {**current, field: left[field]}
        return current

    def is_back(self, item: Numbered, record: JournalRecord) -> bool:
        """Raises `Conflict` for what was changed since."""
        number, found = item.number, self.found
        if number not in record.was:
            if self.is_made(item):
                return True
            raise NotFound("it could not be read: what was removed for good cannot be put back")
        current = self.state_now(item, record)
        if current == found.state_before(number):
            return True
        if not self.force:
            if found.entries[number].now_at < 0:
                raise Conflict("it is not known whether it was changed since", hint=_FORCE)
            left = found.state_after(number)
            if current != left:
                raise Conflict(f"changed since: {', '.join(value_differences(left, current))}", hint=_FORCE)
        return False

    def _restore_items(
        self, items: list[Numbered], record: JournalRecord | None, *, in_turn: bool
    ) -> tuple[Rows, CallsheetError | None]:
        back = precompute_each(self.back, self.scope, len(items), item_name(self.back), "was", "thing")

        def make(item: Numbered) -> StepsOfItem:
            if record is not None and item.number in record.was:
                record.was[item.number] = self.state_now(item, record)
            seen = {"thing": item.item, "was": self.found.state_before(item.number)}
            steps = ItemRun(self, back, item.item, final=True, seen=seen)
            return _Restoring(self, item, steps, record)

        # What is removed or comes back may belong to another one of them: the last is the first.
        in_turn |= self._resource is not None and any(None in self._states_of_item(each) for each in items)
        workers = 1 if self.dispatcher.dry or in_turn else WORKERS
        return run_for_each(self.context, Work(items, make, self.back, self.scope, workers, record))


class _Restoring:
    """One item: left alone where it is what it was already, or where somebody changed it since."""

    def __init__(self, whole: UndoRun, item: Numbered, steps: ItemRun, record: JournalRecord | None) -> None:
        self.notes = steps.notes
        self._whole = whole
        self._item = item
        self._steps = steps
        self._record = record

    def run(self) -> dict[str, Any]:
        row = {"id": name_in(self._whole.back, self._item.item), "done": "put back"}
        if self._record is not None and self._whole.is_back(self._item, self._record):
            return {**row, "done": "was back already"}
        if not self._whole.is_made(self._item):
            self._steps.run()
            return row
        request, dispatcher = self._whole.removal_request(self._item), self._whole.dispatcher
        if dispatcher.held_back(request, final=True):
            dispatcher.print_curl(request.operation or "", request)
        else:
            self._whole.context.client().send(request)
        return {**row, "done": "removed"}
