"""A command's steps, taken in order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ... import registry
from ...errors import CallsheetError, Conflict, NotAllowed, NotFound, UsageError
from ...language.deployment import check_available, on_deployment
from ...language.safety import CHANGES
from ...language.template import TemplateError, evaluate, fill, to_text
from ..execute import Extent, check_operation, extent_of, refuse_when_read_only
from .batch import groups, run_in_batches
from .conflict import on_conflict
from .dispatcher import ONE_PAGE, Dispatcher
from .field_columns import with_fields
from .lookup import Lookups
from .print_result import show, show_part
from .rich_text import edited
from .scope import convert_values, identifier, resolve_values, scope_of
from .unknown import Unknown

if TYPE_CHECKING:
    from ...client.request.model import Request
    from ...language.shape.commands import Param, ViewDefinition
    from ...language.shape.compiled import CompiledCommand
    from ...language.shape.steps import StepDefinition
    from ..context import Context

Scope = dict[str, Any]

CODES: dict[str, type[CallsheetError]] = {
    kind.code: kind for kind in (CallsheetError, UsageError, NotFound, Conflict, NotAllowed)
}
_HELD = object()


def run_steps(context: Context, command: CompiledCommand, values: dict[str, Any]) -> None:
    """Run a command that is made of calls. `values` are by the parameters' names in the definition."""
    try:
        deployment = context.site().deployment
        here = on_deployment(command, deployment)
        check_available(here, "this command", deployment)
        Run(context, here, values).run()
    except TemplateError as error:
        raise CallsheetError(f"an expression of this command does not fit the answer: {error}") from None


