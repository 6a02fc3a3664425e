"""Shapes of what a person meets: programs, commands, lookups, views."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field

from .base import Expression, Name, Shape, Template, Value, reference
from .rest import Safety


class Param(Shape, total=False):
    """An argument or option of a command."""

    name: Required[Name]
    kind: Annotated[Literal["option", "argument", "flag"], Field(description="Default: option.")]
    type: Annotated[Literal["text", "integer", "number", "path", "duration"], Field(description="Default: text.")]
    choices: list[str]
    default: Any
    required: bool
    multiple: Annotated[bool, Field(description="May be given several times; the value is a list.")]
    short: Annotated[str, Field(pattern="^[A-Za-z]$", description="One-letter form.")]
    also: Annotated[list[Name], Field(description="Further names of the option.")]
    metavar: str
    help: str
    complete: Annotated[str, Field(description="Kind of definition whose ids complete it, or a built-in completer.")]
    hidden: bool


class Program(Shape, total=False):
    """One console program."""

    title: Required[str]
    prefix: Required[Annotated[str, Field(pattern="^[A-Z]+$", description="Of its environment variables.")]]
    options: Annotated[list[Param], Field(description="Options every command takes, before or after its name.")]
    id: Annotated[Expression, Field(description="The id of any item, where no view says it.")]
    text: Annotated[Expression, Field(description="The name of any item, where no view says it.")]
    sections: Annotated[dict[str, list[str]], Field(description="Heading → groups and commands, for the help page.")]
    examples: list[str]


class Column(Shape, total=False):
    name: Required[str]
    value: Required[Expression]
    format: Annotated[str, reference("engine:format", description="How it reads: age, time, list, bytes, yes ...")]
    max: Annotated[int, Field(description="Widest it gets on a terminal.")]
    wide: Annotated[bool, Field(description="Only shown when asked for by --columns.")]


class View(Shape, total=False):
    """Output columns, and what identifies an item."""

    id: Expression
    columns: Required[list[Column]]


class Group(Shape, total=False):
    """A group of commands."""

    help: Required[str]
    aliases: list[str]


class Command(Shape, total=False):
    """One command of the tree; its id is the words that call it."""

    help: Required[str]
    about: Annotated[str, Field(description="Further paragraphs of the help page.")]
    aliases: Annotated[list[str], Field(description="Other last words.")]
    params: list[Param]
    builtin: Annotated[str, reference("engine:builtin", description="The engine's function that runs it.")]
    call: Annotated[str, reference("operation", description="The operation it calls.")]
    args: Annotated[dict[str, Value], Field(description="The operation's parameters.")]
    body: Value
    view: Annotated[str, reference("view", description="Output columns.")]
    safety: Required[Safety]
    examples: Annotated[list[str], Field(description="Command lines that work, without the program's name.")]
    hidden: bool


__all__ = ["Column", "Command", "Group", "Param", "Program", "Template", "View"]
