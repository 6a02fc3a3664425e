"""Things that have versions: what somebody else changed, and what a dry run shows of a change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...client.listed import list_in_answer
from ...errors import CallsheetError, Conflict, NotFound
from ...language.merge import on_deployment
from ...language.template import Scope, evaluate, fill_template, fill_text, to_text
from ...terminal import escape_line
from .converters import Unknown, bound_answer
from .each_item import WORKERS

if TYPE_CHECKING:
    from ...client.request.http_request import Request
    from ...language.shape.commands import Param
    from ...language.shape.steps import Each, ItemStep, Keep, OnConflict, SnapshotDefinition, StepDefinition, UnlessSame
    from ..context import Context
    from .dispatcher import StepDispatcher


# What things are before they are changed and afterwards, read for many of them at once.


_WORKERS = 10
MISSING = object()  # the service does not tell of such a thing


def undo_steps(context: Context, each: Each) -> list[ItemStep]:
    """What puts an item back, by the command or else by the snapshot of its kind; none where nothing can."""
    if "undo" in each or "keep" not in each:
        return each.get("undo", [])
    table = context.catalog.snapshots.get(each["keep"]["snapshot"])
    here: SnapshotDefinition = on_deployment(table, context.site().deployment)
    return here.get("undo", [])


class Snapshots:
    """Reads items as a command's `keep` says. `scope` is what the command's expressions see."""

    def __init__(self, context: Context, dispatcher: StepDispatcher, keep: Keep, scope: Mapping[str, Any]) -> None:
        table = context.catalog.snapshots.get(keep["snapshot"])
        self.definition: SnapshotDefinition = on_deployment(table, context.site().deployment)
        self._dispatcher = dispatcher
        self._scope = {"site": scope["site"], **(fill_template(keep.get("args", {}), scope) or {})}

    def read_states(self, items: Sequence[Any]) -> list[Any]:
        """What each of them is, `MISSING` where there is none; raises what the requests raise."""
        from ...client.pagination.in_parallel import in_order

        size = self.definition.get("size", 1)
        groups = [items[start : start + size] for start in range(0, len(items), size)]
        return [value for group in in_order(self._read_states, groups, min(_WORKERS, len(groups))) for value in group]

    def _read_states(self, items: Sequence[Any]) -> list[Any]:
        try:
            found = self._read_answer(items)
        except NotFound:
            return [MISSING] * len(items)
        if "names" not in self.definition:
            return [self._state_value(found[0]) if found else MISSING] if len(items) == 1 else [MISSING] * len(items)
        by_name = {
            _fold_name(name): each
            for each in found
            for name in list_in_answer(evaluate(self.definition["names"], each) or [])
        }
        values = [by_name.get(_fold_name(item), MISSING) for item in items]
        if len(items) == 1 and len(found) == 1:  # it has another name by now
            values = found
        return [value if value is MISSING else self._state_value(value) for value in values]

    def _read_answer(self, items: Sequence[Any]) -> list[Any]:
        definition, scope = self.definition, {**self._scope, "ids": list(items), "id": items[0]}
        body = fill_template(definition["body"], scope) if "body" in definition else None
        request = self._dispatcher.build_request(
            definition["call"], fill_template(definition.get("args", {}), scope) or {}, body
        )
        answer = self._dispatcher.fetch_everything(definition["call"], request)
        return (
            list_in_answer(evaluate(definition["items"], answer), definition["items"])
            if "items" in definition
            else [answer]
        )

    def _state_value(self, found: Any) -> Any:
        return evaluate(self.definition["state"], {**self._scope, "found": found})


def _fold_name(name: Any) -> str:
    return to_text(name).casefold()


# Whether a request would say what was read: a service makes a new version of a thing all the same.


def is_same(rule: UnlessSame, body: Any, scope: Scope) -> bool:
    """False where the thing was not read. Null says nothing, and a line break at the end of a text is none of it."""
    if scope.get(rule["step"]) is None or isinstance(scope[rule["step"]], Unknown) or not isinstance(body, dict):
        return False
    apart = rule.get("apart", ())
    compared = {key: value for key, value in body.items() if key not in apart}
    return bool(_plain_value(compared) == _plain_value(fill_template(rule["body"], {**scope, "asked": compared})))


def _plain_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain_value(part) for key, part in value.items() if part is not None}
    if isinstance(value, list):
        return [_plain_value(part) for part in value]
    return value.rstrip("\r\n") if isinstance(value, str) else value


# A change that was refused because the thing had changed: read again, and only where that is safe, sent once more.


class RunningCommand(Protocol):
    """What is asked of the command whose change was refused."""

    steps: list[StepDefinition]
    scope: Scope
    dispatcher: StepDispatcher

    def call_operation(self, step: ItemStep, scope: Scope, *, final: bool) -> Any: ...
    def build_request(self, step: ItemStep, scope: Scope) -> Request: ...


def on_conflict(run: RunningCommand, step: ItemStep, scope: Scope, error: Conflict) -> Any:
    """The answer of the second try. Raises `Conflict` naming who changed it when it is no longer what was read."""
    rule = step["on_conflict"]
    source = next(other for other in run.steps if _binds_name(other, rule["step"]))
    before = scope.get(rule["step"])
    fresh = run.call_operation(source, scope, final=False)
    found = bound_answer(source, fresh, scope)
    now = {**scope, **found}
    if evaluate(rule["unchanged"], before) != evaluate(rule["unchanged"], now[rule["step"]]):
        raise Conflict(
            to_text(fill_template(rule["fail"], {**now, "who": _changer_name(run, rule, now)})),
            hint="read it again, then repeat the change; nothing was changed",
            details=[error.message],
            status=error.status,
            trace_id=error.trace_id,
        )
    run.scope.update(found)
    return run.dispatcher.fetch_answer(step["call"], run.build_request(step, now))


def _binds_name(step: StepDefinition, name: str) -> bool:
    return name in step["as"] if isinstance(step.get("as"), dict) else step.get("as") == name


def _changer_name(run: RunningCommand, rule: OnConflict, scope: Scope) -> Any:
    """A name for the one who changed it; null where the service does not tell."""
    if "call" not in rule:
        return None
    try:
        request = run.dispatcher.build_request(rule["call"], fill_template(rule.get("args", {}), scope) or {})
        return evaluate(rule.get("who", "@"), run.dispatcher.fetch_answer(rule["call"], request))
    except CallsheetError:
        return None


# What is about to be done to many items, shown to the person who is asked for a yes.


_SHOWN = 5
_WIDEST = 100
_OF_THE_JOURNAL = ("journal", "resume")


class Planned(Protocol):
    """The run that is about to begin with the items."""

    context: Context
    params: list[Param]
    scope: Scope

    def can_undo(self, each: Each) -> bool: ...


def ask_about(run: Planned, each: Each, items: Sequence[Any], *, bulk: int | None) -> None:
    """Raises `UsageError` where nobody agrees. `bulk` is how many items go into one request of the service's own."""
    plan = each.get("plan")
    if plan is None or not items or ("when" in plan and not evaluate(plan["when"], run.scope)):
        return
    question = str(fill_text(plan["question"], {**run.scope, "total": len(items)}))
    if run.context.will_confirm(question):
        sample = evaluate(plan["sample"], run.scope) if "sample" in plan else None
        rows = [row if isinstance(row, list) else [row] for row in sample or items]
        if [len(row) for row in rows] == [1] and to_text(rows[0][0]) in question:
            rows = []  # the question names it
        for line in _plan_lines(run, each, rows, len(items), bulk):
            run.context.say(escape_line(line))
        run.context.confirm(question)


