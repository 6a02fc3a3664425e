"""Shapes of arguments and options."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field

from .asking import Ask
from .base import Expression, Name, Shape, Template, Words, named, reference
from .key_rules import KeyRule
from .steps import Code, StepDefinition


class InputRule(Shape, total=False):
    """What is refused before anything is sent."""

    when: Required[Annotated[Expression, Field(description="True of values that are refused.")]]
    fail: Required[Annotated[Words, Field(description="The error.")]]
    hint: Annotated[Template, Field(description="What to do about it.")]
    code: Code


class InputDefinition(Shape, total=False):
    """An argument or option that several commands share; parameters that are `like` it say what is different."""

    like: Annotated[str, reference("input", description="The shared parameter that it is built on.")]
    kind: Annotated[Literal["option", "argument", "flag"], Field(description="Default: option.")]
    type: Annotated[Literal["text", "integer", "number", "path", "duration"], Field(description="Default: text.")]
    choices: list[str]
    choices_of: Annotated[str, reference("engine:registry", description="The engine's own names are its choices.")]
    default: Any
    required: bool
    multiple: Annotated[bool, Field(description="May be given several times; the value is a list.")]
    rest: Annotated[
        bool, Field(description="Takes all words that follow, also those that look like options of this program.")
    ]
    split: Annotated[bool, Field(description="The text is a list with commas between its items.")]
    lines: Annotated[bool, Field(description="The word - reads more values from standard input, one a line.")]
    query: Annotated[str, reference("query", description="It is a query of this language.")]
    excludes: Annotated[bool, Field(description="A word may start with `not:`, and keeps it for `among`.")]
    removes: Annotated[
        bool, Field(description="A word behind a hyphen is to go: expressions see a table of `add` and `remove`.")
    ]
    positional: Annotated[bool, Field(description="The option's value may also stand without its name, at the end.")]
    short: Annotated[str, Field(pattern="^[A-Za-z]$", description="One-letter form.")]
    aliases: Annotated[list[Name], Field(description="Further names of the option.")]
    metavar: str
    help: str
    lookup: Annotated[str, reference("lookup", description="Turns a person's word into an id.")]
    setting: Annotated[
        Literal["project", "board"], Field(description="The setting of the site that is used where it is not given.")
    ]
    convert: Annotated[
        Template,
        named("converter", description="A converter: text, json, a rich-text format; `@file` and `@-` are read."),
    ]
    front: Annotated[
        str, Field(description="The name under which expressions see the front matter of the text, a table or null.")
    ]
    front_keys: Annotated[
        dict[str, Literal["text", "list"]],
        Field(description="Keys of the front matter that must be a text, or a list of texts (or texts with commas)."),
    ]
    beside: Annotated[
        str,
        Field(
            description="The name under which expressions see the `text` of a file, and its `images` that are files "
            "beside it, each with path, name, size and hash; null where it has none."
        ),
    ]
    folder: Annotated[Name, Field(description="With `beside`: the parameter that names the folder of such files.")]
    assign: Annotated[str, reference("assignment", description="The words are NAME=VALUE; how they are typed.")]
    members: Annotated[
        str,
        reference(
            "operation",
            description="The words are NAME=VALUE: members of this operation's body, in which NAME may have dots, of "
            "the types that its schema says.",
        ),
    ]
    complete: Annotated[
        str,
        reference("engine:completer", description="Kind of definition whose ids complete it, or a built-in completer."),
    ]
    suggest: Annotated[
        str, reference("lookup", description="Its words complete the value. Default: those of the parameter's lookup.")
    ]
    overrides: Annotated[bool, Field(description="It is meant to stand in the place of the program's own option.")]
    hidden: bool
    ask: Annotated[Ask, Field(description="At a terminal it is asked for where it is missing, and how.")]
    refuse: Annotated[
        list[InputRule],
        Field(description="Rules that go with it; they see the values of the command as they were given."),
    ]
    step: Annotated[
        list[StepDefinition],
        Field(min_length=1, description="Steps that go with it, taken before those of the command."),
    ]


class Param(InputDefinition, total=False):
    """An argument or option of a command."""

    name: Required[Annotated[Name, Field(description="Default: the name of the shared one that it is `like`.")]]


_OF_A_VALUE = (
    *("type", "choices", "choices_of", "default", "multiple", "split", "metavar"),
    *("lookup", "setting", "convert", "front", "assign", "members", "complete", "excludes", "positional", "required"),
)
_TEXT_ONLY = ("integer", "number", "duration")

# A rule holds wherever a table of that shape stands.
OF_A_PARAM = (
    KeyRule("rest", needs=("multiple",)),
    KeyRule("kind", ("flag",), without=_OF_A_VALUE),
    KeyRule("kind", ("argument",), without=("short", "aliases", "overrides", "positional")),
    KeyRule("positional", without=("default",)),
    KeyRule("lines", needs=("multiple",)),
    KeyRule("removes", needs=("multiple", "split"), without=("excludes", "lookup", "default", "positional")),
    KeyRule("type", _TEXT_ONLY, without=("choices", "choices_of", "split", "lookup", "convert", "assign", "members")),
    KeyRule("type", ("path",), without=("choices", "choices_of", "lookup", "assign", "members")),
    KeyRule("choices", without=("choices_of", "convert", "assign", "members")),
    KeyRule("front", needs=("convert",)),
    KeyRule("front_keys", needs=("front",)),
    KeyRule("assign", needs=("multiple",), without=("lookup", "convert", "split", "default")),
    KeyRule("members", needs=("multiple",), without=("assign", "lookup", "convert", "split", "default")),
    KeyRule("split", (True,), without=("convert",)),
    KeyRule("lookup", without=("convert",)),
    KeyRule("setting", without=("default", "required")),
    KeyRule("required", (True,), without=("default",)),
)
