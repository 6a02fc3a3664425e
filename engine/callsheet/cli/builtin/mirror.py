"""`mirror` and `sql`: a site's things in a file of one's own."""

from __future__ import annotations

from itertools import islice
from json import dumps
from typing import TYPE_CHECKING, Any

from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, UsageError, count_of
from ...paths import settings_directory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ...commands.mirror.warehouse import Warehouse
    from ...language.shape.commands import ViewDefinition


_MOST_ROWS, _MOST_SECONDS = 1000, 10.0  # of what a program asks


def mirror_site(context: Context, values: ParameterValues) -> None:
    """Bring the file up to date, resource by resource. Parameters that are called like a resource narrow it."""
    from ...commands.execute import with_line
    from ...commands.mirror.mirror_file import MirrorFile
    from ...commands.mirror.sync import FileStore, Mirror
    from ...commands.steps.dispatcher import StepDispatcher

    if context.option("dry-run"):
        raise UsageError("mirror has no dry run: it changes nothing on the site", hint="name another file to try it")
    warehouse = _open_warehouse(context, values["to"]) if values["to"] else None
    resources = context.catalog.resources.all()
    within = {id: words for id in resources if (words := values.get(id))}
    output = context.output(context.catalog.views.get("mirrored"))
    rows, dispatcher = [], StepDispatcher(context)
    file = MirrorFile(values["file"], context.program, " ".join(sorted(context.site().addresses)))
    try:
        with with_line(context) as show:
            found = Mirror(
                dispatcher,
                file,
                wanted=values["resource"] or (),
                within=within,
                query=values.get("where"),
                prune=bool(values["prune"]),
                store=FileStore(values["file"]) if values["files"] else None,
                report=lambda done: show(f"{done.table}: {done.read} read ..."),
            )
            for done in found.sync_resources():
                rows.append(done._asdict())
                show("")
                context.note(f"{done.table}: {done.read} read, {done.changed} changed, {done.gone} gone")
            if warehouse is not None:
                context.note(warehouse.load_changes(file, found.run_stamp, show))
        file.check_still_there()
    finally:
        dispatcher.close()
        file.close()
    output.print_items(rows)
    if failed := [row for row in rows if row["failed"]]:
        problems = [f"{row['resource']}: {row['problem']}" for row in failed]
        raise CallsheetError(f"{count_of(len(failed), 'resource')} could not be read", details=problems)


def _open_warehouse(context: Context, destination: str) -> Warehouse:
    from ...commands.mirror.warehouse import Warehouse

    return Warehouse(destination, settings_directory(context.environ, context.program))


def query_mirror(context: Context, values: ParameterValues) -> None:
    """Of the file that is named. An agent, which names none, asks that of the settings, and gets so much at most."""
    from ...commands.mirror.sql import run_query

    query: str = values["select"]
    text = context.read_source(query).decode("utf-8", "replace") if query == "-" or query.startswith("@") else query
    named = context.environ.get(f"{context.definition['prefix']}_MIRROR", "").strip()
    path = values["file"] or named or context.site().mirror
    if not path:
        raise UsageError("no mirror is named", hint="a person does it: `{program} config set mirror FILE`")
    is_limited = not values["file"]
    with run_query(path, text, most_seconds=_MOST_SECONDS if is_limited else None) as (names, rows):
        view: ViewDefinition = {"columns": [{"name": name, "value": dumps(name)} for name in names]}
        context.output(view).print_items(_limited_rows(context, rows) if is_limited else rows)


def _limited_rows(context: Context, rows: Iterator[Any]) -> Iterator[Any]:
    yield from islice(rows, _MOST_ROWS)
    if next(rows, None) is not None:
        context.note(f"there are more than {_MOST_ROWS} rows: ask for fewer, or for a sum of them")
