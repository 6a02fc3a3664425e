"""Commands as tools: which are offered, their names, descriptions and schemas, and the arguments of a call."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ..calls import name_of_field
from ..errors import UsageError, did_you_mean
from ..jsontext import parse_whole_number
from ..language.merge import deployment_variants, on_deployment
from ..language.parameters import help_without_input, is_json, is_required, is_table, to_identifier, tool_name
from ..language.safety import CHANGES, Safety
from ..policy.policy import CLASSES
from ..registry import FOR_AGENTS, OF_ANY_OPERATION, OF_DEFINITIONS, PAGING, READ_MORE

if TYPE_CHECKING:
    from ..catalog.catalog import Catalog
    from ..commands.context import ParameterValues
    from ..language.shape.agents import OfferedTool
    from ..language.shape.commands import CompiledCommand, Param, ViewDefinition

# Texts of the command line in the words of tools, where options are arguments and commands are tools.

_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]*)")
_ASIDE = re.compile(r"\s*\([^()]*\)")
_CLAUSE = re.compile(r"(; |, or )")
_COMMAND = re.compile(r"`[a-z][\w-]*((?: [a-z][\w-]*)+)[^`]*`")


def with_arguments(text: str, arguments: Mapping[str, str]) -> str:
    """With the names of arguments in the place of options. `arguments` are by the names of options."""
    return _OPTION.sub(lambda option: arguments.get(option[1], option[0]), text)


def for_tools(text: str, arguments: Mapping[str, str], tool_of: Callable[[str], str | None]) -> str:
    """The same, without what it says of options that a tool does not take, and with tools for commands.

    `tool_of` knows the tool of a command, if there is one.
    """

    def is_said(part: str) -> bool:
        is_known = all(name in arguments for name in _OPTION.findall(part))
        return is_known and all(_tool_in(words, tool_of) for words in _COMMAND.findall(part))

    text = _ASIDE.sub(lambda aside: aside[0] if is_said(aside[0]) else "", text)
    first, *rest = _CLAUSE.split(text)
    kept = [first] if is_said(first) else []
    kept += [f"{rest[place]}{rest[place + 1]}" for place in range(0, len(rest), 2) if is_said(rest[place + 1])]
    text = re.sub("^(?:; |, or )", "", "".join(kept))
    return with_arguments(_COMMAND.sub(lambda command: _tool_in(command[1], tool_of) or command[0], text), arguments)


def _tool_in(words: str, tool_of: Callable[[str], str | None]) -> str | None:
    """The tool of the longest command that words of a line begin with."""
    line = words.split()
    found = (tool_of(" ".join(line[:length])) for length in range(len(line), 0, -1))
    return next((tool for tool in found if tool is not None), None)


# JSON Schema of what a tool takes, from the parameters of its command.
#
# Strict gateways between agents and models take a part of JSON Schema: every property has one type, there are no
# references and no alternatives, and a tool takes at least one parameter.

Schema = dict[str, Any]

# What every tool may take beside the parameters of its command.
FIELDS = "fields"
DRY_RUN = "dry_run"

_TYPES = {"integer": "integer", "number": "number"}
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
_OF_PAGES = frozenset(PAGING) - {"limit", "page-token"}
_PAGING_HELP = {"limit": "how many items", "page-token": "next of the previous answer"}
_MOST_FIELDS = 12


def offered_parameters(command: CompiledCommand) -> dict[str, Param]:
    """The parameters that a tool takes, by the names it takes them under.

    A path is a file of this machine, and what fills pages is said by `limit` and by the answer's `next`.
    """
    offered: OfferedTool = command.get("agents", {})
    params, fixed = offered.get("params"), offered.get("values", {})
    chosen = None if params is None else {*params, *PAGING}
    found: dict[str, Param] = {}
    for param in command.get("params", []):
        name = str(param["name"])
        is_of_pages = bool(command.get("pages")) and name in _OF_PAGES
        is_fixed = name in fixed and name not in (params or ())  # what is offered too has a default
        hidden = param.get("hidden") or is_fixed or param.get("type") == "path" or is_of_pages
        taken = command["safety"] == "read" and "view" in command and to_identifier(name) == FIELDS
        if not hidden and not taken and (chosen is None or name in chosen):
            found[to_identifier(name)] = param
    return found


def input_schema(
    catalog: Catalog,
    command: CompiledCommand,
    params: Mapping[str, Param],
    view: ViewDefinition | None,
    in_words: Callable[[str], str],
) -> Schema:
    """`in_words` puts what is said of a parameter in the words of tools."""
    properties = {
        name: _schema_property(param, in_words(_help_of_parameter(catalog, param))) for name, param in params.items()
    }
    if command["safety"] == "read" and (view is not None or "builtin" not in command):
        properties[FIELDS] = {**_TEXTS, "description": _fields_help(view)}
    if command["safety"] in ("write", "destroy"):
        properties[DRY_RUN] = {"type": "boolean", "description": "only show what would be sent"}
    required = [name for name, param in params.items() if is_required(param)]
    schema: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**schema, "required": required} if required else schema


def _schema_property(param: Param, help: str) -> Schema:
    schema = _typed_schema(param)
    return {**schema, "description": help} if help else schema


def _typed_schema(param: Param) -> Schema:
    one: Schema = _TEXT
    if param.get("kind") == "flag":
        return {"type": "boolean"}
    if is_table(param):
        return {"type": "object", "additionalProperties": _TEXT}
    if is_json(param):
        return {"type": "object"}
    if "choices" in param:
        one = {"type": "string", "enum": list(param["choices"])}
    elif param.get("type") in _TYPES:
        one = {"type": _TYPES[param["type"]]}
    return {"type": "array", "items": one} if param.get("multiple") or param.get("split") else one


def _help_of_parameter(catalog: Catalog, param: Param) -> str:
    if param["name"] in PAGING:
        return _PAGING_HELP.get(param["name"], str(param.get("help", "")))
    if "help" in param:
        return help_without_input(param)
    lookup = catalog.lookups.find(param["lookup"]) if "lookup" in param else None
    if lookup is None:
        return ""
    return lookup.get("hint", "").removeprefix("give ") or lookup["title"]


def _fields_help(view: ViewDefinition | None) -> str:
    more = [name_of_field(column["name"]) for column in view["columns"] if column.get("wide")] if view else []
    if not more:
        return "answer with these fields instead, by name or path"
    return f"answer with these instead: {', '.join(more[:_MOST_FIELDS])}, or any field by name"


# Commands as tools: name, description, schemas, and what a call may do.


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
    is_trusted: bool = False  # answers with nothing that others wrote

    @property
    def annotations(self) -> dict[str, bool]:
        reads = self.safety in ("read", "local")
        known = {"readOnlyHint": reads, "openWorldHint": self.safety != "local"}
        if reads:
            return {**known, "idempotentHint": True}
        return {**known, "destructiveHint": self.any_operation or self.safety == "destroy"}


class Tools:
    """All that can be offered."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def _tool_of(self, command: str) -> str | None:
        definition = self._catalog.commands.find(command)
        return name_of_tool(command, definition) if definition is not None and can_be_offered(definition) else None

    def tool_of_command(self, command: str, *, reads: bool = False) -> Tool:
        """`reads`: where it could call any operation, it may only read."""
        definition = self._catalog.commands.get(command)
        any_operation = definition.get("builtin") in OF_ANY_OPERATION
        if any_operation and reads:
            definition["safety"] = "read"
        offered: OfferedTool = definition.get("agents", {})
        params = offered_parameters(definition)
        view = self._catalog.views.get(definition["view"]) if "view" in definition else None
        arguments = {str(param["name"]): name for name, param in params.items()}
        in_words = partial(for_tools, arguments=arguments, tool_of=self._tool_of)
        help = in_words(offered.get("help", definition["help"]))
        return Tool(
            name_of_tool(command, definition),
            definition["help"],
            help,
            command,
            definition["safety"],
            params,
            definition.get("view"),
            input_schema(self._catalog, definition, params, view, in_words),
            bool(definition.get("pages")),
            offered.get("values", {}),
            any_operation,
            definition.get("builtin") in OF_DEFINITIONS,
        )


