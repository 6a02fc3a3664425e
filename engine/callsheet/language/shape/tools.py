"""Shapes of what agents are offered: commands as tools, sets of them, and where they can read a thing."""

from __future__ import annotations

from typing import Annotated, Any, Required

from pydantic import Field

from .base import Name, Shape, Value, reference

Command = Annotated[str, reference("command", description="The command that runs.")]
Values = Annotated[dict[str, Value], Field(description="Values of the command's parameters by their names.")]


class ToolDefinition(Shape, total=False):
    """How a command is offered to agents. Without one, a command is offered under its own words, with all it takes."""

    command: Required[Command]
    help: Annotated[str, Field(description="What it does, in words that a person would use. Default: the command's.")]
    params: Annotated[list[Name], Field(description="The parameters that are offered. Default: all of them.")]
    values: Values


class ToolsetDefinition(Shape, total=False):
    """Commands that are offered together. The groups of the tree are sets too, without a definition."""

    help: Required[str]
    default: Annotated[bool, Field(description="Offered by default.")]
    commands: Required[list[Annotated[str, reference("command", description="A command of the set.")]]]


class Suggestion(Shape, total=False):
    """The ids of what a command lists."""

    command: Required[Command]
    values: Annotated[Values, Field(description="Expressions see the beginning of the id as `word`.")]


class AgentsTable(Shape, total=False):
    """Where agents can read a thing: what a command prints of it, or the file that it saves."""

    uri: Required[
        Annotated[
            str,
            Field(
                pattern=r"^[a-z][a-z0-9-]*(/(\{[a-z0-9_]+\}|[a-z0-9-]+))+$",
                description="Path with {names}; the program's name is the scheme.",
            ),
        ]
    ]
    command: Required[Command]
    values: Annotated[Values, Field(description="Expressions see the names of the address.")]
    complete: Annotated[dict[str, Suggestion], Field(description="Name of the address → what suggests its values.")]


KINDS: dict[str, Any] = {"tool": ToolDefinition, "toolset": ToolsetDefinition}
