"""Doing what is planned, one change after another, and what is written down of it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from ...client.request.http_request import Placeholder
from ...errors import CallsheetError, Conflict, NetworkError, NotFound, UsageError
from ...files import locked_file, write_atomically
from ...jsontext import JSONError, dump_json, parse_json
from ...language.merge import on_deployment
from ...language.template import evaluate, to_text
from ..execute import check_operation, refuse_when_read_only
from ..journal import Journal, fresh_path, new_journal, remove_old, time_of_entry
from ..rearranging import NameChange, names_in_turn, set_aside, sibling_ranks
from ..resources import Parents, Thing, Things, Verb
from ..steps.each_item import meets_every_request
from .planned_changes import Applied, Of, PlannedChange, applied_of, in_order

if TYPE_CHECKING:
    from ..context import Context
    from ..steps.dispatcher import StepDispatcher


# What things were before they are changed, in a journal that `undo` takes: by the snapshot of their resource.


_COMMAND = "apply"
_SERVER_ERROR = 500


@contextmanager
def things_record(things: Things, changes: Sequence[PlannedChange], path: str | None) -> Iterator[ThingsRecord | None]:
    """None where no journal is kept: nothing is changed, nothing could be put back, or the person wants none."""
    context = things.dispatcher.context
    catalog = context.catalog
    if not changes or things.resource not in catalog.snapshots.all():
        yield None
        return
    snapshot = on_deployment(catalog.snapshots.get(things.resource), context.site().deployment)
    if path is None and not context.journaling.keeps_journal(len(changes), has_undo=True):
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
            "site": context.site().base_url(things.dispatcher.builder.operation_call(update["call"]).service),
            "started": time_of_entry(),
            "undo": False,
            "values": {
                "resource": things.resource,
                "parents": record.parents,
                "order": _order_before(things, record.parents, changes),
                "parts": _parts_before(things, changes),
            },
        }
        journal.write_head(head, [change.id or change.path for change in changes])
        context.note(context.journaling.journal_note(path, has_undo=True))
        try:
            yield record
        finally:
            failed = sum(change.conflict is not None for change in changes)
            journal.write_counts(done=len(changes) - failed, failed=failed)


def _order_before(things: Things, parents: Parents, changes: Sequence[PlannedChange]) -> dict[str, list[str]]:
    """Parent → the things below it in their order, where one of them is moved."""
    above = things.field_at(things.definition.get("parent", {}).get(things.resource))
    moved = {
        each.id
        for each in changes
        if each.id and (each.after or each.before or each.verb == "remove" or above in each.fields)
    }
    if not moved or not things.supports("order"):
        return {}
    return {parent: [*ranks] for parent, ranks in sibling_ranks(things, parents).items() if moved & ranks.keys()}


def _parts_before(things: Things, changes: Sequence[PlannedChange]) -> dict[str, dict[str, list[Any]]]:
    """Id → its parts that change, each as it was and becomes."""
    found = {
        each.id: {name: [*each.fields[name]] for name in each.fields.keys() & things.parts.keys()}
        for each in changes
        if each.id and each.verb == "update"
    }
    return {id: parts for id, parts in found.items() if parts}


class ThingsRecord:
    """One journal of things of one resource."""

    def __init__(self, things: Things, journal: Journal, snapshot: Any, changes: Sequence[PlannedChange]) -> None:
        self._things, self._journal, self._snapshot = things, journal, snapshot
        self._numbers = {id(change): number for number, change in enumerate(changes)}
        self.parents = {resource: above for resource, above in changes[0].parents.items() if isinstance(above, str)}

    def has_change(self, change: PlannedChange) -> bool:
        return id(change) in self._numbers

    def change_started(self, change: PlannedChange) -> None:
        """One that is made is entered once its id is known: it was nothing before."""
        thing = change.was or change.thing
        kept = (
            {"was": self._snapshot_state(thing)}
            if thing is not None
            else {"was": None}
            if change.verb == "create"
            else {}
        )
        self._journal.item_started(self._numbers[id(change)], change.id, kept)

    def change_done(self, change: PlannedChange, parents: Parents, answer: Thing = None) -> None:
        """What it is now: an undo tells by it whether somebody changed it since. Read again where no `answer` says."""
        number = self._numbers[id(change)]
        self._journal.item_done(number, change.id)
        if change.verb == "remove":
            self._journal.write_states([(number, change.id, None)])
        elif change.thing is not None or change.verb == "create":
            now = (
                self._answered_thing(change, answer) if not (change.added or change.removed or change.uploads) else None
            )
            now = self._snapshot_state(self._things.read_thing(change.id or "", parents) if now is None else now)
            self._journal.write_states([(number, change.id, now)])

    def change_failed(self, change: PlannedChange, error: CallsheetError) -> None:
        is_made = change.verb == "create" and change.id is not None  # and something that belongs to it failed
        known = not is_made and not isinstance(error, NetworkError) and (error.status or 0) < _SERVER_ERROR
        item = change.id or change.path
        self._journal.item_failed(self._numbers[id(change)], item, error.message, known=known)

    def _answered_thing(self, change: PlannedChange, answer: Thing) -> Thing:
        """The thing as the service answered it after a change, with what was sent where it does not say that.

        None where that cannot be known.
        """
        if not isinstance(answer, Mapping) or not isinstance(change.thing, Mapping | None):
            return None
        now = {**(change.thing or {}), **{name: part for name, part in answer.items() if part not in (None, {}, [])}}
        for name, part in change.fields.items():
            if name not in self._things.parts and self._things.fields_of(answer)[name] is None:
                sent = put_at(now, self._things.field_expressions[name], part.wanted)
                if sent is None or self._things.fields_of(sent)[name] != part.wanted:
                    return None
                now = sent
        return now

    def _snapshot_state(self, thing: Thing) -> Any:
        """What a snapshot keeps of a thing as it was read."""
        return evaluate(self._snapshot["state"], {**self._things.expression_scope(self.parents), "found": thing})


def put_at(thing: Mapping[str, Any], where: str, value: Any) -> dict[str, Any] | None:
    """A copy with a value at a path of members such as `body.storage.value`; None for any other expression."""
    first, _, rest = where.strip('"').partition(".")
    if not first.isidentifier():
        return None
    inner = thing.get(first)
    below = value if not rest else put_at(inner if isinstance(inner, Mapping) else {}, rest, value)
    return None if rest and below is None else {**thing, first: below}


# Doing what a comparison found. The base of a thing comes last: where a run was killed, the next one goes on.


_WORKERS = 10
_CONFLICT = 409
_VERBS: dict[str, Verb] = {"create": "create", "update": "update", "remove": "delete"}


def refuse_unfit_changes(things_of: Callable[[str], Things], changes: Sequence[PlannedChange]) -> None:
    """A change that the service's document does not allow is a conflict, before anything is sent."""
    things = {resource: things_of(resource) for resource in {change.resource for change in changes}}
    for change in changes:
        is_renamed = change.verb == "update" and things[change.resource].name_field in change.fields
        if change.conflict is None and (change.verb == "create" or is_renamed):
            fields = {name: _known(part.wanted) for name, part in change.fields.items()}
            parents = {resource: _known(id) for resource, id in change.parents.items()}
            waits = any(isinstance(part.wanted, Of) for part in change.fields.values())
            are_all = change.verb == "create" and not waits
            if unfit := things[change.resource].find_unfit(fields, parents, are_all=are_all):
                change.conflict = "; ".join(unfit)


