"""Whether what the columns of a view need is asked for by a command that prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..definition import Definition, Definitions
from ..deployment import deployment_variants
from ..scopes import names_in
from .problem import Finding, Findings

if TYPE_CHECKING:
    from ..shape.commands import CommandDefinition

NEEDED = "needed"


def need_findings(definitions: Definitions, view: Definition) -> Findings:
    if not any("needs" in column for column in view.table["columns"]):
        return
    everything = [*definitions.items(), *definitions.removed.items()]
    printing = {
        key: definition.table for key, definition in everything if key[0] == "command" and _prints(definition, view.id)
    }
    if any(_asks(table) for key, table in printing.items() if key in definitions):
        return
    for place, column in enumerate(view.table["columns"]):
        if "needs" in column:
            text = f"no command that prints this view asks for it: none uses {{{NEEDED}}}"
            yield Finding(("columns", place, "needs"), text, tuple(printing))


def _prints(command: Definition, view: str) -> bool:
    return any(table.get("view") == view for table in (command.table, *deployment_variants(command.table).values()))


def _asks(command: CommandDefinition) -> bool:
    each = (command, *deployment_variants(command).values())
    return any(NEEDED in names_in([table.get("args"), table.get("body"), table.get("step")]) for table in each)
