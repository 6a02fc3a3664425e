"""`doctor`: a check-up of everything between a person and their site."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ...commands import checkup
from ...commands.checkup import Row, guarded_rows
from ...commands.context import Context, ParameterValues
from ...errors import CallsheetError, name_program

Look = Callable[[Context], Iterator[Row]]

LOCAL: dict[str, Look] = {
    "configuration": checkup.check_configuration,
    "permissions": checkup.check_permissions,
    "definitions": checkup.check_definition_files,
    "catalog": checkup.check_catalog,
}
SITE: dict[str, Look] = {
    "credential": checkup.check_credential,
    "connection": checkup.check_connection,
    "access": checkup.check_products,
    "scopes": checkup.check_scopes,
}


def run_checkup(context: Context, values: ParameterValues) -> None:
    rows = [row._replace(remedy=name_program(row.remedy, context.program)) for row in _checkup_rows(context)]
    if values.get("json"):
        context.options["output"] = "json"
    context.output(context.catalog.views.get("check")).print_items([row._asdict() for row in rows])
    failures = [row for row in rows if row.status == "fail"]
    if failures:
        count = len(failures)
        raise CallsheetError(f"{count} of {len(rows)} checks failed: {', '.join(row.check for row in failures)}")


def _checkup_rows(context: Context) -> Iterator[Row]:
    for name, look in LOCAL.items():
        yield from _guarded_checks(context, name, look)
    yield from _key_store(context)
    chosen = list(_guarded_checks(context, "site", checkup.site_chosen))
    yield from chosen
    for name, look in SITE.items():
        if chosen[0].status != "ok":
            yield Row(name, "skip", "there is no site to ask")
        elif context.option("dry-run") and name != "credential":
            yield Row(name, "skip", "nothing is sent in a dry run")
        else:
            yield from _guarded_checks(context, name, look)


def _guarded_checks(context: Context, name: str, look: Look) -> Iterator[Row]:
    return guarded_rows(name, lambda: look(context))


def _key_store(context: Context) -> Iterator[Row]:
    """Not having a key store is a failure only where a site needs it."""
    rows = list(_guarded_checks(context, "key store", checkup.key_store))
    try:
        needed = checkup.needs_store(context)
    except CallsheetError:
        needed = False
    for row in rows:
        yield row._replace(status="warn") if row.status == "fail" and not needed else row
