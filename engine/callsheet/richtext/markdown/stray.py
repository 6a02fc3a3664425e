"""Blocks of HTML where only parts of something may stand."""

from __future__ import annotations

from ..node_rules import Rules
from ..tree import Node


def beside_rows(table: Node, rules: Rules) -> list[Node]:
    """A table after the blocks that stood in it and in no row, as a browser shows them: it may have been left open."""
    strays = [part for part in table.content if rules.group(part.kind) != "part"]
    table.content = [part for part in table.content if rules.group(part.kind) == "part"]
    return [*strays, table] if table.content else strays


def in_lists(nodes: list[Node], rules: Rules) -> list[Node]:
    """Blocks with the parts of lists and tables among them, which have lost what they are parts of, put into lists."""
    if not any(rules.group(node.kind) == "part" for node in nodes):
        return nodes
    result: list[Node] = []
    made: Node | None = None
    for node in nodes:
        if rules.group(node.kind) != "part":
            result.append(node)
        elif node.kind != "item":
            result += in_lists(node.content, rules)
        elif made is not None and result[-1] is made:
            made.content.append(node)
        else:
            made = Node("bullets", {}, [node])
            result.append(made)
    return result
