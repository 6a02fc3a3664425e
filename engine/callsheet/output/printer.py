"""The one way a command prints its result; one thing is printed in full, as lines and sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from ..errors import CallsheetError, UsageError
from ..jsontext import dump_json
from ..language.template import TemplateError, evaluate, to_text
from ..terminal import painted_text
from .clean_text import clean_lines, one_line
from .columns import (
    MARKDOWN,
    Column,
    Columns,
    Format,
    FormatContext,
    column_format,
    from_definition,
    plain_cell,
    split_columns,
    with_names,
)
from .output_formats import Layout, renderer_of
from .stream import Stream
from .table import Cell, display_width, side_by_side, table_lines

if TYPE_CHECKING:
    from ..language.shape.commands import Across, Detail, ViewDefinition
    from .filters import Filter


_INDENT = "  "
_PICTURE_WIDTH = 100  # characters, where --width says nothing else


class Manner(NamedTuple):
    """How it is shown: for a terminal of this `width`, with styles, with Markdown as it is (`raw`)."""

    width: int | None = None
    styles: bool = False
    raw: bool = False

    @property
    def is_for_reading(self) -> bool:
        """Whether Markdown is shown as it reads."""
        return not self.raw and (self.styles or self.width is not None)

    def indented_by(self, indent: str) -> Manner:
        return self if self.width is None else self._replace(width=self.width - len(indent))


class DetailSection(NamedTuple):
    """A heading, the things below it, and of each a line and a text."""

    title: str
    items: Callable[[Any], list[Any]]
    line: Sequence[Column]
    text: Callable[[Any], Any] | None
    format: Format
    rich: bool = False  # the format makes Markdown
    across: Across | None = None


def sections_of(view: ViewDefinition | None) -> list[DetailSection]:
    return [_section_columns(definition) for definition in view.get("detail", ())] if view else []


def _section_columns(definition: Detail) -> DetailSection:
    text = definition.get("text")
    return DetailSection(
        definition["title"],
        lambda thing: _as_list(_value_or_none(definition.get("items", "[@]"), thing)),
        [from_definition(column) for column in definition.get("line", ())],
        (lambda item: _value_or_none(text, item)) if text else None,
        column_format(definition.get("format")),
        definition.get("format") in MARKDOWN,
        definition.get("across"),
    )


def _value_or_none(expression: str, thing: Any) -> Any:
    try:
        return evaluate(expression, thing)
    except TemplateError:
        return None


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def detail_lines(
    thing: Any, columns: Sequence[Column], sections: Sequence[DetailSection], context: FormatContext, manner: Manner
) -> Iterator[str]:
    """The lines of all that a view says of one thing; what is empty is left out."""
    columns = with_names(columns, [thing], context)
    rows = ((Cell(one_line(column.name), "dim"), column.cell_of(thing, context)) for column in columns)
    shown = ([name, text] for name, text in rows if text)
    above = ""
    for line in table_lines(None, shown, wrapped=[False, True], width=manner.width, styles=manner.styles):
        above = "\n"
        yield line
    inside = manner.indented_by(_INDENT)
    for section in sections:
        items = section.items(thing)
        named = section._replace(line=with_names(section.line, items, context))
        if section.across:
            heads = _as_list(_value_or_none(section.across["heads"], thing))
            body = list(_side_by_side(heads, items, named, section.across, context, inside))
        else:
            body = list((_item_texts if section.text else _item_lines)(items, named, context, inside))
        while body and not body[-1]:
            body.pop()
        if body:
            title = painted_text(section.title, "bold") if manner.styles else section.title
            yield f"{above}{title}\n" + "".join(f"{_INDENT}{line}".rstrip() + "\n" for line in body)
            above = "\n"


def _item_lines(items: Sequence[Any], section: DetailSection, context: FormatContext, manner: Manner) -> Iterator[str]:
    """A line for each item, aligned with the others."""
    rows = [[column.cell_of(item, context) for column in section.line] for item in items]
    filled = [place for place in range(len(section.line)) if any(row[place] for row in rows)]
    lines = table_lines(
        None,
        ([row[place] for place in filled] for row in rows if any(row)),
        wrapped=[section.line[place].wrap for place in filled],
        width=manner.width,
        styles=manner.styles,
    )
    return (line.rstrip("\n") for line in lines)


def _side_by_side(
    heads: Sequence[Any],
    items: Sequence[Any],
    section: DetailSection,
    across: Across,
    context: FormatContext,
    manner: Manner,
) -> Iterator[str]:
    """The items below their headings, one lane after the other, in columns of the same width."""
    lanes: dict[str, list[list[Cell]]] = {}
    words = [head[0] for head in heads]
    for item in items:
        if (word := _value_or_none(across["head"], item)) in words:
            lane = plain_cell(_value_or_none(across["lane"], item) if "lane" in across else None, context)
            card = " ".join(cell for column in section.line if (cell := column.cell_of(item, context)))
            lanes.setdefault(one_line(lane), [[] for _ in words])[words.index(word)].append(Cell(card))
    rows: list[tuple[str, Sequence[Cell]]] = [("", [Cell(one_line(str(head[1])), "bold") for head in heads])]
    for lane in sorted(lanes):
        rows += [(lane, cells) for cells in zip_longest(*lanes[lane], fillvalue=Cell(""))]
    widest = max(display_width(cell) for _, cells in rows for cell in cells)
    width = widest if manner.width is None else min(widest, (manner.width + 2) // max(len(heads), 1) - 2)
    above = ""
    for lane, cells in rows:
        if lane != above:
            yield from ("", painted_text(lane, "bold") if manner.styles else lane)
        above = lane
        yield from side_by_side(cells, max(width, 4), styles=manner.styles)


def _item_texts(items: Sequence[Any], section: DetailSection, context: FormatContext, manner: Manner) -> Iterator[str]:
    """A text for each item, below its line where there is one."""
    for item in items:
        cells = [cell for column in section.line if (cell := column.cell_of(item, context))]
        if cells:
            yield "  ".join(painted_text(cell, cell.style) if manner.styles else cell for cell in cells)
        text = section.text(item) if section.text else None
        if text is not None:
            inner = _INDENT if section.line else ""
            shown = clean_lines(section.format(text, context)).strip("\n")
            yield from (f"{inner}{line}" for line in _section_text(shown, section, manner.indented_by(inner)))
            if section.line:
                yield ""


def _section_text(shown: str, section: DetailSection, manner: Manner) -> Iterator[str]:
    if not section.rich or not manner.is_for_reading:
        return iter(shown.split("\n"))
    from .reading import readable_lines

    return readable_lines(shown, manner.width, styles=manner.styles)


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
        "_lists_things",
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
        self._lists_things = view is not None and "id" in view
        self._renderer = renderer_of(format)
        if self._renderer.picture:
            color, width = color is not False, width or _PICTURE_WIDTH
        self._stream = Stream(stream, color=color, width=width)
        self._raw = jq is not None
        self._filled = template is not None
        self._filter, self._check_filled = _chosen_filter(jq, query, template)
        if columns and (template is not None or (jq is not None and self._renderer.for_readers)):
            other = "--jq" if jq is not None else "--template"
            hint = "with -o csv --columns chooses from what --jq finds" if jq is not None else None
            raise UsageError(f"--columns and {other} cannot be used together", hint=hint)
        context = FormatContext(text, id, clock, rich, names, address, palette)
        self._plain_text = raw
        asked = split_columns(columns) if isinstance(columns, str) else columns
        self._layout = _layout_of(
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
        return _layout_of(columns, None, context, self._stream, headers=self._headers)

    @property
    def is_line_by_line(self) -> bool:
        """Whether each item is written before the next one is asked for."""
        if self._filter is not None:
            return self._renderer.singly
        return self._renderer.streams and not (self._renderer.has_columns and self._layout.columns.need_sample)

    def print_items(self, items: Iterable[Any]) -> None:
        """Print a list. json, ndjson, csv and ids are written while the items come.

        Raises `CallsheetError` where there is null, a number or a list in the place of a thing.
        """
        if self._lists_things:
            items = map(_thing_in_list, items)
        if self._filter is None:
            self._write_chunks(self._renderer.items(items, self._layout))
        elif self._renderer.singly or self._filled:
            results = self._filter
            self._write_results(result for item in items for result in results(item))
        else:
            self._write_filtered(list(items), self._filter)

    def print_one(self, value: Any) -> None:
        """Print one object, or whatever else a call answered."""
        if isinstance(value, list):
            self.print_items(value)
        elif self._filter is not None:
            self._write_filtered(value, self._filter)
        elif self._sections and self._renderer.for_readers and isinstance(value, dict):
            layout = self._layout
            manner = Manner(layout.width, layout.styles, self._plain_text)
            self._write_chunks(detail_lines(value, layout.columns.all_columns, self._sections, layout.context, manner))
        else:
            self._write_chunks(self._renderer.one(value, self._layout))

    def _write_filtered(self, value: Any, results: Filter) -> None:
        if self._filled or self._renderer.is_json or (self._raw and self._renderer.for_readers):
            self._write_results(results(value))
            return
        found = list(results(value))
        if not found:
            return
        if found == [None] and self._renderer.for_readers:  # nothing at all would look like an answer
            self._write_results(iter(found))
            return
        result = found[0] if len(found) == 1 else found
        layout = self._layout if _is_part(result, value) else self._bare_layout()
        write = self._renderer.items if isinstance(result, list) else self._renderer.one
        self._write_chunks(write(result, layout))

    def _write_results(self, results: Iterator[Any]) -> None:
        self._stream.write((self._result_text(result) + "\n" for result in results), flush=self._renderer.singly)

        self._check_filled()

    def _result_text(self, result: Any) -> str:
        """A result as JSON; text out of jq stands without quotes."""
        if (self._raw or self._filled) and isinstance(result, str):
            return clean_lines(result) if self._stream.terminal else result
        return dump_json(result, indent=None if self._renderer.singly else 2)

    def _write_chunks(self, chunks: Iterable[str]) -> None:
        if self._renderer.picture:
            from .picture import svg_picture

            chunks = svg_picture(chunks)
        self._stream.write(chunks, flush=self._renderer.streams)


def _thing_in_list(item: Any) -> Any:
    if item is None or isinstance(item, int | float | list):
        what = "a list" if isinstance(item, list) else to_text(item) or "null"
        raise CallsheetError(f"the site listed {what} in the place of a thing", hint="-v shows what was asked")
    return item


def _chosen_filter(jq: str | None, query: str | None, template: str | None) -> tuple[Filter | None, Callable[[], None]]:
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


def _layout_of(
    columns: Columns, view: ViewDefinition | None, context: FormatContext, stream: Stream, *, headers: bool
) -> Layout:
    ids = [expression for expression in (view.get("id") if view else None, context.id) if expression]
    return Layout(columns, context, ids, stream.width, stream.styles, headers, stream.terminal)


def _is_part(result: Any, value: Any) -> bool:
    """Whether a filter only chose among the items, so that they still are what the view describes."""
    given = {id(item) for item in (value if isinstance(value, list) else [value])}
    chosen = result if isinstance(result, list) else [result]
    return all(isinstance(item, dict) and id(item) in given for item in chosen)
