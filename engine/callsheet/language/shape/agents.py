"""Shapes of what coding agents meet: tools, policies, guards, and the programs that run agents."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field

from .base import (
    Expression,
    HelpText,
    KeyRule,
    Name,
    Rules,
    Shape,
    Template,
    Value,
    fitting,
    keyed_by,
    pattern_key,
    reference_to,
    seeing_names,
)

# Shapes of what agents are offered: commands as tools, sets of them, and where they can read a thing.


Command = Annotated[str, reference_to("command", description="The command that runs.")]
Values = Annotated[dict[str, Value], Field(description="Values of the command's parameters by their names.")]


class OfferedTool(Shape, total=False):
    """How a command is offered to agents. Without it, a command is offered under its own words, with all it takes."""

    name: Annotated[
        str,
        fitting(r"^[A-Za-z][A-Za-z0-9_]*$", "letters, digits and _"),
        Field(description="What the tool is called. Default: the command's words."),
    ]
    help: Annotated[Name, Field(description="What it does, in words that a person would use. Default: the command's.")]
    params: Annotated[list[Name], Field(description="The parameters that are offered. Default: all of them.")]
    values: Values


class ToolsetDefinition(Shape, total=False):
    """Commands that are offered together. The groups of the tree are sets too, without a definition."""

    help: Required[HelpText]
    default: Annotated[bool, Field(description="Offered by default.")]
    commands: Required[
        Annotated[
            list[Annotated[str, reference_to("command", description="A command of the set.")]], Field(min_length=1)
        ]
    ]


class Suggestion(Shape, total=False):
    """The ids of what a command lists."""

    command: Required[Command]
    values: Annotated[Values, Field(description="Expressions see the beginning of the id as `word`.")]


class AgentsTable(Shape, total=False):
    """Where agents can read a thing: what a command prints of it, or the file that it saves."""

    uri: Required[
        Annotated[
            str,
            fitting(
                r"^[a-z][a-z0-9-]*(/(\{[a-z0-9_]+\}|[a-z0-9-]+))+$",
                "a path in small letters with names in braces: issue/{key}",
            ),
            Field(description="Path with {names}; the program's name is the scheme."),
        ]
    ]
    command: Required[Command]
    values: Annotated[Values, Field(description="Expressions see the names of the address.")]
    complete: Annotated[dict[str, Suggestion], Field(description="Name of the address → what suggests its values.")]


# Shapes of what the rules of a policy are about.


class ContainerDefinition(Shape, total=False):
    """A kind of thing that requests are about, such as a project: rules can name single ones by this kind's id."""

    help: Required[Name]
    keys: Annotated[
        list[Name],
        Field(
            min_length=1,
            description="Parameters, and keys of a body at any depth, that name one or something it holds.",
        ),
    ]
    bodies: Annotated[
        dict[Name, Expression],
        keyed_by(
            "operation",
            description="Operations whose whole body tells which one it is, and by what expression; null where none.",
        ),
    ]
    pattern: Required[
        Annotated[
            str,
            pattern_key(description="A value that tells which one it is: its first group. Others do not.", groups=1),
        ]
    ]
    within: Annotated[
        list[str],
        Field(
            description="Paths, perhaps behind a method, of requests about something by its id: not saying where it is."
        ),
    ]
    searches: Annotated[
        list[str],
        Field(
            description="Paths, perhaps behind a method, where a query decides what is found: without one it is all."
        ),
    ]
    queries: Annotated[list[Name], Field(description="Parameters, and keys of a body, that hold a query.")]
    fields: Annotated[
        list[Name], Field(description="Fields that restrict a query to some, by what `pattern` finds in their values.")
    ]
    query_pattern: Annotated[
        str,
        pattern_key(
            description="In the place of `pattern` in a query, where that can say another name, too.", groups=1
        ),
    ]
    key: Annotated[Name, Field(description="Where a value is an object, the key of it that holds the name.")]


# Shapes of guards: what a host tells its hooks, what it expects of them, and where they are entered.


# What the templates of a guard's files see.
IN_FILES = ("program", "host", "hook", "quoted_hook")


