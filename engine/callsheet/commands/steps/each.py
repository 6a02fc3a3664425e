"""Several steps for every item of a list: it goes on after a failure, and tells at the end what failed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...errors import CallsheetError, NetworkError, NotAllowed, RateLimited
from ...language.template import Scope, evaluate, fill_text
from ..progress import with_count
from .bulk import Failures, is_refused, name_of, names_of

if TYPE_CHECKING:
    from ...language.shape.steps import Each
    from ..context import Context

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

    def before(self, items: Sequence[Numbered]) -> None: ...
    def started(self, item: Numbered) -> None: ...
    def ended(self, item: Numbered, error: CallsheetError | None) -> None: ...
    def after(self, items: Sequence[Numbered]) -> None: ...
    def interrupted(self) -> None: ...


class Numbered(NamedTuple):
    """An item, and its place in the whole list."""

    number: int
    item: Any


class Together(Protocol):
    """A way to change many items at once, `size` of them in a request."""

    size: int

    def takes(self, items: Sequence[Any]) -> list[bool]:
        """Which of a group it can take; the others are done one by one."""
        ...

    def take(self, items: Mapping[int, Any], was: Mapping[int, Any]) -> Generator[int, None, Failures]:
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
        with closing(run.outcomes()) as found:
            for outcome in with_count(context, found, len(work.items)):
                if isinstance(outcome, _Progress):
                    continue
                outcomes.append(outcome)
                for note in outcome.notes:
                    context.note(note)
    except KeyboardInterrupt:
        run.end.set()
        if work.record is not None:
            work.record.interrupted()
        raise
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    if len(work.items) == 1 and not work.already and (failed or run.stopped):
        raise failed[0] if failed else run.stopped or failed[0]
    answers = [outcome.answer for outcome in outcomes if outcome.tried and outcome.error is None]
    return answers, _failure(outcomes, work, run.stopped) if failed or run.stopped else None


class _Run:
    """`end` is set when nothing more is to be begun; `stopped` is why, where it was not the fault of an item."""

    def __init__(self, work: Work, note: Callable[[str], None]) -> None:
        self.work = work
        self.note = note
        self.end = threading.Event()
        self.stopped: CallsheetError | None = None

    def outcomes(self) -> Generator[_Outcome | _Progress]:
        """One for each item in turn, while at most so many are under way at once."""
        record = self.work.record
        for group in self._groups():
            if record is not None:
                self._try(record.before, group)
            done = []
            for part, way in self._parts(group):
                rest = iter(part)
                for outcome in self._together(part, way) if way is not None else self._taken(part):
                    if isinstance(outcome, _Outcome):
                        each = next(rest)
                        done += [each] if outcome.tried and outcome.error is None else []
                    yield outcome
            if record is not None and done and not self.end.is_set():
                self._try(record.after, done)

    def _groups(self) -> Iterator[list[Numbered]]:
        items = self.work.items
        size = _GROUP if self.work.record is not None else max(len(items), 1)
        size = self.work.together.size if self.work.together is not None else size
        return (items[start : start + size] for start in range(0, len(items), size))

    def _parts(self, group: list[Numbered]) -> list[tuple[list[Numbered], Together | None]]:
        """Those of a group that are changed at once, and those that are done one by one."""
        way = self.work.together
        if way is None or self.end.is_set():
            return [(group, way)]
        try:
            taken = way.takes([each.item for each in group])
        except CallsheetError as error:
            self._note_refusal(error) if is_refused(error) else self._stop(error)
            return [(group, None)]
        parts = [each for each, fits in zip(group, taken, strict=True) if fits]
        others = [each for each, fits in zip(group, taken, strict=True) if not fits]
        return [part for part in ((parts, way), (others, None)) if part[0]]

    def _note_refusal(self, error: CallsheetError) -> None:
        self.note(f"the service refused the bulk operation, so it is done one by one: {error.message}")

    def _stop(self, error: CallsheetError) -> None:
        self.stopped = error
        self.end.set()

    def _try(self, act: Callable[[list[Numbered]], None], group: list[Numbered]) -> None:
        if self.end.is_set():
            return
        try:
            act(group)
        except CallsheetError as error:
            self._stop(error)

    def _together(self, group: list[Numbered], way: Together) -> Iterator[_Outcome | _Progress]:
        """One request for the group; one by one where the service refuses it."""
        if self.end.is_set():
            yield from (_Outcome(each.item, tried=False) for each in group)
            return
        try:
            failed, shown = yield from self._at_once(group, way)
        except CallsheetError as error:
            if is_refused(error):
                self._note_refusal(error)
                yield from self._taken(group)
                return
            self._stop(error)
            self._ended(group, dict.fromkeys((each.number for each in group), error))
            yield from (_Outcome(each.item, tried=False) for each in group)
            return
        self._ended(group, failed)
        for place, each in enumerate(group):
            fault, counts = failed.get(each.number), int(place >= shown)
            answer = None if fault is not None else self.work.result(each.item)
            yield _Outcome(each.item, answer=answer, error=fault, counts=counts)

    def _at_once(self, group: list[Numbered], way: Together) -> Generator[_Progress, None, tuple[Failures, int]]:
        """What failed, and of how many the progress has been shown. Raises what the request raises."""
        record, shown = self.work.record, 0
        if record is not None:
            for each in group:
                record.started(each)
        was = record.was if record is not None else {}
        percents = way.take({each.number: each.item for each in group}, was)
        while True:
            try:
                share = len(group) * min(next(percents), 100) // 100
            except StopIteration as end:
                failed: Failures = end.value
                return failed, shown
            yield _Progress(max(share - shown, 0))
            shown = max(shown, share)

    def _ended(self, group: list[Numbered], errors: Failures) -> None:
        if self.work.record is not None:
            for each in group:
                self.work.record.ended(each, errors.get(each.number))

    def _taken(self, group: list[Numbered]) -> Iterator[_Outcome]:
        from ...client.pagination.ahead import in_order

        workers = min(self.work.workers, len(group))
        return in_order(self._take, group, workers) if workers > 1 else map(self._take, group)

    def _take(self, each: Numbered) -> _Outcome:
        if self.end.is_set():
            return _Outcome(each.item, tried=False)
        record = self.work.record
        run = self.work.make(each)
        try:
            if record is not None:
                record.started(each)
            answer = run.run()
        except CallsheetError as error:
            if _ends_all(error):
                self.end.set()
            if record is not None:
                record.ended(each, error)
            return _Outcome(each.item, error=error, notes=run.notes)
        if record is not None:
            record.ended(each, None)
        return _Outcome(each.item, answer=answer, notes=run.notes)


def _ends_all(error: CallsheetError) -> bool:
    refused = isinstance(error, NotAllowed) and error.status == _UNAUTHENTICATED
    return refused or isinstance(error, RateLimited | NetworkError)


def _failure(outcomes: list[_Outcome], work: Work, stopped: CallsheetError | None) -> CallsheetError:
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
