"""Going on with what a journal says is not done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, UsageError
from ..journal import DONE, UNDER_WAY, Recorded, found_journal, read_journal
from .converters import NOT_SENT, bound_answer, item_name
from .each_item import ItemRecord, Numbered, StepsOfItem
from .recording import RESUME, address_of, resume_record
from .run_steps import Run

if TYPE_CHECKING:
    from ...language.shape.commands import CompiledCommand
    from ...language.shape.steps import Each, StepDefinition
    from ..context import Context, ParameterValues
    from .each_item import InBulk
    from .recording import Recording


@contextmanager
def resume_run(context: Context, command: CompiledCommand, values: ParameterValues) -> Iterator[Run]:
    """`values` name the journal, and nothing else: all that was given is in there."""
    path = found_journal(context.environ, context.program, values[RESUME])
    defaults = {param["name"]: param.get("default") for param in command.get("params", [])}
    for name, value in values.items():
        if name != RESUME and value not in (None, [], False, defaults.get(name)):
            raise UsageError(f"--{RESUME} takes everything else from the journal: leave out {name}")
    with read_journal(path) as found:
        words = f"{context.program} {command['journal']}"
        if found.command_words != words:
            raise UsageError(f"{path} is a journal of `{found.command_words}`, not of `{words}`")
        if found.head["undo"]:
            raise UsageError(
                f"{path} is a journal of an undo", hint="run the undo again: it skips items that are already restored"
            )
        yield ResumedRun(context, command, found)


def step_of(run: Recording, found: Recorded) -> StepDefinition:
    """The step that a journal is about; raises `UsageError` where it is of another site or of another version."""
    place: int = found.head["step"]
    steps = run.command["step"]
    if place >= len(steps) or "each" not in steps[place]:
        raise UsageError(f"{found.path}: the definition of `{found.command_words}` has changed since")
    here = address_of(run, steps[place])
    if here != found.head["site"]:
        raise UsageError(
            f"{found.path} was made on {found.head['site']}, and this command uses {here}",
            hint="choose the site with --site",
        )
    return steps[place]


class ResumedRun(Run):
    """The same run again, from the step that had not come to its end."""

    def __init__(self, context: Context, command: CompiledCommand, found: Recorded) -> None:
        super().__init__(context, command, {})
        self.found = found
        self.scope = {**found.head["values"], "site": self.scope["site"], "output": self.scope["output"]}

    def begin_run(self) -> None:
        step_of(self, self.found)
        self.prepare_output()
        total = len(self.found.items)
        left = total - self.found.count_states(DONE)
        if self.command["safety"] == "destroy":
            self.context.confirm(f"Continue `{self.found.command_words}` with {left} of {total}?")
        self.context.note(f"{total - left} of {total} are done, {left} are left")
        self.take_all(self.command["step"][self.found.head["step"] :])

    def ask_about(self, each: Each, items: list[Any], bulk: InBulk | None) -> None:
        """The person agreed to the run that this one goes on with."""

    def checked_result(self, found: Any) -> Any:
        """Where nothing is left to do there is no result."""
        return None if found is None else super().checked_result(found)

    def numbered_items(self, _items: list[Any]) -> list[Numbered]:
        pairs = enumerate(zip(self.found.items, self.found.entries, strict=True))
        return [Numbered(number, item) for number, (item, entry) in pairs if entry.state != DONE]

    def record_items(self, step: StepDefinition, _items: list[Any]) -> AbstractContextManager[ItemRecord | None]:
        return resume_record(self, step, self.found)

    def item_run(self, step: StepDefinition, item: Numbered, *, final: bool) -> StepsOfItem:
        return _Doubtful() if self._is_doubtful(step, item) else super().item_run(step, item, final=final)

    def take_for_each(
        self,
        step: StepDefinition,
        items: list[Numbered],
        record: ItemRecord | None,
        bulk: InBulk | None = None,
        *,
        final: bool,
        already: int = 0,
    ) -> Any:
        """One by one where some may have been done already, and must not be done twice."""
        if any(self._is_doubtful(step, item) for item in items):
            bulk = None
        return super().take_for_each(step, items, record, bulk, final=final, already=already)

    def _is_doubtful(self, step: StepDefinition, item: Numbered) -> bool:
        was_begun = self.found.entries[item.number].state in UNDER_WAY
        return was_begun and not self._may_repeat_for(step, item.item)

    def _may_repeat_for(self, step: StepDefinition, item: Any) -> bool:
        """The same, where only those calls count that are made for this item, as far as that can be known."""
        scope = {**self.scope, item_name(step["each"]): item}
        for part in step["each"]["step"]:
            if "call" in part and self.is_wanted(part, scope) and not self.dispatcher.may_repeat(part["call"]):
                return False
            scope.update(bound_answer(part, NOT_SENT if self.is_wanted(part, scope) else None, scope))
        return True


class _Doubtful:
    """In the place of steps that may have been taken already, and must not be taken twice."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def run(self) -> Any:
        raise CallsheetError("it was under way when the run ended and may be done: check it, and repeat it by its name")
