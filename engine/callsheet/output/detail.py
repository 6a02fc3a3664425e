"""One thing in full: its columns as lines, then what belongs to it under headings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.template import TemplateError, evaluate
from ..terminal import BOLD, PLAIN
from .clean import lines, one_line
from .columns import Column, from_definition
from .formats import MARKDOWN, Format, FormatContext, column_format
from .names import with_names

if TYPE_CHECKING:
    from ..language.shape.commands import Detail, ViewDefinition

_INDENT = "  "


class Section(NamedTuple):
    """A heading, the things below it, and of each a line and a text."""

    title: str
    items: Callable[[Any], list[Any]]
    line: Sequence[Column]
    text: Callable[[Any], Any] | None
    format: Format
    rich: bool = False  # the format makes Markdown


def sections_of(view: ViewDefinition | None) -> list[Section]:
    return [_section(definition) for definition in view.get("detail", ())] if view else []


def _section(definition: Detail) -> Section:
    text = definition.get("text")
    return Section(
        definition["title"],
        lambda thing: _listed(_value(definition.get("items", "[@]"), thing)),
        [from_definition(column) for column in definition.get("line", ())],
        (lambda item: _value(text, item)) if text else None,
        column_format(definition.get("format")),
        definition.get("format") in MARKDOWN,
    )


def _value(expression: str, thing: Any) -> Any:
    try:
        return evaluate(expression, thing)
    except TemplateError:
        return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def detail(
    thing: Any,
    columns: Sequence[Column],
    sections: Sequence[Section],
    context: FormatContext,
    width: int | None,
    *,
    bold: bool = False,
) -> Iterator[str]:
    """With a `width` it is for a person at a terminal: Markdown is shown as it reads, and wrapped."""
    from .table import table

    columns = with_names(columns, [thing], context)
    rows = ((one_line(column.name), one_line(column.format(column.value(thing), context))) for column in columns)
    yield from table(None, ([name, text] for name, text in rows if text), wrapped=[False, True], width=width)
    for section in sections:
        items = section.items(thing)
        named = section._replace(line=with_names(section.line, items, context))
        body = [part for item in items for part in _item(item, named, context, width, bold=bold)]
        while body and not body[-1]:
            body.pop()
        if body:
            title = f"{BOLD}{section.title}{PLAIN}" if bold else section.title
            yield f"\n{title}\n" + "".join(f"{_INDENT}{line}".rstrip() + "\n" for line in body)


def _item(item: Any, section: Section, context: FormatContext, width: int | None, *, bold: bool) -> Iterator[str]:
    cells = [one_line(column.format(column.value(item), context)) for column in section.line]
    if any(cells):
        yield "  ".join(cell for cell in cells if cell)
    text = section.text(item) if section.text else None
    if text is not None:
        inner = _INDENT if section.line else ""
        shown = lines(section.format(text, context)).strip("\n")
        if width is not None and section.rich:
            from .reading import readable

            yield from (f"{inner}{line}" for line in readable(shown, width - len(inner + _INDENT), styles=bold))
        else:
            yield from (f"{inner}{line}" for line in shown.split("\n"))
        if section.line:
            yield ""
