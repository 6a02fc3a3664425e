"""Steps taken in order, in one scope: those of a whole command, or those for one item of a list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ...client.listed import part_of
from ...client.request.build import MissingArguments
from ...client.request.schema import UnfitBody
from ...errors import CallsheetError, Conflict
from ...language.safety import CHANGES
from ...language.template import Scope, evaluate, fill_template, to_text
from ..execute import Extent
from .asking import amount, failure, items_of, paths
from .bulk import InBulk, bulk_for, groups, run_in_batches
from .converters import edited_text
from .dispatcher import ONE_PAGE, StepDispatcher
from .each import WORKERS, ItemRecord, Numbered, StepsOfItem, Work, run_for_each
from .lacking import explain_missing_arguments, explained_body
from .lookup import Lookups, condition_holds_here, precompute_each
from .overlay import body_of
from .snapshot import is_same, on_conflict
from .step_answers import NOT_SENT, answers_of_sent, bound_answer, calls_of, is_open, item_name, step_acts

if TYPE_CHECKING:
    from ...client.request.model import Request
    from ...jsontext import JsonObject
    from ...language.shape.steps import Each, Find, ItemStep, StepDefinition
    from ..context import Context


class StepRun:
    """Some steps on their way. `steps` are all that have names here, `scope` what expressions see.

    `answer` is that of the last call, and `failures` are what is told at the end, since it did not stop the rest.
    """

    def __init__(self, context: Context, dispatcher: StepDispatcher, steps: list[StepDefinition], scope: Scope) -> None:
        self.context = context
        self.dispatcher = dispatcher
        self.steps = steps
        self.scope = scope
        self.lookups: Lookups
        self.named_files: frozenset[Any] = frozenset()  # paths that a person gave
        self.answer: Any = None
        self.answered = False
        self.tolerated: list[CallsheetError] = []
        self.failures: list[CallsheetError] = []

    def fill(self, value: Any, scope: Mapping[str, Any] | None = None) -> Any:
        return fill_template(value, self.scope if scope is None else scope)

    def wanted(self, step: ItemStep, scope: Mapping[str, Any] | None = None) -> bool:
        return "when" not in step or condition_holds_here(step["when"], self.scope if scope is None else scope)

    def note(self, text: str) -> None:
        self.context.note(text)

    def fail(self, step: ItemStep) -> None:
        if self.wanted(step) and not is_open(step, self.scope):
            error = failure(step.get("code"), self.fill(step["fail"]), self.fill(step.get("hint")))
            # At a terminal the line is refused before anything is sent.
            if "candidates" in step and self.context.literal and not self.dispatcher.dry:
                error.details = (*error.details, *self.lookups.listed(step["candidates"], self.scope))
            raise error

    def take_all(self, steps: Sequence[StepDefinition]) -> None:
        """Ends early after failures in the steps of items, lest what follows is done to all of them."""
        for place, step in enumerate(steps):
            self._take(step, steps[place + 1 :])
            if "each" in step and self.failures:
                return
        if self.tolerated and not self.answered:
            raise self.tolerated[0]

    def _take(self, step: StepDefinition, following: Sequence[StepDefinition]) -> None:
        if "fail" in step:
            self.fail(step)
        elif not self.wanted(step):
            return
        elif "confirm" in step:
            if not self.dispatcher.dry:
                self.context.confirm(to_text(self.fill(step["confirm"])) or "Go on?")
        elif "find" in step:
            self.scope[str(step["as"])] = self._found(step["find"])
        elif "note" in step:
            if not is_open(step, self.scope):
                self._say(step["note"], self.scope)
        elif "value" in step and "call" not in step:
            self.scope.update(bound_answer(step, evaluate(step["value"], self.scope), self.scope))
        elif "edit" in step:
            self._bind(step, edited_text(self.context, self.fill(step["edit"])))
        else:
            final = self.is_final(following)
            self._check_all(step, following)
            self._act_on(step, final=final)

    def _say(self, template: str, scope: Scope) -> None:
        """A note, unless what it says is nothing."""
        if text := to_text(self.fill(template, scope)):
            self.note(text)

    def _found(self, find: Find) -> JsonObject | None:
        """What a word means; null where there is no word."""
        word = to_text(self.fill(find["word"]))
        if not word:
            return None
        match = self.lookups.find(find["lookup"], word, self.scope)
        return {"value": match.value, "name": match.name}

    def is_final(self, following: Sequence[StepDefinition]) -> bool:
        """Whether nothing is called after this: what such a step asks for is what a dry run is about."""
        return not any(step_acts(later) and self.wanted(later) for later in following)

    def _act_on(self, step: StepDefinition, *, final: bool) -> None:
        try:
            self._bind(step, self._each(step, final=final) if "each" in step else self._call(step, final=final))
            if "more" in step and self.dispatcher.left is not None:
                self._say(step["more"], {**self.scope, "total": self.dispatcher.left.total})
        except CallsheetError as error:
            if "hint" in step:
                error.hint = to_text(self.fill(step["hint"], {**self.scope, "error": error.message})) or error.hint
            if "tolerate" not in step:
                raise
            self.tolerated.append(error)
            self._say(step["tolerate"], {**self.scope, "error": error.message})
            self._bind(step, None)
        else:
            self.answered = True

    def _check_all(self, step: StepDefinition, following: Sequence[StepDefinition]) -> None:
        """Before something is changed, build what is to be sent: this step, and later ones as far as is known.

        A single request with nothing after it is built when it is sent.
        """
        if not ({"each", "batch"} & step.keys() or any(map(step_acts, following))):
            return
        if any(self.dispatcher.safety(call) in CHANGES for call in calls_of(step)):
            scope = dict(self.scope)
            for each in [step, *following]:
                self.check_step(each, scope)

    def check_step(self, step: StepDefinition, scope: Scope) -> None:
        """Build what a step sends, and let the policy judge it, with the values that are known before."""
        if "each" in step and self.wanted(step, scope):
            items = items_of(step["each"]["items"], scope)
            parts = precompute_each(step["each"], scope, len(items), item_name(step["each"]))["step"]
            for item in items:
                inner = {**scope, item_name(step["each"]): item}
                for part in parts:
                    self.check_step(cast("StepDefinition", part), inner)
        elif "call" in step and "tolerate" not in step and self.wanted(step, scope):
            for part_scope in self._parts(step, scope):
                self.dispatcher.check_before_sending(self.request(step, part_scope))
        if "value" in step and "call" not in step:
            scope.update(bound_answer(step, evaluate(step["value"], scope), scope))
        else:
            scope.update(bound_answer(step, NOT_SENT if self.wanted(step, scope) else None, scope))

    def _parts(self, step: ItemStep, scope: Scope) -> list[Scope]:
        if "batch" not in step:
            return [scope]
        return [inner for _, inner in groups(items_of(step["batch"]["items"], scope), step["batch"], scope)]

    def _bind(self, step: ItemStep, answer: Any) -> None:
        self.scope.update(bound_answer(step, answer, self.scope))
        self.answer = answer

    def _each(self, step: StepDefinition, *, final: bool) -> Any:
        items = items_of(step["each"]["items"], self.scope)
        numbered = self.numbered(items)
        bulk = bulk_for(self, step, len(numbered))
        if not self.dispatcher.dry:
            self.ask_about(step["each"], items, bulk)
        elif bulk is not None:
            return self._print_bulk(step, bulk, items)
        with self.recording(step, items) as record:
            return self.take_for_each(step, numbered, record, bulk, final=final, already=len(items) - len(numbered))

    def ask_about(self, each: Each, items: list[Any], bulk: InBulk | None) -> None:
        """Where a person is asked before the items are changed."""

    def _print_bulk(self, step: StepDefinition, bulk: InBulk, items: list[Any]) -> Any:
        for start in range(0, len(items), bulk.size):
            self.dispatcher.print(step["each"]["bulk"]["call"], bulk.request(items[start : start + bulk.size]))
        return NOT_SENT

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
        """With a record of what becomes of each item several are under way at once, whatever the method."""
        each = step["each"]
        saves = any("save" in part for part in each["step"])  # files get free names one after another
        parallel = not (self.dispatcher.dry or saves) and (record is not None or self.may_repeat(step))
        workers = WORKERS if parallel else 1
        alike = {**step, "each": precompute_each(each, self.scope, len(items), item_name(each))}
        make = partial(self.item_run, cast("StepDefinition", alike), final=final)
        together = None if bulk is None or bulk.is_denied([items[0].item]) else bulk
        work = Work(items, make, each, self.scope, workers, record, already, together, partial(self._result_for, each))
        answers, failure = run_for_each(self.context, work)
        if failure is not None:
            self.failures.append(failure)
        return answers_of_sent(answers)

    def _result_for(self, each: Each, item: Any) -> Any:
        return self.fill(each.get("result"), {**self.scope, item_name(each): item})

    def may_repeat(self, step: StepDefinition) -> bool:
        return all(map(self.dispatcher.may_repeat, calls_of(step)))

    def numbered(self, items: list[Any]) -> list[Numbered]:
        """Those of a list that are to be done."""
        return [Numbered(*each) for each in enumerate(items)]

    def recording(self, step: StepDefinition, items: list[Any]) -> AbstractContextManager[ItemRecord | None]:
        """Where it is written down what becomes of the items."""
        del step, items
        return nullcontext()

    def item_run(self, step: StepDefinition, item: Numbered, *, final: bool) -> StepsOfItem:
        return ItemRun(self, step["each"], item.item, final=final)

    def _call(self, step: ItemStep, *, final: bool) -> Any:
        if "batch" not in step:
            return self.act(step, self.scope, final=final)
        goes_on = self.failures.append if "save" in step else None  # one file that fails does not stop the others
        answers = run_in_batches(
            items_of(step["batch"]["items"], self.scope),
            step["batch"],
            self.scope,
            lambda scope: self.act(step, scope, final=final),
            goes_on,
            changed=self.context.changed,
        )
        return answers_of_sent(answers)

    def act(self, step: ItemStep, scope: Scope, *, final: bool) -> Any:
        """The answer of one call, `NOT_SENT` where it was printed instead of sent."""
        if "unless_same" in step and is_same(step["unless_same"], body_of(step, scope), scope):
            self._say(step["unless_same"].get("note", ""), scope)
            return scope[step["unless_same"]["step"]]
        request = self.request(step, scope)
        extent = self._extent(step, scope, final=final)
        if self.dispatcher.held_back(request, final=final or "hold" in step):
            self.dispatcher.print(step["call"], request, extent)
            return NOT_SENT
        if path := to_text(self.fill(step.get("save"), scope)):
            return self.dispatcher.save(request, path, named=path in self.named_files)
        if "hold" in step:
            return self.dispatcher.hold(request, to_text(self.fill(step["hold"], scope)))
        if final and self.streams(step, request, extent):
            return None
        answer = self._send(step, request, extent, scope)
        return part_of(step["value"], answer, scope) if "value" in step else answer

    def streams(self, step: ItemStep, request: Request, extent: Extent) -> bool:
        """Whether the answer was printed as its pages came."""
        del step, request, extent
        return False

    def last_extent(self) -> Extent:
        """How much of a list the last call asks for."""
        return ONE_PAGE

    def _extent(self, step: ItemStep, scope: Scope, *, final: bool) -> Extent:
        if "limit" in step:
            limit = self.fill(step["limit"], scope)
            return Extent(most=amount(limit)) if limit is not None else ONE_PAGE
        return self.last_extent() if final else ONE_PAGE

    def _send(self, step: ItemStep, request: Request, extent: Extent, scope: Scope) -> Any:
        try:
            return self.dispatcher.answer(step["call"], request, extent)
        except Conflict as error:
            if "on_conflict" not in step:
                raise
            return on_conflict(self, step, scope, error)

    def request(self, step: ItemStep, scope: Scope) -> Request:
        body = body_of(step, scope)
        files = paths(self.fill(step.get("files"), scope))
        arguments = self.fill(step.get("args", {}), scope) or {}
        try:
            return self.dispatcher.build(step["call"], arguments, body, files)
        except MissingArguments as error:
            raise explain_missing_arguments(error, step.get("args", {}), scope, "this command") from None
        except UnfitBody as error:
            raise explained_body(error, step.get("body", {}), scope) from None


class ItemRun(StepRun):
    """The steps for one item of a list, beside those for others: what they note is told in the order of the list."""

    def __init__(
        self, whole: StepRun, each: Each, item: Any, *, final: bool, seen: Mapping[str, Any] | None = None
    ) -> None:
        """`seen` are further names in the scope of its steps."""
        scope = {**whole.scope, item_name(each): item, **(seen or {})}
        self._own = cast("list[StepDefinition]", each["step"])
        super().__init__(whole.context, whole.dispatcher, [*whole.steps, *self._own], scope)
        self.named_files = whole.named_files
        self.lookups = whole.lookups
        self.item = item
        self.notes: list[str] = []
        self._each_of = each
        self._final = final

    def note(self, text: str) -> None:
        self.notes.append(text)

    def is_final(self, following: Sequence[StepDefinition]) -> bool:
        return self._final and super().is_final(following)

    def run(self) -> Any:
        """What stands for the item in the answer of the whole step."""
        self.take_all(self._own)
        if self.failures:
            raise self.failures[0]
        if self.answer is NOT_SENT or "result" not in self._each_of:
            return self.answer
        return self.fill(self._each_of["result"])
