"""Shapes of what a person meets: programs, commands, lookups, views."""

from __future__ import annotations

from typing import Annotated, Literal, Required

from pydantic import Field, StringConstraints

from .base import (
    SOME_WORDS,
    Expression,
    Name,
    Shape,
    Template,
    Value,
    Words,
    keyed_by,
    named,
    reference,
    seeing,
)
from .inputs import OF_A_PARAM, InputDefinition, Param
from .items import KeepOne
from .key_rules import KeyRule, Rules
from .rest import Safety
from .steps import Action, ItemStep, StepDefinition

HelpText = Annotated[str, StringConstraints(pattern=SOME_WORDS)]
CommandLines = Annotated[list[HelpText], Field(min_length=1)]


class ImportNaming(Shape, total=False):
    """How commands are called that are made of a document."""

    actions: Annotated[list[Name], Field(description="Words of paths and of ids of operations that are verbs.")]
    synonyms: Annotated[dict[Name, list[Name]], Field(description="Verb of commands → other words for it.")]
    contents: Annotated[list[Name], Field(description="Ends of paths that are the bytes of what stands before them.")]
    unchanging: Annotated[list[Name], Field(description="Words of one thing that look like words of many.")]


class ProgramDefinition(Shape, total=False):
    """One console program."""

    title: Required[str]
    prefix: Required[Annotated[str, Field(pattern="^[A-Z][A-Z0-9_]*$", description="Of its environment variables.")]]
    uses: Annotated[
        list[str],
        Field(
            description="Programs whose definitions, options and aliases it takes over; its own are merged over them."
        ),
    ]
    hidden: Annotated[bool, Field(description="It is there for others to use, and not to be called.")]
    options: Annotated[list[Param], Field(description="Options every command takes, before or after its name.")]
    id: Annotated[Expression, Field(description="The id of any item, where no view says it.")]
    text: Annotated[Expression, Field(description="The name of any item, where no view says it.")]
    paging: Annotated[list[Param], Field(description="Options of every command that prints a list.")]
    journal: Annotated[list[Param], Field(description="Options of every command that changes each item of a list.")]
    mentions: Annotated[
        str, reference("lookup", description="Finds who is mentioned as `@[Name]` in Markdown; has a `mention`.")
    ]
    credentials: Annotated[
        dict[Literal["header", "query", "body"], list[Name]],
        Field(
            description="Place → names by which services take credentials there. Where a third of the operations of a "
            "document have one, the credential of a site fills it, and no operation takes it."
        ),
    ]
    naming: ImportNaming
    synonyms: Annotated[dict[str, list[str]], Field(description="Everyday word → words of the catalog, for searches.")]
    verbs: Annotated[
        dict[str, list[str]],
        Field(
            description="Verb of other programs → names of commands that mean the same; where a group has no such "
            "command, the first of these that it has is suggested."
        ),
    ]
    instead: Annotated[
        dict[str, CommandLines],
        Field(description="First word that is not a command, or two words → command lines that are suggested."),
    ]
    other_options: Annotated[dict[str, list[str]], Field(description="Option of other programs → those that mean it.")]
    aliases: Annotated[dict[str, str], Field(description="Alias → the words of a command or group that it means.")]
    bare: Annotated[
        list[str],
        Field(
            description="Commands that run for a first word that does not name a command, if it is an address that the "
            "lookup of their first argument knows, or fits its `pattern` and is not just a number."
        ),
    ]
    sections: Annotated[dict[str, list[str]], Field(description="Heading → groups and commands, for the help page.")]
    examples: list[str]


Style = Literal["bold", "dim", "italic", "underline", "red", "green", "yellow", "blue", "magenta", "cyan"]


class PaletteDefinition(Shape, total=False):
    """Styles that words have on a terminal, such as names of statuses."""

    styles: Required[Annotated[dict[str, Style], Field(description="Word, in upper or lower case → style.")]]


