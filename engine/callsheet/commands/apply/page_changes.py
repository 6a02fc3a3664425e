"""Pages that a folder of Markdown declares, and what differs between those and the site."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import CallsheetError, Conflict, UsageError, did_you_mean
from ...language.template import to_text
from ...richtext import convert_rich_text
from ...richtext.editing import Editing
from ...sites.profiles.choose import read_profiles
from ..folder.diagrams import diagram_programs, pictures_directory, render_pictures
from ..folder.local_page import RESTRICTIONS, FolderSettings, attachment_reference, filled_body, page_reference
from ..rearranging import moves_into_order, set_aside
from ..resources import Parents, Thing, Things, is_same_value
from ..steps.lookup import Lookups
from .planned_changes import (
    Applied,
    Bases,
    Field,
    Of,
    PlannedChange,
    Prefer,
    Upload,
    latest_applied,
    tag_changes,
    three_way,
    value_in_plan,
)

if TYPE_CHECKING:
    from ...language.shape.richtext import NodeDefinition
    from ..context import Context
    from ..folder.local_page import Folder, FolderPage, PageFile
    from ..steps.dispatcher import StepDispatcher
    from .perform_changes import Lock


# The rich text of a thing and the Markdown of its file: what would be sent, and what differs.


_LINES_AROUND = 1


class Texts(NamedTuple):
    """Texts of one format, by the definitions of rich text."""

    format: str
    nodes: dict[str, NodeDefinition]

    def to_format(self, text: str) -> tuple[Any, list[str]]:
        """The Markdown in the format, and what that could not say."""
        done = convert_rich_text(text, "markdown", self.format, nodes=self.nodes)
        return done.value, done.losses

    def markdown_lines(self, source: Any) -> list[str]:
        """A text of the site as lines of Markdown."""
        if not source:
            return []
        return Editing(source, self.format, self.nodes).markdown().splitlines()

    def edit_source(self, source: Any, text: str) -> tuple[Any, list[str]]:
        """The source with what the text says differently; all else in it stays."""
        if not source:
            return self.to_format(text)
        edit = Editing(source, self.format, self.nodes)
        return edit.edited(text), edit.losses.notes()

    def merge_source(self, source: Any, since: Any, text: str) -> tuple[Any, list[str]]:
        """The source with what became of `since` in the text. Raises `Conflict` where both changed the same."""
        edit = Editing(source, self.format, self.nodes)
        return edit.merged(Editing(since, self.format, self.nodes), text), edit.losses.notes()

    def says_same(self, source: Any, text: str) -> bool:
        """Whether a source is what the text says, and nothing else."""
        return bool(self.edit_source(source, text)[0] == source) if source else not text.strip()

    def text_differences(self, was: Any, now: Any) -> list[str]:
        """Lines that are removed (`-`), added (`+`) or near (` `)."""
        old, new = self.markdown_lines(was), self.markdown_lines(now)
        lines = difflib.unified_diff(old, new, lineterm="", n=_LINES_AROUND)
        return [line for line in lines if not line.startswith(("---", "+++"))]


def hash_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


# The pages of a directory compared with those of a site: what each page needs to be what its file says.
#
# A page is found by the id in its front matter, by the file that was applied to it last, by what was applied of a
# file that is elsewhere now, or by its title. Unchanged pages cost no request beyond the lists.


_QUOTED = re.compile(r"'.*'")


class Listed(NamedTuple):
    """What a list says of a page."""

    id: str
    title: str
    parent: str | None
    version: Any
    fields: Mapping[str, Any]
    rank: float | None


class PageTarget(NamedTuple):
    """Where the pages go: the ids of their parents, the page that they are put below, and their directory's name."""

    parents: Parents
    root: str | None
    directory: str

    @property
    def directory_key(self) -> str:
        """What tells the pages of this directory from those of another one below the same page."""
        return f"{self.root or ''}/{self.directory}"


def document_resource(dispatcher: StepDispatcher) -> str | None:
    """The resource whose things Markdown files can describe."""
    for id in dispatcher.context.catalog.resources.all():
        try:
            things = Things(dispatcher, id)
        except UsageError:
            continue
        if "base" in things.definition and "body" in things.definition:
            return id
    return None


