"""What a call gives: rows or one record, what a dry run plans, and how a notebook shows them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from html import escape
from typing import TYPE_CHECKING, Any, Self

from ..calls.fields import detailed_fields, field_of
from ..errors import UsageError
from ..output.columns import Columns, with_names
from ..output.formats import FormatContext, plain
from ..terminal import escape_text as escape_active

if TYPE_CHECKING:
    from ..language.shape.commands import ViewDefinition
    from .context import ScriptCall


# Results as HTML for a notebook. Every text is escaped: what others wrote is shown and never acts.


_SHOWN_COLUMNS = 8  # of rows that no view describes


def rows_table(
    rows: Sequence[Any], view: ViewDefinition | None, context: FormatContext, *, has_more: bool = False
) -> str:
    """The columns of the view, as a terminal has them."""
    if not rows:
        return "<p>no results</p>"
    columns = with_names(Columns(view, None, context).resolve(rows, _SHOWN_COLUMNS), rows, context)
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


# What a call gives: the rows of a list, or one record.


_SHOWN = 50  # rows in a notebook
_COLUMNS = 20  # of rows that no view describes


class Record(dict[str, Any]):
    """One thing as the service sent it: a dict that a notebook shows as a table."""

    def __init__(self, thing: dict[str, Any], call: ScriptCall | None = None) -> None:
        super().__init__(thing)
        self._call = call

    def __reduce__(self) -> tuple[type[Record], tuple[dict[str, Any]]]:
        """What is copied, or sent to another process, is the thing alone."""
        return Record, (dict(self),)

    def _repr_html_(self) -> str:

        if self._call is None:
            return record_table(self, None, FormatContext())
        return record_table(self, self._call.view, self._call.formats())


class Rows(Iterator[dict[str, Any]]):
    """The things of a list as the service sent them, one after another; each page is asked for when it is needed.

    They are gone through once: `rows = list(...)` keeps them. Safe with several threads.
    """

    def __init__(self, name: str, call: ScriptCall, telling: Callable[[], AbstractContextManager[None]]) -> None:
        self._name = name
        self._call = call
        self._telling = telling
        self._items = call.items if call.items is not None else iter(())
        self._seen: list[Any] = []  # what a notebook has shown and nobody has taken yet
        self._ended = False
        self._lock = threading.Lock()

    def __iter__(self) -> Self:
        """Raises `UsageError` where all were taken already: an empty list would be a wrong answer."""
        if self._ended and not self._seen:
            raise UsageError("these rows were gone through already", hint="keep them with rows = list(...)")
        return self

    def __next__(self) -> dict[str, Any]:
        with self._lock:
            found: dict[str, Any] = self._seen.pop(0) if self._seen else self._take()
            return found

    def _take(self) -> Any:
        with self._telling():
            for item in self._items:
                return item
        self._ended = True
        self._call.close()
        raise StopIteration

    @property
    def next_page_token(self) -> str | None:
        """Where the next page starts, once the rows of one page were gone through and there are more."""
        return self._call.next

    @property
    def total(self) -> int | None:
        """How many there are in all, where the service told it with a page."""
        return self._call.total

    def flat(self, *columns: str) -> Iterator[dict[str, Any]]:
        """Each as a flat row: the columns of its view by name, or these columns; what is not there is None.

        A column is the name of one, a key, or a path such as `fields.status.name`.
        """
        chosen = Columns(self._call.view, columns, self._call.formats())
        return self._flat(chosen)

    def _flat(self, chosen: Columns) -> Iterator[dict[str, Any]]:
        formats, fields = self._call.formats(), None
        for row in self:
            if fields is None:
                fields = [field_of(column) for column in chosen.resolve([row], _COLUMNS)]
            yield {field.name: field.read(row, formats) for field in fields}

    def __repr__(self) -> str:
        return f"<Rows of {self._name}>"

    def _repr_html_(self) -> str:
        """The next rows as a table; they are still there for whoever goes through them."""
        with self._lock:
            while len(self._seen) <= _SHOWN:
                try:
                    self._seen.append(self._take())
                except StopIteration:
                    break
            shown, more = self._seen[:_SHOWN], len(self._seen) > _SHOWN
        return rows_table(shown, self._call.view, self._call.formats(), has_more=more)
