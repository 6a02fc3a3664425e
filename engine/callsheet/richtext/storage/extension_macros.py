"""Extensions of a document that are macros, with their parameters and what they hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..node_rules import Rules
from ..tree import Attrs, Node
from .xml import cdata_section, escape_xml, xml_tag

if TYPE_CHECKING:
    from ...language.shape import richtext as shape


def as_macro(node: Node, rules: Rules, content: Callable[[Node], str]) -> str | None:
    """The macro that an extension is; None for one of another type. `content` writes what it holds."""
    table = rules.of("macro").get("extension")
    if not table or node.attrs.get("extensionType") != table["type"]:
        return None
    own = node.attrs.get("parameters")
    own = own if isinstance(own, dict) else {}
    values = {str(key): _value(value, table) for key, value in _table(own, table["params"]).items()}
    body = values.pop(table["body"], None)
    frame, about = rules.frame, _table(own, table["meta"])
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
