"""A command's answer on standard output: one thing, or the wanted part of a list that came whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import UsageError

if TYPE_CHECKING:
    from ...output import Output
    from ..context import Context
    from ..execute import Extent


def show(output: Output, value: Any) -> None:
    if isinstance(value, list):
        output.items(value)
    elif value is not None:
        output.one(value)


def show_part(context: Context, output: Output, items: list[Any], extent: Extent) -> None:
    """Where a service answers a list whole, pages are cut out of it here; they start at an index."""
    start = _index(extent.start)
    length = extent.most if extent.most is not None or extent.all else extent.size
    end = len(items) if length is None else start + length
    output.items(items[start:end])
    if end < len(items) and extent.most is None:
        context.note(f"there are more items of {len(items)}: --all for every one, --page-token {end} for the next page")


def _index(start: str | None) -> int:
    if start is not None and not start.isdigit():
        raise UsageError(f"--page-token expects a whole number here, not {start!r}")
    return int(start or 0)
