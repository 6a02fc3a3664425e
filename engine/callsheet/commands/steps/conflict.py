"""A change that was refused because the thing had changed: read again, and only where that is safe, sent once more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...errors import CallsheetError, Conflict
from ...language.template import Scope, evaluate, fill_template, to_text
from .step_answers import bound_answer

if TYPE_CHECKING:
    from ...client.request.model import Request
    from ...language.shape.steps import ItemStep, OnConflict, StepDefinition
    from .dispatcher import StepDispatcher


class RunningCommand(Protocol):
    """What is asked of the command whose change was refused."""

    steps: list[StepDefinition]
    scope: Scope
    dispatcher: StepDispatcher

    def act(self, step: ItemStep, scope: Scope, *, final: bool) -> Any: ...
    def request(self, step: ItemStep, scope: Scope) -> Request: ...


def on_conflict(run: RunningCommand, step: ItemStep, scope: Scope, error: Conflict) -> Any:
    """The answer of the second try. Raises `Conflict` naming who changed it when it is no longer what was read."""
    rule = step["on_conflict"]
    source = next(other for other in run.steps if _binds(other, rule["step"]))
    before = scope.get(rule["step"])
    fresh = run.act(source, scope, final=False)
    found = bound_answer(source, fresh, scope)
    now = {**scope, **found}
    if evaluate(rule["unchanged"], before) != evaluate(rule["unchanged"], now[rule["step"]]):
        raise Conflict(
            to_text(fill_template(rule["fail"], {**now, "who": _who(run, rule, now)})),
            hint="read it again, then repeat the change; nothing was changed",
            details=[error.message],
            status=error.status,
            trace_id=error.trace_id,
        )
    run.scope.update(found)
    return run.dispatcher.answer(step["call"], run.request(step, now))


def _binds(step: StepDefinition, name: str) -> bool:
    return name in step["as"] if isinstance(step.get("as"), dict) else step.get("as") == name


def _who(run: RunningCommand, rule: OnConflict, scope: Scope) -> Any:
    """A name for the one who changed it; null where the service does not tell."""
    if "call" not in rule:
        return None
    try:
        request = run.dispatcher.build(rule["call"], fill_template(rule.get("args", {}), scope) or {})
        return evaluate(rule.get("who", "@"), run.dispatcher.answer(rule["call"], request))
    except CallsheetError:
        return None
