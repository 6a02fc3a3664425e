"""What a node says as plain text, by its definition's `says`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from .node_rules import Rules
from .tree import Attrs, Losses, Node, walk_nodes

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")


def visible_text(node: Node, rules: Rules) -> str:
    """The text a reader of the node sees: its own, or the template's with `{a|b.c}` the first attribute that is set."""
    if node.kind == "text":
        return node.text
    if node.kind == "break":
        return "\n"
    template = rules.definition_of(node.kind).get("says")
    if template is None:
        return "".join(visible_text(child, rules) for child in node.content)
    return PLACEHOLDER.sub(lambda match: _first(node.attrs, match[1].split("|")), template)


def _first(attrs: Attrs, names: list[str]) -> str:
    for name in names:
        value: Any = attrs
        for part in name.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value not in (None, ""):
            return str(value)
    return ""


def name_of_node(node: Node) -> str:
    """A node in a message: its kind, and its name where it has one of its own."""
    name = node.attrs.get("name") if node.kind == "macro" else node.attrs.get("extensionKey")
    return f"{node.kind} {name!r}" if name else node.kind


def note_content_only(node: Node, format: str, losses: Losses) -> None:
    losses.note(f"{name_of_node(node)} cannot be said in {format}: only what it holds is kept")


def words_instead(node: Node, format: str, rules: Rules, losses: Losses) -> str:
    """What a reader sees of a node that a format has nothing for."""
    words = visible_text(node, rules)
    rest = ": its text is kept" if words else " and is left out"
    losses.note(f"{name_of_node(node)} cannot be said in {format}{rest}")
    return words


def plain_text(root: Node, rules: Rules) -> str:
    """Everything a tree says, in order."""
    return "".join(visible_text(node, rules) for node in walk_nodes(root) if not node.content)
