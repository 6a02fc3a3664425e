"""`plan`, `apply` and `pull`: files that describe a site."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from ...commands.apply.declared_things import DeclaredThings, read_declared
from ...commands.apply.page_changes import Pages, document_resource, folder_settings, page_target, read_settings
from ...commands.apply.perform_changes import Lock, Performing, refuse_unfit_changes
from ...commands.apply.planned_changes import (
    plan_markdown,
    plan_summary,
    plan_tree,
    read_plan,
    refuse_another,
    write_plan,
)
from ...commands.apply.pull import PagesPull, pull_things
from ...commands.context import Context, ParameterValues
from ...commands.folder.read_folder import read_folder
from ...commands.resources import Things
from ...commands.steps.dispatcher import StepDispatcher
from ...errors import CallsheetError, Conflict, UsageError, count_of, did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ...commands.apply.page_changes import PageTarget
    from ...commands.apply.perform_changes import Compared
    from ...commands.apply.planned_changes import PlannedChange, Prefer
    from ...commands.apply.pull import Pulled

_MOST_NAMED = 20
_PLANNED = ("prune", "ours", "theirs")  # what a plan that is applied brings along


class _Comparison(NamedTuple):
    """Who compared the things of each resource, and what they found."""

    compared: dict[str, Compared]
    changes: list[PlannedChange]


def plan_changes(context: Context, values: ParameterValues) -> None:
    """Print what `apply` would do."""
    dispatcher = StepDispatcher(context)
    dispatcher.dry = False  # it only reads
    try:
        changes = _compare_files(context, dispatcher, values).changes
    finally:
        dispatcher.close()
    _print_changes(context, changes, values)
    if values.get("out"):
        write_plan(
            values["out"], changes, _site_name(context), {n: v for n, v in values.items() if n in _PLANNED and v}
        )
    if values.get("check") and any(change.conflict is not None or change.verb != "keep" for change in changes):
        raise CallsheetError(f"the site differs from {values['dir']}")


def apply_changes(context: Context, values: ParameterValues) -> None:
    """Make the site what the files say."""
    planned = read_plan(values["plan"], _site_name(context)) if values.get("plan") else None
    if planned is not None:
        values = {**values, **{name: planned["given"].get(name) for name in _PLANNED if name in values}}
    dispatcher = StepDispatcher(context)
    dispatcher.dry = False  # a dry run is a plan, which only reads
    try:
        compared, changes = _compare_files(context, dispatcher, values)
        if planned is not None:
            refuse_another(planned, changes)
        if context.option("dry-run"):
            _print_changes(context, changes, values)
            return
        performing = Performing(dispatcher, compared)
        performing.check_changes(changes)
        _agree_to_removals(context, changes)
        summary = plan_summary(changes, done=True)
        for each in compared.values():
            each.prepare_changes([change for change in changes if change.conflict is None])
        try:
            changes = performing.apply_changes(changes, journal=values.get("journal"))
        finally:
            for each in {id(one): one for one in compared.values()}.values():
                each.close()
    finally:
        dispatcher.close()
    _print_done(context, changes)
    failed = [change for change in changes if change.conflict is not None]
    if failed:
        details = [f"{change.path}: {text}" for change in failed for text in (change.conflict, *change.details)]
        hints = {change.hint for change in failed}
        hint = hints.pop() if len(hints) == 1 else None
        raise Conflict(f"{count_of(len(failed), 'file')} could not be applied", details=details, hint=hint)
    context.note(f"done: {summary}")


def _site_name(context: Context) -> str:
    return " ".join(sorted(context.site().addresses))


def _agree_to_removals(context: Context, changes: Sequence[PlannedChange]) -> None:
    """What is to be removed is named and asked about."""
    gone = [change for change in changes if change.verb == "remove" and change.conflict is None]
    if gone:
        names = ", ".join(change.title for change in gone[:_MOST_NAMED])
        more = f" and {len(gone) - _MOST_NAMED} more" if len(gone) > _MOST_NAMED else ""
        context.confirm(f"Remove {count_of(len(gone), 'thing')} from the site: {names}{more}?")


def _print_done(context: Context, changes: Sequence[PlannedChange]) -> None:

    if context.option("output") is None:
        for line in plan_tree(changes):
            context.streams.out.write(f"{line}\n")
        return
    rows = [change.plan_row() for change in changes if change.conflict is not None or change.verb != "keep"]
    context.output(context.catalog.views.get("change-of-file"), settled=True).print_items(rows)


class _Directory:
    """A directory that a person named, and where its files go."""

    def __init__(self, context: Context, dispatcher: StepDispatcher, values: ParameterValues) -> None:

        self.root = values["dir"]
        if os.path.lexists(self.root) and not os.path.isdir(self.root):
            raise UsageError(f"{self.root} is not a directory")
        self.resource = document_resource(dispatcher)
        self.things = Things(dispatcher, self.resource) if self.resource is not None else None
        places = [id for id in self.things.parent_resources if id != self.resource] if self.things is not None else []
        given = {name: values.get(name) for name in (*places, "parent")}
        self.said = read_settings(self.root, given, places)
        self.settings = folder_settings(context, self.said)
        self.lock = Lock(self.root, _site_name(context))
        self._dispatcher, self._page_target = dispatcher, page_target
        self._context = context

    def things_of(self, id: str) -> Things:

        return Things(self._dispatcher, id)

    def declarable_things(self) -> dict[str, Things]:
        """The resources that files of TOML and YAML can name: not the pages, which are files of Markdown."""
        found: dict[str, Things] = {}
        for id in self._context.catalog.resources.all():
            with suppress(UsageError):  # the site's deployment does not have it
                things = self.things_of(id)
                if id != self.resource and things.supports("create") and things.supports("list"):
                    found[id] = things
        return found

    def page_target(self) -> PageTarget:
        """Raises `UsageError` where it is not said, and where the program has no pages."""
        if self.things is None:
            raise UsageError("this program has no pages", hint="a [resource.NAME] with `body` and `base` is one")
        name = os.path.basename(os.path.realpath(self.root))
        return self._page_target(self._dispatcher, self.things, self.said, name)


def pull_files(context: Context, values: ParameterValues) -> None:
    """Write the pages of a site as files."""
    dry = bool(context.option("dry-run"))
    output = context.output(context.catalog.views.get("change-of-file"), settled=not dry)
    dispatcher = StepDispatcher(context)
    dispatcher.dry = False  # a dry run writes no file
    try:
        directory = _Directory(context, dispatcher, values)
        if values.get("resource"):
            rows = [row._asdict() for row in _pulled_things(directory, values, dry=dry)]
        else:
            target = directory.page_target()
            work = PagesPull(
                dispatcher, directory.resource or "", directory.root, directory.settings, target, directory.lock
            )
            rows = [row._asdict() for row in work.pull_pages(dry=dry)]
            for text in work.notes:
                context.note(text)
    finally:
        dispatcher.close()
    output.print_items(rows)
    if failed := [row for row in rows if row["conflict"]]:
        details = [f"{row['path']}: {row['conflict']}" for row in failed]
        raise Conflict(
            f"{count_of(len(failed), 'file')} left as it is"
            if len(failed) == 1
            else f"{len(failed)} files left as they are",
            details=details,
        )


def _pulled_things(directory: _Directory, values: ParameterValues, *, dry: bool) -> Iterator[Pulled]:
    """One file for each resource that is named."""
    declarable = directory.declarable_things()
    for id in values["resource"]:
        if id not in declarable:
            hint = f"there are: {', '.join(declarable)}"
            raise UsageError(f"no resource {id!r}{did_you_mean(id, declarable)}", hint=hint)
        things = declarable[id]
        parents: dict[str, tuple[str, str]] = {}
        for parent in things.parent_resources:
            if word := values.get(parent):
                above = directory.things_of(parent)
                found = above.find_thing(str(word))
                parents[parent] = above.id_of(found), above.name_of(found) or above.id_of(found)
        yield pull_things(things, parents, directory.root, directory.lock, dry=dry)


def _compare_files(context: Context, dispatcher: StepDispatcher, values: ParameterValues) -> _Comparison:

    if values.get("ours") and values.get("theirs"):
        raise UsageError("--ours and --theirs cannot be used together")
    prefer: Prefer = "ours" if values.get("ours") else "theirs" if values.get("theirs") else None
    directory = _Directory(context, dispatcher, values)
    folder = read_folder(directory.root, directory.settings)
    stopping = [problem for problem in folder.problems if problem.stops]
    if stopping:
        raise UsageError(
            f"{count_of(len(stopping), 'fault')} in {os.path.normpath(directory.root)}",
            details=[str(each) for each in stopping],
        )
    for problem in folder.problems:
        context.note(str(problem))
    declared = read_declared(directory.root, directory.declarable_things)
    prune = bool(values.get("prune"))
    others = DeclaredThings(dispatcher, declared, directory.lock, prefer=prefer)
    changes = others.compare_all(prune=prune)
    compared: dict[str, Compared] = dict.fromkeys(others.resources, others)
    if folder.pages and directory.resource is not None:
        pages = Pages(dispatcher, directory.resource, folder, directory.page_target(), directory.lock, prefer=prefer)
        changes += pages.compare_all(prune=prune)
        compared[directory.resource] = pages
        for text in dict.fromkeys(pages.problems):
            context.note(text)
    elif not declared:
        context.note(f"{os.path.normpath(directory.root)} has no page, and no file that names a resource")
    refuse_unfit_changes(directory.things_of, changes)
    return _Comparison(compared, changes)


def _print_changes(context: Context, changes: Sequence[PlannedChange], values: ParameterValues) -> None:
    form = context.option("output")
    if form not in (None, "markdown"):
        rows: list[dict[str, Any]] = [
            c.plan_row() for c in changes if c.conflict is not None or c.verb != "keep" or c.site
        ]
        context.output(context.catalog.views.get("change-of-file")).print_items(rows)
        return
    lines = plan_markdown(changes) if form else plan_tree(changes, whole=bool(values.get("full")))
    for line in lines:
        context.streams.out.write(f"{line}\n")
    if not form:
        context.note(plan_summary(changes))
