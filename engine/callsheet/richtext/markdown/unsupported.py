"""What Markdown's constructs say of a node, and what is left over."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping

from ..adf.forms import SPELLING
from ..node_rules import Rules
from ..tree import Attrs, Node

MOST = 999_999_999  # nine digits number an item
LANGUAGE = re.compile(r"[^\s`~]+")
# What each construct of Markdown says of its node.
SAID: dict[str, frozenset[str]] = {
    "heading": frozenset({"level"}),
    "numbers": frozenset({"start"}),
    "code": frozenset({"language"}),
    "panel": frozenset({"type"}),
    "expand": frozenset({"title"}),
    "nestedexpand": frozenset({"title"}),
    "cell": frozenset({"colspan", "rowspan"}),
    "header": frozenset({"colspan", "rowspan"}),
    "task": frozenset({"done"}),
    "decision": frozenset({"state"}),
    "image": frozenset({"url", "alt"}),
    "figure": frozenset({"layout"}),
}

NOTHING: frozenset[str] = frozenset()


def unsaid(node: Node, alerts: Mapping[str, Attrs] | None = None) -> Attrs:
    """The attributes that the node's construct does not say. `alerts` are those of its kind, by their words."""
    said = SAID.get(node.kind, NOTHING)
    said = said.union(*alerts.values()) if alerts else said
    attrs = {name: value for name, value in node.attrs.items() if name not in said}
    start = node.attrs.get("start", 1)
    if node.kind == "numbers" and not (isinstance(start, int) and 0 <= start <= MOST):
        attrs["start"] = start
    if node.kind == "code" and not LANGUAGE.fullmatch(str(node.attrs.get("language", "x"))):
        attrs["language"] = node.attrs["language"]
    if node.kind == "figure" and node.attrs.get("layout", "center") != "center":
        attrs["layout"] = node.attrs["layout"]
    return attrs


def must_be_carried(node: Node, rules: Rules, constructs: Container[str]) -> bool:
    """Whether the node or one of its parts has no construct, or details that cannot stand before it."""
    if rules.group(node.kind) == "inline":
        return False
    bare = not node.attrs.keys() - {SPELLING} and any(form.table.get("bare") for form in rules.forms.get(node.kind, ()))
    return node.kind not in constructs or bare or _a_part_must(node, rules)


def _a_part_must(node: Node, rules: Rules) -> bool:
    parts = [child for child in node.content if rules.group(child.kind) == "part"]
    return any(unsaid(part) or part.marks or _a_part_must(part, rules) for part in parts)
