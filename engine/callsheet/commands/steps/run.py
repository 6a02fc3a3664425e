"""A command's steps from start to end, and printing what they give."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Any, cast

from ... import registry
from ...client.listed import list_in_answer, thing_in_answer
from ...errors import CallsheetError, UsageError, did_you_mean
from ...integers import parse_whole_number
from ...language.parameters import to_identifier
from ...language.safety import CHANGES
from ...language.template import evaluate, evaluate_part, to_text
from ..execute import Extent, check_operation, extent_of, refuse_when_read_only
from .asking import ask_for, mentions, take_piped, wanted
from .dispatcher import ONE_PAGE, StepDispatcher
from .field_columns import with_fields
from .lookup import Lookups
from .plan import ask_about
from .scope import convert_values, resolve_values, scope_of
from .sequence import StepRun
from .step_answers import NOT_SENT, calls_of, step_acts

if TYPE_CHECKING:
    from ...client.request.model import Request
    from ...language.shape.commands import CompiledCommand, Param, ViewDefinition
    from ...language.shape.steps import Each, ItemStep, StepDefinition
    from ...output import Output
    from ..context import Context, ParameterValues
    from ..dump import Dump
    from ..execute import Extent
    from .bulk import InBulk
    from .each import ItemRecord


# A command's answer on standard output: one thing, or the wanted part of a list that came whole.


def show(output: Output, value: Any) -> None:
    if isinstance(value, list):
        output.items(value)
    elif value is not None:
        output.one(value)


def show_part(context: Context, output: Output, found: Any, extent: Extent, under: str | None = None) -> None:
    """Where a service answers a list whole, pages are cut out of it here, and counted; they start at an index."""
    items = list_in_answer(found, under)
    if extent.counted:
        output.one(len(items))
        return
    start = _index(extent.start)
    length = extent.most if extent.most is not None or extent.all else extent.size
    end = len(items) if length is None else start + length
    output.items(items[start:end])
    if end < len(items) and extent.most is None:
        context.note_more(end, len(items))


def _index(start: str | None) -> int:
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
        self.named_files = frozenset(_paths(self.params, self.scope["given"]))
        self.shown = False
        self.dump: Dump | None = None
        self._ending = ExitStack()  # what is done at the end, whatever ends it
        self._ending.callback(self.dispatcher.close)

    def run(self) -> None:
        self._guard()
        try:
            with self._ending:
                self.begin()
                if not self.shown and not self.dispatcher.dry:
                    self._show()
                if self.failures:
                    raise self.failures[0]
        except (CallsheetError, KeyboardInterrupt):
            self.context.prompts.keep_drafts()
            raise

    def begin(self) -> None:
        """Everything that can be refused without asking the service is refused first."""
        take_piped(self.context, self.params, self.scope)
        mentions = convert_values(self.context, self.params, self.scope)
        asked = wanted(self.context, self.params, self.scope)
        self._refuse(without=asked)
        if asked:
            ask_for(self.lookups, self.params, asked, self.scope)
            self._refuse()
        first = next((place for place, step in enumerate(self.steps) if step_acts(step)), len(self.steps))
        if "confirm" in self.command:
            self.context.will_confirm(self._question())
        resolve_values(self.lookups, self.params, self.scope)
        mentions.find(self.lookups, self.scope)
        self.prepare_output()
        if "confirm" in self.command:  # by the names that were found
            self.context.confirm(self._question())
        self.dump = self._ending.enter_context(self._destination())
        self.take_all([step for place, step in enumerate(self.steps) if place >= first or "fail" not in step])

    def _question(self) -> str:
        """What a person is asked; where a definition finds no words for it, what the command does."""
        return to_text(self.fill(self.command["confirm"])) or f"{self.command['help']}?"

    def _refuse(self, without: Sequence[Param] = ()) -> None:
        """What can be refused before anything is asked of the service; `without` are values that are yet to come."""
        for step in self.steps:
            if step_acts(step):
                return
            if "fail" in step and not mentions(step.get("when", ""), without):
                self.fail(step)

    def prepare_output(self) -> None:
        """Raises what is wrong with format, columns and filters before anything is changed."""
        self.view = with_fields(self.command, self._view(), self.lookups, self.scope)
        self.output = self.context.output(self.view, settled=self.changes)

    def ask_about(self, each: Each, items: list[Any], bulk: InBulk | None) -> None:
        ask_about(self, each, items, bulk=bulk.size if bulk is not None else None)

    def recording(self, step: StepDefinition, items: list[Any]) -> AbstractContextManager[ItemRecord | None]:
        from .recording import recording

        return recording(self, step, items) if "journal" in self.command else super().recording(step, items)

    @contextmanager
    def _destination(self) -> Iterator[Dump | None]:
        """Where the result goes: to standard output, or to a file that a person named."""
        if self.extent.out is None or self.dispatcher.dry:
            yield None
            return
        from ..dump import dumped, format_of, mark_of

        if self.context.option("output") is None and (format := format_of(self.extent.out)):
            self.context.options["output"] = format
            self.output = self.context.output(self.view, settled=self.changes)
        aside = ("out", "resume")
        given = {name: value for name, value in self.scope["given"].items() if name not in aside}
        shape = [self.context.option(name) for name in ("columns", "jq", "query")]
        site = sorted(self.context.site().addresses)
        mark = mark_of(site, self.command.get("help"), given, self.context.output_format, shape)
        can_resume = self.output.is_line_by_line
        with dumped(self.context, self.extent.out, mark, resume=self.extent.resume, can_resume=can_resume) as dump:
            if dump is not None and dump.continues:
                self.context.options["no-headers"] = True
            self.output = self.context.output(self.view, settled=self.changes)
            yield dump

    def _guard(self) -> None:
        if self.changes and not self.dispatcher.dry:
            refuse_when_read_only(self.context, self._first_change)
            for step in self.steps:
                if "when" not in step:
                    for call in calls_of(step, certain=True):
                        check_operation(self.context, self.dispatcher.builder.call(call))

    def _first_change(self) -> str:
        """What a refusal names: the first operation of its steps that changes something, else the command."""
        for call in (call for step in self.steps for call in calls_of(step)):
            with suppress(CallsheetError):  # one that this deployment does not have
                if self.dispatcher.builder.call(call).safety in CHANGES:
                    return call
        return "this command"

    def _view(self) -> ViewDefinition | None:
        return self.context.catalog.get("view", self.command["view"]) if "view" in self.command else None

    def streams(self, step: ItemStep, request: Request, extent: Extent) -> bool:
        if {"value", "batch", "as"} & step.keys() or {"result", "items"} & self.command.keys():
            return False
        plan = self.dispatcher.plan(step["call"])
        if plan is None:
            return False
        if extent.counted:
            self.output.one(self.dispatcher.count(plan, request))
        else:
            self.dispatcher.show(self.output, plan, request, extent, self.dump)
        self.shown = True
        return True

    def last_extent(self) -> Extent:
        return ONE_PAGE if "items" in self.command and not self.extent.counted else self.extent

    def _show(self) -> None:
        answer = None if self.answer is NOT_SENT else self.answer
        if self.context.option("web"):
            answer = self._result() if "result" in self.command else answer
            self._open(answer if isinstance(answer, list) else [answer])
            if not self.changes:
                return
        if "items" in self.command:
            items = evaluate_part(self.command["items"], answer, self.scope)
            show_part(self.context, self.output, items, self.extent, self.command["items"])
        elif "result" in self.command:
            show(self.output, self._checked(self._result()))
        elif (
            self.command.get("pages") and self.answer is not NOT_SENT and not isinstance(answer, int)
        ):  # which counts them
            show_part(self.context, self.output, answer, self.extent)
        else:
            show(self.output, self._checked(answer))

    def _checked(self, found: Any) -> Any:
        """Raises `CallsheetError` for an answer that is not the thing which a command shows."""
        if found is None and any("save" in step for step in self.command.get("step", ())):
            return None  # it was written to standard output
        if "id" in (self.view or {}) and not self.changes and self.answer is not NOT_SENT:
            thing_in_answer(found, cast("ViewDefinition", self.view)["id"])
        return found

    def _open(self, things: list[Any]) -> None:
        """Show things in the browser; not more than can be looked at."""
        from ..browser import show_in_browser
        from ..web_address import web_address

        view = self.view or {"columns": []}
        ids = [to_text(evaluate(view.get("id", "@"), thing)) for thing in things if thing is not None]
        for id in ids[:_MOST_OPENED]:
            show_in_browser(self.context, web_address(self.context.catalog, self.context.site(), view["web"], id))
        if len(ids) > _MOST_OPENED:
            self.context.note(f"{len(ids) - _MOST_OPENED} more were not opened")

    def _result(self) -> Any:
        result = self.fill(self.command["result"])
        converter = self.fill(self.command.get("convert"))
        if not converter or result is None:
            return result
        if converter not in registry.CONVERTERS:
            raise UsageError(f"no format {converter!r}{did_you_mean(to_text(converter), registry.CONVERTERS)}")
        try:
            return registry.resolve_entry(registry.CONVERTERS[converter])(self.context, result)
        except (TypeError, ValueError) as error:
            raise CallsheetError(f"the result is nothing that {converter!r} converts: {error}") from None


def _paths(params: list[Param], given: dict[str, Any]) -> set[Any]:
    """The paths that a person gave."""
    paths = [param for param in params if param.get("type") == "path" and not param.get("multiple")]
    return {given.get(to_identifier(param["name"])) for param in paths}