class ColumnChange(Shape, total=False):
    """The command that changes what a column shows: a screen moves cards between the values by it."""

    command: Required[Annotated[str, reference("command", description="Its first argument is the thing.")]]
    value: Required[Annotated[Name, Field(description="Its parameter that gets the other value, as it is shown.")]]


class ColumnDefinition(Shape, total=False):
    name: Required[Name]
    value: Required[Expression]
    format: Annotated[str, reference("engine:format", description="How it reads: age, time, list, bytes, yes ...")]
    max: Annotated[int, Field(ge=1, description="Widest it gets on a terminal that has not room for all.")]
    wrap: Annotated[bool, Field(description="On a narrow terminal it goes on in the next line instead of being cut.")]
    names: Annotated[str, reference("naming", description="In tables its ids are shown by their names.")]
    wide: Annotated[bool, Field(description="Only shown when asked for by --columns.")]
    address: Annotated[
        str, reference("address", description="Its value names a thing of this kind; the thing's web address is shown.")
    ]
    palette: Annotated[str, reference("palette", description="Colors it on a terminal.")]
    shade: Annotated[Expression, Field(description="The word that the palette colors it by. Default: what is shown.")]
    style: Annotated[Style, Field(description="Its style on a terminal, where no palette gives one.")]
    change: ColumnChange
    needs: Annotated[
        list[Name],
        Field(min_length=1, description="Of a view: what has to be asked for; commands see that of all as `needed`."),
    ]


class Across(Shape, total=False):
    """Items side by side, each below the heading that it belongs to."""

    heads: Required[Annotated[Expression, Field(description="Pairs of a word and the heading that it stands for.")]]
    head: Required[Annotated[Expression, Field(description="Of an item: the word of its heading.")]]
    lane: Annotated[Expression, Field(description="Of an item: the row that it stands in, with others of that name.")]


class Detail(Shape, total=False):
    """A part of one thing that is shown in full: a heading, and for each item a line and a text."""

    title: Required[str]
    items: Annotated[Expression, Field(description="The items below the heading. Default: the thing itself.")]
    line: Annotated[list[ColumnDefinition], Field(description="The parts of an item's line.")]
    across: Annotated[Across, Field(description="The items stand side by side, below headings.")]
    text: Annotated[Expression, Field(description="The text below the line.")]
    format: Annotated[str, reference("engine:format", description="A registered format for the text.")]


class PartDefinition(Shape, total=False):
    """A part of what a command shows as one thing: the steps that read it, and how it stands below its title.

    The answer of the last step are its items. Where it cannot be read, that is noted, and the other parts are shown.
    """

    command: Required[Annotated[str, reference("command", description="The command that shows it.")]]
    title: Required[Words]
    order: Annotated[int, Field(description="Parts with a smaller number stand above.")]
    step: Required[Annotated[list[ItemStep], Field(min_length=1, description="What is read, in order.")]]
    line: Required[Annotated[list[ColumnDefinition], Field(min_length=1, description="The parts of an item's line.")]]


class ViewDefinition(Shape, total=False):
    """Output columns, and what identifies an item."""

    like: Annotated[str, reference("view", description="The view that it is built on.")]

    id: Expression
    columns: Required[list[ColumnDefinition]]
    web: Annotated[str, reference("address", description="Where `--web` shows an item: its id is the word.")]
    detail: Annotated[list[Detail], Field(description="A table of one thing shows all of its columns, then this.")]


class GroupDefinition(Shape, total=False):
    """A group of commands."""

    help: Required[HelpText]
    aliases: list[str]
    default: Annotated[
        Name, Field(description="The command of the group that runs when the next word is not a command.")
    ]
    bare: Annotated[
        list[Name],
        Field(
            description="Commands of the group that run for a word that does not name a command, if it is an address "
            "that the lookup of their first argument knows, or fits its `pattern`."
        ),
    ]
    instead: Annotated[
        dict[str, CommandLines],
        Field(
            description="Word that is not a command of the group → command lines that are suggested. Two words may "
            "be given too, such as `comment add`, even where the first is a command."
        ),
    ]


