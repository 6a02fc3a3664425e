"""Comma-separated values (RFC 4180, with the platform's line ends) that a spreadsheet opens without harm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple, cast

from ..errors import CallsheetError, UsageError, did_you_mean
from ..jsontext import dump_json
from ..language.template import TemplateError, evaluate
from ..patterns import lazy_pattern
from ..registry import OUTPUT_FORMATS, resolve_entry
from .clean_text import clean_lines, escaped_markdown, one_line, spreadsheet_cell
from .columns import Column, Columns, FormatContext, leaves_of, plain_cell, with_names

_QUOTED = lazy_pattern('[",;]')


def csv_rows(header: Sequence[str] | None, cells: Iterable[Sequence[str]]) -> Iterator[str]:
    """One line for the header and for each row, with its line break."""
    if header is not None:
        yield _csv_line(header)
    for row in cells:
        yield _csv_line(row)


def _csv_line(cells: Sequence[str]) -> str:
    line = ",".join(_csv_cell(text) for text in cells)
    return f"{line}\n" if line else '""\n'


def _csv_cell(text: str) -> str:
    cell = spreadsheet_cell(text)
    if _QUOTED.search(cell) or cell != cell.strip():
        return '"' + cell.replace('"', '""') + '"'
    return cell


_SAMPLE = 50  # items that are looked at to choose columns
_TABLE_COLUMNS = 8
_CSV_COLUMNS = 100


class Layout(NamedTuple):
    """How this result is to look."""

    columns: Columns
    context: FormatContext
    ids: Sequence[str]  # expressions, tried in turn
    width: int | None
    styles: bool
    headers: bool = True
    terminal: bool = False


class Renderer(NamedTuple):
    """One output format."""

    items: Callable[[Iterable[Any], Layout], Iterator[str]]
    one: Callable[[Any, Layout], Iterator[str]]
    streams: bool = False  # each chunk is worth handing on at once
    is_json: bool = False  # what a filter finds is printed as JSON too
    singly: bool = False  # a filter is given one item at a time, and each result is a line
    has_columns: bool = False
    for_readers: bool = False  # has the sections of a view, and the plain text that a filter finds
    picture: bool = False  # what a terminal would show is drawn


def json_items(items: Iterable[Any], _layout: Layout) -> Iterator[str]:
    """An array that is valid JSON when it ends, never held as a whole."""
    opening = "[\n  "
    for item in items:
        yield opening + dump_json(item, indent=2).replace("\n", "\n  ")
        opening = ",\n  "
    yield "[]\n" if opening[0] == "[" else "\n]\n"


def json_one(value: Any, _layout: Layout) -> Iterator[str]:
    yield dump_json(value, indent=2) + "\n"


def ndjson_items(items: Iterable[Any], _layout: Layout) -> Iterator[str]:
    for item in items:
        yield dump_json(item) + "\n"


def ndjson_one(value: Any, layout: Layout) -> Iterator[str]:
    return ndjson_items([value], layout)


def yaml_items(items: Iterable[Any], _layout: Layout) -> Iterator[str]:
    from .yamltext import dump_items

    return dump_items(items)


def yaml_one(value: Any, _layout: Layout) -> Iterator[str]:
    from .yamltext import yaml_text as dump_yaml

    yield dump_yaml(value)


def csv_items(items: Iterable[Any], layout: Layout) -> Iterator[str]:

    columns, items = _columns_and_items(items, layout, _CSV_COLUMNS)
    cells = ([column.exact(column.value(item), layout.context) for column in columns] for item in items)
    header = [column.name for column in columns] if layout.headers else None
    return csv_rows(header, cells) if columns else iter(())


def csv_one(value: Any, layout: Layout) -> Iterator[str]:
    if isinstance(value, dict):
        return csv_items([value], layout)

    return csv_rows(None, [[plain_cell(value, layout.context)]] if value is not None else [])


def table_items(items: Iterable[Any], layout: Layout) -> Iterator[str]:
    from .table import table_lines

    if layout.terminal:
        items, none = _looked_at(items)
        if none:  # a header alone looks as if rows were missing
            return iter(["no results\n"])
    columns, items = _named_columns(items, layout)
    if not columns:
        return iter(())
    return table_lines(
        [one_line(column.name) for column in columns] if layout.headers else None,
        ([column.cell_of(item, layout.context) for column in columns] for item in items),
        limits=[column.max for column in columns],
        whole=[column.whole for column in columns],
        wrapped=[column.wrap for column in columns],
        width=layout.width,
        styles=layout.styles,
    )


def table_one(value: Any, layout: Layout) -> Iterator[str]:
    """An object as one row of its columns, without any as a line for each of its leaves; other values as text."""
    if isinstance(value, dict):
        return table_items([value], layout) if layout.columns.are_given else _leaf_lines(value, layout)
    return iter([clean_lines(plain_cell(value, layout.context)) + "\n"] if value is not None else [])


def _named_columns(items: Iterable[Any], layout: Layout) -> tuple[Sequence[Column], Iterable[Any]]:
    """The columns of a table, with names in the place of ids."""
    columns, items = _columns_and_items(items, layout, _TABLE_COLUMNS)
    if any(column.names for column in columns):
        items = list(items)
        columns = with_names(columns, items, layout.context)
    return columns, items


def markdown_items(items: Iterable[Any], layout: Layout) -> Iterator[str]:
    """A table for a comment or a page; a single value as text."""
    columns, items = _named_columns(items, layout)
    if columns and layout.headers:
        yield _markdown_row([one_line(column.name) for column in columns])
        yield f"|{' --- |' * len(columns)}\n"
    for item in items if columns else ():
        yield _markdown_row([column.cell_of(item, layout.context) for column in columns])


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(escaped_markdown, cells))} |\n"


def markdown_one(value: Any, layout: Layout) -> Iterator[str]:
    if isinstance(value, dict):
        return markdown_items([value], layout)
    text = plain_cell(value, layout.context)
    return iter([f"{escaped_markdown(one_line(text))}\n"] if value is not None else [])


def id_items(items: Iterable[Any], layout: Layout) -> Iterator[str]:
    for item in items:
        yield _id_of_item(item, layout) + "\n"


def id_one(value: Any, layout: Layout) -> Iterator[str]:
    return id_items([value] if value is not None else [], layout)


TABLE = Renderer(table_items, table_one, has_columns=True, for_readers=True)
JSON = Renderer(json_items, json_one, is_json=True)
NDJSON = Renderer(ndjson_items, ndjson_one, streams=True, is_json=True, singly=True)
YAML = Renderer(yaml_items, yaml_one)
SVG = TABLE._replace(picture=True)
MARKDOWN = Renderer(markdown_items, markdown_one, streams=True, has_columns=True)
CSV = Renderer(csv_items, csv_one, streams=True, has_columns=True)
ID = Renderer(id_items, id_one, streams=True)


def renderer_of(name: str) -> Renderer:
    """The output format of that name; raises `UsageError`."""
    if name not in OUTPUT_FORMATS:
        near = did_you_mean(name, OUTPUT_FORMATS)
        raise UsageError(f"unknown output format {name!r}{near}", hint=f"one of: {', '.join(OUTPUT_FORMATS)}")
    return cast("Renderer", resolve_entry(OUTPUT_FORMATS[name]))


def _columns_and_items(items: Iterable[Any], layout: Layout, limit: int) -> tuple[list[Column], Iterable[Any]]:
    """The columns, and the items with those that had to be looked at still in front."""
    if not layout.columns.need_sample:
        return layout.columns.resolve_columns((), limit), items
    rest = iter(items)
    sample = list(islice(rest, _SAMPLE))
    return layout.columns.resolve_columns(sample, limit), chain(sample, rest)


def _looked_at(items: Iterable[Any]) -> tuple[Iterable[Any], bool]:
    """The items as they were, and whether there are none."""
    rest = iter(items)
    first = list(islice(rest, 1))
    return chain(first, rest), not first


def _leaf_lines(value: dict[str, Any], layout: Layout) -> Iterator[str]:
    from .table import table_lines

    rows = (
        (one_line(".".join(map(str, path))), one_line(plain_cell(leaf, layout.context)))
        for path, leaf in leaves_of(value, layout.context)
        if leaf not in (None, "", [], {})
    )
    return table_lines(None, rows, width=layout.width)


def _id_of_item(item: Any, layout: Layout) -> str:
    if isinstance(item, str | int | float) and not isinstance(item, bool):
        return one_line(plain_cell(item, layout.context))
    for expression in layout.ids:
        try:
            found = evaluate(expression, item)
        except TemplateError:
            continue
        if isinstance(found, str | int | float) and not isinstance(found, bool):
            return one_line(plain_cell(found, layout.context))
    from ..language.functions import fields_in_words

    wanted = f": nothing at {fields_in_words(layout.ids)}" if layout.ids else ""
    raise CallsheetError(f"an item has no id{wanted}", hint="-o json shows whole items")
