"""A command's steps from start to end: each in its turn, what it gives, and printing that."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from ... import registry
from ...client.listed import list_in_answer, part_of, thing_in_answer
from ...client.request.build import MissingArguments
from ...client.request.json_body import UnfitBody
from ...errors import CallsheetError, Conflict, NoMatch, UsageError, did_you_mean
from ...jsontext import parse_whole_number
from ...language.parameters import to_identifier
from ...language.safety import CHANGES
from ...language.template import Scope, evaluate, evaluate_part, fill_template, fill_text, to_text
from ...output.columns import id_columns
from ..execute import Extent, check_operation, extent_of, refuse_when_read_only
from .asking import (
    ask_for,
    asked_parameters,
    depends_on_parameters,
    file_paths,
    item_amount,
    items_of,
    step_failure,
    take_piped,
)
from .converters import (
    NOT_SENT,
    Unknown,
    answers_of_sent,
    body_of,
    bound_answer,
    calls_of,
    edited_text,
    is_open,
    item_name,
    step_acts,
)
from .dispatcher import ONE_PAGE, StepDispatcher
from .each_item import (
    WORKERS,
    InBulk,
    ItemRecord,
    Numbered,
    StepsOfItem,
    Work,
    batch_groups,
    bulk_for,
    run_for_each,
    run_in_batches,
)
from .lookup import Lookups, condition_holds_here, explain_missing_arguments, explained_body, precompute_each
from .parameter_scope import convert_values, resolve_values, scope_of
from .snapshot import ask_about, is_same, on_conflict, undo_steps

if TYPE_CHECKING:
    from ...client.request.http_request import Request
    from ...jsontext import JsonObject
    from ...language.shape.commands import ColumnDefinition, CompiledCommand, FieldColumns, Param, ViewDefinition
    from ...language.shape.steps import Each, Find, ItemStep, StepDefinition
    from ...output import Output
    from ..context import Context, ParameterValues
    from ..dump import Dump
    from .recording import Making


# Steps taken in order, in one scope: those of a whole command, or those for one item of a list.


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
        self.making: Making | None = None
        self.named_files: frozenset[Any] = frozenset()  # paths that a person gave
        self.answer: Any = None
        self.answered = False
        self.tolerated: list[CallsheetError] = []
        self.failures: list[CallsheetError] = []
        self.odd_answers: list[Any] = []  # whole answers of calls that are no objects

    def fill_value(self, value: Any, scope: Mapping[str, Any] | None = None) -> Any:
        return fill_template(value, self.scope if scope is None else scope)

    def is_wanted(self, step: ItemStep, scope: Mapping[str, Any] | None = None) -> bool:
        return "when" not in step or condition_holds_here(step["when"], self.scope if scope is None else scope)

    def note(self, text: str) -> None:
        self.context.note(text)

    def raise_failure(self, step: ItemStep) -> None:
        if self.is_wanted(step) and not is_open(step, self.scope):
            error = step_failure(step.get("code"), self.fill_value(step["fail"]), self.fill_value(step.get("hint")))
            # At a terminal the line is refused before anything is sent.
            if "candidates" in step and self.context.literal and not self.dispatcher.dry:
                error.details = (*error.details, *self.lookups.listed_candidates(step["candidates"], self.scope))
            raise error

    def take_all(self, steps: Sequence[StepDefinition]) -> None:
        """Ends early after failures in the steps of items, lest what follows is done to all of them."""
        for place, step in enumerate(steps):
            self._take_step(step, steps[place + 1 :])
            if "each" in step and self.failures:
                return
        if self.tolerated and not self.answered:
            raise self.tolerated[0]

    def _take_step(self, step: StepDefinition, following: Sequence[StepDefinition]) -> None:
        if "fail" in step:
            self.raise_failure(step)
        elif not self.is_wanted(step):
            return
        elif "confirm" in step:
            if not self.dispatcher.dry:
                self.context.confirm(to_text(self.fill_value(step["confirm"])) or "Go on?")
        elif "find" in step:
            self.scope[str(step["as"])] = self._find_step(step["find"])
        elif "note" in step:
            if not is_open(step, self.scope):
                self._say_note(step["note"], self.scope)
        elif "value" in step and "call" not in step:
            self.scope.update(bound_answer(step, evaluate(step["value"], self.scope), self.scope))
        elif "edit" in step:
            self._bind_answer(step, edited_text(self.context, self.fill_value(step["edit"])))
        else:
            final = self.is_final(following)
            self._check_all(step, following)
            self._act_on(step, final=final)

    def _say_note(self, template: str, scope: Scope) -> None:
        """A note, unless what it says is nothing."""
        if text := to_text(self.fill_value(template, scope)):
            self.note(text)

    def _find_step(self, find: Find) -> JsonObject | None:
        """What a word means; null where there is no word."""
        word = to_text(self.fill_value(find["word"]))
        if not word:
            return None
        match = self.lookups.find_candidate(find["lookup"], word, self.scope)
        return {"value": match.value, "name": match.name}

    def is_final(self, following: Sequence[StepDefinition]) -> bool:
        """Whether nothing is called after this: what such a step asks for is what a dry run is about."""
        return not any(step_acts(later) and self.is_wanted(later) for later in following)

    def _act_on(self, step: StepDefinition, *, final: bool) -> None:
        try:
            self._bind_answer(
                step, self._each_item(step, final=final) if "each" in step else self._call_step(step, final=final)
            )
            if "more" in step and self.dispatcher.left is not None:
                self._say_note(step["more"], {**self.scope, "total": self.dispatcher.left.total})
        except CallsheetError as error:
            if "hint" in step:
                error.hint = (
                    to_text(self.fill_value(step["hint"], {**self.scope, "error": error.message})) or error.hint
                )
            if "tolerate" not in step:
                raise
            self.tolerated.append(error)
            self._say_note(step["tolerate"], {**self.scope, "error": error.message})
            self._bind_answer(step, None)
        else:
            self.answered = True

    def _check_all(self, step: StepDefinition, following: Sequence[StepDefinition]) -> None:
        """Before something is changed, build what is to be sent: this step, and later ones as far as is known.

        A single request with nothing after it is built when it is sent.
        """
        if not ({"each", "batch"} & step.keys() or any(map(step_acts, following))):
            return
        if any(self.dispatcher.safety_of(call) in CHANGES for call in calls_of(step)):
            scope = dict(self.scope)
            for each in [step, *following]:
                self.check_step(each, scope)

    def check_step(self, step: StepDefinition, scope: Scope) -> None:
        """Build what a step sends, and let the policy judge it, with the values that are known before."""
        if "each" in step and self.is_wanted(step, scope):
            items = items_of(step["each"]["items"], scope)
            parts = precompute_each(step["each"], scope, len(items), item_name(step["each"]))["step"]
            for item in items:
                inner = {**scope, item_name(step["each"]): item}
                for part in parts:
                    self.check_step(cast("StepDefinition", part), inner)
        elif "call" in step and "tolerate" not in step and self.is_wanted(step, scope):
            for part_scope in self._part_scopes(step, scope):
                self.dispatcher.check_before_sending(self.build_request(step, part_scope))
        if "value" in step and "call" not in step:
            scope.update(bound_answer(step, evaluate(step["value"], scope), scope))
        else:
            scope.update(bound_answer(step, NOT_SENT if self.is_wanted(step, scope) else None, scope))

    def _part_scopes(self, step: ItemStep, scope: Scope) -> list[Scope]:
        if "batch" not in step:
            return [scope]
        return [inner for _, inner in batch_groups(items_of(step["batch"]["items"], scope), step["batch"], scope)]

    def _bind_answer(self, step: ItemStep, answer: Any) -> None:
        self.scope.update(bound_answer(step, answer, self.scope))
        self.answer = answer

    def _each_item(self, step: StepDefinition, *, final: bool) -> Any:
        items = items_of(step["each"]["items"], self.scope)
        numbered = self.numbered_items(items)
        bulk = bulk_for(self, step, len(numbered))
        if not self.dispatcher.dry:
            self.ask_about(step["each"], items, bulk)
        elif bulk is not None:
            return self._print_bulk(step, bulk, items)
        with self.record_items(step, items) as record:
            return self.take_for_each(step, numbered, record, bulk, final=final, already=len(items) - len(numbered))

    def ask_about(self, each: Each, items: list[Any], bulk: InBulk | None) -> None:
        """Where a person is asked before the items are changed."""

    def _print_bulk(self, step: StepDefinition, bulk: InBulk, items: list[Any]) -> Any:
        for start in range(0, len(items), bulk.size):
            self.dispatcher.print_curl(
                step["each"]["bulk"]["call"], bulk.bulk_request(items[start : start + bulk.size])
            )
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
        return self.fill_value(each.get("result"), {**self.scope, item_name(each): item})

    def may_repeat(self, step: StepDefinition) -> bool:
        return all(map(self.dispatcher.may_repeat, calls_of(step)))

    def numbered_items(self, items: list[Any]) -> list[Numbered]:
        """Those of a list that are to be done."""
        return [Numbered(*each) for each in enumerate(items)]

    def record_items(self, _step: StepDefinition, _items: list[Any]) -> AbstractContextManager[ItemRecord | None]:
        """Where it is written down what becomes of the items."""
        return nullcontext()

    def can_undo(self, each: Each) -> bool:
        """Whether what becomes of the items can be taken back."""
        makes = self.making is not None and self.making.can_make(each["step"])
        return makes or bool(undo_steps(self.context, each))

    def item_run(self, step: StepDefinition, item: Numbered, *, final: bool) -> StepsOfItem:
        return ItemRun(self, step["each"], item.item, final=final)

    def _call_step(self, step: ItemStep, *, final: bool) -> Any:
        if "batch" not in step:
            return self.call_operation(step, self.scope, final=final)
        goes_on = self.failures.append if "save" in step else None  # one file that fails does not stop the others
        answers = run_in_batches(
            items_of(step["batch"]["items"], self.scope),
            step["batch"],
            self.scope,
            lambda scope: self.call_operation(step, scope, final=final),
            goes_on,
            changed=self.context.changed,
        )
        return answers_of_sent(answers)

    def call_operation(self, step: ItemStep, scope: Scope, *, final: bool) -> Any:
        """The answer of one call, `NOT_SENT` where it was printed instead of sent."""
        if "unless_same" in step and is_same(step["unless_same"], body_of(step, scope), scope):
            self._say_note(step["unless_same"].get("note", ""), scope)
            return scope[step["unless_same"]["step"]]
        request = self.build_request(step, scope)
        extent = self._step_extent(step, scope, final=final)
        if self.dispatcher.held_back(request, final=final or "hold" in step):
            self.dispatcher.print_curl(step["call"], request, extent)
            return NOT_SENT
        if path := to_text(self.fill_value(step.get("save"), scope)):
            return self.dispatcher.save_file(request, path, named=path in self.named_files)
        if "hold" in step:
            return self.dispatcher.hold_file(request, to_text(self.fill_value(step["hold"], scope)))
        if final and self.prints_stream(step, request, extent):
            return None
        answer = self._send_request(step, request, extent, scope)
        if "value" in step:
            return part_of(step["value"], answer, scope)
        if answer is not None and not isinstance(answer, dict) and self.dispatcher.page_plan(step["call"]) is None:
            self.odd_answers.append(answer)
        return answer

    def prints_stream(self, _step: ItemStep, _request: Request, _extent: Extent) -> bool:
        """Whether the answer was printed as its pages came."""
        return False

    def last_extent(self) -> Extent:
        """How much of a list the last call asks for."""
        return ONE_PAGE

    def _step_extent(self, step: ItemStep, scope: Scope, *, final: bool) -> Extent:
        if "limit" in step:
            limit = self.fill_value(step["limit"], scope)
            return Extent(most=item_amount(limit)) if limit is not None else ONE_PAGE
        return self.last_extent() if final else ONE_PAGE

    def _send_request(self, step: ItemStep, request: Request, extent: Extent, scope: Scope) -> Any:
        things = self.making.before_sending(step, request) if self.making is not None else None
        try:
            answer = self.dispatcher.fetch_answer(step["call"], request, extent)
        except Conflict as error:
            if "on_conflict" not in step:
                raise
            return on_conflict(self, step, scope, error)
        if self.making is not None and things is not None:
            self.making.add_answer(things, self.fill_value(step.get("args", {}), scope) or {}, answer)
        return answer

    def build_request(self, step: ItemStep, scope: Scope) -> Request:
        body = body_of(step, scope)
        files = file_paths(self.fill_value(step.get("files"), scope))
        arguments = self.fill_value(step.get("args", {}), scope) or {}
        try:
            return self.dispatcher.build_request(step["call"], arguments, body, files)
        except MissingArguments as error:
            raise explain_missing_arguments(error, step.get("args", {}), scope, "this command") from None
        except UnfitBody as error:
            answers = {str(each["as"]) for each in self.steps if "call" in each and "as" in each}
            raise explained_body(error, step.get("body", {}), scope, answers) from None


class ItemRun(StepRun):
    """The steps for one item of a list, beside those for others: what they note is told in the order of the list."""

    def __init__(
        self, whole: StepRun, each: Each, item: Any, *, final: bool, seen: Mapping[str, Any] | None = None
    ) -> None:
        """`seen` are further names in the scope of its steps."""
        scope = {**whole.scope, item_name(each): item, **(seen or {})}
        self._own = cast("list[StepDefinition]", each["step"])
        super().__init__(whole.context, whole.dispatcher, [*whole.steps, *self._own], scope)
        self.making = whole.making
        self.named_files = whole.named_files
        self.lookups = whole.lookups
        self.odd_answers = whole.odd_answers
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
        return self.fill_value(self._each_of["result"])


# Columns beyond those of a view: fields that the service knows by the names people call them.


_FIELD = re.compile(r"\w")
_PATH = re.compile(r"[.\[\]()|`]")


def with_fields(
    command: CompiledCommand, view: ViewDefinition | None, lookups: Lookups, scope: Scope
) -> ViewDefinition | None:
    """The view with a column for every name of `--columns` it lacks; `columns` in the scope are the fields' ids.

    `needed` are the fields that the view's own columns need.
    """
    scope["columns"] = None
    scope["needed"] = needed_fields(view) if view else None
    rule = command.get("columns")
    asked = lookups.context.option("columns")
    if not rule or view is None:
        return view
    if not asked:
        return _of_parameter(rule, view, scope)
    known = {column["name"].casefold() for column in view["columns"]}
    names = [name.strip() for name in asked.split(",") if name.strip()]
    ids: list[Any] = []
    added: list[ColumnDefinition] = []
    for name in names:
        if name.casefold() in known or _PATH.search(name):
            continue
        id = _field_id(lookups, rule["lookup"], name, scope)
        if id is not None:
            ids.append(id)
            if not isinstance(id, Unknown):
                added.append({"name": name, "value": fill_text(rule["value"], {"id": id}), "wide": True})
    scope["columns"] = ids or None
    return {**view, "columns": [*view["columns"], *added]}


def needed_fields(view: ViewDefinition) -> list[str] | None:
    """What the columns of a view need, each once; None where they need nothing."""
    return list(dict.fromkeys(name for column in view["columns"] for name in column.get("needs", ()))) or None


def _of_parameter(rule: FieldColumns, view: ViewDefinition, scope: Scope) -> ViewDefinition:
    """The view with what identifies a thing, and the fields that were asked for in its order."""
    name = rule.get("asked", "").replace("-", "_")
    ids = scope.get(name) or []
    if not ids or any(isinstance(id, Unknown) or not _FIELD.match(to_text(id)) for id in ids):  # `*all`, `-comment`
        return view
    shown = id_columns(view)
    for word, id in zip(scope["given"][name], ids, strict=True):
        value = fill_text(rule["value"], {"id": id})
        own = [column for column in view["columns"] if _is_of(column["value"], value)]
        shown += own or [{"name": word, "value": value}]
    return {**view, "columns": [{**column, "wide": False} for column in shown]}


def _is_of(expression: str, field: str) -> bool:
    """Whether a column shows a field, or a part of it."""
    plain, wanted = expression.replace('"', ""), field.replace('"', "")
    return plain == wanted or plain.startswith(f"{wanted}.")


def _field_id(lookups: Lookups, lookup: str, name: str, scope: Scope) -> Any:
    """Its id; None for an unknown word, which may be a key of the items. Several words can only be a field's name."""
    try:
        return lookups.resolve_word(lookup, name, scope)
    except NoMatch:
        if " " in name:
            raise
        return None


