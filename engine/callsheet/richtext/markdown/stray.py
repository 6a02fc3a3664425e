"""Blocks of HTML where only parts of something may stand."""

from __future__ import annotations

from ..rules import Rules
from ..tree import Node


def beside_rows(table: Node, rules: Rules) -> list[Node]:
    """A table after the blocks that stood in it and in no row, as a browser shows them: it may have been left open."""
    strays = [part for part in table.content if rules.group(part.kind) != "part"]
    table.content = [part for part in table.content if rules.group(part.kind) == "part"]
    return [*strays, table] if table.content else strays
