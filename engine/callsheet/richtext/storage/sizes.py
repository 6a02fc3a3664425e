"""Sizes that storage XHTML says of a whole, and the document format of its parts: columns of tables and of layouts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..fields import as_number
from ..node_rules import Rules
from ..tree import Node
from .forms import BESIDE, kept_form, style_of
from .xml import parse_fragment, xml_tag

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


def divide(node: Node, rules: Rules) -> None:
    """Gives the parts of a node the sizes that its own attribute stands for."""
    rule = rules.of(node.kind).get("divided")
    sizes = rule["values"].get(node.attrs.get("attributes", {}).get(rule["attr"])) if rule else None
    if rule and sizes and len(sizes) == len(node.content):
        for part, size in zip(node.content, sizes, strict=True):
            part.attrs.setdefault(rule["by"], size)


def divided(node: Node, rules: Rules) -> dict[str, str]:
    """The attribute that says the sizes of a node's parts: the nearest there is for as many."""
    rule = rules.of(node.kind).get("divided")
    if not rule or rule["attr"] in node.attrs.get("attributes", {}):
        return {}
    own = [part.attrs.get(rule["by"]) for part in node.content]
    known = {name: sizes for name, sizes in rule["values"].items() if len(sizes) == len(own)}
    if not known:
        return {}
    equal = 100 / len(own)
    given = [size if isinstance(size, int | float) else equal for size in own]
    return {rule["attr"]: min(known, key=lambda name: sum(abs(a - b) for a, b in zip(known[name], given, strict=True)))}


def widen(table: Node, rule: shape.ColumnWidths) -> None:
    """Gives the cells of a table the widths that its own elements say, where each row has every column."""
    group = parse_fragment(words).child(rule["group"]) if (words := kept_form(table.attrs, BESIDE)) else None
    columns = [style_of(child).get(rule["style"], "") for child in group.elements()] if group else []
    widths = [as_number(width.removesuffix(rule["unit"])) for width in columns if width.endswith(rule["unit"])]
    if not widths or len(widths) != len(columns):
        return
    for row in table.content:
        place = 0
        for cell in row.content if _covers(row, len(widths)) else ():
            span = _span(cell)
            cell.attrs.setdefault(rule["of"], [round(width or 0) for width in widths[place : place + span]])
            place += span


def widths(table: Node, rule: shape.ColumnWidths) -> str:
    """The elements that say the widths of a table's columns, as its first row that tells them all has them."""
    if BESIDE in table.attrs:
        return ""
    for row in table.content:
        found = [cell.attrs.get(rule["of"]) for cell in row.content]
        if found and all(isinstance(width, list) and all(isinstance(w, int | float) for w in width) for width in found):
            each = [width for cell in found for width in cell or ()]
            said = [
                xml_tag(rule["each"], {"style": f"{rule['style']}: {float(width)}{rule['unit']};"}) for width in each
            ]
            return xml_tag(rule["group"], {}, "".join(said))
    return ""


def _covers(row: Node, columns: int) -> bool:
    return sum(_span(cell) for cell in row.content) == columns


def _span(cell: Node) -> int:
    span = cell.attrs.get("colspan", 1)
    return span if isinstance(span, int) and 0 < span < 1000 else 1
