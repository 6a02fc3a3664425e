"""Constructs of rich text that would lose their words in one of the formats."""

from __future__ import annotations

from typing import Any

from ..source_file import Definition, Definitions
from .problem import Finding, Findings


def node_findings(definitions: Definitions, node: Definition) -> Findings:
    """A block of one's own that may stand nowhere in a document, or whose macro has no place for what stands in it."""
    table = _with_base(definitions, node)
    if table.get("group") != "block" or all(file.shipped for file in node.files):
        return
    forms = table.get("adf", [])
    forms = forms if isinstance(forms, list) else [forms]
    if forms and not _is_held(definitions, node.id, forms):
        yield Finding(("adf",), 'a document has no place for it: say where it may stand, such as within = ["doc"]')
    if "html" in table or "alerts" in table or any(form.get("holds") for form in forms):
        for place, form in enumerate(node.table.get("storage", ())):
            if "macro" in form and "body" not in form:
                text = 'the words in it would be lost: say body = "rich" (blocks) or body = "plain" (text)'
                yield Finding(("storage", place, "macro"), text)


def _with_base(definitions: Definitions, node: Definition) -> dict[str, Any]:
    """The table with what it takes from the kind that it is `like`."""
    base = definitions.get(("node", str(node.table.get("like"))))
    table = {**(base.table if base else {}), **node.table}
    own, other = node.table.get("adf"), base.table.get("adf") if base else None
    return {**table, "adf": {**other, **own}} if isinstance(own, dict) and isinstance(other, dict) else table


def _is_held(definitions: Definitions, id: str, forms: list[dict[str, Any]]) -> bool:
    if any(form.get("within") for form in forms):
        return True
    for (kind, _), other in definitions.items():
        adf = other.table.get("adf", []) if kind == "node" else []
        for form in adf if isinstance(adf, list) else [adf]:
            if id in form.get("holds", ()):
                return True
    return False