def applied_text(folder: Folder, page: FolderPage) -> str:
    """The Markdown of a page, with the addresses that its links have on a site."""

    def address_of(path: str, anchor: str) -> str:
        return page_reference("" if path == page.path else folder.page_at_path(path).title, anchor)

    return filled_body(page, address_of, attachment_reference)


class Pages:
    """One comparison. `changes` asks the site for its lists, and for each page whose file has changed."""

    def __init__(
        self,
        dispatcher: StepDispatcher,
        resource: str,
        folder: Folder,
        target: PageTarget,
        lock: Lock,
        *,
        prefer: Prefer = None,
    ) -> None:
        self._dispatcher = dispatcher
        self.things = Things(dispatcher, resource)
        self.bases = Bases(dispatcher, self.things)
        self.texts = Texts(self.things.body_format or "", dispatcher.context.rich_text)
        self._folder, self._target, self._lock, self._prefer = folder, target, lock, prefer
        self._body = self.things.definition["body"]["field"]
        self._title = self.things.name_field
        self._above = self.things.field_at(self.things.definition.get("parent", {}).get(resource))
        self._tags = self.things.definition.get("tags", {})
        self.listed: dict[str, Listed] = {}
        self._known: dict[str, Applied] = {}
        self._ids: dict[str, str] = {}  # path → id
        self.problems: list[str] = []

    @property
    def parent_ids(self) -> Parents:
        return self._target.parents

    def compare_again(self, change: PlannedChange) -> PlannedChange:
        """One page compared once more, because it was changed meanwhile."""
        thing = self.things.read_thing(change.id or "", self.parent_ids)
        self._note_page(thing)
        base = self.bases.read_applied(change.id or "")
        if base is not None:
            self._known[change.id or ""] = base
        return self._planned_change(self._folder.page_at_path(change.path))

    def keep_base(self, _change: PlannedChange, id: str, base: Applied | None) -> None:
        """Remember what was applied; None: it is gone."""
        if base is not None:
            self.bases.keep_base(id, base)

    def close(self) -> None:
        """All is remembered on the site, thing by thing."""

    def prepare_changes(self, changes: Sequence[PlannedChange]) -> None:
        """Makes the pictures that are to be attached and are not there yet."""
        wanted = {change.path for change in changes if change.uploads and change.conflict is None}
        files = [(page.path, file) for page in self._folder.pages if page.path in wanted for file in page.files]
        context = self._dispatcher.context
        problems = render_pictures(files, context.environ, hidden=(f"{context.definition['prefix']}_", "CALLSHEET_"))
        failed = {problem.path: str(problem) for problem in problems}
        for change in changes:
            if change.path in failed:
                change.conflict = failed[change.path]

    # What is there

    def _list_pages(self) -> None:
        for thing in self.things.list_things(self._target.parents, ids_only=True):
            self._note_page(thing)
        found = self.bases.all_bases(self._target.parents)
        found = latest_applied(found, self._lock.applied_entries(self.things.resource))
        self._known = {id: base for id, base in found.items() if id in self.listed}
        for id in self.bases.parts.keys() & self.listed.keys():
            listed = self.listed[id]
            self.listed[id] = listed._replace(fields={**listed.fields, **self.bases.parts[id]})

    def _note_page(self, thing: Thing) -> None:
        id = self.things.id_of(thing)
        parents = self.things.parents_of(thing)
        fields = {name: part for name, part in self.things.fields_of(thing).items() if name != self._body}
        title = self.things.name_of(thing) or ""
        version = self.things.version_of(thing)
        above, rank = parents.get(self.things.resource), self.things.rank_of(thing)
        self.listed[id] = Listed(id, title, above, version, {**fields, **self.bases.parts.get(id, {})}, rank)

    def _is_ours(self, base: Applied) -> bool:
        return base.root == self._target.directory_key

    def _match_pages(self) -> None:
        """Path → id of the page that is there already."""
        pages = self._folder.pages
        free = set(self.listed)
        free.discard(self._target.root or "")

        def take(path: str, id: str | None) -> None:
            if id in free and path not in self._ids:
                self._ids[path] = id
                free.discard(id)

        for page in pages:
            if page.id is not None and page.id not in self.listed:
                self._ids[page.path] = self._read_id(page)
            else:
                take(page.path, page.id)
        by_path = {base.path: id for id, base in self._known.items() if self._is_ours(base)}
        for page in pages:
            take(page.path, by_path.get(page.path))
        here = {page.path for page in pages}
        gone = {
            id: base for id, base in self._known.items() if id in free and self._is_ours(base) and base.path not in here
        }
        by_body = _unique_values((base.body, id) for id, base in gone.items() if base.body)
        left = [page for page in pages if page.path not in self._ids]
        if gone:
            texts = _unique_values((hash_of(self._page_text(page)), page.path) for page in left if page.file)
            for body, path in texts.items():
                take(path, by_body.get(body))
        titles = {listed.title.casefold(): id for id, listed in self.listed.items() if id in free}
        for page in left:
            take(page.path, titles.get(page.title.casefold()))

    def _read_id(self, page: FolderPage) -> str:
        raise UsageError(
            f"{page.path}: there is no {self.things.title} {page.id} here",
            hint="take page-id out of its front matter to make a new one",
        )

    # What is wanted

    def compare_all(self, *, prune: bool = False) -> list[PlannedChange]:
        self._list_pages()
        self._match_pages()
        found = [self._planned_change(page) for page in self._folder.pages]
        if self.things.supports("order"):
            self._plan_order({change.path: change for change in found})
        taken = set(self._ids.values())
        # Others can write the property that names a file, so it never removes what is not below the root.
        ours = [id for id, base in self._known.items() if self._is_ours(base) and self._is_below_root(id)]
        gone = [id for id in ours if id not in taken]
        here = {page.path for page in self._folder.pages}
        is_new = any(change.verb == "create" and change.text for change in found)
        for id in sorted(gone, key=lambda id: len(self._ancestor_ids(id)), reverse=True):
            listed, base = self.listed[id], self._known[id]
            change = PlannedChange(self.things.resource, base.path, listed.title, "remove" if prune else "keep", id)
            change.parents, change.version = dict(self.parent_ids), listed.version
            if base.path in here:  # others can write that, too
                change.verb = "keep"
                change.site.append(f"{base.path} is {self.things.title} {self._ids[base.path]}, and not this one")
            elif not prune:
                became = f", page-id: {id} in the front matter of another file keeps it" if is_new else ""
                change.site.append(f"its file is gone: --prune removes it{became}")
            elif not is_same_value(listed.version, base.version):
                change.conflict = "its file is gone, and it was changed on the site since"
                change.hint = "--ours removes it"
                if self._prefer == "ours":
                    change.conflict = change.hint = None
                elif self._prefer == "theirs":
                    change.verb, change.conflict, change.hint = "keep", None, None
            found.append(change)
        return found

    def _plan_order(self, changes: Mapping[str, PlannedChange]) -> None:
        """Where files say the order of pages with one parent, those that are not in it are put behind one another."""
        below: dict[str | None, list[FolderPage]] = {}
        for page in self._folder.pages:
            below.setdefault(page.parent, []).append(page)
        for pages in below.values():
            if any(page.is_ordered for page in pages):
                paths = [page.path for page in pages if self._stays_below(page, changes[page.path])]
                ranks = [self._rank_of(changes[path], place) for place, path in enumerate(paths)]
                for path, after, before in moves_into_order(paths, ranks):
                    change = changes[path]
                    if change.conflict is None:
                        change.after, change.before = after, before
                        if change.verb == "keep" and (after or before):
                            change.verb = "update"

    def _stays_below(self, page: FolderPage, change: PlannedChange) -> bool:
        """Whether it is below its folder's page afterwards: not where somebody else moved it, which stays."""
        above = self._ids.get(page.parent) if page.parent is not None else self._target.root
        if change.id is None or above is None or (self._above or "") in change.fields:
            return True
        return self.listed[change.id].parent == above

    def _rank_of(self, change: PlannedChange, place: int) -> tuple[float, float] | None:
        """What is made or comes from elsewhere is put behind all others; None where the site does not tell."""
        if change.id is None or (self._above or "") in change.fields:
            return inf, place
        rank = self.listed[change.id].rank
        return None if rank is None else (rank, 0)

    def _ancestor_ids(self, id: str) -> list[str]:
        """The parent first."""
        found: list[str] = []
        while (listed := self.listed.get(id)) is not None and listed.parent and listed.parent not in found:
            id = listed.parent
            found.append(id)
        return found

    def _is_below_root(self, id: str) -> bool:
        return self._target.root is None or self._target.root in self._ancestor_ids(id)

    def _page_text(self, page: FolderPage) -> str:
        return applied_text(self._folder, page)

    def _wanted_fields(self, page: FolderPage) -> dict[str, Any]:
        wanted: dict[str, Any] = {}
        if self._title:
            wanted[self._title] = page.title
        if self._above and page.parent is not None:
            wanted[self._above] = self._ids.get(page.parent) or Of(page.parent)
        elif self._above and self._target.root:
            wanted[self._above] = self._target.root
        for name, value in page.fields.items():
            is_part = name in self.things.parts
            if is_part or (name in self.things.field_expressions and name != self._body):
                try:
                    wanted[name] = (self.things.part_fields if is_part else self.things.resolve_field)(name, value)
                except UsageError as error:
                    raise UsageError(f"{page.path}: {name}: {error.message}", hint=error.hint) from None
            elif name == RESTRICTIONS:
                raise UsageError(
                    f"{page.path}: {name} cannot be set here, and without them everybody could read the page",
                    hint=f"put it below a {self.things.title} that is restricted, and take {name} out",
                )
            elif name not in self._tags:
                self.problems.append(f"{page.path}: {self.things.plural} here take no {name}: it is left out")
        return wanted

    def _planned_change(self, page: FolderPage) -> PlannedChange:
        id = self._ids.get(page.path)
        change = PlannedChange(self.things.resource, page.path, page.title, id=id, above=page.parent, body=self._body)
        wanted, text = self._wanted_fields(page), self._page_text(page)
        change.parents = dict(self.parent_ids)
        tags = {name: [to_text(tag).lower() for tag in page.fields.get(name, ())] for name in self._tags}
        files = {file.name: file.sha256 for file in page.files}
        change.text = text
        base = self._known.get(id or "")
        applied = {name: value for name, value in wanted.items() if not isinstance(value, Of)}
        change.base = Applied(page.path, self._target.directory_key, None, applied, tags, files, body=hash_of(text))
        if id is None:
            return self._plan_creation(change, page, wanted, text, tags)
        listed = self.listed[id]
        change.version = listed.version
        if base is not None and not self._is_ours(base):
            if self._prefer != "ours":
                return self._of_another(change, base)
            base = None
        was_called = base.fields.get(self._title or "") if base is not None else None
        if listed.title != page.title and is_same_value(was_called, page.title):
            change.site.append(f"is called {listed.title!r} on the site: links of other files do not find it so")
        if base is not None and base.path == page.path and not self._page_differs(change, base, wanted, listed):
            change.base = None
            if not is_same_value(base.version, listed.version) and not is_same_value(base.version, None):
                change.site.append("changed on the site since it was applied: that stays")
            return change
        self._plan_update(change, page, base, wanted, text, tags)
        return change

    def _of_another(self, change: PlannedChange, base: Applied) -> PlannedChange:
        """Another directory has this page."""
        root, _, name = base.root.partition("/")
        change.base = None
        below = f" below {self.things.title} {root}" if root != (self._target.root or "") else ""
        conflict = f"the directory {name!r} has this {self.things.title}{below}"
        if self._prefer == "theirs":
            change.site.append(conflict)
            return change
        change.conflict = conflict
        is_this = "" if below else f'name = "{name}" in callsheet.toml says that this is it; '
        change.hint = f"{is_this}--ours takes it over"
        return change

    def _page_differs(self, change: PlannedChange, base: Applied, wanted: Mapping[str, Any], listed: Listed) -> bool:
        """Whether its file says something else than when it was applied, or others made something else of a field."""
        now = change.base or base
        is_as_applied = (now.body, dict(now.tags), dict(now.files)) == (base.body, dict(base.tags), dict(base.files))
        fields = all(name in base.fields and is_same_value(base.fields[name], value) for name, value in wanted.items())
        return not (is_as_applied and fields) or (
            self._prefer == "ours" and not is_same_value(base.version, listed.version)
        )

    def _plan_creation(
        self, change: PlannedChange, page: FolderPage, wanted: Mapping[str, Any], text: str, tags: dict[str, list[str]]
    ) -> PlannedChange:
        change.verb = "create"
        body, losses = self.texts.to_format(text)
        change.fields = {name: Field(None, value) for name, value in {**wanted, self._body: body}.items()}
        change.lines = [f"+{line}" for line in self.texts.markdown_lines(body)]
        change.added = {name: found for name, found in tags.items() if found}
        change.uploads = [self._file_upload(file) for file in page.files]
        self._tell_losses(page, losses)
        return change

    def _tell_losses(self, page: FolderPage, losses: Iterable[str]) -> None:
        """What a page cannot say. An address that leads nowhere was told with its line already."""
        problems = " ".join(problem.message for problem in self._folder.problems if problem.path == page.path)
        for loss in losses:
            address = _QUOTED.search(loss)
            if address is None or address[0] not in problems:
                self.problems.append(f"{page.path}: {loss}")

    def _plan_update(
        self,
        change: PlannedChange,
        page: FolderPage,
        base: Applied | None,
        wanted: Mapping[str, Any],
        text: str,
        tags: dict[str, list[str]],
    ) -> None:
        before = base or Applied(page.path)
        listed = self.listed[change.id or ""]
        conflicts: list[str] = []
        for name, value in wanted.items():
            theirs, applied = listed.fields.get(name), before.fields.get(name)
            if name == self._title and theirs == set_aside(value, listed.id):
                applied = theirs  # a run that was stopped called it so
            sides = three_way(value, theirs, applied, has_base=name in before.fields, prefer=self._prefer)
            if sides.send:
                change.fields[name] = Field(theirs, value)
            elif sides.site:
                change.site.append(f"{name} was changed on the site: that stays")
            elif sides.conflict:
                mine = value_in_plan(value) if isinstance(value, Of) else repr(value)
                conflicts.append(f"{name}: {mine} in the file, {theirs!r} on the site")
        for name, mine in tags.items():
            added, removed = tag_changes(mine, before.tags.get(name, []))
            change.added |= {name: added} if added else {}
            change.removed |= {name: removed} if removed else {}
        change.uploads = [self._file_upload(file) for file in page.files if before.files.get(file.name) != file.sha256]
        needs_text = (
            base is None
            or before.body != hash_of(text)
            or (self._prefer == "ours" and not is_same_value(base.version, listed.version))
        )
        if needs_text or change.fields:
            self._read_page(change)
        if needs_text:
            self._put_text(change, page, base, text, conflicts)
        elif base is not None and change.base is not None:
            change.base = replace(change.base, version=base.version, text=base.text)
        if conflicts:
            change.conflict = "changed here and on the site"
            change.details = conflicts
            change.hint = "--ours takes what the file says, --theirs keeps what the site has"
        if change.fields or change.added or change.removed or change.uploads:
            change.verb = "update"

    def _read_page(self, change: PlannedChange) -> None:
        change.thing = self.things.read_thing(change.id or "", self._target.parents)

    def _put_text(
        self, change: PlannedChange, page: FolderPage, base: Applied | None, text: str, conflicts: list[str]
    ) -> None:
        """The text of the page with what its file says now, beside what others wrote there."""
        source = self.things.fields_of(change.thing)[self._body] or ""
        version = self.things.version_of(change.thing)
        try:
            result, losses = self._merge_text(change, base, source, version, text)
        except Conflict as error:
            if self._prefer is None:
                versions = (
                    f"the text was applied as version {base.version}, and is version {version} now" if base else ""
                )
                conflicts += [versions or error.message, *(error.details or ())]
                return
            result, losses = self.texts.edit_source(source, text) if self._prefer == "ours" else (source, [])
        except CallsheetError as error:
            conflicts.append(error.message)
            return
        self._tell_losses(page, losses)
        if result != source:
            change.fields[self._body] = Field(source, result)
            change.lines = self.texts.text_differences(source, result)
        kept = None if self.texts.says_same(result, text) else text
        if change.base is not None:
            change.base = replace(change.base, version=version, text=kept)

    def _merge_text(
        self, change: PlannedChange, base: Applied | None, source: Any, version: Any, text: str
    ) -> tuple[Any, list[str]]:
        if not source or self.texts.says_same(source, text):
            return (source, []) if source else self.texts.to_format(text)
        if base is None:
            raise Conflict(f"{self.things.title} {change.id} of this title is there already, with another text")
        if base.text is None and is_same_value(base.version, version):
            return self.texts.edit_source(source, text)
        since = self.texts.to_format(base.text)[0] if base.text is not None else self._text_at_base(change, base)
        return self.texts.merge_source(source, since, text) if since else self.texts.edit_source(source, text)

    def _text_at_base(self, change: PlannedChange, base: Applied) -> Any:
        """The text of the page as it was at the version that was applied."""
        before = self.things.read_thing(change.id or "", self._target.parents, version=base.version)
        return self.things.fields_of(before)[self._body] or ""

    def _file_upload(self, file: PageFile) -> Upload:
        return Upload(file.name, file.path, file.sha256)