# A command's answer on standard output: one thing, or the wanted part of a list that came whole.


def print_value(output: Output, value: Any) -> None:
    if isinstance(value, list):
        output.print_items(value)
    elif value is not None:
        output.print_one(value)


def show_part(context: Context, output: Output, found: Any, extent: Extent, under: str | None = None) -> None:
    """Where a service answers a list whole, pages are cut out of it here, and counted; they start at an index."""
    items = list_in_answer(found, under)
    if extent.counted:
        output.print_one(len(items))
        return
    start = _start_index(extent.start)
    length = extent.most if extent.most is not None or extent.all else extent.size
    end = len(items) if length is None else start + length
    output.print_items(items[start:end])
    if end < len(items) and extent.most is None:
        context.note_more(end, len(items))


def _start_index(start: str | None) -> int:
    index = 0 if start is None else parse_whole_number(start)
    if index is None:
        raise UsageError(f"--page-token expects a whole number here, not {start!r}")
    return index


# One run of a command that is made of steps, from its values to what is printed.


_MOST_OPENED = 5  # in a browser


class Run(StepRun):
    def __init__(self, context: Context, command: CompiledCommand, values: ParameterValues) -> None:
        self.command = command
        self.params: list[Param] = command.get("params", [])
        super().__init__(context, StepDispatcher(context), command["step"], scope_of(context, self.params, values))
        self.changes = command["safety"] in CHANGES
        self.lookups = Lookups(context, self.dispatcher, exact=self.changes)
        paging = values if command.get("counts") else {**values, "count": None}
        self.extent = extent_of(paging) if command.get("pages") else ONE_PAGE
        self.named_files = frozenset(_given_paths(self.params, self.scope["given"]))
        self.shown = False
        self.dump: Dump | None = None
        self._ending = ExitStack()  # what is done at the end, whatever ends it
        self._ending.callback(self.dispatcher.close)

    def run(self) -> None:
        self._check_policy()
        try:
            with self._ending:
                if self.making is not None:
                    self._ending.enter_context(self.making.in_own_journal())
                self.begin_run()
                if not self.shown and not self.dispatcher.dry:
                    self._show_result()
                if self.failures:
                    raise self.failures[0]
        except (CallsheetError, KeyboardInterrupt):
            self.context.prompts.keep_drafts()
            raise

    def begin_run(self) -> None:
        """Everything that can be refused without asking the service is refused first."""
        take_piped(self.context, self.params, self.scope)
        mentions = convert_values(self.context, self.params, self.scope)
        asked = asked_parameters(self.context, self.params, self.scope)
        self._refuse_early(without=asked)
        if asked:
            ask_for(self.lookups, self.params, asked, self.scope)
            self._refuse_early()
        first = next((place for place, step in enumerate(self.steps) if step_acts(step)), len(self.steps))
        if "confirm" in self.command:
            self.context.will_confirm(self._confirmation_question())
        resolve_values(self.lookups, self.params, self.scope)
        mentions.find_people(self.lookups, self.scope)
        self.prepare_output()
        if "confirm" in self.command:  # by the names that were found
            self.context.confirm(self._confirmation_question())
        self.dump = self._ending.enter_context(self._open_destination())
        self.take_all([step for place, step in enumerate(self.steps) if place >= first or "fail" not in step])

    def _confirmation_question(self) -> str:
        """What a person is asked; where a definition finds no words for it, what the command does."""
        return to_text(self.fill_value(self.command["confirm"])) or f"{self.command['help']}?"

    def _refuse_early(self, without: Sequence[Param] = ()) -> None:
        """What can be refused before anything is asked of the service; `without` are values that are yet to come."""
        for step in self.steps:
            if step_acts(step):
                return
            if "fail" in step and not depends_on_parameters(step.get("when", ""), without):
                self.raise_failure(step)

    def prepare_output(self) -> None:
        """Raises what is wrong with format, columns and filters before anything is changed."""
        self.view = with_fields(self.command, self._chosen_view(), self.lookups, self.scope)
        self.output = self.context.output(self.view, settled=self.changes)

    def ask_about(self, each: Each, items: list[Any], bulk: InBulk | None) -> None:
        ask_about(self, each, items, bulk=bulk.size if bulk is not None else None)

    def record_items(self, step: StepDefinition, items: list[Any]) -> AbstractContextManager[ItemRecord | None]:
        from .recording import record_items

        return record_items(self, step, items) if self.making is not None else super().record_items(step, items)

    @contextmanager
    def _open_destination(self) -> Iterator[Dump | None]:
        """Where the result goes: to standard output, or to a file that a person named."""
        if self.extent.out is None or self.dispatcher.dry:
            yield None
            return
        from ..dump import dump_to_file, format_of, mark_of

        if self.context.option("output") is None and (format := format_of(self.extent.out)):
            self.context.options["output"] = format
            self.output = self.context.output(self.view, settled=self.changes)
        aside = ("out", "resume")
        given = {name: value for name, value in self.scope["given"].items() if name not in aside}
        shape = [self.context.option(name) for name in ("columns", "jq", "query")]
        site = sorted(self.context.site().addresses)
        mark = mark_of(site, self.command.get("help"), given, self.context.output_format, shape)
        can_resume = self.output.is_line_by_line
        with dump_to_file(
            self.context, self.extent.out, mark, resume=self.extent.resume, can_resume=can_resume
        ) as dump:
            if dump is not None and dump.continues:
                self.context.options["no-headers"] = True
            self.output = self.context.output(self.view, settled=self.changes)
            yield dump

    def _check_policy(self) -> None:
        if self.changes and not self.dispatcher.dry:
            refuse_when_read_only(self.context, self._first_change)
            for step in self.steps:
                if "when" not in step:
                    for call in calls_of(step, certain=True):
                        check_operation(self.context, self.dispatcher.builder.operation_call(call))

    def _first_change(self) -> str:
        """What a refusal names: the first operation of its steps that changes something, else the command."""
        for call in (call for step in self.steps for call in calls_of(step)):
            with suppress(CallsheetError):  # one that this deployment does not have
                if self.dispatcher.builder.operation_call(call).safety in CHANGES:
                    return call
        return "this command"

    def _chosen_view(self) -> ViewDefinition | None:
        return self.context.catalog.views.get(self.command["view"]) if "view" in self.command else None

    def prints_stream(self, step: ItemStep, request: Request, extent: Extent) -> bool:
        if {"value", "batch", "as"} & step.keys() or {"result", "items"} & self.command.keys():
            return False
        plan = self.dispatcher.page_plan(step["call"])
        if plan is None:
            return False
        if extent.counted:
            self.output.print_one(self.dispatcher.count_items(plan, request))
        else:
            self.dispatcher.print_pages(self.output, plan, request, extent, self.dump)
        self.shown = True
        return True

    def last_extent(self) -> Extent:
        return ONE_PAGE if "items" in self.command and not self.extent.counted else self.extent

    def _show_result(self) -> None:
        answer = None if self.answer is NOT_SENT else self.answer
        if self.context.option("web"):
            answer = self._command_result() if "result" in self.command else answer
            self._open_in_browser(answer if isinstance(answer, list) else [answer])
            if not self.changes:
                return
        if "items" in self.command:
            items = evaluate_part(self.command["items"], answer, self.scope)
            show_part(self.context, self.output, items, self.extent, self.command["items"])
        elif "result" in self.command:
            print_value(self.output, self.checked_result(self._command_result()))
        elif (
            self.command.get("pages") and self.answer is not NOT_SENT and not isinstance(answer, int)
        ):  # which counts them
            show_part(self.context, self.output, answer, self.extent)
        else:
            print_value(self.output, self.checked_result(answer))

    def checked_result(self, found: Any) -> Any:
        """Raises `CallsheetError` for an answer that is not the thing which a command shows."""
        if found is None and any("save" in step for step in self.command.get("step", ())):
            return None  # it was written to standard output
        if found is None and self.failures:
            return None  # nothing of it succeeded
        if self.view is not None and "id" in self.view and self.answer is not NOT_SENT:
            thing_in_answer(found, self.view["id"], odd=self.odd_answers, is_changed=self.changes)
        return found

    def _open_in_browser(self, things: list[Any]) -> None:
        """Show things in the browser; not more than can be looked at."""
        view = self.view or {"columns": []}
        ids = [to_text(evaluate(view.get("id", "@"), thing)) for thing in things if thing is not None]
        for id in ids[:_MOST_OPENED]:
            self.context.show_in_browser(self.context.web_address(view["web"], id))
        if len(ids) > _MOST_OPENED:
            self.context.note(f"{len(ids) - _MOST_OPENED} more were not opened")

    def _command_result(self) -> Any:
        result = self.fill_value(self.command["result"])
        converter = self.fill_value(self.command.get("convert"))
        if not converter or result is None:
            return result
        if converter not in registry.CONVERTERS:
            raise UsageError(f"no format {converter!r}{did_you_mean(to_text(converter), registry.CONVERTERS)}")
        try:
            return registry.resolve_entry(registry.CONVERTERS[converter])(self.context, result)
        except (TypeError, ValueError) as error:
            raise CallsheetError(f"{converter!r} cannot convert the result: {error}") from None


def _given_paths(params: list[Param], given: dict[str, Any]) -> set[Any]:
    """The paths that a person gave."""
    paths = [param for param in params if param.get("type") == "path" and not param.get("multiple")]
    return {given.get(to_identifier(param["name"])) for param in paths}