def _names_in_turn(
    changes: Sequence[PlannedChange], resource: str, field: str | None
) -> list[tuple[PlannedChange, bool]]:
    """What is removed has a name that becomes free; it has to be set aside where another one gets that before."""
    mine = {id(each): each for each in changes if each.resource == resource and (field in each.fields or _goes(each))}
    names = {
        key: NameChange(each.title, None)
        if _goes(each)
        else NameChange(*(None if name is None else to_text(name) for name in each.fields[field or ""]))
        for key, each in mine.items()
    }
    return [(mine[key], aside) for key, aside in names_in_turn(names)]


def _goes(change: PlannedChange) -> bool:
    return change.verb == "remove"


def _known(value: Any) -> Any:
    return Placeholder("0") if isinstance(value, Of) else value  # an id that is a number in some bodies


class Compared(Protocol):
    """Who compared the things of one resource."""

    def prepare_changes(self, changes: Sequence[PlannedChange]) -> None:
        """What has to be made before anything is sent."""

    def close(self) -> None:
        """What is remembered at the end, whatever ends it."""

    def compare_again(self, change: PlannedChange) -> PlannedChange:
        """Compares one thing once more, since it was changed meanwhile."""

    def keep_base(self, change: PlannedChange, id: str, base: Applied | None) -> None:
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
        needed |= {(change.resource, "order"): None for change in changes if change.after or change.before}
        if needed:
            refuse_when_read_only(self._context)
        for resource, verb in needed:
            things = self._things[resource]
            if not things.supports(verb):
                raise UsageError(f"{things.plural} cannot be {verb}d")
            call: Any = things.definition.get(verb)
            check_operation(self._context, self._dispatcher.builder.operation_call(call["call"]))

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
            for change, _ in self._names_in_turn(todo):
                if _goes(change) and self._things[change.resource].changeable_fields:
                    self._perform_one(change, self._put_aside)
            changed = [change for change in todo if change.verb in ("update", "keep")]
            # A title is free for a new page once the page that had it is called otherwise.
            self._perform_together([change for change in changed if not change.waits_for_id])
            for change in todo:
                if change.verb == "create":
                    self._perform_one(change)
            self._perform_together([change for change in changed if change.waits_for_id])
            for change in todo:
                if change.after or change.before:
                    self._perform_one(change, self._order_thing)
            for change in todo:
                if change.verb == "remove":
                    self._perform_one(change)
        return ordered

    def _perform_together(self, changes: list[PlannedChange]) -> None:
        """What depends on nothing any more, several at a time."""
        from ...client.pagination.in_parallel import in_order as at_once

        in_turn = self._names_in_turn(changes)
        for change, is_aside in in_turn:
            self._perform_one(change, self._put_aside if is_aside else self._perform_change)
        done = {id(change) for change, _ in in_turn}
        work = [change for change in changes if change.base is not None and id(change) not in done]
        for _ in (
            at_once(self._perform_one, work, min(_WORKERS, len(work)))
            if len(work) > 1
            else map(self._perform_one, work)
        ):
            pass

    def _names_in_turn(self, changes: Sequence[PlannedChange]) -> list[tuple[PlannedChange, bool]]:
        every = self._things.items()
        return [pair for id, things in every for pair in _names_in_turn(changes, id, things.name_field)]

    def _perform_one(self, change: PlannedChange, do: Callable[[PlannedChange], None] | None = None) -> None:
        if change.conflict is not None:
            return
        if self._end.is_set():
            change.conflict = "not tried"
            return
        try:
            (do or self._perform_change)(change)
        except CallsheetError as error:
            change.conflict, change.details, change.hint = error.message, list(error.details or ()), error.hint
            if (record := self._record_of_change(change)) is not None:
                record.change_failed(change, error)
            if meets_every_request(error):
                self._end.set()

    def _perform_change(self, change: PlannedChange) -> None:
        things, parents = self._things[change.resource], self._parent_ids(change)
        change.parents = dict(parents)
        compared, record = self._compared[change.resource], self._record_of_change(change)
        if change.verb == "remove":
            with suppress(NotFound):  # somebody else removed it
                if change.thing is None and (record is not None or "id" in things.definition):
                    change.thing = things.read_thing(change.id or "", parents)
                if record is not None:
                    record.change_started(change)
                things.delete_thing(change.thing or {"id": change.id}, parents)
                if record is not None:
                    record.change_done(change, parents)
            compared.keep_base(change, change.id or "", None)
            return
        version, answer = change.base.version if change.base is not None else None, None
        sent = self._fields_to_send(change)
        if change.verb == "create":
            late = self._late_fields(change)
            answer = things.create_thing({name: value for name, value in sent.items() if name not in late}, parents)
            change.id = things.id_of(answer)
            self.ids[change.path] = change.id
            if record is not None:
                record.change_started(change)
            self._set_parts(change)
            if fields := {name: value for name, value in sent.items() if name in late}:
                answer = things.update_thing(things.read_thing(change.id, parents), fields, parents)
            version = things.version_of(answer)
        elif sent:
            answer = self._update_thing(change, things, parents, record)
            version = things.version_of(answer)
        elif change.verb == "update":
            if record is not None:
                record.change_started(change)
            self._set_parts(change)
        self._attach_files(change, things)
        self._change_tags(change, things)
        if record is not None:
            record.change_done(change, parents, answer)
        if change.base is not None:
            fields = {
                **change.base.fields,
                **{n: self._id_of(part.wanted) for n, part in change.fields.items() if n != change.body},
            }
            compared.keep_base(change, change.id or "", replace(change.base, version=version, fields=fields))

    def _record_of_change(self, change: PlannedChange) -> ThingsRecord | None:
        record = self._records.get(change.resource)
        return record if record is not None and record.has_change(change) else None

    def _parent_ids(self, change: PlannedChange) -> dict[str, str]:
        return {resource: self._id_of(id) for resource, id in change.parents.items()}

    def _fields_to_send(self, change: PlannedChange) -> dict[str, Any]:
        """Without its parts."""
        parts, fields = self._things[change.resource].parts, change.fields.items()
        return {name: self._id_of(part.wanted) for name, part in fields if name not in parts}

    def _late_fields(self, change: PlannedChange) -> set[str]:
        """What a new thing gets once it is there. Of one that not everybody may see that is its text, too."""
        things = self._things[change.resource]
        return {*things.late_fields, *([change.body or ""] if change.fields.keys() & things.parts.keys() else ())}

    def _set_parts(self, change: PlannedChange) -> None:
        things = self._things[change.resource]
        for name in change.fields.keys() & things.parts.keys():
            things.set_part(name, change.id or "", change.fields[name].wanted)

    def _id_of(self, value: Any) -> Any:
        if not isinstance(value, Of):
            return value
        if value.path not in self.ids:
            raise CallsheetError(f"{value.path} is not there, which it belongs to")
        return self.ids[value.path]

    def _put_aside(self, change: PlannedChange) -> None:
        """Frees the name of a thing for another one."""
        things, record, parents = (
            self._things[change.resource],
            self._record_of_change(change),
            self._parent_ids(change),
        )
        if _goes(change):
            change.thing = things.read_thing(change.id or "", parents)
        field, was = things.name_field or "", change.thing
        if record is not None:
            record.change_started(change)
        name = change.title if _goes(change) else change.fields[field].wanted
        things.update_thing(was, {field: set_aside(name, change.id or "")}, parents)
        if _goes(change):
            change.thing = None  # it has another version now
        else:
            self._compare_again(change)
        change.was = was

    def _compare_again(self, change: PlannedChange) -> None:
        fresh = self._compared[change.resource].compare_again(change)
        if fresh.conflict is not None:
            raise Conflict(fresh.conflict, details=fresh.details, hint=fresh.hint)
        vars(change).update(vars(fresh))

    def _update_thing(
        self, change: PlannedChange, things: Things, parents: Parents, record: ThingsRecord | None
    ) -> Thing:
        """What the service answers. Compares anew once where the thing was changed meanwhile."""
        if record is not None:
            record.change_started(change)
        self._set_parts(change)
        try:
            return things.update_thing(change.thing, self._fields_to_send(change), parents)
        except Conflict as error:
            if error.status != _CONFLICT:
                raise
        self._compare_again(change)
        if not change.fields:
            return change.thing
        if record is not None:
            record.change_started(change)
        return things.update_thing(change.thing, self._fields_to_send(change), parents)

    def _order_thing(self, change: PlannedChange) -> None:
        after, before = (self._id_of(Of(path)) if path else None for path in (change.after, change.before))
        things, parents = self._things[change.resource], self._parent_ids(change)
        things.order_thing({"id": change.id}, parents, after=after, before=before)

    def _attach_files(self, change: PlannedChange, things: Things) -> None:
        files = things.file_resource
        if not change.uploads or files is None or change.id is None:
            return
        attached = Things(self._dispatcher, files)
        parents = {things.resource: change.id}
        kept = attached.definition.get("hash")
        there = {}
        if kept is not None and change.verb != "create":
            there = {attached.name_of(each): each for each in attached.list_things(parents)}
        for upload in change.uploads:
            digest = f"sha256:{upload.hash}"
            fields = {kept: digest} if kept is not None else {}
            file = {"path": upload.path, "name": upload.name}
            if upload.name not in there:
                attached.create_thing(fields, parents, [file])
            elif attached.field_differences(there[upload.name], fields):
                attached.replace_file(there[upload.name], file, fields, parents)

    def _change_tags(self, change: PlannedChange, things: Things) -> None:
        for name, resource in things.definition.get("tags", {}).items():
            tags = Things(self._dispatcher, resource)
            parents = {things.resource: change.id or ""}
            for tag in change.added.get(name, ()):
                tags.create_thing({"name": tag}, parents)
            for tag in change.removed.get(name, ()):
                try:
                    tags.delete_thing({"name": tag}, parents)
                except NotFound:
                    continue