def _plan_lines(run: Planned, each: Each, rows: Sequence[list[Any]], total: int, bulk: int | None) -> Iterator[str]:
    from ...output.stream import terminal_size

    yield from _align_rows(rows[:_SHOWN], terminal_size(run.context.streams.err).columns)
    if total > _SHOWN:
        yield f"  ... and {total - _SHOWN} more"
    if given := [_short_line(text, _WIDEST) for text in _given_options(run, each["plan"].get("when"))]:
        yield f"change: {' '.join(given)}"
    if total > 1:
        alone = f"one request each, up to {WORKERS} at a time"
        yield f"sent as: {f'the bulk operation of the service, up to {bulk} in a request' if bulk else alone}"
    if not run.can_undo(each):
        yield "This cannot be undone."


def _align_rows(rows: Sequence[list[Any]], width: int) -> Iterator[str]:
    """The sample, its first column as wide as its longest cell."""
    from ...output.table import display_width

    cells = [[*map(to_text, row)] for row in rows]
    first = max((display_width(row[0]) for row in cells), default=0)
    for start, *rest in cells:
        space = " " * (first - display_width(start)) if rest else ""
        yield f"  {_short_line('  '.join([start + space, *rest]), width)}"


def _given_options(run: Planned, asked_for: str | None) -> Iterator[str]:
    """The options that say what is to be changed, as they were given; not the one that the items came from."""
    for param in run.params:
        name = param["name"]
        value = run.scope["given"].get(name.replace("-", "_").replace(".", "_"))
        if value in (None, False, []) or param.get("lines") or name in _OF_THE_JOURNAL or name == asked_for:
            continue
        shown = run.scope["named"].get(name.replace("-", "_").replace(".", "_"), value)
        yield f"--{name}" if value is True else f"--{name} {to_text(shown)}"


def _short_line(text: str, width: int) -> str:
    """On one line of a terminal, behind two spaces."""
    from ...output.table import shortened_cell

    return shortened_cell(text.expandtabs(1), min(_WIDEST, width - 2))
