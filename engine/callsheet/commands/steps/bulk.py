"""What is done to many items at once: the service's own bulk operations, and batches of items."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...client.listed import list_in_answer
from ...errors import CallsheetError, RateLimited, UsageError
from ...language.template import Scope, evaluate, fill_template, fill_text, to_text

if TYPE_CHECKING:
    from ...client.request.model import Request
    from ...language.shape.steps import Batch, Bulk, StepDefinition, Task
    from ..context import Context
    from .dispatcher import StepDispatcher


# Many items in one request of the service's own, and waiting for the task that does it.


_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0  # seconds between two looks at a task
Failures = dict[int, CallsheetError]


class OutcomeUnknown(CallsheetError):
    """The service began with it, and nobody could learn what came of it: it may be done."""


class Running(Protocol):
    """The run whose items these are."""

    context: Context
    dispatcher: StepDispatcher
    scope: Scope

    def wanted(self, step: Any) -> bool: ...


def bulk_for(run: Running, step: StepDefinition, count: int) -> InBulk | None:
    """The way for so many items at once; None where they are better done one by one, or have to be."""
    bulk = step["each"].get("bulk")
    if bulk is None or count <= bulk.get("above", 1) or not run.wanted(bulk):
        return None
    if "read" in bulk and run.dispatcher.dry:  # what is read decides how many requests there are
        return None
    try:
        run.dispatcher.builder.call(bulk["call"])
    except UsageError:  # the site's deployment does not have it
        return None
    return InBulk(run, bulk)


class InBulk:
    """`size` is how many items one request takes."""

    def __init__(self, run: Running, bulk: Bulk) -> None:
        self.size = bulk["size"]
        self._run = run
        self._bulk = bulk
        self._read: Any = []  # what was read for the batch that is at work

    def takes(self, items: Sequence[Any]) -> list[bool]:
        """Which of a batch one request can take. Raises what reading raises."""
        if "read" in self._bulk:
            read, dispatcher = self._bulk["read"], self._run.dispatcher
            scope = {**self._run.scope, "batch": list(items)}
            request = dispatcher.build(read["call"], fill_template(read.get("args", {}), scope) or {})
            self._read = dispatcher.everything(read["call"], request)
        if "items" not in self._bulk:
            return [True] * len(items)
        taken = {to_text(each) for each in list_in_answer(evaluate(self._bulk["items"], self._scope(items)) or [])}
        return [to_text(item) in taken for item in items]

    def _scope(self, items: Sequence[Any]) -> dict[str, Any]:
        return {**self._run.scope, "batch": list(items), "read": self._read}

    def request(self, items: Sequence[Any]) -> Request:
        scope = self._scope(items)
        body = fill_template(self._bulk["body"], scope) if "body" in self._bulk else None
        return self._run.dispatcher.build(
            self._bulk["call"], fill_template(self._bulk.get("args", {}), scope) or {}, body
        )

    def is_denied(self, items: Sequence[Any]) -> bool:
        """Whether the policy leaves only single requests."""
        return self._run.context.client().gate.judge(self.request(items)).decision == "deny"

    def take(self, items: Mapping[int, Any], was: Mapping[int, Any]) -> Generator[int, None, Failures]:
        """Yields the percent that are done while it waits, and returns what failed, by number.

        Raises what the request raises: nothing is known then of any item, unless the service refused it. Raises
        `OutcomeUnknown` where the request was taken and asking for its task fails.
        """
        dispatcher = self._run.dispatcher
        answer = dispatcher.answer(self._bulk["call"], self.request([*items.values()]))
        if "task" not in self._bulk:
            return {}
        try:
            outcome = yield from self._wait(self._bulk["task"], answer)
            return self._failures(self._bulk["task"], outcome, items, was)
        except CallsheetError as error:
            raise OutcomeUnknown(
                f"the service began with {len(items)}, and what came of it is not known: {error.message}"
            ) from None

    def _wait(self, task: Task, answer: Any) -> Generator[int, None, Any]:
        arguments = fill_template(task.get("args", {}), {**self._run.scope, "started": answer}) or {}
        wait = _FIRST_WAIT
        while True:
            request = self._run.dispatcher.build(task["call"], arguments)
            state = self._run.dispatcher.answer(task["call"], request)
            if evaluate(task["ended"], state):
                return state
            percent = evaluate(task["percent"], state) if "percent" in task else None
            yield int(percent) if isinstance(percent, int | float) else 0
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    def _failures(self, task: Task, outcome: Any, items: Mapping[int, Any], was: Mapping[int, Any]) -> Failures:
        """What the task says of each item, by the names that it gives them."""
        failed = evaluate(task["failed"], outcome) or {}
        if not isinstance(failed, dict):
            raise CallsheetError(f"{task['call']} does not say of each item what came of it")
        done = {to_text(name) for name in list_in_answer(evaluate(task["done"], outcome) or [])}
        found: Failures = {}
        for number, item in items.items():
            kept = {**self._run.scope, "item": item, "was": was.get(number)}
            name = to_text(evaluate(task["name"], kept))
            if name in failed:
                why = failed[name]
                found[number] = CallsheetError("; ".join(map(to_text, why)) if isinstance(why, list) else to_text(why))
            elif name not in done:
                found[number] = CallsheetError(
                    "the service did not change it and gives no reason: it may not exist, or you may not see it"
                )
        return found


def is_refused(error: CallsheetError) -> bool:
    """Whether a service would not take the request as it is, so that nothing was changed by it."""
    return error.status in (400, 403, 404, 405, 413, 422)


# A step for many things at once, in groups no larger than the service takes.


_LISTED = 20


def run_in_batches(
    items: list[Any],
    batch: Batch,
    scope: Scope,
    act: Callable[[dict[str, Any]], Any],
    failed: Callable[[CallsheetError], None] | None = None,
    *,
    changed: bool = False,
) -> list[Any]:
    """`act` for each group, which its scope holds as `batch`, and as `item` where groups are of one.

    A failure half-way says what was done and what was not, with the exit code of the failure; where an earlier step
    `changed` something, it is half-way from the start. With `failed`, which is told at the end what went wrong, the
    others go on unless there is only one, or the service wants no more requests.
    """
    answers: list[Any] = []
    problems: list[str] = []
    for start, inner in groups(items, batch, scope):
        try:
            answers.append(act(inner))
        except CallsheetError as error:
            if failed is not None and len(items) > batch["size"] and not isinstance(error, RateLimited):
                problems.append(f"{names_of(inner['batch'])}: {error.message}")
                continue
            raise partial_failure(error, items, start, batch, scope) if start or changed else error from None
    if problems and failed is not None:
        message = fill_text(batch["done"], {**scope, "done": len(items) - len(problems), "total": len(items)})
        failed(CallsheetError(f"{message}; the others failed", details=problems))
    return answers


def groups(items: list[Any], batch: Batch, scope: Scope) -> Iterator[tuple[int, dict[str, Any]]]:
    """Where each group starts, and the scope in which it is acted on."""
    for start in range(0, len(items), batch["size"]):
        group = items[start : start + batch["size"]]
        yield start, {**scope, "batch": group, "item": group[0]}


def partial_failure(error: CallsheetError, items: list[Any], done: int, batch: Batch, scope: Scope) -> CallsheetError:
    message = fill_text(batch["done"], {**scope, "done": done, "total": len(items)})
    error.message = f"{message} before failing: {error.message}"
    error.args = (error.message,)
    finished = [f"done: {names_of(items[:done])}"] if done else []
    error.details = (*error.details, *finished, f"not done: {names_of(items[done:])}")
    return error


def names_of(items: list[Any]) -> str:
    names = [name_of(item) for item in items]
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more


def name_of(item: Any) -> str:
    if isinstance(item, dict):
        item = next((item[key] for key in ("key", "filename", "title", "name", "id") if item.get(key)), item)
    return to_text(item)
