"""A command's answer on standard output: one thing, or the wanted part of a list that came whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...client.listed import list_in_answer
from ...errors import UsageError
from ...integers import parse_whole_number

if TYPE_CHECKING:
    from ...output import Output
    from ..context import Context
    from ..execute import Extent


def show(output: Output, value: Any) -> None:
    if isinstance(value, list):
        output.items(value)
    elif value is not None:
        output.one(value)


def show_part(context: Context, output: Output, found: Any, extent: Extent, under: str | None = None) -> None:
    """Where a service answers a list whole, pages are cut out of it here, and counted; they start at an index."""
    items = list_in_answer(found, under)
    if extent.counted:
        output.one(len(items))
        return
    start = _index(extent.start)
    length = extent.most if extent.most is not None or extent.all else extent.size
    end = len(items) if length is None else start + length
    output.items(items[start:end])
    if end < len(items) and extent.most is None:
        context.note_more(end, len(items))


def _index(start: str | None) -> int:
    index = 0 if start is None else parse_whole_number(start)
    if index is None:
        raise UsageError(f"--page-token expects a whole number here, not {start!r}")
    return index
