"""Whether what agents are offered is there, and which files of other programs a definition may name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import did_you_mean
from ...paths import stays_below
from ...registry import FOR_AGENTS, PAGING, READ_MORE
from ..as_shipped import shipped_table
from ..parameters import tool_name
from ..safety import CHANGES
from ..scopes import names_in
from ..source_file import RESOURCE, Definition, Definitions, Path
from .calls import class_of_command
from .problem import Finding, Findings, Key

if TYPE_CHECKING:
    from ..shape.agents import AgentsTable, Suggestion


# Whether what agents are offered is there: commands that can be tools, their parameters, the names of an address.


_NAME = re.compile(r"\{([a-z_]+)\}")


# Name of a tool → the definitions that would be called so: commands that no tool describes, then tools.
ToolNames = dict[str, list[Key]]


def tools_by_name(definitions: Definitions) -> ToolNames:
    described = {each.table.get("command") for each in definitions.values() if each.kind == "tool"}
    commands = [each for each in definitions.values() if each.kind == "command" and each.id not in described]
    tools = [each for each in definitions.values() if each.kind == "tool"]
    found: ToolNames = {READ_MORE: [("tool", "read more")]}
    for each in [*filter(_can_be_offered, commands), *tools]:
        found.setdefault(tool_name(each.id), []).append((each.kind, each.id))
    return found


def _can_be_offered(command: Definition) -> bool:
    return not command.table.get("hidden") and command.table.get("builtin", "") in ("", *FOR_AGENTS)


def name_findings(_: Definitions, definition: Definition, *, tools: ToolNames) -> Findings:
    """Agents know tools by names without spaces and hyphens, in which two may become the same."""
    own, name = (definition.kind, definition.id), tool_name(definition.id)
    first, *others = tools.get(name, [own])
    if own in others:
        text = f"agents know {first[0]} {first[1]!r} as {name!r} already: give this a tool of another name"
        yield Finding((), text, (first,))


def tool_findings(definitions: Definitions, tool: Definition) -> Findings:
    """Its command can be a tool and is no other tool; its parameters are the command's."""
    command = definitions.get(("command", tool.table["command"]))
    if command is None:  # told as a reference to nothing
        return
    yield from _for_agents(command, ("command",))
    known = _params(command)
    for place, name in enumerate(tool.table.get("params", ())):
        if name not in known:
            yield Finding(("params", place), f"{command.id} has no parameter {name!r}{did_you_mean(name, known)}")
    values = tool.table.get("values", {})
    for param in command.table.get("params", ()) if "params" in tool.table else ():
        name, needed = param["name"], param.get("required", param.get("kind") == "argument")
        if needed and name not in tool.table["params"] and name not in values:
            yield Finding(("params",), f"{command.id} cannot do without {name!r}: name it here, or in `values`")
    yield from _value_findings(command, values, set(), ())
    for other in definitions.values():
        if other.kind == "tool" and other.id < tool.id and other.table.get("command") == command.id:
            yield Finding(("command",), f"tool {other.id!r} is this command already")


def toolset_findings(definitions: Definitions, toolset: Definition) -> Findings:
    for place, id in enumerate(toolset.table["commands"]):
        command = definitions.get(("command", id))
        yield from _for_agents(command, ("commands", place)) if command else ()


def agents_findings(definitions: Definitions, resource: Definition, aliases: Mapping[str, str]) -> Findings:
    """Reading a thing by its address only reads, uses no name that the address does not have, and is the only such."""
    table: AgentsTable = resource.table["agents"]
    at, names = "agents", set(_NAME.findall(table["uri"]))
    for key, other in definitions.items():
        if other is resource:
            break
        if key[0] == RESOURCE and _form(other.table.get("agents", {}).get("uri")) == _form(table["uri"]):
            yield Finding((at, "uri"), f"resource {other.id!r} is at this address already", (key,))
    yield from _reading(definitions, table, names, (at,), aliases)
    for name, suggestion in table.get("complete", {}).items():
        if name not in names:
            yield Finding((at, "complete", name), f"the address has no name {name!r}{did_you_mean(name, names)}")
        yield from _reading(definitions, suggestion, {"word"}, (at, "complete", name), aliases)


def _form(uri: str | None) -> str | None:
    return uri and _NAME.sub("{}", uri)


def _reading(
    definitions: Definitions,
    table: AgentsTable | Suggestion,
    names: set[str],
    at: tuple[str, ...],
    aliases: Mapping[str, str],
) -> Iterator[Finding]:
    command = definitions.get(("command", table["command"]))
    if command is None:
        return
    yield from _for_agents(command, (*at, "command"))
    if class_of_command(definitions, command, aliases) in CHANGES:
        yield Finding((*at, "command"), f"{command.id} changes something; reading an address must not")
    yield from _value_findings(command, table.get("values", {}), names, at)


def _value_findings(
    command: Definition, values: Mapping[str, Any], names: set[str], at: tuple[str, ...]
) -> Iterator[Finding]:
    known = _params(command)
    for name, value in values.items():
        if name not in known:
            yield Finding((*at, "values", name), f"{command.id} has no parameter {name!r}{did_you_mean(name, known)}")
        for used in dict.fromkeys(names_in(value)):
            if used not in names:
                yield Finding((*at, "values", name), f"{used!r} is not known here{did_you_mean(used, names)}")


def _for_agents(command: Definition, at: tuple[Any, ...]) -> Iterator[Finding]:
    builtin = command.table.get("builtin")
    if builtin is not None and builtin not in FOR_AGENTS:
        yield Finding(at, f"{command.id} is not for agents: it reveals or changes something of this machine")


def _params(command: Definition) -> set[str]:
    return {str(param["name"]) for param in command.table.get("params", ())} | set(PAGING)


# Which files of other programs a definition may name: below a project's folder, and of the home only a shipped one.


def host_findings(definitions: Definitions, host: Definition) -> Findings:
    """A shared definition names no file of the home, and says nothing of what is written into one."""
    del definitions
    for at, path in _below(host):
        if not stays_below(path):
            yield Finding(at, f"{path!r} has to stay below the directory: names with / between them, none of them ..")
    own = [laid for file, laid in zip(host.files, host.laid, strict=True) if not file.shipped]
    if own and len(own) < len(host.files):
        if host.table.get("servers") != shipped_table(host).get("servers"):  # what was shown may be pasted back
            text = "of a host that comes with the program it stays as it is; define one under another name"
            yield Finding(("servers",), text)
    elif own and "user" in host.table.get("servers", {}):
        text = "only definitions that come with the program name files of the home directory; `project` names others"
        yield Finding(("servers", "user"), text)


def _below(host: Definition) -> Iterator[tuple[Path, str]]:
    for place, file in enumerate(host.table.get("guard", {}).get("files", ())):
        yield ("guard", "files", place, "path"), file["path"]
    for place, path in enumerate(host.table.get("servers", {}).get("project", ())):
        yield ("servers", "project", place), path
