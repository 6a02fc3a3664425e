"""The one way a command prints its result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from ..errors import UsageError
from ..jsontext import dump_json
from .clean import lines
from .columns import Columns, split
from .detail import Manner, detail, sections_of
from .formats import FormatContext
from .render import Layout, renderer
from .stream import Stream

if TYPE_CHECKING:
    from ..language.shape.commands import ViewDefinition
    from .filters import Filter


class Output:
    """Prints a result in the chosen format. What was asked for is checked when it is made, before anything is sent.

    `view` gives the columns and the id, `id` and `text` are the program's expressions where no view does; `columns`,
    `jq` and `query` are the person's wishes. `width` cuts tables also where there is no terminal; `clock`
    gives the seconds since 1970 for ages, `rich` makes readable text of rich text in a named format, `names` knows the
    names of ids in tables, `address` the web addresses of things, `palette` the styles of words.
    Styles are shown on a terminal, with `color` everywhere or nowhere; `raw` leaves Markdown as it is. The result of a
    change is `settled`: every column that can be judged beforehand is. Without `headers` tables and csv are rows alone.
    """

    __slots__ = (
        "_bare_layout",
        "_check_filled",
        "_filled",
        "_filter",
        "_headers",
        "_layout",
        "_plain_text",
        "_raw",
        "_renderer",
        "_sections",
        "_stream",
    )

    def __init__(
        self,
        format: str = "table",
        *,
        stream: TextIO | None,
        view: ViewDefinition | None = None,
        id: str | None = None,
        text: str | None = None,
        columns: str | Sequence[str] | None = None,
        jq: str | None = None,
        query: str | None = None,
        template: str | None = None,
        color: bool | None = None,
        raw: bool = False,
        width: int | None = None,
        clock: Callable[[], float] | None = None,
        rich: Callable[[Any, str], str] | None = None,
        names: Callable[[str, list[str]], Mapping[str, str]] | None = None,
        address: Callable[[str, str], str] | None = None,
        palette: Callable[[str], Mapping[str, str]] | None = None,
        settled: bool = False,
        headers: bool = True,
    ) -> None:
        self._headers = headers
        self._renderer = renderer(format)
        self._stream = Stream(stream, color=color, width=width)
        self._raw = jq is not None
        self._filled = template is not None
        self._filter, self._check_filled = _filter(jq, query, template)
        if columns and (template is not None or (jq is not None and self._renderer.for_readers)):
            other = "--jq" if jq is not None else "--template"
            hint = "with -o csv --columns chooses from what --jq finds" if jq is not None else None
            raise UsageError(f"--columns and {other} cannot be used together", hint=hint)
        context = FormatContext(text, id, clock, rich, names, address, palette)
        self._plain_text = raw
        asked = split(columns) if isinstance(columns, str) else columns
        self._layout = _layout(
            Columns(view, asked, context, settled=settled), view, context, self._stream, headers=headers
        )
        self._sections = sections_of(view) if not asked else []
        # Made when it is needed: a column that only the view knows is no expression.
        self._bare_layout = partial(self._layout_without_view, asked, context, settled)

    def _layout_without_view(self, asked: Sequence[str] | None, context: FormatContext, settled: bool) -> Layout:
        try:
            columns = Columns(None, asked, context, settled=settled)
        except UsageError:  # the name of a view's column, which is no expression
            if not settled:
                raise
            columns = Columns(None, None, context)
        return _layout(columns, None, context, self._stream, headers=self._headers)

    @property
    def is_line_by_line(self) -> bool:
        """Whether each item is written before the next one is asked for."""
        if self._filter is not None:
            return self._renderer.singly
        return self._renderer.streams and not (self._renderer.has_columns and self._layout.columns.need_sample)

    def items(self, items: Iterable[Any]) -> None:
        """Print a list. json, ndjson, csv and ids are written while the items come."""
        if self._filter is None:
            self._write(self._renderer.items(items, self._layout))
        elif self._renderer.singly or self._filled:
            results = self._filter
            self._write_results(result for item in items for result in results(item))
        else:
            self._write_filtered(list(items), self._filter)

    def one(self, value: Any) -> None:
        """Print one object, or whatever else a call answered."""
        if isinstance(value, list):
            self.items(value)
        elif self._filter is not None:
            self._write_filtered(value, self._filter)
        elif self._sections and self._renderer.for_readers and isinstance(value, dict):
            layout = self._layout
            manner = Manner(layout.width, layout.styles, self._plain_text)
            self._write(detail(value, layout.columns.all_columns, self._sections, layout.context, manner))
        else:
            self._write(self._renderer.one(value, self._layout))

    value = one

    def _write_filtered(self, value: Any, results: Filter) -> None:
        if self._filled or self._renderer.is_json or (self._raw and self._renderer.for_readers):
            self._write_results(results(value))
            return
        found = list(results(value))
        if not found:
            return
        result = found[0] if len(found) == 1 else found
        layout = self._layout if _is_part(result, value) else self._bare_layout()
        write = self._renderer.items if isinstance(result, list) else self._renderer.one
        self._write(write(result, layout))

    def _write_results(self, results: Iterator[Any]) -> None:
        self._stream.write((self._result_text(result) + "\n" for result in results), flush=self._renderer.singly)

        self._check_filled()

    def _result_text(self, result: Any) -> str:
        """A result as JSON; text out of jq stands without quotes."""
        if (self._raw or self._filled) and isinstance(result, str):
            return lines(result) if self._stream.terminal else result
        return dump_json(result, indent=None if self._renderer.singly else 2)

    def _write(self, chunks: Iterable[str]) -> None:
        self._stream.write(chunks, flush=self._renderer.streams)


def _filter(jq: str | None, query: str | None, template: str | None) -> tuple[Filter | None, Callable[[], None]]:
    """The filter, and what raises afterwards where it found nothing that it names."""
    given = [name for name, text in (("--jq", jq), ("--query", query), ("--template", template)) if text is not None]
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} cannot be used together", hint="give one of them")
    if not given:
        return None, lambda: None
    from .filters import jmespath_filter, jq_filter, template_filter

    if template is not None:
        return template_filter(template)
    return jq_filter(jq) if jq is not None else jmespath_filter(query or "@"), lambda: None


def _layout(
    columns: Columns, view: ViewDefinition | None, context: FormatContext, stream: Stream, *, headers: bool
) -> Layout:
    ids = [expression for expression in (view.get("id") if view else None, context.id) if expression]
    return Layout(columns, context, ids, stream.width, stream.styles, headers, stream.terminal)


def _is_part(result: Any, value: Any) -> bool:
    """Whether a filter only chose among the items, so that they still are what the view describes."""
    given = {id(item) for item in (value if isinstance(value, list) else [value])}
    chosen = result if isinstance(result, list) else [result]
    return all(isinstance(item, dict) and id(item) in given for item in chosen)