class FieldColumns(Shape, total=False):
    """Columns beyond those of the view: names of fields that the service knows."""

    lookup: Required[Annotated[str, reference("lookup", description="Finds the field by its name.")]]
    value: Required[
        Annotated[Template, seeing("id"), Field(description="The column's expression; sees the field's id as `id`.")]
    ]
    asked: Annotated[Name, Field(description="The parameter that names the fields to read: then these are shown.")]


class CommandHere(Action, total=False):
    """What a command's table may say differently for one deployment."""

    params: list[Param]
    step: Annotated[list[StepDefinition], Field(min_length=1, description="What it does, in order.")]
    keep: Annotated[KeepOne, Field(description="What the thing was that it changes is kept, and seen by `undo`.")]
    undo: Annotated[
        list[ItemStep],
        Field(min_length=1, description="What puts it back; sees what it was as `was`. Default: the snapshot's."),
    ]
    columns: FieldColumns
    items: Expression
    result: Value
    convert: Annotated[Template, named("converter", description="A converter that the result goes through.")]
    view: Annotated[str, reference("view", description="Output columns.")]
    unavailable: Annotated[str, Field(description="Why it does not exist there.")]


class CommandDefinition(CommandHere, total=False):
    """One command of the tree; its id is the words that call it.

    It runs a `builtin`, or one `call`, or its `step`s in order. The answer of the last call is printed.
    """

    like: Annotated[str, reference("command", description="The command that it is built on.")]

    help: Required[HelpText]
    about: Annotated[str, Field(description="Further paragraphs of the help page.")]
    aliases: Annotated[list[str], Field(description="Other last words.")]
    safe_mode: Annotated[
        bool, Field(description="Also runs where a person's own definitions are broken, without them.")
    ]
    builtin: Annotated[str, reference("engine:builtin", description="The engine's function that runs it.")]
    items: Annotated[Expression, Field(description="It prints this list out of an answer that comes whole.")]
    result: Annotated[Value, Field(description="Printed in the place of the last answer.")]
    convert: Annotated[
        Template, named("converter", description="A converter that the result goes through; null is none.")
    ]
    confirm: Annotated[Words, Field(description="Asked before anything is destroyed.")]
    safety: Annotated[
        Safety,
        Field(description="Default: the worst of all that it calls. What runs a builtin must say it."),
    ]
    examples: Annotated[list[str], Field(description="Command lines that work, without the program's name.")]
    hidden: bool
    renamed: Annotated[
        dict[str, str],
        Field(
            description="Option of the program → the parameter that had its name in this command before: a plain word "
            "that is given to it is refused, and the parameter named."
        ),
    ]
    on: Annotated[dict[str, CommandHere], keyed_by("deployment", description="Deployment → what differs there.")]


_CALL_ONLY = ("args", "body", "over", "files", "save", "limit", "value", "batch", "on_conflict", "unless_same")
_OF_A_COLUMN = (KeyRule("address", without=("format", "names")), KeyRule("shade", needs=("palette",)))

RULES: Rules = {
    "Param": OF_A_PARAM,
    "InputDefinition": OF_A_PARAM,
    "ColumnDefinition": _OF_A_COLUMN,
    "CommandDefinition": (
        KeyRule(
            "builtin", needs=("safety",), without=("items", "result", "convert", "columns", "confirm", "on", "keep")
        ),
        KeyRule("undo", needs=("keep",), without=("items",)),
        *(KeyRule(key, needs=("call",)) for key in _CALL_ONLY),
        KeyRule("convert", needs=("result",)),
        KeyRule("columns", needs=("view",)),
        KeyRule("items", without=("result",)),
    ),
}

__all__ = [
    "RULES",
    "ColumnDefinition",
    "CommandDefinition",
    "GroupDefinition",
    "InputDefinition",
    "PaletteDefinition",
    "Param",
    "ProgramDefinition",
    "ViewDefinition",
]
