"""What is done to each of many items: one after another, in batches, or by the service's own bulk operations."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...client.listed import list_in_answer
from ...errors import CallsheetError, NetworkError, NotAllowed, RateLimited, UsageError
from ...language.template import Scope, evaluate, fill_template, fill_text, to_text
from ..execute import with_count

if TYPE_CHECKING:
    from ...client.request.http_request import Request
    from ...language.shape.steps import Batch, Bulk, Each, StepDefinition, Task
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

    def is_wanted(self, step: Any) -> bool: ...


def bulk_for(run: Running, step: StepDefinition, count: int) -> InBulk | None:
    """The way for so many items at once; None where they are better done one by one, or have to be."""
    bulk = step["each"].get("bulk")
    if bulk is None or count <= bulk.get("above", 1) or not run.is_wanted(bulk):
        return None
    if "read" in bulk and run.dispatcher.dry:  # what is read decides how many requests there are
        return None
    try:
        run.dispatcher.builder.operation_call(bulk["call"])
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

    def takes_items(self, items: Sequence[Any]) -> list[bool]:
        """Which of a batch one request can take. Raises what reading raises."""
        if "read" in self._bulk:
            read, dispatcher = self._bulk["read"], self._run.dispatcher
            scope = {**self._run.scope, "batch": list(items)}
            request = dispatcher.build_request(read["call"], fill_template(read.get("args", {}), scope) or {})
            self._read = dispatcher.fetch_everything(read["call"], request)
        if "items" not in self._bulk:
            return [True] * len(items)
        taken = {to_text(each) for each in list_in_answer(evaluate(self._bulk["items"], self._bulk_scope(items)) or [])}
        return [to_text(item) in taken for item in items]

    def _bulk_scope(self, items: Sequence[Any]) -> dict[str, Any]:
        return {**self._run.scope, "batch": list(items), "read": self._read}

    def bulk_request(self, items: Sequence[Any]) -> Request:
        scope = self._bulk_scope(items)
        body = fill_template(self._bulk["body"], scope) if "body" in self._bulk else None
        return self._run.dispatcher.build_request(
            self._bulk["call"], fill_template(self._bulk.get("args", {}), scope) or {}, body
        )

    def is_denied(self, items: Sequence[Any]) -> bool:
        """Whether the policy leaves only single requests."""
        return self._run.context.client().gate.judge_request(self.bulk_request(items)).decision == "deny"

    def take_items(self, items: Mapping[int, Any], was: Mapping[int, Any]) -> Generator[int, None, Failures]:
        """Yields the percent that are done while it waits, and returns what failed, by number.

        Raises what the request raises: nothing is known then of any item, unless the service refused it. Raises
        `OutcomeUnknown` where the request was taken and asking for its task fails.
        """
        dispatcher = self._run.dispatcher
        answer = dispatcher.fetch_answer(self._bulk["call"], self.bulk_request([*items.values()]))
        if "task" not in self._bulk:
            return {}
        try:
            outcome = yield from self._wait_for_task(self._bulk["task"], answer)
            return self._task_failures(self._bulk["task"], outcome, items, was)
        except CallsheetError as error:
            raise OutcomeUnknown(
                f"the service began with {len(items)}, and what came of it is not known: {error.message}"
            ) from None

    def _wait_for_task(self, task: Task, answer: Any) -> Generator[int, None, Any]:
        arguments = fill_template(task.get("args", {}), {**self._run.scope, "started": answer}) or {}
        wait = _FIRST_WAIT
        while True:
            request = self._run.dispatcher.build_request(task["call"], arguments)
            state = self._run.dispatcher.fetch_answer(task["call"], request)
            if evaluate(task["ended"], state):
                return state
            percent = evaluate(task["percent"], state) if "percent" in task else None
            yield int(percent) if isinstance(percent, int | float) else 0
            time.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)

    def _task_failures(self, task: Task, outcome: Any, items: Mapping[int, Any], was: Mapping[int, Any]) -> Failures:
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
    for start, inner in batch_groups(items, batch, scope):
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


def batch_groups(items: list[Any], batch: Batch, scope: Scope) -> Iterator[tuple[int, dict[str, Any]]]:
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


# Several steps for every item of a list: it goes on after a failure, and tells at the end what failed.


WORKERS = 10
_GROUP = 100  # what is read of items before and after is read of so many at once
_UNAUTHENTICATED = 401
_MOST_TOLD = 100


class StepsOfItem(Protocol):
    """The steps for one item. `run` gives what stands for it in the answer, `notes` is what they noted."""

    notes: list[str]

    def run(self) -> Any: ...


class ItemRecord(Protocol):
    """Who writes down what becomes of the items. Raises `CallsheetError` where that cannot be done any more."""

    was: dict[int, Any]

    def before_items(self, items: Sequence[Numbered]) -> None: ...
    def item_started(self, item: Numbered) -> None: ...
    def item_ended(self, item: Numbered, error: CallsheetError | None) -> None: ...
    def after_items(self, items: Sequence[Numbered]) -> None: ...
    def wait_for_running(self) -> None: ...


class Numbered(NamedTuple):
    """An item, and its place in the whole list."""

    number: int
    item: Any


class Together(Protocol):
    """A way to change many items at once, `size` of them in a request."""

    size: int

    def takes_items(self, items: Sequence[Any]) -> list[bool]:
        """Which of a group it can take; the others are done one by one."""
        ...

    def take_items(self, items: Mapping[int, Any], was: Mapping[int, Any]) -> Generator[int, None, Failures]:
        """Yields percents while it goes on, and returns what failed."""
        ...


class Work(NamedTuple):
    """Steps to take for items. `already` is how many of the list were done by an earlier run.

    With `together` they are changed at once, and `result` is what stands for an item then.
    """

    items: list[Numbered]
    make: Callable[[Numbered], StepsOfItem]
    each: Each
    scope: Scope
    workers: int
    record: ItemRecord | None = None
    already: int = 0
    together: Together | None = None
    result: Callable[[Any], Any] = lambda item: item


class _Outcome(NamedTuple):
    """`error` is why there is no answer; where both are None and it was not `tried`, others had ended it all."""

    item: Any
    tried: bool = True
    answer: Any = None
    error: CallsheetError | None = None
    notes: Sequence[str] = ()
    counts: int = 1


class _Progress(NamedTuple):
    """So many items of a group are done, nobody knows which."""

    counts: int


def run_for_each(context: Context, work: Work) -> tuple[list[Any], CallsheetError | None]:
    """The answers of those that went well, in order, and what is to be told of the others.

    Raises the failure itself where there is only one item. What the others would meet too (no connection, a quota that
    is used up, a credential that is refused) ends it: the rest is told as not tried.
    """
    outcomes: list[_Outcome] = []
    run = _Run(work, context.note)
    try:
        with closing(run.item_outcomes()) as found:
            for outcome in with_count(context, found, len(work.items)):
                if isinstance(outcome, _Progress):
                    continue
                outcomes.append(outcome)
                for note in outcome.notes:
                    context.note(note)
    except KeyboardInterrupt:
        run.end.set()
        if work.record is not None:
            work.record.wait_for_running()
        raise
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    if len(work.items) == 1 and not work.already and (failed or run.stopped):
        raise failed[0] if failed else run.stopped or failed[0]
    answers = [outcome.answer for outcome in outcomes if outcome.tried and outcome.error is None]
    return answers, _items_failure(outcomes, work, run.stopped) if failed or run.stopped else None


class _Run:
    """`end` is set when nothing more is to be begun; `stopped` is why, where it was not the fault of an item."""

    def __init__(self, work: Work, note: Callable[[str], None]) -> None:
        self.work = work
        self.note = note
        self.end = threading.Event()
        self.stopped: CallsheetError | None = None

    def item_outcomes(self) -> Generator[_Outcome | _Progress]:
        """One for each item in turn, while at most so many are under way at once."""
        record = self.work.record
        for group in self._item_groups():
            if record is not None:
                self._try_group(record.before_items, group)
            done = []
            for part, way in self._group_parts(group):
                rest = iter(part)
                for outcome in self._take_together(part, way) if way is not None else self._take_group(part):
                    if isinstance(outcome, _Outcome):
                        each = next(rest)
                        done += [each] if outcome.tried and outcome.error is None else []
                    yield outcome
            if record is not None and done and not self.end.is_set():
                self._try_group(record.after_items, done)

    def _item_groups(self) -> Iterator[list[Numbered]]:
        items = self.work.items
        size = _GROUP if self.work.record is not None else max(len(items), 1)
        size = self.work.together.size if self.work.together is not None else size
        return (items[start : start + size] for start in range(0, len(items), size))

    def _group_parts(self, group: list[Numbered]) -> list[tuple[list[Numbered], Together | None]]:
        """Those of a group that are changed at once, and those that are done one by one."""
        way = self.work.together
        if way is None or self.end.is_set():
            return [(group, way)]
        try:
            taken = way.takes_items([each.item for each in group])
        except CallsheetError as error:
            self._note_refusal(error) if is_refused(error) else self._stop_after(error)
            return [(group, None)]
        parts = [each for each, fits in zip(group, taken, strict=True) if fits]
        others = [each for each, fits in zip(group, taken, strict=True) if not fits]
        return [part for part in ((parts, way), (others, None)) if part[0]]

    def _note_refusal(self, error: CallsheetError) -> None:
        self.note(f"the service refused the bulk operation, so it is done one by one: {error.message}")

    def _stop_after(self, error: CallsheetError) -> None:
        self.stopped = error
        self.end.set()

    def _try_group(self, act: Callable[[list[Numbered]], None], group: list[Numbered]) -> None:
        if self.end.is_set():
            return
        try:
            act(group)
        except CallsheetError as error:
            self._stop_after(error)

    def _take_together(self, group: list[Numbered], way: Together) -> Iterator[_Outcome | _Progress]:
        """One request for the group; one by one where the service refuses it."""
        if self.end.is_set():
            yield from (_Outcome(each.item, tried=False) for each in group)
            return
        try:
            failed, shown = yield from self._at_once(group, way)
        except CallsheetError as error:
            if is_refused(error):
                self._note_refusal(error)
                yield from self._take_group(group)
                return
            self._stop_after(error)
            self._group_ended(group, dict.fromkeys((each.number for each in group), error))
            yield from (_Outcome(each.item, tried=False) for each in group)
            return
        self._group_ended(group, failed)
        for place, each in enumerate(group):
            fault, counts = failed.get(each.number), int(place >= shown)
            answer = None if fault is not None else self.work.result(each.item)
            yield _Outcome(each.item, answer=answer, error=fault, counts=counts)

    def _at_once(self, group: list[Numbered], way: Together) -> Generator[_Progress, None, tuple[Failures, int]]:
        """What failed, and of how many the progress has been shown. Raises what the request raises."""
        record, shown = self.work.record, 0
        if record is not None:
            for each in group:
                record.item_started(each)
        was = record.was if record is not None else {}
        percents = way.take_items({each.number: each.item for each in group}, was)
        while True:
            try:
                share = len(group) * min(next(percents), 100) // 100
            except StopIteration as end:
                failed: Failures = end.value
                return failed, shown
            yield _Progress(max(share - shown, 0))
            shown = max(shown, share)

    def _group_ended(self, group: list[Numbered], errors: Failures) -> None:
        if self.work.record is not None:
            for each in group:
                self.work.record.item_ended(each, errors.get(each.number))

    def _take_group(self, group: list[Numbered]) -> Iterator[_Outcome]:
        from ...client.pagination.in_parallel import in_order

        workers = min(self.work.workers, len(group))
        return in_order(self._take_item, group, workers) if workers > 1 else map(self._take_item, group)

    def _take_item(self, each: Numbered) -> _Outcome:
        if self.end.is_set():
            return _Outcome(each.item, tried=False)
        record = self.work.record
        run = self.work.make(each)
        try:
            if record is not None:
                record.item_started(each)
            answer = run.run()
        except CallsheetError as error:
            if meets_every_request(error):
                self.end.set()
            if record is not None:
                record.item_ended(each, error)
            return _Outcome(each.item, error=error, notes=run.notes)
        if record is not None:
            record.item_ended(each, None)
        return _Outcome(each.item, answer=answer, notes=run.notes)


def meets_every_request(error: CallsheetError) -> bool:
    """Whether every other request would meet the same: no answer, no credential, too many requests."""
    refused = isinstance(error, NotAllowed) and error.status == _UNAUTHENTICATED
    return refused or isinstance(error, RateLimited | NetworkError)


def _items_failure(outcomes: list[_Outcome], work: Work, stopped: CallsheetError | None) -> CallsheetError:
    each = work.each
    failed = [(outcome.item, outcome.error) for outcome in outcomes if outcome.error is not None]
    untried = [outcome.item for outcome in outcomes if not outcome.tried]
    done = len(outcomes) - len(failed) - len(untried) + work.already
    message = fill_text(each["done"], {**work.scope, "done": done, "total": len(outcomes) + work.already})
    details = [f"{name_in(each, item)}: {error.message}" for item, error in failed[:_MOST_TOLD]]
    if len(failed) > _MOST_TOLD:
        details.append(f"... and {len(failed) - _MOST_TOLD} more")
    if untried:
        details.append(f"not tried: {names_of([name_in(each, item) for item in untried])}")
    if stopped is not None:
        return CallsheetError(f"{message}: {stopped.message}", details=details, hint=stopped.hint)
    hints = {error.hint for _, error in failed}
    hint = hints.pop() if len(hints) == 1 else None
    return CallsheetError(f"{message}; {len(failed)} failed", details=details, hint=hint)


def name_in(each: Each, item: Any) -> str:
    """How a person knows an item."""
    return name_of(evaluate(each["name"], item) if "name" in each else item)
