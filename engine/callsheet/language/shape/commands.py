"""Shapes of what a person meets: programs, commands, their arguments and options, look-ups, views, questions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field

from .agents import OfferedTool
from .base import (
    AnyExpression,
    Args,
    Expression,
    HelpText,
    ItemsExpression,
    KeyRule,
    ListExpression,
    Name,
    OperationId,
    Rules,
    ScalarExpression,
    Shape,
    Template,
    Value,
    Word,
    Words,
    fitting,
    giving,
    keyed_by,
    named_in,
    reference_to,
    seeing_names,
)
from .rest import Safety
from .steps import Action, Code, ItemStep, KeepOne, StepDefinition

# Shapes of what a person at a terminal is asked for.


class Start(Shape, total=False):
    """What stands in the editor at first: the rich text of something that is read before, as Markdown."""

    call: Required[OperationId]
    args: Args
    value: Required[Annotated[Expression, Field(description="The rich text in the answer.")]]
    format: Required[Annotated[Template, Field(description="Its format: storage, adf or wiki.")]]
    before: Annotated[
        Template, Field(description="What stands above it, such as front matter; sees found, the answer.")
    ]


class Ask(Shape, total=False):
    """How a missing value is asked for at a terminal. Required ones are asked for without it too."""

    question: Annotated[str, Field(description="Default: the name and the help of the parameter.")]
    when: Annotated[Expression, Field(description="Only where this is true; it sees what was given.")]
    lookup: Annotated[
        str, reference_to("lookup", description="Its candidates are offered. Default: the parameter's own lookup.")
    ]
    word: Annotated[ScalarExpression, Field(description="Of a candidate: the word that is given for it.")]
    # `with` would be the natural name, but is a keyword of Python
    sees: Annotated[dict[Name, Value], Field(description="Names that the arguments of the lookup see beside.")]
    editor: Annotated[bool, Field(description="It is written in the person's editor, or piped in, as Markdown.")]
    start: Start
    fields: Annotated[
        str,
        reference_to("lookup", description="In the editor, its candidates stand above the text, as lines NAME: VALUE."),
    ]
    assign: Annotated[Name, Field(description="With `fields`: the parameter that takes the lines, as NAME=VALUE.")]
    required: Annotated[Expression, Field(description="With `fields`, of a candidate: whether it needs a value.")]
    values: Annotated[
        ListExpression,
        Field(description="With `fields`, of a candidate: the names of the values it takes."),
    ]


# Shapes of arguments and options.


class InputRule(Shape, total=False):
    """What is refused before anything is sent."""

    when: Required[Annotated[Expression, Field(description="True of values that are refused.")]]
    fail: Required[Annotated[Words, Field(description="The error.")]]
    hint: Annotated[Template, Field(description="What to do about it.")]
    code: Code
    candidates: Annotated[
        str, reference_to("lookup", description="Where something is missing: what there is is listed.")
    ]


class InputDefinition(Shape, total=False):
    """An argument or option that several commands share; parameters that are `like` it say what is different."""

    like: Annotated[str, reference_to("input", description="The shared parameter that it is built on.")]
    kind: Annotated[Literal["option", "argument", "flag"], Field(description="Default: option.")]
    type: Annotated[Literal["text", "integer", "number", "path", "duration"], Field(description="Default: text.")]
    choices: list[str]
    choices_of: Annotated[str, reference_to("engine:registry", description="The engine's own names are its choices.")]
    default: Any
    required: bool
    multiple: Annotated[bool, Field(description="May be given several times; the value is a list.")]
    rest: Annotated[
        bool, Field(description="Takes all words that follow, also those that look like options of this program.")
    ]
    split: Annotated[bool, Field(description="The text is a list with commas between its items.")]
    lines: Annotated[bool, Field(description="The word - reads more values from standard input, one a line.")]
    query: Annotated[str, reference_to("query", description="It is a query of this language.")]
    excludes: Annotated[bool, Field(description="A word may start with `not:`, and keeps it for `among`.")]
    removes: Annotated[
        bool, Field(description="A word behind a hyphen is to go: expressions see a table of `add` and `remove`.")
    ]
    positional: Annotated[bool, Field(description="The option's value may also stand without its name, at the end.")]
    short: Annotated[str, fitting("^[A-Za-z]$", "one letter"), Field(description="One-letter form.")]
    aliases: Annotated[list[Name], Field(description="Further names of the option.")]
    metavar: Name
    help: str
    lookup: Annotated[str, reference_to("lookup", description="Turns a person's word into an id.")]
    setting: Annotated[
        Literal["project", "board"],
        Field(
            description="The setting of the site that is used where it is not given. With `required` the command is "
            "refused where neither is there."
        ),
    ]
    convert: Annotated[
        Template,
        named_in("converter", description="A converter: text, json, a rich-text format; `@file` and `@-` are read."),
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
    assign: Annotated[str, reference_to("assignment", description="The words are NAME=VALUE; how they are typed.")]
    members: Annotated[
        str,
        reference_to(
            "operation",
            description="The words are NAME=VALUE: members of this operation's body, in which NAME may have dots, of "
            "the types that its schema says.",
        ),
    ]
    complete: Annotated[
        str,
        reference_to(
            "engine:completer", description="Kind of definition whose ids complete it, or a built-in completer."
        ),
    ]
    suggest: Annotated[
        str,
        reference_to("lookup", description="Its words complete the value. Default: those of the parameter's lookup."),
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
    "ask",
)
_TEXT_ONLY = ("integer", "number", "duration")

# A rule holds wherever a table of that shape stands.
OF_A_PARAM = (
    KeyRule("rest", needs=("multiple",)),
    KeyRule("folder", needs=("beside",)),
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
    KeyRule("setting", without=("default",)),
    KeyRule("required", (True,), without=("default", "hidden")),
)


# Shapes of what a person meets: programs, commands, lookups, views.


CommandLines = Annotated[list[HelpText], Field(min_length=1)]


class ImportNaming(Shape, total=False):
    """How commands are called that are made of a document."""

    actions: Annotated[list[Name], Field(description="Words of paths and of ids of operations that are verbs.")]
    synonyms: Annotated[dict[Name, list[Name]], Field(description="Verb of commands → other words for it.")]
    contents: Annotated[list[Name], Field(description="Ends of paths that are the bytes of what stands before them.")]
    unchanging: Annotated[list[Name], Field(description="Words of one thing that look like words of many.")]


class ProgramDefinition(Shape, total=False):
    """One console program."""

    title: Required[HelpText]
    prefix: Required[
        Annotated[
            str,
            fitting("^[A-Z][A-Z0-9_]*$", "capital letters, digits and _, a letter first: MY_TOOL"),
            Field(description="Of its environment variables."),
        ]
    ]
    uses: Annotated[
        list[str],
        Field(
            description="Programs whose definitions, options and aliases it takes over; its own are merged over them."
        ),
    ]
    hidden: Annotated[bool, Field(description="It is there for others to use, and not to be called.")]
    options: Annotated[list[Param], Field(description="Options every command takes, before or after its name.")]
    id: Annotated[ScalarExpression, Field(description="The id of any item, where no view says it.")]
    text: Annotated[ScalarExpression, Field(description="The name of any item, where no view says it.")]
    paging: Annotated[list[Param], Field(description="Options of every command that prints a list.")]
    journal: Annotated[list[Param], Field(description="Options of every command that changes each item of a list.")]
    mentions: Annotated[
        str, reference_to("lookup", description="Finds who is mentioned as `@[Name]` in Markdown; has a `mention`.")
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


class ChangeByCommand(Shape, total=False):
    """The command by which a screen changes what a column shows, or where a row stands."""

    command: Required[Annotated[str, reference_to("command", description="Its first argument is the thing.")]]
    value: Required[
        Annotated[
            Name, Field(description="Its parameter that gets the other value, as it is shown, or the other row's id.")
        ]
    ]


class Reorder(Shape, total=False):
    """The commands that move a row of a list before and after another one."""

    before: Required[ChangeByCommand]
    after: Required[ChangeByCommand]


class ColumnDefinition(Shape, total=False):
    name: Required[Name]
    value: Required[Expression]
    format: Annotated[str, reference_to("engine:format", description="How it reads: age, time, list, bytes, yes ...")]
    max: Annotated[int, Field(ge=1, description="Widest it gets on a terminal that has not room for all.")]
    wrap: Annotated[bool, Field(description="On a narrow terminal it goes on in the next line instead of being cut.")]
    names: Annotated[str, reference_to("naming", description="In tables its ids are shown by their names.")]
    wide: Annotated[bool, Field(description="Only shown when asked for by --columns.")]
    address: Annotated[
        str,
        reference_to("address", description="Its value names a thing of this kind; the thing's web address is shown."),
    ]
    palette: Annotated[str, reference_to("palette", description="Colors it on a terminal.")]
    shade: Annotated[Expression, Field(description="The word that the palette colors it by. Default: what is shown.")]
    style: Annotated[Style, Field(description="Its style on a terminal, where no palette gives one.")]
    change: ChangeByCommand
    needs: Annotated[
        list[Name],
        Field(min_length=1, description="Of a view: what has to be asked for; commands see that of all as `needed`."),
    ]


class Across(Shape, total=False):
    """Items side by side, each below the heading that it belongs to."""

    heads: Required[
        Annotated[
            AnyExpression, giving("array"), Field(description="Pairs of a word and the heading that it stands for.")
        ]
    ]
    head: Required[Annotated[Expression, Field(description="Of an item: the word of its heading.")]]
    lane: Annotated[Expression, Field(description="Of an item: the row that it stands in, with others of that name.")]


class Detail(Shape, total=False):
    """A part of one thing that is shown in full: a heading, and for each item a line and a text."""

    title: Required[HelpText]
    items: Annotated[
        ItemsExpression,
        Field(description="The items below the heading. Default: the thing itself."),
    ]
    line: Annotated[list[ColumnDefinition], Field(description="The parts of an item's line.")]
    across: Annotated[Across, Field(description="The items stand side by side, below headings.")]
    text: Annotated[Expression, Field(description="The text below the line.")]
    format: Annotated[str, reference_to("engine:format", description="A registered format for the text.")]


class PartDefinition(Shape, total=False):
    """A part of what a command shows as one thing: the steps that read it, and how it stands below its title.

    The answer of the last step are its items. Where it cannot be read, that is noted, and the other parts are shown.
    """

    command: Required[Annotated[str, reference_to("command", description="The command that shows it.")]]
    title: Required[Words]
    order: Annotated[int, Field(description="Parts with a smaller number stand above.")]
    step: Required[Annotated[list[ItemStep], Field(min_length=1, description="What is read, in order.")]]
    line: Required[Annotated[list[ColumnDefinition], Field(min_length=1, description="The parts of an item's line.")]]


class ViewDefinition(Shape, total=False):
    """Output columns, and what identifies an item."""

    like: Annotated[str, reference_to("view", description="The view that it is built on.")]

    id: Expression
    columns: Required[list[ColumnDefinition]]
    web: Annotated[str, reference_to("address", description="Where `--web` shows an item: its id is the word.")]
    detail: Annotated[
        list[Detail], Field(min_length=1, description="A table of one thing shows all of its columns, then this.")
    ]


class GroupDefinition(Shape, total=False):
    """A group of commands."""

    help: Required[HelpText]
    aliases: list[Word]
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

    lookup: Required[Annotated[str, reference_to("lookup", description="Finds the field by its name.")]]
    value: Required[
        Annotated[
            Template, seeing_names("id"), Field(description="The column's expression; sees the field's id as `id`.")
        ]
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
    items: ItemsExpression
    result: Value
    convert: Annotated[Template, named_in("converter", description="A converter that the result goes through.")]
    view: Annotated[str, reference_to("view", description="Output columns.")]
    unavailable: Annotated[Name, Field(description="Why it does not exist there.")]


class CommandDefinition(CommandHere, total=False):
    """One command of the tree; its id is the words that call it.

    It runs a `builtin`, or one `call`, or its `step`s in order. The answer of the last call is printed.
    """

    like: Annotated[str, reference_to("command", description="The command that it is built on.")]

    help: Required[HelpText]
    about: Annotated[str, Field(description="Further paragraphs of the help page.")]
    aliases: Annotated[list[Word], Field(description="Other last words.")]
    safe_mode: Annotated[
        bool, Field(description="Also runs where a person's own definitions are broken, without them.")
    ]
    builtin: Annotated[str, reference_to("engine:builtin", description="The engine's function that runs it.")]
    items: Annotated[
        ItemsExpression,
        Field(description="It prints this list out of an answer that comes whole."),
    ]
    result: Annotated[Value, Field(description="Printed in the place of the last answer.")]
    convert: Annotated[
        Template, named_in("converter", description="A converter that the result goes through; null is none.")
    ]
    confirm: Annotated[Words, Field(description="Asked before anything is destroyed.")]
    safety: Annotated[
        Safety,
        Field(description="Default: the worst of all that it calls. What runs a builtin must say it."),
    ]
    examples: Annotated[list[str], Field(description="Command lines that work, without the program's name.")]
    reorder: Annotated[Reorder, Field(description="Of a list in an order that people make: what changes the order.")]
    hidden: bool
    agents: OfferedTool
    renamed: Annotated[
        dict[str, str],
        Field(
            description="Option of the program → the parameter that had its name in this command before: a plain word "
            "that is given to it is refused, and the parameter named."
        ),
    ]
    on: Annotated[dict[str, CommandHere], keyed_by("deployment", description="Deployment → what differs there.")]


class CompiledCommand(CommandDefinition, total=False):
    """With `step`s also where it has a single call."""

    # compiling adds these: the engine reads them and nobody writes them
    pages: bool  # it prints a list, and has the options for that
    counts: bool  # one of them is that of the program to print only how many there are
    journal: str  # its words, where it changes each item of a list and has the options of a journal


_CALL_ONLY = ("args", "body", "over", "files", "save", "limit", "value", "batch", "on_conflict", "unless_same")
_OF_A_COLUMN = (KeyRule("address", without=("format", "names")), KeyRule("shade", needs=("palette",)))

RULES: Rules = {
    "Detail": (KeyRule("format", needs=("text",)), KeyRule("title", needs=("line", "text", "across"))),
    "Ask": (
        KeyRule("fields", needs=("editor", "assign")),
        KeyRule("start", needs=("editor",), without=("fields",)),
        *(KeyRule(key, needs=("fields",)) for key in ("assign", "required", "values")),
        KeyRule("word", needs=("lookup",)),
    ),
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
        KeyRule("reorder", needs=("view",)),
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
