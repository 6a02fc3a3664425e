"""Results as HTML for a notebook. Every text is escaped: what others wrote is shown and never acts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from ..calls.fields import detailed_fields
from ..output.columns import Columns
from ..output.formats import FormatContext, plain
from ..output.names import with_names
from ..terminal import escape_text as escape_active

if TYPE_CHECKING:
    from ..language.shape.commands import ViewDefinition

_COLUMNS = 8  # of rows that no view describes


def rows_table(
    rows: Sequence[Any], view: ViewDefinition | None, context: FormatContext, *, has_more: bool = False
) -> str:
    """The columns of the view, as a terminal has them."""
    if not rows:
        return "<p>no results</p>"
    columns = with_names(Columns(view, None, context).resolve(rows, _COLUMNS), rows, context)
    head = _row("th", [column.name for column in columns])
    body = "".join(_row("td", [column.cell(row, context) for column in columns]) for row in rows)
    more = "<p>and more</p>" if has_more else ""
    return f"<table><thead>{head}</thead><tbody>{body}</tbody></table>{more}"


def record_table(thing: dict[str, Any], view: ViewDefinition | None, context: FormatContext) -> str:
    """Every column that says something, a line each, then the parts that the view shows in full."""
    columns = with_names(Columns(view, None, context).all_columns, [thing], context)
    if columns:
        lines = [[column.name, column.cell(thing, context)] for column in columns]
    else:
        lines = [[name, plain(value, context)] for name, value in thing.items()]
    parts = detailed_fields(thing, view, context) if view else {}
    lines += [[name.upper(), plain(value, context)] for name, value in parts.items()]
    return f"<table><tbody>{''.join(_line(name, text) for name, text in lines if text)}</tbody></table>"


def _line(name: str, text: str) -> str:
    return f'<tr><th>{_text(name)}</th><td style="white-space: pre-wrap">{_text(text)}</td></tr>'


def _row(tag: str, texts: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{_text(text)}</{tag}>' for text in texts)}</tr>"


def _text(text: str) -> str:
    return escape(escape_active(text))
