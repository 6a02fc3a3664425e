"""What the columns of a view need of commands: those that print it ask for it, and those that change it take it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import did_you_mean
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


def change_findings(definitions: Definitions, view: Definition) -> Findings:
    """The command that changes what a column shows takes the value that the column names."""
    for place, column in enumerate(view.table["columns"]):
        change = column.get("change")
        command = definitions.get(("command", change["command"])) if change else None
        if command is not None:  # one that there is not is told as any reference is
            known = [param["name"] for param in command.table.get("params", ())]
            if (name := change["value"]) not in known:
                text = f"command {command.id!r} has no parameter {name!r}{did_you_mean(name, known)}"
                yield Finding(("columns", place, "change", "value"), text, (("command", command.id),))