def name_of_tool(id: str, command: CompiledCommand) -> str:
    """The name that the command gives it, or the words of the command."""
    return tool_name(command.get("agents", {}).get("name", id))


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


# Which tools are offered. What is not offered cannot be called by its name either.

ALL = "all"
_MOST = 40  # commands of a program whose definitions choose none


class ToolSelection:
    """The sets, groups and commands that one can choose from."""

    def __init__(self, catalog: Catalog, deployment: str | None = None) -> None:
        """Commands that do not exist on the deployment, where it is known, are left out."""
        self._catalog = catalog
        self.tools = Tools(catalog)
        commands = catalog.commands.all()
        self._builtins = {id: definition["builtin"] for id, definition in commands.items() if "builtin" in definition}
        self.commands = {
            id: definition["safety"]
            for id, definition in commands.items()
            if can_be_offered(definition) and "unavailable" not in on_deployment(definition, deployment or "")
        }
        self._named = {name_of_tool(id, commands[id]): id for id in self.commands}
        self._sets = catalog.toolsets.all()
        self._groups = catalog.groups.ids()

    @property
    def commands_by_set(self) -> dict[str, list[str]]:
        """What each set holds: those with a definition, then the groups of the tree."""
        defined = {name: self._offered_commands(table["commands"]) for name, table in self._sets.items()}
        groups = {group: self._commands_of_group(group) for group in self._groups}
        return {
            **defined,
            **{group: commands for group, commands in groups.items() if commands and group not in defined},
        }

    def choose_tools(self, tools: str | None, *, read_only: bool = False, write: str | None = None) -> list[Tool]:
        """The tools of the comma-separated names, of the default sets where there are none.

        With `read_only` those that only read; with `write` these and what it names. Raises `UsageError` for a name
        that is none, with the closest one.
        """
        wanted = self._default_commands() if tools is None else _split_names(tools)
        commands = dict.fromkeys(command for name in wanted for command in self.commands_of_name(name))
        allowed = self.allowed_writers(write)
        if write is not None:
            commands |= dict.fromkeys(allowed)
        kept = [
            id
            for id in commands
            if self.commands[id] not in CHANGES or self._may_be_offered(id, read_only, write, allowed)
        ]
        if not kept:
            raise UsageError("no tool is left to offer", hint="choose other sets with --tools")
        reads = read_only or write is not None
        return [*(self.tools.tool_of_command(id, reads=reads) for id in kept), read_more()]

    def _default_commands(self) -> list[str]:
        """The default sets; where no definition chooses among the program's own commands, these too, readers first."""
        sets = [name for name, table in self._sets.items() if table.get("default")]
        chosen = {command for name in sets for command in self.commands_of_name(name)}
        own = [id for id in self.commands if id not in self._builtins]
        if chosen.intersection(own):
            return sets
        return [*sets, *sorted(own, key=lambda id: CLASSES.index(self.commands[id]))[:_MOST]]

    def allowed_writers(self, write: str | None) -> list[str]:
        """The commands that may change something, of those named."""
        named = [command for name in _split_names(write or "") for command in self.commands_of_name(name)]
        return [command for command in named if self.commands[command] in CHANGES]

    def _may_be_offered(self, command: str, read_only: bool, write: str | None, allowed: list[str]) -> bool:
        """What calls any operation is judged by the operation, when it is called."""
        if self._builtins.get(command) in OF_ANY_OPERATION:
            return True
        return not read_only and (write is None or command in allowed)

    def commands_of_name(self, name: str) -> list[str]:
        """The commands of a set, a group or a tool, or the command itself."""
        words = name.replace(".", " ")
        if name == ALL:
            return list(self.commands)
        sets = self.commands_by_set
        if words in sets:
            return sets[words]
        found = words if words in self.commands else self._named.get(name)
        if found is not None:
            return [found]
        if self._catalog.commands.find(words) is not None:
            raise UsageError(f"{words!r} cannot be a tool: it reads or changes settings or files of this machine")
        known = [*sets, *(command.replace(" ", ".") for command in self.commands), ALL]
        raise UsageError(f"unknown tool set or command {name!r}{did_you_mean(name, known)}")

    def _offered_commands(self, commands: list[str]) -> list[str]:
        return [command for command in commands if command in self.commands]

    def _commands_of_group(self, group: str) -> list[str]:
        return [command for command in self.commands if command.startswith(f"{group} ")]