# What was applied of things that have no place for it themselves, and what was pulled: one file beside the others.


NAME = "callsheet.lock"
_VERSION = 1
_FOR_ALL = 0o644  # it is committed with the files
_LARGEST = 64 << 20


class Lock:
    """`site` names the site that it is about: one file can be of several. Each entry is under a resource and a key."""

    def __init__(self, directory: str, site: str) -> None:
        """Raises `UsageError` for a file that is none."""
        self.path = os.path.join(directory, NAME)
        self._site = site
        self._all = self._read_file()
        self._changed = False

    def _read_file(self) -> dict[str, Any]:
        if os.path.islink(self.path):
            raise UsageError(f"{self.path} is a symbolic link, and is not written through", hint="remove it")
        try:
            with open(self.path, "rb") as file:
                found = parse_json(file.read(_LARGEST))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise UsageError(f"{self.path}: {(error.strerror or str(error)).lower()}") from None
        except JSONError as error:
            raise UsageError(
                f"{self.path} cannot be read: {error}", hint="take it from the version that was good"
            ) from None
        if not isinstance(found, dict) or found.get("version") != _VERSION or not isinstance(found.get("sites"), dict):
            raise UsageError(f"{self.path} is of another version, or something else")
        return dict(found["sites"])

    def applied_entries(self, resource: str) -> dict[str, Applied]:
        """Key → what was applied or pulled."""
        table = self._resource_entries(resource)
        read = {key: applied_of(value) for key, value in table.items()}
        return {key: found for key, found in read.items() if found is not None}

    def _resource_entries(self, resource: str) -> Mapping[str, Any]:
        here = self._all.get(self._site)
        table = here.get(resource) if isinstance(here, dict) else None
        return table if isinstance(table, dict) else {}

    def put_applied(self, resource: str, key: str, applied: Applied) -> None:
        if self._resource_entries(resource).get(key) != applied.packed_value():
            self._all.setdefault(self._site, {}).setdefault(resource, {})[key] = applied.packed_value()
            self._changed = True

    def remove_entry(self, resource: str, key: str) -> None:
        if key in self._resource_entries(resource):
            del self._all[self._site][resource][key]
            self._changed = True

    def save_file(self) -> None:
        """Written whole, and only where something in it changed."""
        if not self._changed:
            return
        with locked_file(self.path, 10.0):
            text = dump_json({"version": _VERSION, "sites": _sort_keys(self._all)}, indent=1)
            write_atomically(self.path, f"{text}\n".encode())
        with suppress(OSError):
            os.remove(f"{self.path}.lock")
            os.chmod(self.path, _FOR_ALL)
        self._changed = False


def _sort_keys(value: Any) -> Any:
    """Keys in order, so that two versions of the file are easy to compare."""
    return {key: _sort_keys(value[key]) for key in sorted(value)} if isinstance(value, dict) else value
