"""Several steps for every item of a list: it goes on after a failure, and tells at the end what failed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...errors import CallsheetError, NetworkError, NotAllowed, RateLimited
from ...language.template import evaluate, fill_text
from ..progress import with_count
from .batch import name_of, names_of

if TYPE_CHECKING:
    from ...language.shape.steps import Each
    from ..context import Context

WORKERS = 10
_UNAUTHENTICATED = 401
_MOST_TOLD = 100


class StepsOfItem(Protocol):
    """The steps for one item. `run` gives what stands for it in the answer, `notes` is what they noted."""

    notes: list[str]

    def run(self) -> Any: ...


class _Outcome(NamedTuple):
    """`error` is why there is no answer; where both are None and it was not `tried`, others had ended it all."""

    item: Any
    tried: bool = True
    answer: Any = None
    error: CallsheetError | None = None
    notes: Sequence[str] = ()


def run_for_each(
    context: Context,
    items: list[Any],
    make: Callable[[Any], StepsOfItem],
    each: Each,
    scope: dict[str, Any],
    *,
    workers: int,
) -> tuple[list[Any], CallsheetError | None]:
    """The answers of those that went well, in order, and what is to be told of the others.

    Raises the failure itself where there is only one item. What the others would meet too (no connection, a quota that
    is used up, a credential that is refused) ends it: the rest is told as not tried.
    """
    outcomes: list[_Outcome] = []
    with closing(_outcomes(items, make, workers)) as found:
        for outcome in with_count(context, found, len(items)):
            outcomes.append(outcome)
            for note in outcome.notes:
                context.note(note)
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failed and len(items) == 1:
        raise failed[0]
    answers = [outcome.answer for outcome in outcomes if outcome.tried and outcome.error is None]
    return answers, _failure(outcomes, each, scope) if failed else None


def _outcomes(items: list[Any], make: Callable[[Any], StepsOfItem], workers: int) -> Generator[_Outcome]:
    """One for each item in turn, while at most so many are under way at once."""
    from ...client.pagination.ahead import in_order

    ended = threading.Event()

    def take(item: Any) -> _Outcome:
        if ended.is_set():
            return _Outcome(item, tried=False)
        run = make(item)
        try:
            return _Outcome(item, answer=run.run(), notes=run.notes)
        except CallsheetError as error:
            if _ends_all(error):
                ended.set()
            return _Outcome(item, error=error, notes=run.notes)

    workers = min(workers, len(items))
    yield from in_order(take, items, workers) if workers > 1 else map(take, items)


def _ends_all(error: CallsheetError) -> bool:
    refused = isinstance(error, NotAllowed) and error.status == _UNAUTHENTICATED
    return refused or isinstance(error, RateLimited | NetworkError)


def _failure(outcomes: list[_Outcome], each: Each, scope: dict[str, Any]) -> CallsheetError:
    failed = [(outcome.item, outcome.error) for outcome in outcomes if outcome.error is not None]
    untried = [outcome.item for outcome in outcomes if not outcome.tried]
    done = len(outcomes) - len(failed) - len(untried)
    message = fill_text(each["done"], {**scope, "done": done, "total": len(outcomes)})
    details = [f"{_name(each, item)}: {error.message}" for item, error in failed[:_MOST_TOLD]]
    if len(failed) > _MOST_TOLD:
        details.append(f"... and {len(failed) - _MOST_TOLD} more")
    if untried:
        details.append(f"not tried: {names_of([_name(each, item) for item in untried])}")
    hints = {error.hint for _, error in failed}
    hint = hints.pop() if len(hints) == 1 else None
    return CallsheetError(f"{message}; {len(failed)} failed", details=details, hint=hint)


def _name(each: Each, item: Any) -> str:
    return name_of(evaluate(each["name"], item) if "name" in each else item)