def _unique_values(pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Those whose key is that of one alone."""
    found: dict[str, list[str]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: values[0] for key, values in found.items() if len(values) == 1}


# Where the files of a directory go: `callsheet.toml` in it, and what a person says on the command line.


NAME = "callsheet.toml"
_LONGEST = 1 << 20


def read_settings(root: str, given: Mapping[str, Any], places: list[str]) -> dict[str, Any]:
    """What the file says, under what is given; `places` are the resources that can say where pages go."""
    path = os.path.join(root, NAME)
    said: dict[str, Any] = {}
    if os.path.isfile(path):
        try:
            with open(path, "rb") as file:
                said = tomllib.loads(file.read(_LONGEST).decode())
        except (OSError, ValueError) as error:
            raise UsageError(f"{path}: {error}") from None
    known = [*places, "parent", "name", "exclude", "title-prefix"]
    for key, value in said.items():
        if key not in known:
            raise UsageError(
                f"{path}: no setting {key!r}{did_you_mean(key, known)}", hint=f"there are: {', '.join(known)}"
            )
        if key == "exclude" and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            raise UsageError(f"{path}: exclude: expected a list of patterns")
        if key != "exclude" and not isinstance(value, str | int):
            raise UsageError(f"{path}: {key}: expected a text")
    return {**said, **{key: value for key, value in given.items() if value}}


def folder_settings(context: Context, said: Mapping[str, Any]) -> FolderSettings:
    """With the programs that the person's own settings name."""
    return FolderSettings(
        exclude=tuple(said.get("exclude", ())),
        title_prefix=str(said.get("title-prefix", "")),
        programs=diagram_programs(read_profiles(context.catalog, context.environ)),
        cache=pictures_directory(context.environ),
    )


def page_target(dispatcher: StepDispatcher, things: Things, said: Mapping[str, Any], directory: str) -> PageTarget:
    """The ids of where pages go. Raises `UsageError` where it is not said."""
    lookups = Lookups(dispatcher.context, dispatcher, exact=True)
    root = lookups.find_candidate(things.resource, str(said["parent"]), {}).value if said.get("parent") else None
    outer = [id for id in things.parent_resources if id != things.resource]
    parents = {id: str(lookups.find_candidate(id, str(said[id]), {}).value) for id in outer if said.get(id)}
    if root is not None:
        above = things.read_thing(str(root))
        known = {id: found for id, found in things.parents_of(above).items() if id in outer}
        for id, given in parents.items():
            if known.get(id, given) != given:
                raise UsageError(f"{things.title} {root} is in another {id}: leave out {id}, or name a page in it")
        parents |= known
    for id in outer[:1]:
        if id not in parents:
            raise UsageError(
                f"where to? no {id} is given", hint=f"pass --{id}, or write it into {NAME} in the directory"
            )
    return PageTarget(parents, str(root) if root is not None else None, str(said.get("name") or directory))
