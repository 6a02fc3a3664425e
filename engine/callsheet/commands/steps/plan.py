"""What is about to be done to many items, shown to the person who is asked for a yes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ...language.template import Scope, evaluate, fill_text, to_text
from ...terminal import escape_line
from .each import WORKERS
from .snapshot import undo_steps

if TYPE_CHECKING:
    from ...language.shape.commands import Param
    from ...language.shape.steps import Each
    from ..context import Context

_SHOWN = 5
_WIDEST = 100
_OF_THE_JOURNAL = ("journal", "resume")


class Planned(Protocol):
    """The run that is about to begin with the items."""

    context: Context
    params: list[Param]
    scope: Scope


def ask_about(run: Planned, each: Each, items: Sequence[Any], *, bulk: int | None) -> None:
    """Raises `UsageError` where nobody agrees. `bulk` is how many items go into one request of the service's own."""
    plan = each.get("plan")
    if plan is None or not items or ("when" in plan and not evaluate(plan["when"], run.scope)):
        return
    question = str(fill_text(plan["question"], {**run.scope, "total": len(items)}))
    if run.context.will_confirm(question):
        sample = evaluate(plan["sample"], run.scope) if "sample" in plan else None
        rows = [row if isinstance(row, list) else [row] for row in sample or items]
        if [len(row) for row in rows] == [1] and to_text(rows[0][0]) in question:
            rows = []  # the question names it
        for line in _lines(run, each, rows, len(items), bulk):
            run.context.say(escape_line(line))
        run.context.confirm(question)


def _lines(run: Planned, each: Each, rows: Sequence[list[Any]], total: int, bulk: int | None) -> Iterator[str]:
    from ...output.stream import terminal_size

    yield from _aligned(rows[:_SHOWN], terminal_size(run.context.streams.err).columns)
    if total > _SHOWN:
        yield f"  ... and {total - _SHOWN} more"
    if given := [_short(text, _WIDEST) for text in _given(run, each["plan"].get("when"))]:
        yield f"change: {' '.join(given)}"
    if total > 1:
        alone = f"one request each, up to {WORKERS} at a time"
        yield f"sent as: {f'the bulk operation of the service, up to {bulk} in a request' if bulk else alone}"
    if not undo_steps(run.context, each):
        yield "This cannot be undone."


def _aligned(rows: Sequence[list[Any]], width: int) -> Iterator[str]:
    """The sample, its first column as wide as its longest cell."""
    from ...output.table import display_width

    cells = [[*map(to_text, row)] for row in rows]
    first = max((display_width(row[0]) for row in cells), default=0)
    for start, *rest in cells:
        space = " " * (first - display_width(start)) if rest else ""
        yield f"  {_short('  '.join([start + space, *rest]), width)}"


def _given(run: Planned, asked_for: str | None) -> Iterator[str]:
    """The options that say what is to be changed, as they were given; not the one that the items came from."""
    for param in run.params:
        name = param["name"]
        value = run.scope["given"].get(name.replace("-", "_").replace(".", "_"))
        if value in (None, False, []) or param.get("lines") or name in _OF_THE_JOURNAL or name == asked_for:
            continue
        shown = run.scope["named"].get(name.replace("-", "_").replace(".", "_"), value)
        yield f"--{name}" if value is True else f"--{name} {to_text(shown)}"


def _short(text: str, width: int) -> str:
    """On one line of a terminal, behind two spaces."""
    from ...output.table import shortened

    return shortened(text.expandtabs(1), min(_WIDEST, width - 2))