class GuardFile(Shape, total=False):
    """A file that holds a guard: a member of JSON or TOML, or a whole text of its own."""

    path: Required[Annotated[Name, Field(description="Below the directory of the project.")]]
    format: Required[Literal["json", "text"]]
    set: Annotated[
        dict[str, Value],
        seeing_names(*IN_FILES),
        Field(description="json: members that have to be there beside the guard, by their path with dots."),
    ]
    at: Annotated[list[Name], Field(min_length=1, description="json: the keys that lead to a list of hooks.")]
    entry: Annotated[
        dict[str, Value], seeing_names(*IN_FILES), Field(description="json: the guard's entry in that list.")
    ]
    text: Annotated[
        Template, seeing_names(*IN_FILES), Field(description="text: what the file begins with, or all of it.")
    ]
    each: Annotated[
        Template,
        seeing_names("program", "words", "line", "decision", "reason"),
        Field(
            description="For each command that a guard asks about or denies: a line of the text; json: a text in the "
            "list, in the place of an `entry`."
        ),
    ]


class GuardDefinition(Shape, total=False):
    """How a host asks before an agent runs a shell command, and how it is answered."""

    files: Required[Annotated[list[GuardFile], Field(min_length=1)]]
    payload: Annotated[
        Expression, Field(description="True for what this host sends to a hook. Without it, it asks none.")
    ]
    command: Annotated[
        Expression, Field(description="The shell line in that, or null. JSON that is sent as a text is read.")
    ]
    answer: Annotated[
        dict[str, Value],
        seeing_names("decision", "reason"),
        Field(description="Printed unless a line is allowed. Default: the reason on standard error, and exit code 2."),
    ]
    asks: Annotated[bool, Field(description="Whether it can ask a person; without it a question is a denial.")]
    decisions: Annotated[
        dict[Literal["ask", "deny"], Name], Field(description="The host's own words for decisions in rules.")
    ]
    note: Annotated[Name, Field(description="What a person still has to do.")]


RULES: Rules = {
    "GuardDefinition": (
        KeyRule("payload", needs=("command",)),
        KeyRule("command", needs=("payload",)),
        KeyRule("answer", needs=("payload",)),
        KeyRule("asks", (True,), needs=("answer",)),
    ),
    "HostDefinition": (KeyRule("title", needs=("servers", "guard")),),
    "GuardFile": (
        KeyRule("format", ("json",), needs=("at",), without=("text",)),
        KeyRule("at", needs=("entry", "each")),
        KeyRule("entry", without=("each",)),
        KeyRule("format", ("text",), needs=("text",), without=("at", "entry", "set")),
    ),
}


# Shapes of where a program that runs agents lists the servers that it starts.


Paths = Annotated[
    list[str],
    Field(
        min_length=1,
        description="The first one that exists counts, else the first. `~` is the home directory; one with a $VARIABLE "
        "counts where that is set.",
    ),
]


class Platforms(Shape, total=False):
    """Paths by platform; `any` where a platform is not named."""

    any: Paths
    linux: Paths
    macos: Paths
    windows: Paths


class ServerList(Shape, total=False):
    """The file with a program's servers."""

    format: Required[Annotated[Literal["json", "toml"], Field(description="json: comments and trailing commas too.")]]
    user: Annotated[
        Platforms, Field(description="The person's own file; only a host that comes with the program has one.")
    ]
    project: Annotated[Paths, Field(description="Below the folder of a project.")]
    at: Required[Annotated[list[str], Field(min_length=1, description="The keys of the table that holds servers.")]]
    entry: Required[
        Annotated[
            dict[str, Value],
            seeing_names("command", "args"),
            Field(description="One server; `command` is a text, `args` are a list."),
        ]
    ]
    then: Annotated[str, Field(description="What a person does after a change, so that the program sees it.")]


# Shapes of the programs that run coding agents.


class HostDefinition(Shape, total=False):
    """A program that runs coding agents."""

    title: Required[Name]
    servers: ServerList
    guard: GuardDefinition


class CompiledHost(HostDefinition, total=False):
    """A program that runs coding agents."""

    # compiling adds these: the engine reads them and nobody writes them
    own: bool  # a person's file made or changed it


KINDS: dict[str, Any] = {
    "toolset": ToolsetDefinition,
    "container": ContainerDefinition,
    "host": HostDefinition,
}
