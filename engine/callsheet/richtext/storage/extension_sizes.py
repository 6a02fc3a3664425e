"""What documents say otherwise than storage XHTML: extensions for macros, sizes of images and tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..attribute_fields import as_number
from ..node_rules import Rules
from ..tree import Attrs, Node
from .storage_forms import BESIDE, kept_form, style_of
from .xml import cdata_section, escape_xml, parse_fragment, xml_tag

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


def as_macro(node: Node, rules: Rules, content: Callable[[Node], str]) -> str | None:
    """The macro that an extension is; None for one of another type. `content` writes what it holds."""
    table = rules.definition_of("macro").get("extension")
    if not table or node.attrs.get("extensionType") != table["type"]:
        return None
    own = node.attrs.get("parameters")
    own = own if isinstance(own, dict) else {}
    values = {str(key): _value(value, table) for key, value in _table(own, table["params"]).items()}
    body = values.pop(table["body"], None)
    frame, about = rules.macro_frame, _table(own, table["meta"])
    attrs = {frame["name"]: str(node.attrs.get("extensionKey", ""))}
    attrs |= {said: _value(about[key], table) for said, key in table["about"].items() if about.get(key) is not None}
    words = "".join(
        xml_tag(frame["parameter"], {frame["name"]: name}, escape_xml(value)) for name, value in values.items()
    )
    words += xml_tag(frame["plain"], {}, cdata_section(body)) if body is not None else ""
    words += xml_tag(frame["rich"], {}, content(node) or "<p></p>") if node.kind == table["bodied"] else ""
    return xml_tag(frame["element"], attrs, words)


def _table(own: Attrs, name: str) -> Attrs:
    found = own.get(name)
    return found if isinstance(found, dict) else {}


def _value(value: Any, table: shape.ExtensionForm) -> str:
    """A parameter's value, which most documents have in a table of its own."""
    found = value.get(table["value"]) if isinstance(value, dict) else value
    return "" if found is None else str(found)


def layout_of_widths(node: Node, rules: Rules) -> None:
    """Gives the parts of a node the sizes that its own attribute stands for."""
    rule = rules.definition_of(node.kind).get("divided")
    sizes = rule["values"].get(node.attrs.get("attributes", {}).get(rule["attr"])) if rule else None
    if rule and sizes and len(sizes) == len(node.content):
        for part, size in zip(node.content, sizes, strict=True):
            part.attrs.setdefault(rule["by"], size)


def widths_of_layout(node: Node, rules: Rules) -> dict[str, str]:
    """The attribute that says the sizes of a node's parts: the nearest there is for as many."""
    rule = rules.definition_of(node.kind).get("divided")
    if not rule or rule["attr"] in node.attrs.get("attributes", {}):
        return {}
    own = [part.attrs.get(rule["by"]) for part in node.content]
    known = {name: sizes for name, sizes in rule["values"].items() if len(sizes) == len(own)}
    if not known:
        return {}
    equal = 100 / len(own)
    given = [size if isinstance(size, int | float) else equal for size in own]
    return {rule["attr"]: min(known, key=lambda name: sum(abs(a - b) for a, b in zip(known[name], given, strict=True)))}


def set_column_widths(table: Node, rule: shape.ColumnWidths) -> None:
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


def column_widths(table: Node, rule: shape.ColumnWidths) -> str:
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