class Run:
    def __init__(self, context: Context, command: CompiledCommand, values: dict[str, Any]) -> None:
        self.context = context
        self.command = command
        self.params: list[Param] = command.get("params", [])
        self.steps: list[StepDefinition] = command["step"]
        self.dispatcher = Dispatcher(context)
        self.lookups = Lookups(context, self.dispatcher, exact=command["safety"] in CHANGES)
        self.extent = extent_of(values) if command.get("pages") else ONE_PAGE
        self.scope = scope_of(context, self.params, values)
        self.answer: Any = None
        self.shown = False
        self.answered = False
        self.tolerated: list[CallsheetError] = []
        self.changes = command["safety"] in CHANGES
        self.failures: list[CallsheetError] = []

    def run(self) -> None:
        """Everything that can be refused without asking the service is refused first."""
        self._guard()
        convert_values(self.context, self.params, self.scope)
        first = next((place for place, step in enumerate(self.steps) if "call" in step), len(self.steps))
        for step in self.steps[:first]:
            if "fail" in step:
                self._fail(step)
        if "confirm" in self.command:
            self.context.will_confirm(str(self.fill(self.command["confirm"])))
        resolve_values(self.lookups, self.params, self.scope)
        self.view = with_fields(self.command, self._view(), self.lookups, self.scope)
        self.output = self.context.output(self.view, settled=self.changes)
        if "confirm" in self.command:  # by the names that were found
            self.context.confirm(str(self.fill(self.command["confirm"])))
        for place, step in enumerate(self.steps[first:], first):
            self._call_operation(step, self.steps[place + 1 :])
        if self.tolerated and not self.answered:
            raise self.tolerated[0]
        if not self.shown and not self.dispatcher.dry:
            self._show()
        if self.failures:
            raise self.failures[0]

    def _guard(self) -> None:
        if self.changes and not self.dispatcher.dry:
            refuse_when_read_only(self.context)
            for step in self.steps:
                if "call" in step and "when" not in step:
                    check_operation(self.context, self.dispatcher.builder.call(step["call"]))

    def _view(self) -> ViewDefinition | None:
        return self.context.catalog.get("view", self.command["view"]) if "view" in self.command else None

    def fill(self, value: Any, scope: Mapping[str, Any] | None = None) -> Any:
        return fill(value, self.scope if scope is None else scope)

    def wanted(self, step: StepDefinition, scope: Mapping[str, Any] | None = None) -> bool:
        return "when" not in step or _true(evaluate(step["when"], self.scope if scope is None else scope))

    def _fail(self, step: StepDefinition) -> None:
        if self.wanted(step):
            hint = self.fill(step["hint"]) if "hint" in step else None
            raise CODES[step.get("code", "usage")](str(self.fill(step["fail"])), hint=hint)

    def _call_operation(self, step: StepDefinition, following: list[StepDefinition]) -> None:
        if "fail" in step:
            self._fail(step)
        elif "edit" in step:
            if self.wanted(step):
                self._bind(step, edited(self.context, self.fill(step["edit"])))
        elif self.wanted(step):
            final = not any("call" in later and self.wanted(later) for later in following)
            self._build_all(step, following)
            try:
                self._bind(step, self._call(step, final=final))
            except CallsheetError as error:
                if "tolerate" not in step:
                    raise
                self.tolerated.append(error)
                self.context.note(str(self.fill(step["tolerate"], {**self.scope, "error": error.message})))
                self._bind(step, None)
            else:
                self.answered = True

    def _build_all(self, step: StepDefinition, following: list[StepDefinition]) -> None:
        """Before something is changed, build what is to be sent: this step, and later ones as far as is known."""
        if not self.changes or self.dispatcher.safety(step["call"]) not in CHANGES:
            return
        scope = dict(self.scope)
        for each in [step, *following]:
            if "call" in each and "tolerate" not in each and self.wanted(each, scope):
                for part in self._parts(each, scope):
                    self.dispatcher.check(self.request(each, part))
            scope.update(_bound(each, _HELD))

    def _parts(self, step: StepDefinition, scope: Scope) -> list[Scope]:
        if "batch" not in step:
            return [scope]
        return [inner for _, inner in groups(self._batch_items(step, scope), step["batch"], scope)]

    def _bind(self, step: StepDefinition, answer: Any) -> None:
        self.scope.update(_bound(step, answer))
        self.answer = None if answer is _HELD else answer

    def _call(self, step: StepDefinition, *, final: bool) -> Any:
        if "batch" not in step:
            return self.act(step, self.scope, final=final)
        things = self._batch_items(step, self.scope)
        goes_on = self.failures.append if "save" in step else None  # one file that fails does not stop the others
        answers = run_in_batches(
            things,
            step["batch"],
            self.scope,
            lambda scope: self.act(step, scope, final=final),
            goes_on,
            changed=self.context.changed,
        )
        if answers and all(answer is _HELD for answer in answers):
            return _HELD
        return [answer for answer in answers if answer is not _HELD and answer is not None]

    def _batch_items(self, step: StepDefinition, scope: Scope) -> list[Any]:
        things = evaluate(step["batch"]["items"], scope)
        if isinstance(things, Unknown):
            return [things]
        if things is not None and not isinstance(things, list):
            raise CallsheetError(f"batch: {step['batch']['items']} is not a list: {to_text(things)[:100]}")
        return things or []

    def act(self, step: StepDefinition, scope: Scope, *, final: bool) -> Any:
        """The answer of one call, `_HELD` where it was printed instead of sent."""
        request = self.request(step, scope)
        extent = self._extent(step, scope, final=final)
        if self.dispatcher.held_back(request, final=final):
            self.dispatcher.print(step["call"], request, extent)
            return _HELD
        if "save" in step:
            path = str(self.fill(step["save"], scope))
            return self.dispatcher.save(request, path, named=path in self._named_files())
        plan = self.dispatcher.plan(step["call"]) if final and self._streams(step) else None
        if plan is not None:
            self.dispatcher.show(self.output, plan, request, extent)
            self.shown = True
            return None
        answer = self._send(step, request, extent, scope)
        return evaluate(step["value"], answer) if "value" in step else answer

    def _named_files(self) -> set[Any]:
        """The paths that a person gave."""
        paths = [param for param in self.params if param.get("type") == "path" and not param.get("multiple")]
        return {self.scope["given"].get(identifier(param["name"])) for param in paths}

    def _send(self, step: StepDefinition, request: Request, extent: Extent, scope: Scope) -> Any:
        try:
            return self.dispatcher.answer(step["call"], request, extent)
        except Conflict as error:
            if "on_conflict" not in step:
                raise
            return on_conflict(self, step, scope, error)

    def request(self, step: StepDefinition, scope: Scope) -> Request:
        body = self.fill(step.get("body"), scope)
        for layer in step.get("over", ()):
            body = overlaid(body, self.fill(layer, scope))
        files = self.fill(step.get("files", []), scope) or []
        arguments = self.fill(step.get("args", {}), scope) or {}
        return self.dispatcher.build(step["call"], arguments, body, files if isinstance(files, list) else [files])

    def _extent(self, step: StepDefinition, scope: Scope, *, final: bool) -> Extent:
        if "limit" in step:
            limit = self.fill(step["limit"], scope)
            return Extent(most=limit) if limit is not None else ONE_PAGE
        return self.extent if final and "items" not in self.command else ONE_PAGE

    def _streams(self, step: StepDefinition) -> bool:
        return not ({"value", "batch", "as"} & step.keys() or {"result", "items"} & self.command.keys())

    def _show(self) -> None:
        if "items" in self.command:
            items = evaluate(self.command["items"], self.answer)
            show_part(self.context, self.output, items, self.extent)
        elif "result" in self.command:
            show(self.output, self._result())
        elif self.command.get("pages") and isinstance(self.answer, list):
            show_part(self.context, self.output, self.answer, self.extent)
        else:
            show(self.output, self.answer)

    def _result(self) -> Any:
        result = self.fill(self.command["result"])
        converter = self.fill(self.command.get("convert"))
        return registry.resolve(registry.CONVERTERS[converter])(self.context, result) if converter else result


def _bound(step: StepDefinition, answer: Any) -> Scope:
    """What a step's answer is called further down, and its value there."""
    name = step.get("as")
    if isinstance(name, dict):
        return {key: Unknown(key) if answer is _HELD else evaluate(part, answer) for key, part in name.items()}
    return {name: Unknown(name) if answer is _HELD else answer} if name else {}


def _true(value: Any) -> bool:
    return not (value is None or value is False or value in ("", [], {}))


def overlaid(under: Any, over: Any) -> Any:
    """`over` laid over `under`, table by table. Nothing is laid over by null, or by a condition that is false."""
    if over is None or over is False:
        return under
    if isinstance(under, dict) and isinstance(over, dict):
        return {**under, **{key: _inside(under.get(key), value) for key, value in over.items()}}
    return over


def _inside(under: Any, over: Any) -> Any:
    return overlaid(under, over) if isinstance(under, dict) and isinstance(over, dict) else over
