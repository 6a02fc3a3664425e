"""Tables: with bars where each cell is one line of text, as HTML around Markdown otherwise."""

from __future__ import annotations

from collections.abc import Callable

from ..tree import Node
from .spans import SpanWriter

CELLS = {"cell": "td", "header": "th"}


def plain_table(table: Node, spans: SpanWriter) -> str | None:
    """A table with bars; None where it cannot say the table."""
    rows = [row.content for row in table.content]
    width = len(rows[0]) if rows else 0
    if (
        not width
        or any(len(row) != width for row in rows)
        or not _headed(rows)
        or not all(_simple(cell) for row in rows for cell in row)
    ):
        return None
    lines = [_line([_cell(cell, spans) for cell in row]) for row in rows]
    return "\n".join([lines[0], _line(["---"] * width), *lines[1:]])


def _headed(rows: list[list[Node]]) -> bool:
    return all(cell.kind == "header" for cell in rows[0]) and all(
        cell.kind == "cell" for row in rows[1:] for cell in row
    )


def _simple(cell: Node) -> bool:
    if any(name in cell.attrs for name in ("colspan", "rowspan")) or len(cell.content) > 1:
        return False
    if not cell.content:
        return True
    child = cell.content[0]
    if child.kind == "paragraph":
        return (
            not child.attrs
            and not child.marks
            and not (child.content and all(part.kind == "break" for part in child.content))
        )
    return False


def _cell(cell: Node, spans: SpanWriter) -> str:
    words = spans.write(cell.content[0].content, single=True) if cell.content else ""
    return words.replace("|", "\\|")


def _line(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def html_table(table: Node, blocks: Callable[[list[Node]], str]) -> str:
    parts = ["<table>"]
    for row in table.content:
        parts.append("<tr>")
        for cell in row.content:
            tag = CELLS.get(cell.kind, "td")
            spans = "".join(f' {name}="{cell.attrs[name]}"' for name in ("colspan", "rowspan") if name in cell.attrs)
            inner = blocks(cell.content) if cell.content != [Node("paragraph")] else ""
            parts.append(f"<{tag}{spans}>\n\n{inner}\n\n</{tag}>" if inner else f"<{tag}{spans}></{tag}>")
        parts.append("</tr>")
    return "\n".join([*parts, "</table>"])
