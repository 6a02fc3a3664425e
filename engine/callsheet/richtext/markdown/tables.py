"""Tables: with bars where each cell is one line of text, as HTML around Markdown otherwise."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..tree import Mark, Node, walk_nodes
from .spans import SpanWriter

CELLS = {"cell": "td", "header": "th"}
SIDES = {":-:": "text-align:center", "--:": "text-align:right"}
Marks = tuple[Mark, ...]


def plain_table(table: Node, spans: SpanWriter, aligned: Callable[[str], Marks], *, lossless: bool) -> str | None:
    """A table with bars; None where it cannot say the table. `aligned` makes marks of a style."""
    if not lossless:
        _take_sides(table, aligned)
    rows = [row.content for row in table.content]
    width = len(rows[0]) if rows else 0
    if (
        not width
        or any(len(row) != width for row in rows)
        or not _headed(rows)
        or not all(_simple(cell) for row in rows for cell in row)
    ):
        return None
    sides = {side: aligned(style) for side, style in SIDES.items()}
    below = [_side([row[column] for row in rows], sides) for column in range(width)]
    if None in below:
        return None
    lines = [_line([_cell(cell, spans) for cell in row]) for row in rows]
    return "\n".join([lines[0], _line([side or "---" for side in below]), *lines[1:]])


def _side(cells: list[Node], sides: Mapping[str, Marks]) -> str | None:
    """What stands below the head of a column whose cells are all aligned the same; None where they are not."""
    found = [cell.content[0].marks for cell in cells if cell.content and cell.content[0].content]
    if any(marks != found[0] for marks in found):
        return None
    return next((side for side, marks in sides.items() if marks == found[0]), None) if found and found[0] else "---"


def _take_sides(table: Node, aligned: Callable[[str], Marks]) -> None:
    """Makes marks of the styles of paragraphs that say nothing else than how they are aligned."""
    for part in walk_nodes(table):
        kept = part.attrs.get("attributes", {}) if part.kind == "paragraph" else {}
        if kept.keys() == {"style"} and (marks := aligned(kept["style"])):
            part.attrs, part.marks = {}, marks


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
            and not (child.marks and not child.content)
            and not (child.content and all(part.kind == "break" for part in child.content))
        )
    return False


def _cell(cell: Node, spans: SpanWriter) -> str:
    words = spans.write_inline(cell.content[0].content, single=True) if cell.content else ""
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
