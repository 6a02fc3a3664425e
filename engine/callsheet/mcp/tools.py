"""Commands as tools: name, description, schemas, and what a call may do."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..language.merge import deployment_variants
from ..language.parameters import tool_name
from ..language.safety import Safety
from ..registry import FOR_AGENTS, OF_ANY_OPERATION, READ_MORE
from .schemas import Schema, input_schema, offered
from .wording import for_tools

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..language.shape.commands import CompiledCommand, Param


class Tool(NamedTuple):
    """`params` are the command's parameters by the names that the tool takes them under."""

    name: str
    title: str
    description: str
    command: str
    safety: Safety
    params: dict[str, Param]
    view: str | None
    input_schema: Schema
    lists: bool = False  # answers with items, also where there are none
    values: Mapping[str, Any] = {}  # of parameters that are not offered
    any_operation: bool = False  # what it does depends on what it is called with

    @property
    def annotations(self) -> dict[str, bool]:
        reads = self.safety in ("read", "local")
        known = {"readOnlyHint": reads, "openWorldHint": self.safety != "local"}
        if reads:
            return {**known, "idempotentHint": True}
        return {**known, "destructiveHint": self.any_operation or self.safety == "destroy"}


class Tools:
    """All that can be offered: `by_command` knows how a command is described, where a definition says so."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._described = {tool["command"]: (name, tool) for name, tool in catalog.all("tool").items()}

    def name(self, command: str) -> str:
        """The name of a command's tool: its own, or the words of the command."""
        described = self._described.get(command)
        return tool_name(described[0] if described else command)

    def _tool_of(self, command: str) -> str | None:
        definition = self._catalog.find("command", command)
        return self.name(command) if definition is not None and can_be_offered(definition) else None

    def tool(self, command: str, *, reads: bool = False) -> Tool:
        """`reads`: where it could call any operation, it may only read."""
        definition = self._catalog.get("command", command)
        any_operation = definition.get("builtin") in OF_ANY_OPERATION
        if any_operation and reads:
            definition["safety"] = "read"
        _, described = self._described.get(command, ("", None))
        params = offered(definition, described)
        view = self._catalog.get("view", definition["view"]) if "view" in definition else None
        arguments = {str(param["name"]): name for name, param in params.items()}
        in_words = partial(for_tools, arguments=arguments, tool_of=self._tool_of)
        help = in_words((described.get("help") if described else None) or definition["help"])
        return Tool(
            self.name(command),
            definition["help"],
            help,
            command,
            definition["safety"],
            params,
            definition.get("view"),
            input_schema(self._catalog, definition, params, view, in_words),
            bool(definition.get("pages")),
            described.get("values", {}) if described else {},
            any_operation,
        )


def can_be_offered(command: CompiledCommand) -> bool:
    """Whether agents may run a command: it reaches the service, and neither reads nor writes files of this machine.

    What is a function of the engine is not offered, but for the few that are meant for it: others reveal credentials,
    or change the site, the profile, the policy or the definitions.
    """
    if command.get("hidden"):
        return False
    if "builtin" in command:
        return command["builtin"] in FOR_AGENTS
    return not any(_needs_files(table) for table in (command, *deployment_variants(command).values()))


def _needs_files(table: CompiledCommand) -> bool:
    paths = [param for param in table.get("params", ()) if param.get("type") == "path"]
    needed = [param for param in paths if param.get("required", param.get("kind") == "argument")]
    return bool(needed) or any("save" in step for step in table.get("step", ()))


def read_more() -> Tool:
    """The tool for the rest of an answer."""
    schema: Schema = {
        "type": "object",
        "properties": {"handle": {"type": "string", "description": "more of the previous answer"}},
        "required": ["handle"],
        "additionalProperties": False,
    }
    help = "Read the rest of an answer that was cut"
    return Tool(READ_MORE, help, help, "", "local", {}, None, schema)
