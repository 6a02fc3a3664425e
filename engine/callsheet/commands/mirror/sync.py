"""Bringing a mirror up to date, and the bytes of files that it knows of: beside it, each content once, by its hash."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from ...client.pagination.in_parallel import in_order
from ...client.request.build import MissingArguments
from ...errors import CallsheetError, NotFound, UsageError, did_you_mean
from ...files import make_private_directory
from ...jsontext import dump_json, parse_json
from ...language.template import fill_template
from ...richtext import convert_rich_text
from ..resources import Thing, Things, parents_first
from .mirror_file import QUERY, WHOLE, MirrorFile, MirrorRow, ResourceTable, resource_called, storable_text

if TYPE_CHECKING:
    from ..context import Context
    from ..resources import Parents
    from ..steps.dispatcher import StepDispatcher


_ENDING = re.compile(r"\.[a-z0-9]{1,8}")


class FileStore:
    """The directory `NAME.files` beside a mirror. Paths are relative to where the mirror lies, with slashes."""

    def __init__(self, mirror: str) -> None:
        self._root = os.path.dirname(os.path.abspath(mirror))
        self._name = f"{os.path.basename(mirror)}.files"

    def save_content(self, things: Things, thing: Thing, parents: Parents) -> str:
        """The path of what the service answers as the content; others' names say nothing but how it ends."""
        directory = os.path.join(self._root, self._name)
        make_private_directory(directory)
        fresh = os.path.join(directory, f".{os.urandom(8).hex()}.part")
        try:
            things.save_file(thing, fresh, parents)
            with open(fresh, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            ending = os.path.splitext(things.name_of(thing) or "")[1].lower()
            path = f"{self._name}/{digest[:2]}/{digest}{ending if _ENDING.fullmatch(ending) else ''}"
            target = os.path.join(self._root, *path.split("/"))
            make_private_directory(os.path.dirname(target))
            os.replace(fresh, target)
        finally:
            with suppress(OSError):
                os.remove(fresh)
        return path


# Bringing a mirror up to date: only what changed is asked for where a service can tell, all of it elsewhere.
#
# The file alone is the state: what was written is whole, and a run that was stopped goes on behind it.


_WORKERS = 8
_BATCH = 100  # things in one transaction: what a stop costs, and what a wait for the disk is shared by
_COMPARED = timedelta(days=1)  # what is deleted says nothing of it, and asking for every id costs as many pages as ids
_NOT_THERE = frozenset({403, 404, 405, 410, 501})
_FOR_ALL = frozenset({None, 401, 429})


class Mirrored(NamedTuple):
    """What became of one resource: how many things were read, were new or different, and are gone."""

    resource: str
    table: str
    read: int = 0
    changed: int = 0
    gone: int = 0
    pruned: int = 0
    problem: str | None = None
    failed: bool = False  # and not just something that this site does not have, or this person may not see


class ThingChange(NamedTuple):
    """One thing that is new or different. `before` is the JSON that was kept of it while it was there.

    `since` is when that was written: it tells each change of a thing from all others.
    """

    things: Things
    row: MirrorRow
    before: str | None
    since: str | None


Listing = tuple[str, datetime | None, Callable[[], Iterator[Thing]]]  # a part, since when, and what is there


def _raising_iterator(error: CallsheetError) -> Iterator[Thing]:
    raise error


def read_until(latest: datetime | None, began: datetime, behind: float | None) -> datetime | None:
    """Up to when a run has read all changes, by the site's clock, which is `behind` by so many seconds at most.

    That is when it began: asked from the `latest` change on, many of one minute would be read again by each run. What
    has a date to come hides nothing, and a site whose clock nobody knows is asked from its latest change on.
    """
    if latest is None or behind is None:
        return latest and min(latest, began)
    return max(min(latest, began), began - timedelta(seconds=behind))


class Mirror:
    """One run. `within` are the things whose children are wanted, by resource: the others are left alone."""

    def __init__(
        self,
        dispatcher: StepDispatcher,
        file: MirrorFile,
        *,
        wanted: Sequence[str] = (),
        within: Mapping[str, Sequence[str]] | None = None,
        query: str | None = None,
        prune: bool = False,
        store: FileStore | None = None,
        report: Callable[[Mirrored], None] = lambda _: None,
    ) -> None:
        """`report` gets how far it is, after each batch. Raises `UsageError` for a resource that there is not."""
        self._report, self._store = report, store
        self.dispatcher, self.file, self.prune = dispatcher, file, prune
        self._context: Context = dispatcher.context
        self._query = query
        self._now = datetime.now(UTC)
        self.on_change: Callable[[ThingChange], None] | None = None  # before it is kept, so that nothing is kept untold
        known = self._context.catalog.resources.all()
        wanted = [resource_called(word, known) for word in wanted]
        found = ((id, self._listable_things(id, wanted)) for id in known)
        self._things = {id: things for id, things in found if things is not None}
        for name in wanted:
            if name not in self._things:
                hint = f"there are: {', '.join(self._things)}"
                raise UsageError(f"no resource {name!r}{did_you_mean(name, self._things)}", hint=hint)
        self._tables: dict[str, ResourceTable] = {}
        self._within = {
            id: [self._id_of_word(id, word) for word in words] for id, words in (within or {}).items() if words
        }
        self._is_chosen = bool(wanted)
        self._wanted = (
            [*self._needed_resources(wanted)] if wanted else [id for id in self._things if not self._is_deep(id)]
        )
        if not self._wanted:
            raise UsageError(
                "there is nothing here that can be listed", hint="a [resource.NAME] with a `list` says how"
            )
        self._check_query()

    def sync_resources(self) -> Iterator[Mirrored]:
        """One row for each resource, when it is done."""
        self._now = datetime.now(UTC)
        for id in parents_first(self._context.catalog, self._wanted):
            things = self._things[id]
            table = self._tables[id] = ResourceTable(
                things, self._view_of_resource(things), partial(self._markdown_text, things)
            )
            self.file.add_table(table)
            done = Mirrored(id, table.name)
            for part, since, listed in self._part_listings(things):
                try:
                    done = self._mirror_part(table, part, since, listed, done)
                except CallsheetError as error:
                    if error.status in _FOR_ALL and not isinstance(error, UsageError):
                        raise  # no answer, no credential, too many requests: the others would meet it, too
                    is_missing = not self._is_chosen and error.status in _NOT_THERE
                    done = done._replace(problem=done.problem or error.message, failed=done.failed or not is_missing)
                    if error.status not in _NOT_THERE:
                        break  # what one person may not see of one thing is no reason to read none of the others
            if self._store is not None and things.supports("content"):
                done = self._save_files(table, self._store, done)
            yield self._end_table(table, done)
        self.file.make_views()

    def _save_files(self, table: ResourceTable, store: FileStore, done: Mirrored) -> Mirrored:
        """The bytes of each file that are not there yet, several at a time."""
        things = table.things

        def save(job: tuple[int, str | None, str]) -> tuple[int, str | CallsheetError]:
            row, above, data = job
            try:
                return row, store.save_content(
                    things, parse_json(data), {things.parent_resources[0]: above} if above else {}
                )
            except CallsheetError as error:
                return row, error

        for row, found in in_order(save, self.file.without_file(table), _WORKERS):
            if isinstance(found, str):
                with self.file.transaction():
                    self.file.set_file(table, row, found)
            elif found.status in _FOR_ALL and not isinstance(found, UsageError):
                raise found
            else:
                done = done._replace(problem=done.problem or found.message, failed=True)
        return done

    # What is read

    def _check_query(self) -> None:
        """What one query found says nothing of what another one finds, so that a file is that of one for good."""
        narrowed = [self._things[id] for id in self._wanted if self._things[id].takes_query]
        if self._query and not narrowed:
            raise UsageError("nothing that is wanted here takes a query")
        for things in narrowed:
            known = self.file.part_state(things.resource, QUERY)
            if known is not None and known != (self._query or ""):
                found = f"those {things.plural} that {known!r} finds" if known else f"all {things.plural}"
                raise UsageError(
                    f"{self.file.path} mirrors {found}", hint="ask for the same again, or take a file of its own"
                )

    def _listable_things(self, id: str, wanted: Collection[str]) -> Things | None:
        """None for what cannot be listed here; raises `UsageError` where just that is wanted."""
        try:
            things = Things(self.dispatcher, id)
        except UsageError as error:  # the site's deployment does not have it
            if id in wanted:
                raise
            del error
            return None
        if not things.supports("list"):
            if id in wanted:
                raise UsageError(f"{things.plural} cannot be listed on this site")
            return None
        return things

    def _needed_resources(self, wanted: Sequence[str]) -> Iterator[str]:
        """The resources, and those that they are listed under."""
        for id in wanted:
            things = self._things[id]
            first = things.parent_resources[0] if things.parent_resources else None
            if first in self._things and first not in self._within and self._needs_parent(things):
                yield from self._needed_resources([first])
            yield id

    def _needs_parent(self, things: Things) -> bool:
        """Whether its list is that of one parent alone."""
        if not things.parent_resources:
            return False
        return self._is_inside(things) or not self._builds_list(things, {})

    def _is_inside(self, things: Things) -> bool:
        """Whether its things stand in the one that they belong to."""
        return "inside" in things.definition.get("list", {})

    def _builds_list(self, things: Things, parents: Mapping[str, str]) -> bool:
        """Whether these parents are all that its list has to be asked with."""
        listing = things.definition["list"]
        try:
            self.dispatcher.build_request(
                listing["call"], fill_template(listing.get("args", {}), things.expression_scope(parents)) or {}, None
            )
        except (MissingArguments, CallsheetError):
            return False
        return True

    def _is_deep(self, id: str) -> bool:
        """Whether each of many things would have to be asked for what it has: that is only done when it is named."""
        things = self._things[id]
        if self._is_inside(things) or self._builds_list(things, {}):
            return False
        first = self._things.get(things.parent_resources[0]) if things.parent_resources else None
        return first is None or bool(first.parent_resources) or not self._builds_list(things, {first.resource: "1"})

    def _part_names(self, things: Things) -> Iterator[str]:
        if not things.parent_resources:
            yield WHOLE
            return
        first = things.parent_resources[0]
        chosen = self._within.get(first)
        if not self._needs_parent(things):
            yield from chosen or [WHOLE]
        elif chosen is None or self._is_inside(things):
            parent = self._tables.get(first)
            above = (
                self._within.get(parent.things.parent_resources[0]) if parent is not None and parent.parents else None
            )
            if parent is not None and self._is_inside(things):
                yield from above or [WHOLE]
            elif parent is not None:
                for part in above or (None,):
                    yield from [id for (id,) in self.file.read_rows(parent, part, "id")]
        else:
            yield from chosen

    def _part_listings(self, things: Things) -> Iterator[Listing]:
        """Each part in turn; what is asked for thing by thing is asked several at a time, as it is little of each."""
        jobs = ((part, self._since_moment(things, part)) for part in self._part_names(things))
        if self._is_deep(things.resource):
            yield from in_order(partial(self._fetch_listing, things), jobs, _WORKERS)
        else:
            yield from ((part, since, partial(self._listed_things, things, part, since)) for part, since in jobs)

    def _since_moment(self, things: Things, part: str) -> datetime | None:
        cursor = self.file.part_cursor(things.resource, part) if things.asks_since else None
        return datetime.fromisoformat(cursor) if cursor else None

    def _listed_things(self, things: Things, part: str, since: datetime | None) -> Iterator[Thing]:
        yield from things.list_things(
            {things.parent_resources[0]: part} if part else {}, since=since, query=self._asked_query(things)
        )

    def _fetch_listing(self, things: Things, job: tuple[str, datetime | None]) -> Listing:
        try:
            found = [*self._listed_things(things, *job)]
        except CallsheetError as error:
            return *job, partial(_raising_iterator, error)
        return *job, found.__iter__

    def _mirror_part(
        self,
        table: ResourceTable,
        part: str,
        since: datetime | None,
        listing: Callable[[], Iterator[Thing]],
        done: Mirrored,
    ) -> Mirrored:
        things = table.things
        parents = {things.parent_resources[0]: part} if part else {}
        if self._is_inside(things):
            return self._mirror_inside(table, part, done)
        latest = since
        self.file.forget_present()
        is_in_order = self._asked_query(things) is None and bool(
            things.definition.get("changed", {}).get("oldest_first")
        )
        try:
            listed = listing()
            while batch := list(islice(listed, self._batch_size)):
                rows = [table.mirror_row(thing, parents, self.run_stamp) for thing in batch]
                latest = max([latest, *map(things.changed_of, batch)], key=lambda at: at.timestamp() if at else 0)
                with self.file.transaction():
                    self._note_query(things)
                    self.file.note_present(row.id for row in rows)
                    done = self._put_rows(table, rows, done)
                    if latest is not None and is_in_order:
                        self.file.note_part(things.resource, part, cursor=min(latest, self._now).isoformat())
        except NotFound:
            if part == WHOLE:
                raise
            return done  # the parent was deleted meanwhile
        latest = read_until(latest, self._now, self._context.client().site_behind)
        with self.file.transaction():
            self._note_query(things)
            if latest is not None:
                self.file.note_part(things.resource, part, cursor=latest.isoformat())
            if since is None:
                done = self._mark_deleted(table, part, done)
        return self._compare_part(table, part, parents, done) if since is not None else done

    def _mirror_inside(self, table: ResourceTable, part: str, done: Mirrored) -> Mirrored:
        """What stands in things that were read already costs no request, and is the same as long as these are."""
        things, parent = table.things, self._tables[table.things.parent_resources[0]]
        since = self.file.part_cursor(things.resource, part) or ""
        since = since if since <= self.run_stamp else ""  # somebody set the clock back
        for batch in self.file.written_since(parent, part or None, since, self._batch_size):
            with self.file.transaction():
                for _, id, data in batch:
                    inside = things.list_things({things.parent_resources[0]: id}, inside=parse_json(data))
                    rows = [
                        table.mirror_row(thing, {things.parent_resources[0]: id}, self.run_stamp) for thing in inside
                    ]
                    done = self._put_rows(table, rows, done)
                    self.file.forget_present()
                    self.file.note_present(row.id for row in rows)
                    gone = self.file.mark_gone(table, id, self.run_stamp)
                    done = done._replace(gone=done.gone + gone)
        with self.file.transaction():
            self.file.note_part(things.resource, part, cursor=self.run_stamp)
        return done

    def _note_query(self, things: Things) -> None:
        """With the first answer: a query that the site refuses has found nothing."""
        if things.takes_query:
            self.file.note_part(things.resource, QUERY, state=self._query or "")

    def _put_rows(self, table: ResourceTable, rows: Sequence[MirrorRow], done: Mirrored) -> Mirrored:
        kept = [(row, *self.file.kept_json(table, row)) for row in rows]
        changes = [ThingChange(table.things, *each) for each in kept if each[1] != each[0].values["data"]]
        if self.on_change is not None:
            for change in changes:
                self.on_change(change)
        new = [change.row for change in changes]
        self.file.put_rows(table, ((row.id, row.values) for row in new))
        done = done._replace(read=done.read + len(rows), changed=done.changed + len(new))
        self._report(done)
        return done

    @property
    def _batch_size(self) -> int:
        """What is told is kept at once, as all of a batch would be told again after a stop."""
        return _BATCH if self.on_change is None else 1

    # What is gone

    def _compare_part(self, table: ResourceTable, part: str, parents: Mapping[str, str], done: Mirrored) -> Mirrored:
        """What was deleted, or is not found by the query any more, says nothing of it: all ids are compared."""
        before = self.file.compared_at(table.things.resource, part)
        if not self.prune and before is not None and self._now - datetime.fromisoformat(before) < _COMPARED:
            return done
        things = table.things
        self.file.forget_present()
        listed = things.list_things(parents, query=self._asked_query(things), ids_only=True)
        while ids := [storable_text(things.id_of(each)) for each in islice(listed, _BATCH)]:
            self.file.note_present(ids)
        if things.supports("read"):
            for id in self.file.unknown_present(
                table, part or None
            ):  # it came into the query, or changed within what clocks differ by
                try:
                    row = table.mirror_row(things.read_thing(id, parents), parents, self.run_stamp)
                except NotFound:  # deleted meanwhile
                    continue
                with self.file.transaction():
                    done = self._put_rows(table, [row], done)
        with self.file.transaction():
            return self._mark_deleted(table, part, done)

    def _mark_deleted(self, table: ResourceTable, part: str, done: Mirrored) -> Mirrored:
        gone = self.file.mark_gone(table, part or None, self.run_stamp)
        self.file.note_part(table.things.resource, part, compared_at=self.run_stamp)
        return done._replace(gone=done.gone + gone)

    def _end_table(self, table: ResourceTable, done: Mirrored) -> Mirrored:
        with self.file.transaction():
            for id in table.things.parent_resources[:1]:
                if id in self._tables and id != table.things.resource:
                    gone = self.file.mark_orphans(table, self._tables[id], self.run_stamp, pruned=self.prune)
                    done = done._replace(gone=done.gone + gone)
            return done._replace(pruned=self.file.prune_deleted(table, self.run_stamp)) if self.prune else done

    # What it takes

    @property
    def run_stamp(self) -> str:
        """When this run began, as the file has it."""
        return self._now.isoformat(timespec="seconds")

    def _asked_query(self, things: Things) -> str | None:
        return self._query if things.takes_query else None

    def _id_of_word(self, resource: str, word: str) -> str:
        things = self._things.get(resource)
        if things is None:
            raise UsageError(f"{resource} cannot be listed on this site")
        return things.id_of(things.find_thing(word))

    def _view_of_resource(self, things: Things) -> Any:
        view = things.definition.get("view")
        return self._context.catalog.views.get(view) if view else None

    def _markdown_text(self, things: Things, thing: Thing) -> str | None:
        """Its rich text as Markdown; a text that cannot be read as what it should be, as it is."""
        format = things.body_format
        if format is None:
            return None
        body = things.fields_of(thing).get(things.definition["body"]["field"])
        if not body:
            return None
        try:
            return str(convert_rich_text(body, format, "markdown", nodes=self._context.rich_text).value)
        except CallsheetError:
            return body if isinstance(body, str) else dump_json(body)
