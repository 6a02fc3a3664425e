"""What becomes of the items of a list, written into a journal."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import CallsheetError, NetworkError, count_of
from ..journal import UNDER_WAY, Journal, Recorded, continue_journal, fresh_path, new_journal, remove_old, time_of_entry
from .each_item import Numbered, OutcomeUnknown
from .snapshot import MISSING, Snapshots, undo_steps

if TYPE_CHECKING:
    from ...client.request.http_request import Request
    from ...language.shape.commands import CompiledCommand
    from ...language.shape.steps import Each, ItemStep, StepDefinition
    from ...language.template import Scope
    from ..context import Context
    from .dispatcher import StepDispatcher


# What becomes of the items of a list, into a journal: before the change, when it is made, and what came of it.


_PATIENCE = 3.0  # seconds that requests under way get after Ctrl-C
_NAP = 0.05
_SERVER_ERROR = 500


class JournalRecord:
    """`snapshots` where it is kept what items were, `again` where they can be put back.

    `found` is the journal of an earlier run that this one goes on with.
    """

    def __init__(
        self,
        context: Context,
        journal: Journal,
        snapshots: Snapshots | None = None,
        found: Recorded | None = None,
        *,
        again: bool = True,
    ) -> None:
        self.journal = journal
        self.was: dict[int, Any] = {}  # of the group that is at work
        self._context = context
        self._snapshots = snapshots
        self._found = found
        self._again = again
        self._under_way: set[int] = set()
        self._changing = threading.Lock()
        self.done = self.failed = 0

    def before_items(self, items: Sequence[Numbered]) -> None:
        """Read what they are, but for those that an earlier run may have changed."""
        if self._snapshots is None:
            return
        known = (
            {each.number: self._found.state_before(each.number) for each in items if self._is_known(each)}
            if self._found
            else {}
        )
        fresh = [each for each in items if each.number not in known]
        values = self._snapshots.read_states([each.item for each in fresh]) if fresh else []
        read = zip(fresh, values, strict=True)
        self.was = known | {each.number: value for each, value in read if value is not MISSING}

    def _is_known(self, each: Numbered) -> bool:
        entry = self._found.entries[each.number] if self._found else None
        return entry is not None and entry.state in UNDER_WAY and entry.was_at >= 0

    def item_started(self, item: Numbered) -> None:
        kept = {"was": self.was[item.number]} if item.number in self.was else {}
        self.journal.item_started(item.number, item.item, kept)
        with self._changing:
            self._under_way.add(item.number)

    def item_ended(self, item: Numbered, error: CallsheetError | None) -> None:
        if error is None:
            self.journal.item_done(item.number, item.item)
        else:
            self.journal.item_failed(item.number, item.item, error.message, known=not _may_be_done(error))
        with self._changing:
            self._under_way.discard(item.number)
            self.done += error is None
            self.failed += error is not None

    def after_items(self, items: Sequence[Numbered]) -> None:
        """Read what they are now, by which an undo can tell whether somebody changed them since."""
        if self._snapshots is None or not self._again:
            return
        try:
            values = self._snapshots.read_states([each.item for each in items])
        except CallsheetError as error:
            number = count_of(len(items), "item")
            self._context.note(f"{number} could not be read again after the change: {error.message}")
            return
        read = zip(items, values, strict=True)
        self.journal.write_states((each.number, each.item, value) for each, value in read if value is not MISSING)

    def wait_for_running(self) -> None:
        """Wait a moment for what is under way."""
        end = time.monotonic() + _PATIENCE
        while self._under_way and time.monotonic() < end:
            time.sleep(_NAP)


def _may_be_done(error: CallsheetError) -> bool:
    """Whether the change may have been made in spite of the failure."""
    return isinstance(error, NetworkError | OutcomeUnknown) or (error.status or 0) >= _SERVER_ERROR


# When the steps for many items are written into a journal, and what a person is told of it.


JOURNAL, RESUME = "journal", "resume"
_OF_THE_RUN = frozenset({"site", "output", JOURNAL, RESUME})  # what another run has of its own


class Making(Protocol):
    """Who writes down what the requests of a run make."""

    def can_make(self, steps: Sequence[ItemStep]) -> bool: ...
    def in_journal(self, journal: Journal | None, *, can_undo: bool) -> AbstractContextManager[None]: ...
    def in_own_journal(self) -> AbstractContextManager[None]: ...
    def before_sending(self, step: ItemStep, request: Request) -> Any: ...
    def add_answer(self, things: Any, arguments: Mapping[str, Any], answer: Any) -> None: ...


class Recording(Protocol):
    """The run whose items are written down."""

    command: CompiledCommand
    context: Context
    dispatcher: StepDispatcher
    steps: list[StepDefinition]
    scope: Scope
    making: Making | None

    def can_undo(self, each: Each) -> bool: ...


@contextmanager
def record_items(run: Recording, step: StepDefinition, items: list[Any]) -> Iterator[JournalRecord | None]:
    """Where what becomes of the items is written down; None where no journal is kept."""
    path = _journal_path(run, step, items)
    if path is None:
        with _making_in(run, step, None):
            yield None
        return
    with new_journal(path) as journal:
        journal.write_head(head_of(run, step), items)
        can_undo = run.can_undo(step["each"])
        if can_undo == bool(undo_steps(run.context, step["each"])):  # else it depends on what will be made
            run.context.note_once(run.context.journaling.journal_note(path, has_undo=can_undo))
        with (
            follow_record(run, journal, step["each"], how_to_go_on(run, path)) as record,
            _making_in(run, step, journal),
        ):
            yield record


def _making_in(run: Recording, step: StepDefinition, journal: Journal | None) -> AbstractContextManager[None]:
    if run.making is None:
        return nullcontext()
    return run.making.in_journal(journal, can_undo=bool(undo_steps(run.context, step["each"])))


@contextmanager
def resume_record(run: Recording, step: StepDefinition, found: Recorded) -> Iterator[JournalRecord]:
    """The journal of an earlier run, to go on in."""
    advice = how_to_go_on(run, found.path)
    with (
        continue_journal(found.path, found.length, found.size) as journal,
        follow_record(run, journal, step["each"], advice, found) as record,
        _making_in(run, step, journal),
    ):
        yield record


@contextmanager
def follow_record(
    run: Recording, journal: Journal, each: Each, advice: str, found: Recorded | None = None
) -> Iterator[JournalRecord]:
    """A record in the journal. On Ctrl-C the `advice` is given: how to go on."""
    snapshots = Snapshots(run.context, run.dispatcher, each["keep"], run.scope) if "keep" in each else None
    run.context.journaling.path = journal.path
    record = JournalRecord(run.context, journal, snapshots, found, again=bool(undo_steps(run.context, each)))
    try:
        yield record
    except KeyboardInterrupt:
        run.context.say(f"interrupted: {record.done} done; {advice}")
        raise
    finally:
        journal.write_counts(done=record.done, failed=record.failed)


def _journal_path(run: Recording, step: StepDefinition, items: list[Any]) -> str | None:
    if run.dispatcher.dry or "journal" not in run.command:
        return None
    if run.scope.get(JOURNAL):
        return str(run.scope[JOURNAL])
    keeps = run.context.journaling.keeps_journal(len(items), has_undo=run.can_undo(step["each"]))
    return new_path(run.context, run.command["journal"]) if keeps else None


def new_path(context: Context, command: str) -> str:
    """For a journal that nobody gave a place; old ones make room."""
    remove_old(context.environ, context.program)
    return fresh_path(context.environ, context.program, command)


def head_of(run: Recording, step: StepDefinition) -> dict[str, Any]:
    """What another run needs in order to go on, or to put things back."""
    return {
        "program": run.context.program,
        "command": run.command["journal"],
        "step": run.command["step"].index(step),
        "site": address_of(run, step),
        "started": time_of_entry(),
        "undo": False,
        "values": _scope_values(run.scope),
    }


def _scope_values(scope: Mapping[str, Any]) -> dict[str, Any]:
    """What the expressions of later steps see, and those of what undoes them."""
    return {name: value for name, value in scope.items() if name not in _OF_THE_RUN}


def address_of(run: Recording, step: StepDefinition) -> str:
    """Where the requests for an item go: a journal belongs to one site."""
    call: ItemStep = next(part for part in step["each"]["step"] if "call" in part)
    return run.context.site().base_url(run.dispatcher.builder.operation_call(call["call"]).service)


def how_to_go_on(run: Recording, path: str) -> str:
    return f"to continue: {run.context.program} {run.command['journal']} --{RESUME} {shown_path(path)}"


def shown_path(path: str) -> str:
    """As it can be typed in a shell."""
    import shlex

    return shlex.quote(path)
