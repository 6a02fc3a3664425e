"""Shapes of guards: what a host tells its hooks, what it expects of them, and where they are entered."""

from __future__ import annotations

from typing import Annotated, Literal, Required

from pydantic import Field

from .base import Expression, Name, Shape, Template, Value, seeing
from .key_rules import KeyRule, Rules

# What the templates of a guard's files see.
IN_FILES = ("program", "host", "hook", "quoted_hook")


class GuardFile(Shape, total=False):
    """A file that holds a guard: a member of JSON or TOML, or a whole text of its own."""

    path: Required[Annotated[Name, Field(description="Below the directory of the project.")]]
    format: Required[Literal["json", "text"]]
    set: Annotated[
        dict[str, Value],
        seeing(*IN_FILES),
        Field(description="json: members that have to be there beside the guard, by their path with dots."),
    ]
    at: Annotated[list[Name], Field(min_length=1, description="json: the keys that lead to a list of hooks.")]
    entry: Annotated[dict[str, Value], seeing(*IN_FILES), Field(description="json: the guard's entry in that list.")]
    text: Annotated[Template, seeing(*IN_FILES), Field(description="text: what the file begins with, or all of it.")]
    each: Annotated[
        Template,
        seeing("program", "words", "line", "decision", "reason"),
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
        seeing("decision", "reason"),
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
    ),
    "GuardFile": (
        KeyRule("format", ("json",), needs=("at",), without=("text",)),
        KeyRule("entry", without=("each",)),
        KeyRule("format", ("text",), needs=("text",), without=("at", "entry", "set")),
    ),
}
