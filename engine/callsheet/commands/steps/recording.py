"""When the steps for many items are written into a journal, and what a person is told of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from ..journal.folder import fresh_path, remove_old
from ..journal.writer import Journal, continued, new_journal, time_of_entry
from .record import JournalRecord
from .snapshot import Snapshots, undo_steps

if TYPE_CHECKING:
    from ...language.shape.commands import CompiledCommand
    from ...language.shape.steps import Each, ItemStep, StepDefinition
    from ...language.template import Scope
    from ..context import Context
    from ..journal.recorded import Recorded
    from .dispatcher import StepDispatcher

JOURNAL, RESUME = "journal", "resume"
_OF_THE_RUN = frozenset({"site", "output", JOURNAL, RESUME})  # what another run has of its own


class Recording(Protocol):
    """The run whose items are written down."""

    command: CompiledCommand
    context: Context
    dispatcher: StepDispatcher
    steps: list[StepDefinition]
    scope: Scope


@contextmanager
def recording(run: Recording, step: StepDefinition, items: list[Any]) -> Iterator[JournalRecord | None]:
    """Where what becomes of the items is written down; None where no journal is kept."""
    path = _path(run, step, items)
    if path is None:
        yield None
        return
    with new_journal(path) as journal:
        journal.head(head_of(run, step), items)
        run.context.note(run.context.journaling.note(path, has_undo=bool(undo_steps(run.context, step["each"]))))
        with followed(run, journal, step["each"], how_to_go_on(run, path)) as record:
            yield record


@contextmanager
def resuming(run: Recording, step: StepDefinition, found: Recorded) -> Iterator[JournalRecord]:
    """The journal of an earlier run, to go on in."""
    advice = how_to_go_on(run, found.path)
    with (
        continued(found.path, found.length, found.size) as journal,
        followed(run, journal, step["each"], advice, found) as record,
    ):
        yield record


@contextmanager
def followed(
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
        journal.ended(done=record.done, failed=record.failed)


def _path(run: Recording, step: StepDefinition, items: list[Any]) -> str | None:
    if run.dispatcher.dry or "journal" not in run.command:
        return None
    if run.scope.get(JOURNAL):
        return str(run.scope[JOURNAL])
    keeps = run.context.journaling.keeps(len(items), has_undo=bool(undo_steps(run.context, step["each"])))
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
        "values": _values(run.scope),
    }


def _values(scope: Mapping[str, Any]) -> dict[str, Any]:
    """What the expressions of later steps see, and those of what undoes them."""
    return {name: value for name, value in scope.items() if name not in _OF_THE_RUN}


def address_of(run: Recording, step: StepDefinition) -> str:
    """Where the requests for an item go: a journal belongs to one site."""
    call: ItemStep = next(part for part in step["each"]["step"] if "call" in part)
    return run.context.site().base_url(run.dispatcher.builder.call(call["call"]).service)


def how_to_go_on(run: Recording, path: str) -> str:
    return f"to continue: {run.context.program} {run.command['journal']} --{RESUME} {shown_path(path)}"


def shown_path(path: str) -> str:
    """As it can be typed in a shell."""
    import shlex

    return shlex.quote(path)
