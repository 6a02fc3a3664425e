"""What things were before they are changed, in a journal that `undo` takes: by the snapshot of their resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...errors import CallsheetError, NetworkError
from ...language.merge import on_deployment
from ...language.template import evaluate
from ..journal.folder import fresh_path, remove_old
from ..journal.writer import Journal, new_journal, time_of_entry

if TYPE_CHECKING:
    from ..resources.things import Parents, Thing, Things
    from .change import PlannedChange

_COMMAND = "apply"
_SERVER_ERROR = 500


@contextmanager
def things_record(things: Things, changes: Sequence[PlannedChange], path: str | None) -> Iterator[ThingsRecord | None]:
    """None where no journal is kept: nothing is changed, nothing could be put back, or the person wants none."""
    context = things.dispatcher.context
    catalog = context.catalog
    if not changes or things.resource not in catalog.all("snapshot"):
        yield None
        return
    snapshot = on_deployment(catalog.get("snapshot", things.resource), context.site().deployment)
    if path is None and not context.journaling.keeps(len(changes), has_undo=True):
        yield None
        return
    if path is None:
        remove_old(context.environ, context.program)
        path = fresh_path(context.environ, context.program, f"{_COMMAND} {things.resource}")
    update: Any = things.definition.get("update")
    with new_journal(path) as journal:
        context.journaling.path = path
        record = ThingsRecord(things, journal, snapshot, changes)
        head = {
            "program": context.program,
            "command": _COMMAND,
            "step": 0,
            "site": context.site().base_url(things.dispatcher.builder.call(update["call"]).service),
            "started": time_of_entry(),
            "undo": False,
            "values": {"resource": things.resource, "parents": record.parents},
        }
        journal.head(head, [change.id or change.path for change in changes])
        context.note(context.journaling.note(path, has_undo=True))
        try:
            yield record
        finally:
            failed = sum(change.conflict is not None for change in changes)
            journal.ended(done=len(changes) - failed, failed=failed)


class ThingsRecord:
    """One journal of things of one resource."""

    def __init__(self, things: Things, journal: Journal, snapshot: Any, changes: Sequence[PlannedChange]) -> None:
        self._things, self._journal, self._snapshot = things, journal, snapshot
        self._numbers = {id(change): number for number, change in enumerate(changes)}
        self.parents = {resource: above for resource, above in changes[0].parents.items() if isinstance(above, str)}

    def has(self, change: PlannedChange) -> bool:
        return id(change) in self._numbers

    def started(self, change: PlannedChange) -> None:
        """One that is made is entered once its id is known: it was nothing before."""
        thing = change.was or change.thing
        kept = {"was": self._state(thing)} if thing is not None else {"was": None} if change.verb == "create" else {}
        self._journal.started(self._numbers[id(change)], change.id, kept)

    def done(self, change: PlannedChange, parents: Parents, answer: Thing = None) -> None:
        """What it is now: an undo tells by it whether somebody changed it since. Read again where no `answer` says."""
        number = self._numbers[id(change)]
        self._journal.done(number, change.id)
        if change.verb == "remove":
            self._journal.now([(number, change.id, None)])
        elif change.thing is not None or change.verb == "create":
            now = self._told(change, answer) if not (change.added or change.removed or change.uploads) else None
            now = self._state(self._things.read(change.id or "", parents) if now is None else now)
            self._journal.now([(number, change.id, now)])

    def failed(self, change: PlannedChange, error: CallsheetError) -> None:
        is_made = change.verb == "create" and change.id is not None  # and something that belongs to it failed
        known = not is_made and not isinstance(error, NetworkError) and (error.status or 0) < _SERVER_ERROR
        item = change.id or change.path
        self._journal.failed(self._numbers[id(change)], item, error.message, known=known)

    def _told(self, change: PlannedChange, answer: Thing) -> Thing:
        """The thing as the service answered it after a change, with what was sent where it does not say that.

        None where that cannot be known.
        """
        if not isinstance(answer, Mapping) or not isinstance(change.thing, Mapping | None):
            return None
        now = {**(change.thing or {}), **{name: part for name, part in answer.items() if part not in (None, {}, [])}}
        for name, part in change.fields.items():
            if self._things.fields_of(answer)[name] is None:
                sent = put_at(now, self._things.fields[name], part.wanted)
                if sent is None or self._things.fields_of(sent)[name] != part.wanted:
                    return None
                now = sent
        return now

    def _state(self, thing: Thing) -> Any:
        """What a snapshot keeps of a thing as it was read."""
        return evaluate(self._snapshot["state"], {**self._things.scope(self.parents), "found": thing})


def put_at(thing: Mapping[str, Any], where: str, value: Any) -> dict[str, Any] | None:
    """A copy with a value at a path of members such as `body.storage.value`; None for any other expression."""
    first, _, rest = where.strip('"').partition(".")
    if not first.isidentifier():
        return None
    inner = thing.get(first)
    below = value if not rest else put_at(inner if isinstance(inner, Mapping) else {}, rest, value)
    return None if rest and below is None else {**thing, first: below}
