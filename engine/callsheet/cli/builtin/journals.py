"""`undo` and `journals`: what was done to many things, and putting it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...commands.context import Context, ParameterValues
from ...commands.journal import (
    DONE,
    FAILED,
    LEFT,
    UNDER_WAY,
    Recorded,
    found_journal,
    is_kept_name,
    kept_journals,
    read_journal,
)
from ...errors import CallsheetError, UsageError


def undo_journal(context: Context, values: ParameterValues) -> None:
    """Rows of what was put back; what could not be is told at the end."""
    from ...commands.undo import undo_changes

    if context.is_literal(values["file"]) and not is_kept_name(values["file"]):
        raise UsageError(
            f"{values['file']!r} is not the name of a journal", hint="take the one that the answer to the change told"
        )
    output = context.output(context.catalog.views.get("undone"), settled=True)
    with read_journal(found_journal(context.environ, context.program, values["file"])) as found:
        rows, failure = undo_changes(context, found, force=bool(values.get("force")), path=values.get("journal"))
    if rows and not context.option("dry-run"):
        output.print_items(rows)
    if failure is not None:
        raise failure


def list_journals(context: Context, _values: ParameterValues) -> None:
    """Those in the folder of the program, the latest first; a file that is none is told beside the list."""
    output = context.output(context.catalog.views.get("journal"))
    output.print_items(list(_journal_rows(context)))


def _journal_rows(context: Context) -> Iterator[dict[str, Any]]:
    for path in kept_journals(context.environ, context.program):
        try:
            with read_journal(path) as found:
                yield _journal_summary(found)
        except CallsheetError as error:
            context.note(error.message)


def _journal_summary(found: Recorded) -> dict[str, Any]:
    return {
        "file": found.path,
        "command": ("undo of " if found.head["undo"] else "") + found.command_words,
        "site": found.head["site"],
        "started": found.head["started"],
        "ended": found.ended,
        "total": len(found.items) or len(found.made),
        "done": found.count_states(DONE) if found.items else len(found.made),
        "failed": found.count_states(FAILED),
        "unknown": found.count_states(*UNDER_WAY),
        "left": found.count_states(LEFT),
    }


def show_journal(context: Context, values: ParameterValues) -> None:
    """A row for each item: how far it came, and why not further."""
    output = context.output(context.catalog.views.get("journal-item"))
    with read_journal(found_journal(context.environ, context.program, values["file"])) as found:
        rows = zip(found.items, found.entries, strict=True)
        items = [{"item": item, "state": entry.state, "why": entry.why} for item, entry in rows]
        made = [{"item": f"{each.resource} {each.words}", "state": "made", "why": ""} for each in found.made.values()]
        output.print_items([*items, *made])
