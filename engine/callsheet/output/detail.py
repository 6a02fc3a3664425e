"""One thing in full: its columns as lines, then what belongs to it under headings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.template import TemplateError, evaluate
from ..terminal import paint
from .clean import lines, one_line
from .columns import Column, from_definition, with_names
from .formats import MARKDOWN, Format, FormatContext, column_format, plain
from .table import Cell, display_width, side_by_side, table

if TYPE_CHECKING:
    from ..language.shape.commands import Across, Detail, ViewDefinition

_INDENT = "  "


class Manner(NamedTuple):
    """How it is shown: for a terminal of this `width`, with styles, with Markdown as it is (`raw`)."""

    width: int | None = None
    styles: bool = False
    raw: bool = False

    @property
    def is_for_reading(self) -> bool:
        """Whether Markdown is shown as it reads."""
        return not self.raw and (self.styles or self.width is not None)

    def within(self, indent: str) -> Manner:
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
    return [_section(definition) for definition in view.get("detail", ())] if view else []


def _section(definition: Detail) -> DetailSection:
    text = definition.get("text")
    return DetailSection(
        definition["title"],
        lambda thing: _listed(_value(definition.get("items", "[@]"), thing)),
        [from_definition(column) for column in definition.get("line", ())],
        (lambda item: _value(text, item)) if text else None,
        column_format(definition.get("format")),
        definition.get("format") in MARKDOWN,
        definition.get("across"),
    )


def _value(expression: str, thing: Any) -> Any:
    try:
        return evaluate(expression, thing)
    except TemplateError:
        return None


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def detail(
    thing: Any, columns: Sequence[Column], sections: Sequence[DetailSection], context: FormatContext, manner: Manner
) -> Iterator[str]:
    """The lines of all that a view says of one thing; what is empty is left out."""
    columns = with_names(columns, [thing], context)
    rows = ((Cell(one_line(column.name), "dim"), column.cell(thing, context)) for column in columns)
    shown = ([name, text] for name, text in rows if text)
    above = ""
    for line in table(None, shown, wrapped=[False, True], width=manner.width, styles=manner.styles):
        above = "\n"
        yield line
    inside = manner.within(_INDENT)
    for section in sections:
        items = section.items(thing)
        named = section._replace(line=with_names(section.line, items, context))
        if section.across:
            heads = _listed(_value(section.across["heads"], thing))
            body = list(_side_by_side(heads, items, named, section.across, context, inside))
        else:
            body = list((_texts if section.text else _lines)(items, named, context, inside))
        while body and not body[-1]:
            body.pop()
        if body:
            title = paint(section.title, "bold") if manner.styles else section.title
            yield f"{above}{title}\n" + "".join(f"{_INDENT}{line}".rstrip() + "\n" for line in body)
            above = "\n"


def _lines(items: Sequence[Any], section: DetailSection, context: FormatContext, manner: Manner) -> Iterator[str]:
    """A line for each item, aligned with the others."""
    rows = [[column.cell(item, context) for column in section.line] for item in items]
    filled = [place for place in range(len(section.line)) if any(row[place] for row in rows)]
    lines = table(
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
        if (word := _value(across["head"], item)) in words:
            lane = plain(_value(across["lane"], item) if "lane" in across else None, context)
            card = " ".join(cell for column in section.line if (cell := column.cell(item, context)))
            lanes.setdefault(one_line(lane), [[] for _ in words])[words.index(word)].append(Cell(card))
    rows: list[tuple[str, Sequence[Cell]]] = [("", [Cell(one_line(str(head[1])), "bold") for head in heads])]
    for lane in sorted(lanes):
        rows += [(lane, cells) for cells in zip_longest(*lanes[lane], fillvalue=Cell(""))]
    widest = max(display_width(cell) for _, cells in rows for cell in cells)
    width = widest if manner.width is None else min(widest, (manner.width + 2) // max(len(heads), 1) - 2)
    above = ""
    for lane, cells in rows:
        if lane != above:
            yield from ("", paint(lane, "bold") if manner.styles else lane)
        above = lane
        yield from side_by_side(cells, max(width, 4), styles=manner.styles)


def _texts(items: Sequence[Any], section: DetailSection, context: FormatContext, manner: Manner) -> Iterator[str]:
    """A text for each item, below its line where there is one."""
    for item in items:
        cells = [cell for column in section.line if (cell := column.cell(item, context))]
        if cells:
            yield "  ".join(paint(cell, cell.style) if manner.styles else cell for cell in cells)
        text = section.text(item) if section.text else None
        if text is not None:
            inner = _INDENT if section.line else ""
            shown = lines(section.format(text, context)).strip("\n")
            yield from (f"{inner}{line}" for line in _text(shown, section, manner.within(inner)))
            if section.line:
                yield ""


def _text(shown: str, section: DetailSection, manner: Manner) -> Iterator[str]:
    if not section.rich or not manner.is_for_reading:
        return iter(shown.split("\n"))
    from .reading import readable

    return readable(shown, manner.width, styles=manner.styles)
