"""Doing what a comparison found. The base of a thing comes last: where a run was killed, the next one goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ...errors import CallsheetError, Conflict, NetworkError, NotAllowed, NotFound, RateLimited, UsageError
from ..execute import check_operation, refuse_when_read_only
from ..resources.things import Parents, Thing, Things, Verb
from .base import Applied
from .change import Of, PlannedChange, in_order, name_after_name, set_aside
from .record import ThingsRecord, things_record

if TYPE_CHECKING:
    from ..context import Context
    from ..steps.dispatcher import StepDispatcher

_WORKERS = 10
_UNAUTHENTICATED, _CONFLICT = 401, 409
_VERBS: dict[str, Verb] = {"create": "create", "update": "update", "remove": "delete"}


def meets_all(error: CallsheetError) -> bool:
    """Whether every other request would meet the same: no answer, no credential, too many requests."""
    refused = isinstance(error, NotAllowed) and error.status == _UNAUTHENTICATED
    return refused or isinstance(error, RateLimited | NetworkError)


class Compared(Protocol):
    """Who compared the things of one resource."""

    def prepare(self, changes: Sequence[PlannedChange]) -> None:
        """What has to be made before anything is sent."""

    def close(self) -> None:
        """What is remembered at the end, whatever ends it."""

    def again(self, change: PlannedChange) -> PlannedChange:
        """Compares one thing once more, since it was changed meanwhile."""

    def keep(self, change: PlannedChange, id: str, base: Applied | None) -> None:
        """Remembers what was applied of it; None: it is gone."""


class Performing:
    """`compared` says of each resource who compared its things."""

    def __init__(self, dispatcher: StepDispatcher, compared: Mapping[str, Compared]) -> None:
        self._dispatcher, self._compared = dispatcher, compared
        self._context: Context = dispatcher.context
        self._things = {id: Things(dispatcher, id) for id in compared}
        self.ids: dict[str, str] = {}  # path → id, as far as it is known
        self._records: dict[str, ThingsRecord] = {}
        self._end = threading.Event()

    def check_changes(self, changes: Sequence[PlannedChange]) -> None:
        """Raises what the policy and the site's settings refuse, before anything is sent."""
        needed = {(change.resource, _VERBS[change.verb]): None for change in changes if change.changes_site}
        if needed:
            refuse_when_read_only(self._context)
        for resource, verb in needed:
            things = self._things[resource]
            if not things.can(verb):
                raise UsageError(f"{things.plural} cannot be {verb}d")
            call: Any = things.definition.get(verb)
            check_operation(self._context, self._dispatcher.builder.call(call["call"]))

    def apply_changes(self, changes: Sequence[PlannedChange], *, journal: str | None) -> list[PlannedChange]:
        """Does them; what could not be done has its `conflict`."""
        ordered = in_order(changes)
        self.ids |= {change.path: change.id for change in ordered if change.id is not None and change.verb != "remove"}
        with ExitStack() as stack:
            for resource, things in self._things.items():
                mine = [each for each in ordered if each.resource == resource and each.changes_site]
                if record := stack.enter_context(things_record(things, mine, journal)):
                    self._records[resource] = record
            todo = [change for change in ordered if change.conflict is None]
            changed = [change for change in todo if change.verb in ("update", "keep")]
            # A title is free for a new page once the page that had it is called otherwise.
            self._together([change for change in changed if not change.waits])
            for change in todo:
                if change.verb == "create":
                    self._one(change)
            self._together([change for change in changed if change.waits])
            for change in todo:
                if change.verb == "remove":
                    self._one(change)
        return ordered

    def _together(self, changes: list[PlannedChange]) -> None:
        """What depends on nothing any more, several at a time."""
        from ...client.pagination.ahead import in_order as at_once

        in_turn = [
            pair
            for resource, things in self._things.items()
            for pair in name_after_name([each for each in changes if each.resource == resource], things.name_field)
        ]
        for change, is_aside in in_turn:
            self._one(change, self._put_aside if is_aside else self._do)
        done = {id(change) for change, _ in in_turn}
        work = [change for change in changes if change.base is not None and id(change) not in done]
        for _ in at_once(self._one, work, min(_WORKERS, len(work))) if len(work) > 1 else map(self._one, work):
            pass

    def _one(self, change: PlannedChange, do: Callable[[PlannedChange], None] | None = None) -> None:
        if change.conflict is not None:
            return
        if self._end.is_set():
            change.conflict = "not tried"
            return
        try:
            (do or self._do)(change)
        except CallsheetError as error:
            change.conflict, change.details, change.hint = error.message, list(error.details or ()), error.hint
            if (record := self._record(change)) is not None:
                record.failed(change, error)
            if meets_all(error):
                self._end.set()

    def _do(self, change: PlannedChange) -> None:
        things, parents = self._things[change.resource], self._parents(change)
        change.parents = dict(parents)
        compared, record = self._compared[change.resource], self._record(change)
        if change.verb == "remove":
            with suppress(NotFound):  # somebody else removed it
                if change.thing is None and (record is not None or "id" in things.definition):
                    change.thing = things.read(change.id or "", parents)
                if record is not None:
                    record.started(change)
                things.delete(change.thing or {"id": change.id}, parents)
                if record is not None:
                    record.done(change, parents)
            compared.keep(change, change.id or "", None)
            return
        version, answer = change.base.version if change.base is not None else None, None
        if change.verb == "create":
            answer = things.create(self._fields(change), parents)
            change.id = things.id_of(answer)
            self.ids[change.path] = change.id
            version = things.version_of(answer)
            if record is not None:
                record.started(change)
        elif change.fields:
            answer = self._update(change, things, parents, record)
            version = things.version_of(answer)
        elif change.verb == "update" and record is not None:
            record.started(change)
        self._attach(change, things)
        self._tag(change, things)
        if record is not None:
            record.done(change, parents, answer)
        if change.base is not None:
            fields = {**change.base.fields, **{n: v for n, v in self._fields(change).items() if n != change.body}}
            compared.keep(change, change.id or "", replace(change.base, version=version, fields=fields))

    def _record(self, change: PlannedChange) -> ThingsRecord | None:
        record = self._records.get(change.resource)
        return record if record is not None and record.has(change) else None

    def _parents(self, change: PlannedChange) -> dict[str, str]:
        return {resource: self._id_of(id) for resource, id in change.parents.items()}

    def _fields(self, change: PlannedChange) -> dict[str, Any]:
        return {name: self._id_of(part.wanted) for name, part in change.fields.items()}

    def _id_of(self, value: Any) -> Any:
        if not isinstance(value, Of):
            return value
        if value.path not in self.ids:
            raise CallsheetError(f"{value.path} is not there, which it belongs to")
        return self.ids[value.path]

    def _put_aside(self, change: PlannedChange) -> None:
        """Frees the name of a thing for another one."""
        things, record, was = self._things[change.resource], self._record(change), change.thing
        field = things.name_field or ""
        if record is not None:
            record.started(change)
        aside = {field: set_aside(change.fields[field].wanted, change.id or "")}
        things.update(change.thing, aside, self._parents(change))
        self._compare_again(change)
        change.was = was

    def _compare_again(self, change: PlannedChange) -> None:
        fresh = self._compared[change.resource].again(change)
        if fresh.conflict is not None:
            raise Conflict(fresh.conflict, details=fresh.details, hint=fresh.hint)
        vars(change).update(vars(fresh))

    def _update(self, change: PlannedChange, things: Things, parents: Parents, record: ThingsRecord | None) -> Thing:
        """What the service answers. Compares anew once where the thing was changed meanwhile."""
        if record is not None:
            record.started(change)
        try:
            return things.update(change.thing, self._fields(change), parents)
        except Conflict as error:
            if error.status != _CONFLICT:
                raise
        self._compare_again(change)
        if not change.fields:
            return change.thing
        if record is not None:
            record.started(change)
        return things.update(change.thing, self._fields(change), parents)

    def _attach(self, change: PlannedChange, things: Things) -> None:
        files = things.files
        if not change.uploads or files is None or change.id is None:
            return
        attached = Things(self._dispatcher, files)
        parents = {things.resource: change.id}
        kept = attached.definition.get("hash")
        there = {}
        if kept is not None and change.verb != "create":
            there = {attached.name_of(each): each for each in attached.all(parents)}
        for upload in change.uploads:
            digest = f"sha256:{upload.hash}"
            fields = {kept: digest} if kept is not None else {}
            file = {"path": upload.path, "name": upload.name}
            if upload.name not in there:
                attached.create(fields, parents, [file])
            elif attached.differences(there[upload.name], fields):
                attached.replace(there[upload.name], file, fields, parents)

    def _tag(self, change: PlannedChange, things: Things) -> None:
        for name, resource in things.definition.get("tags", {}).items():
            tags = Things(self._dispatcher, resource)
            parents = {things.resource: change.id or ""}
            for tag in change.added.get(name, ()):
                tags.create({"name": tag}, parents)
            for tag in change.removed.get(name, ()):
                try:
                    tags.delete({"name": tag}, parents)
                except NotFound:
                    continue
