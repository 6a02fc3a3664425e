"""How far long work has come, on standard error, where a person watches and nothing else is written there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ..terminal import drawing_stream

if TYPE_CHECKING:
    from ..client.pagination.walk import Page
    from .context import Context


class Counted(Protocol):
    """`counts` are the items that it stands for."""

    @property
    def counts(self) -> int: ...


Thing = TypeVar("Thing", bound=Counted)
_MANY = 10


def with_progress(
    context: Context, pages: Iterable[Page], most: int | None, count: Callable[[], int | None] | None = None
) -> Iterator[Page]:
    """The pages, with a bar of their items from the second page on.

    The total is known, what is wanted, or what `count` finds out where pages do not tell.
    """
    rest = iter(pages)
    for page in rest:
        yield page
        if page.next is not None and _is_watched(context):
            total = page.total if page.total is not None or count is None else count()
            yield from _with_bar(context, rest, len(page.items), _length(total, most))


def with_count(context: Context, things: Iterable[Thing], total: int) -> Iterator[Thing]:
    """Things that are done one after another, with a bar where there are many of them; nothing is printed meanwhile."""
    if total < _MANY or not context.streams.err.isatty() or context.option("quiet") or context.option("dry-run"):
        yield from things
        return
    import click

    with click.progressbar(length=total, label="items", file=drawing_stream(context.streams.err), show_pos=True) as bar:
        for thing in things:
            yield thing
            bar.update(thing.counts)


@contextmanager
def with_line(context: Context) -> Iterator[Callable[[str], None]]:
    """Shows one line in the place of the one before, where a person watches; at the end it is gone."""
    if not context.streams.err.isatty() or context.option("quiet"):
        yield lambda _: None
        return
    stream, shown = drawing_stream(context.streams.err), ""

    def show(line: str) -> None:
        nonlocal shown
        stream.write(f"\r{line.ljust(len(shown))}" if line else f"\r{' ' * len(shown)}\r")
        stream.flush()
        shown = line

    try:
        yield show
    finally:
        show("")


def _is_watched(context: Context) -> bool:
    """Standard output must be elsewhere: rows and a bar on one screen would write over each other."""
    streams = context.streams
    return streams.err.isatty() and not streams.out.isatty() and not context.option("quiet")


def _length(total: int | None, most: int | None) -> int | None:
    known = [number for number in (total, most) if number is not None]
    return min(known) if known else None


def _with_bar(context: Context, pages: Iterator[Page], done: int, length: int | None) -> Iterator[Any]:
    import click

    # Without a length there is nothing to fill: something moves, and the items are counted.
    settings: dict[str, Any] = {"length": length} if length is not None else {"iterable": iter(int, 1)}
    settings |= {"show_percent": length is not None, "show_eta": length is not None}
    with click.progressbar(label="items", file=drawing_stream(context.streams.err), show_pos=True, **settings) as bar:
        bar.update(done)
        for page in pages:
            yield page
            bar.update(len(page.items))
        if length is None:  # it is known now
            bar.length = bar.pos
            bar.render_progress()