def _split_names(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


# The arguments of a call, checked against what the tool takes, as the values of its command.

_TRUTHS = {"true": True, "false": False}
_WRONG = object()


class ToolArguments(NamedTuple):
    """`values` by the names of the command's definition."""

    values: ParameterValues
    fields: list[str]
    dry_run: bool


def checked_arguments(tool: Tool, given: dict[str, Any]) -> ToolArguments:
    """Raises `UsageError` that tells every argument that is missing, unknown or of another type."""
    properties: dict[str, Schema] = tool.input_schema["properties"]
    other = _other_names(tool)
    there = {other.get(name, name): value for name, value in given.items() if value is not None}
    problems = [f"{name}: unknown argument{did_you_mean(name, properties)}" for name in there if name not in properties]
    problems += [f"{name}: required" for name in tool.input_schema.get("required", ()) if name not in there]
    values: dict[str, Any] = {}
    for name in (name for name in there if name in properties):
        param = tool.params.get(name)
        free = param is not None and is_json(param)
        values[name] = there[name] if free else _fitted_value(properties[name], there[name])
        if values[name] is _WRONG:
            problems.append(f"{name}: expected {_what_was_expected(properties[name], there[name])}")
    if problems:
        takes = ", ".join(properties)
        raise UsageError(f"{tool.name}: {'; '.join(problems)}", hint=f"{tool.name} takes: {takes}")
    fields = values.pop(FIELDS, []) if FIELDS not in tool.params else []
    dry_run = bool(values.pop(DRY_RUN, False)) if DRY_RUN not in tool.params else False
    named = {str(tool.params[name]["name"]) if name in tool.params else name: value for name, value in values.items()}
    return ToolArguments(named, fields, dry_run)


def _other_names(tool: Tool) -> dict[str, str]:
    """What else the parameters are called on the command line, where that is not the name of another one."""
    aliases = (
        (to_identifier(alias), name) for name, param in tool.params.items() for alias in param.get("aliases", ())
    )
    return {alias: name for alias, name in aliases if alias not in tool.params}


def _fitted_value(schema: Schema, value: Any) -> Any:
    """The value as the schema wants it. Models write numbers as texts and lists as JSON in a text: both are taken."""
    match schema["type"]:
        case "string":
            return _fitted_text(schema, value)
        case "integer":
            return _fitted_integer(value)
        case "number":
            return value if isinstance(value, int | float) and not isinstance(value, bool) else _WRONG
        case "boolean":
            found = _TRUTHS.get(value.lower(), _WRONG) if isinstance(value, str) else value
            return found if isinstance(found, bool) else _WRONG
        case "array":
            return _fitted_array(schema, value)
        case _:
            return _fitted_table(value)


def _fitted_text(schema: Schema, value: Any) -> Any:
    text = value if isinstance(value, str) else json.dumps(value) if isinstance(value, int | float) else None
    if text is None:
        return _WRONG
    if "enum" not in schema:
        return text
    return next((word for word in schema["enum"] if word.casefold() == text.casefold()), _WRONG)


def _fitted_integer(value: Any) -> Any:
    if isinstance(value, str):
        found = parse_whole_number(value)
        return _WRONG if found is None else found
    is_whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    return int(value) if is_whole else _WRONG


def _fitted_array(schema: Schema, value: Any) -> Any:
    if isinstance(value, str):
        read = _parse_if_json(value)
        value = read if isinstance(read, list) else [value]
    if not isinstance(value, list):
        value = [value]
    items = [_fitted_value(schema["items"], item) for item in value]
    return _WRONG if any(item is _WRONG for item in items) else items


def _fitted_table(value: Any) -> Any:
    value = _parse_if_json(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else _WRONG


def _parse_if_json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _what_was_expected(schema: Schema, value: Any) -> str:
    given = json.dumps(value, ensure_ascii=False)[:60]
    words = schema.get("enum") or schema.get("items", {}).get("enum")
    if words:
        near = did_you_mean(value, words) if isinstance(value, str) else ""
        return f"one of {', '.join(words)}, not {given}{near}"
    names = {"array": "a list", "object": "an object", "integer": "a whole number", "string": "a text"}
    return f"{names.get(schema['type'], 'a ' + schema['type'])}, not {given}"
