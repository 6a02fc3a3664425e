"""Which tools are offered. What is not offered cannot be called by its name either."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import UsageError, did_you_mean
from ..language.merge import on_deployment
from ..language.safety import CHANGES
from ..policy.rule import CLASSES
from ..registry import OF_ANY_OPERATION
from .tools import Tool, Tools, can_be_offered, read_more

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog

ALL = "all"
_MOST = 40  # commands of a program whose definitions choose none


class ToolSelection:
    """The sets, groups and commands that one can choose from."""

    def __init__(self, catalog: Catalog, deployment: str | None = None) -> None:
        """Commands that do not exist on the deployment, where it is known, are left out."""
        self._catalog = catalog
        self.tools = Tools(catalog)
        commands = catalog.all("command")
        self._builtins = {id: definition["builtin"] for id, definition in commands.items() if "builtin" in definition}
        self.commands = {
            id: definition["safety"]
            for id, definition in commands.items()
            if can_be_offered(definition) and "unavailable" not in on_deployment(definition, deployment or "")
        }
        self._sets = catalog.all("toolset")
        self._groups = catalog.ids("group")

    @property
    def sets(self) -> dict[str, list[str]]:
        """What each set holds: those with a definition, then the groups of the tree."""
        defined = {name: self._offered(table["commands"]) for name, table in self._sets.items()}
        groups = {group: self._below(group) for group in self._groups}
        return {
            **defined,
            **{group: commands for group, commands in groups.items() if commands and group not in defined},
        }

    def chosen(self, tools: str | None, *, read_only: bool = False, write: str | None = None) -> list[Tool]:
        """The tools of the comma-separated names, of the default sets where there are none.

        With `read_only` those that only read; with `write` these and what it names. Raises `UsageError` for a name
        that is none, with the closest one.
        """
        wanted = self._usual() if tools is None else _split(tools)
        commands = dict.fromkeys(command for name in wanted for command in self.named(name))
        allowed = self.writers(write)
        if write is not None:
            commands |= dict.fromkeys(allowed)
        kept = [id for id in commands if self.commands[id] not in CHANGES or self._may(id, read_only, write, allowed)]
        if not kept:
            raise UsageError("no tool is left to offer", hint="choose other sets with --tools")
        reads = read_only or write is not None
        return [*(self.tools.tool(id, reads=reads) for id in kept), read_more()]

    def _usual(self) -> list[str]:
        """The default sets; where no definition chooses among the program's own commands, these too, readers first."""
        sets = [name for name, table in self._sets.items() if table.get("default")]
        chosen = {command for name in sets for command in self.named(name)}
        own = [id for id in self.commands if id not in self._builtins]
        if chosen.intersection(own):
            return sets
        return [*sets, *sorted(own, key=lambda id: CLASSES.index(self.commands[id]))[:_MOST]]

    def writers(self, write: str | None) -> list[str]:
        """The commands that may change something, of those named."""
        named = [command for name in _split(write or "") for command in self.named(name)]
        return [command for command in named if self.commands[command] in CHANGES]

    def _may(self, command: str, read_only: bool, write: str | None, allowed: list[str]) -> bool:
        """What calls any operation is judged by the operation, when it is called."""
        if self._builtins.get(command) in OF_ANY_OPERATION:
            return True
        return not read_only and (write is None or command in allowed)

    def named(self, name: str) -> list[str]:
        """The commands of a set, a group or a tool, or the command itself."""
        words = name.replace(".", " ")
        if name == ALL:
            return list(self.commands)
        sets = self.sets
        if words in sets:
            return sets[words]
        by_tool = {self.tools.name(command): command for command in self.commands}
        found = words if words in self.commands else by_tool.get(name)
        if found is not None:
            return [found]
        if self._catalog.find("command", words) is not None:
            raise UsageError(f"{words!r} cannot be a tool: it reads or changes settings or files of this machine")
        known = [*sets, *(command.replace(" ", ".") for command in self.commands), ALL]
        raise UsageError(f"unknown tool set or command {name!r}{did_you_mean(name, known)}")

    def _offered(self, commands: list[str]) -> list[str]:
        return [command for command in commands if command in self.commands]

    def _below(self, group: str) -> list[str]:
        return [command for command in self.commands if command.startswith(f"{group} ")]


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]
