"""Shapes of what a command does: its steps, also for many items and to things that have versions."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field
from typing_extensions import TypedDict

from .base import (
    AnyExpression,
    Args,
    Expression,
    ItemsExpression,
    KeyRule,
    ListExpression,
    Name,
    NumberExpression,
    OperationId,
    Rules,
    ScalarExpression,
    Shape,
    Template,
    Value,
    Words,
    file_path,
    giving,
    keyed_by,
    named_in,
    pattern_key,
    reference_to,
    seeing_names,
)

# Shapes of what is done to many items: what is kept of them, the plan, the service's own bulk operations.


class SnapshotRequest(Shape, total=False):
    """How things are asked for."""

    args: Args
    body: Value
    size: Annotated[int, Field(ge=1, description="How many things one call takes. Default: 1.")]
    items: Annotated[
        ItemsExpression,
        Field(description="The things in the answer. Default: the answer is the only one."),
    ]
    names: Annotated[Expression, Field(description="Of one of several things: the names that it may be given by.")]


class Keep(Shape, total=False):
    """What is read of an item before it is changed, and once more afterwards. It is kept in the journal."""

    snapshot: Required[Annotated[str, reference_to("snapshot", description="How it is read.")]]
    args: Annotated[dict[str, Value], Field(description="What the snapshot's expressions see by these names.")]


class KeepOne(Keep, total=False):
    """The same of a command that changes one thing: its steps are then taken as those for one item of a list."""

    of: Required[Annotated[Name, Field(description="The parameter that names the thing.")]]


class Task(Shape, total=False):
    """What a service goes on with after it has answered. Expressions see what `call` answers about it."""

    call: Required[OperationId]
    args: Annotated[dict[str, Value], Field(description="Sees the answer that began it as `started`.")]
    ended: Required[Annotated[Expression, Field(description="True when nothing more is done.")]]
    percent: Annotated[NumberExpression, Field(description="How far it has come.")]
    done: Required[Annotated[ListExpression, Field(description="The list of items that were changed.")]]
    failed: Required[
        Annotated[Expression, giving("object"), Field(description="A table: item → why it was not changed.")]
    ]
    name: Required[Annotated[Expression, Field(description="What an item is called there; sees `item` and `was`.")]]


class BulkRead(Shape, total=False):
    """What has to be known of a batch before its request can be built. Sees `batch`."""

    call: Required[OperationId]
    args: Args


class Bulk(Shape, total=False):
    """The service's own operation for many items, in the place of the steps for each.

    Where the service refuses such a request, the items are done one by one.
    """

    read: Annotated[BulkRead, Field(description="Asked before each request; its answer is seen as `read`.")]
    items: Annotated[
        ListExpression,
        Field(description="Those of the batch that the request takes; the others are done one by one."),
    ]

    when: Annotated[Expression, Field(description="Only where this is true.")]
    above: Annotated[int, Field(ge=1, description="Only for more items than these. Default: 1.")]
    size: Required[Annotated[int, Field(ge=1, description="How many items one request takes, seen as `batch`.")]]
    call: Required[OperationId]
    args: Args
    body: Value
    task: Annotated[Task, Field(description="What to wait for. Default: it is done when it is answered.")]


class Plan(Shape, total=False):
    """What a person is shown before the items are changed, and asked about."""

    when: Annotated[Expression, Field(description="Only asked where this is true.")]
    question: Required[Annotated[Words, Field(description="The question; sees total.")]]
    sample: Annotated[ListExpression, Field(description="A list with a text or a row of texts for each item.")]


# Shapes of changes to things that have versions: what is no change, and what somebody else changed meanwhile.


class OnConflict(Shape, total=False):
    """What happens when a change is refused because the thing is no longer what was read.

    The step that read it runs again. When `unchanged` is then what it was, the change is sent once more on top of the
    new state; otherwise the command fails with `fail`, which sees the new state, and `who` if `call` found it.
    """

    step: Required[Annotated[str, Field(description="The `as` of the step that read it.")]]
    unchanged: Required[Annotated[Expression, Field(description="Of what was read: what must not have changed.")]]
    call: Annotated[OperationId, Field(description="Operation that names who changed it.")]
    args: Args
    who: Annotated[Expression, Field(description="The name in the answer of `call`.")]
    fail: Required[Template]


class UnlessSame(Shape, total=False):
    """Nothing is sent where the request would say what was read: its answer is then what was read."""

    step: Required[Annotated[str, Field(description="The `as` of the step that read it.")]]
    body: Required[
        Annotated[
            dict[str, Value],
            Field(description="What the body is where nothing is to be changed; sees what would be sent as `asked`."),
        ]
    ]
    apart: Annotated[list[str], Field(description="Keys of the body that are not compared: its next version.")]
    note: Annotated[Words, Field(description="Said instead; where that is nothing, nothing is said.")]


# Shapes of what a command does: lookups, steps, and values typed by what the service says about a field.


Code = Annotated[
    Literal["error", "usage", "not_found", "conflict", "not_allowed"],
    Field(description="What kind of failure it is; it sets the exit code. Default: usage."),
]


UrlPattern = Annotated[
    str, pattern_key(description="Regular expression over a URL's path and query; group 1 is the id.", groups=1)
]


class Link(Shape, total=False):
    """An address that names a thing otherwise than by its id."""

    url: Required[UrlPattern]
    word: Required[
        Annotated[
            Expression, seeing_names("word"), Field(description="What one would write instead; sees what `url` found.")
        ]
    ]


class KeywordDefinition(Shape, total=False):
    """A word with a meaning of its own, such as `me`. Without `call` its value is null: nobody, nothing."""

    call: OperationId
    args: Args
    value: Annotated[Expression, Field(description="Of the answer. Default: the answer itself.")]


class Suggest(Shape, total=False):
    """The words that a shell is offered for it. They are asked for in the background and kept for a while.

    What is not said is the lookup's own. Expressions in `args` see the command's other parameters.
    """

    call: OperationId
    args: Args
    items: Annotated[
        ItemsExpression,
        Field(description="The things in the answer. Default: as the operation pages."),
    ]
    where: Annotated[Expression, Field(description="Things for which this is not true are left out.")]
    word: Annotated[Expression, Field(description="What is typed. Default: the label, where the lookup matches that.")]
    label: Annotated[Expression, Field(description="What explains it.")]


class LookupHere(Shape, total=False):
    """What a lookup's table may say differently for one deployment."""

    call: OperationId
    args: Args
    every: Args
    items: ItemsExpression
    where: Expression
    match: list[Expression]
    value: Expression
    label: Expression
    pattern: Annotated[str, pattern_key(description="Regular expression: such a word is the id, or its group `id` is.")]
    urls: list[UrlPattern]
    links: list[Link]
    sole: AnyExpression
    mention: Template
    partial: bool
    keywords: dict[str, KeywordDefinition]
    suggest: Suggest


class LookupDefinition(LookupHere, total=False):
    """A person's word → the id that the service wants.

    A word is a keyword, or fits `pattern` and is taken as it is, or is an address of the site that one of `urls`
    finds the id in, or is compared with the candidates that `call` answers. Expressions in `args` see the command's
    parameters, the earlier ones as they were found and the later ones as they were typed, and the word as `word`; the
    others see one candidate.
    """

    title: Annotated[
        str, Field(description="What it finds, as in `no board matches ...`. Default: that of the resource.")
    ]
    call: OperationId
    args: Args
    every: Annotated[
        dict[str, Value],
        Field(description="Arguments with which all candidates come, for a menu."),
    ]
    items: Annotated[
        ItemsExpression,
        Field(description="The candidates in the answer. Default: as the operation pages."),
    ]
    where: Annotated[Expression, Field(description="Candidates for which this is not true are left out.")]
    match: Annotated[
        list[Expression],
        Field(min_length=1, description="Compared with the word in turn, ignoring case. Default: `value`."),
    ]
    value: Annotated[Expression, Field(description="What replaces the word.")]
    label: Annotated[Expression, Field(description="How a candidate is named when none, or several, match.")]
    pattern: Annotated[str, pattern_key(description="Regular expression: such a word is the id, or its group `id` is.")]
    urls: Annotated[
        list[UrlPattern], Field(description="Where the path and query of an address of the site have the id.")
    ]
    links: Annotated[list[Link], Field(description="Where it has another name, such as short links.")]
    sole: Annotated[
        AnyExpression, Field(description="Sees it and `word`; where true, an only candidate needs no match.")
    ]
    mention: Annotated[
        Template, seeing_names("value", "name"), Field(description="How Markdown mentions what was found.")
    ]
    partial: Annotated[
        bool, Field(description="In commands that only read, a part of a name will do where one candidate has it.")
    ]
    keywords: dict[str, KeywordDefinition]
    hint: Annotated[str, Field(description="What to do when nothing matches.")]
    suggest: Annotated[Suggest, Field(description="The words that a shell is offered. Default: what `call` lists.")]
    on: Annotated[dict[str, LookupHere], keyed_by("deployment", description="Deployment → what differs there.")]


class ListedWords(LookupDefinition, total=False):
    """A lookup as it lists words for a shell, with what its `suggest` says: nobody writes it, the engine reads it."""

    word: Expression


class NamingDefinition(Shape, total=False):
    """How ids in a table become the names that people know them by.

    After the items came, one `call` asks for up to `size` ids; an id that it does not tell stays as it is.
    """

    call: Required[OperationId]
    args: Annotated[dict[str, Value], seeing_names("ids"), Field(description="The operation's parameters; sees `ids`.")]
    body: Annotated[Value, seeing_names("ids"), Field(description="Its body; sees `ids`.")]
    size: Required[Annotated[int, Field(ge=1, description="How many ids one call takes.")]]
    pattern: Required[Annotated[str, pattern_key(description="Regular expression: only such values are ids.")]]
    items: Annotated[
        ItemsExpression,
        Field(description="The things in the answer. Default: as the operation pages."),
    ]
    id: Required[Annotated[ScalarExpression, Field(description="The id of one of them.")]]
    name: Required[Annotated[ScalarExpression, Field(description="Its name.")]]


class TextCase(Shape, total=False):
    """How the text of one kind of field is sent. Expressions see `text`, and the field as `field`."""

    when: Annotated[Expression, Field(description="Over the field; the first case that is true counts.")]
    split: Annotated[bool, Field(description="The text is a list, separated by commas.")]
    lookup: Annotated[str, reference_to("lookup", description="Resolves the text first.")]
    convert: Annotated[Template, named_in("converter", description="What the text is sent as; `@file` is read.")]
    example: Annotated[dict[str, Any], Field(description="A field of this kind; no earlier case may be true for it.")]
    value: Annotated[Value, Field(description="What is sent. Default: the text.")]
    takes: Annotated[str, Field(description="Said of a text that does not fit: `expected a number`.")]


class Assignment(Shape, total=False):
    """`NAME=VALUE` words, typed by what the service says about the field of that name."""

    lookup: Required[Annotated[str, reference_to("lookup", description="Finds the field by its name.")]]
    cases: Required[Annotated[list[TextCase], Field(min_length=1)]]


class Batch(Shape, total=False):
    """One step for many things: it runs for each group of at most `size`, which is seen as `as`."""

    items: Required[Annotated[ListExpression, Field(description="The list.")]]
    size: Required[Annotated[int, Field(ge=1)]]
    done: Required[Annotated[Template, Field(description="The message when it fails half-way; sees done and total.")]]


Binding = Annotated[
    str | dict[Name, Expression],
    Field(description="What its answer is called further down; a table names several parts of it by expressions."),
]


# `as` is a keyword of Python, so this key cannot stand in a class body.
Bound = TypedDict("Bound", {"as": Binding}, total=False)


class Action(Shape, total=False):
    """One call of an operation."""

    call: OperationId
    args: Args
    body: Value
    over: Annotated[
        list[Annotated[Value, giving("object")]],
        Field(description="Laid over the body in turn, table by table; null is nothing."),
    ]
    files: Annotated[Value, Field(description="Paths of files to send.")]
    save: Annotated[Words, file_path(description="Write the answer's bytes to this file.", is_template=True)]
    hold: Annotated[
        Words, Field(description="Keep the answer's bytes for `files` of later steps, as a file of this name.")
    ]
    limit: Annotated[Value, giving("number"), Field(description="How many of its items are read. Default: one page.")]
    value: Annotated[
        Expression,
        Field(
            description="Of the answer. Default: the answer itself, or its items. Without `call`: what `as` stands for."
        ),
    ]
    batch: Batch
    on_conflict: OnConflict
    unless_same: UnlessSame


class Edit(Shape, total=False):
    """Rich text as Markdown that can be edited and given back.

    Without `text` the answer is the Markdown. With it, it is the source with the changes of that text: what the text
    did not touch stays as it is in the source.
    """

    of: Required[
        Annotated[Value, Field(description="The source: a text or a document. Empty: none yet. Null is a failure.")]
    ]
    format: Required[Annotated[str, Field(description="Its rich-text format: storage, adf or wiki.")]]
    section: Annotated[Value, Field(description="Only the part below this heading.")]
    text: Annotated[Value, Field(description="The edited Markdown.")]
    images: Annotated[Value, Field(description="Name of an image beside the text → its address. Default: none.")]
    since: Annotated[Value, Field(description="The source that the text was made from. Null: it is that of `of`.")]
    merge: Annotated[Value, Field(description="Put the changes since then and those of the text together.")]
    fail: Annotated[Template, Field(description="Without `merge`, where there are changes since then: the error.")]
    hint: Annotated[Template, Field(description="With `fail`: what to do about it.")]


class Find(Shape, total=False):
    """A word that is looked up while the steps are taken, where it means something else for each thing."""

    lookup: Required[Annotated[str, reference_to("lookup", description="Finds it; sees what the steps have named.")]]
    word: Required[Annotated[Template, Field(description="The word. The answer has its `value` and its `name`.")]]


class ItemStep(Bound, Action, total=False):
    """One thing that is done: a `call`, an `edit`, a `find`, a `value`, a `confirm`, a `note`, a `fail`.

    Or several that other commands do, too: `use`, which stands alone.
    """

    use: Annotated[str, reference_to("steps", description="The shared steps that are taken here.")]
    when: Annotated[Expression, Field(description="It is left out where this is not true.")]
    tolerate: Annotated[Words, Field(description="A failure is only noted, with this text; sees error.")]
    edit: Edit
    find: Find
    confirm: Annotated[Words, Field(description="Ask before going on; `--yes` agrees.")]
    fail: Annotated[Words, Field(description="End with this error.")]
    hint: Annotated[Template, Field(description="With `fail`, or where the call fails: what to do; sees error then.")]
    code: Code
    candidates: Annotated[
        str, reference_to("lookup", description="With `fail`: where something is missing, what there is is listed.")
    ]
    note: Annotated[Words, Field(description="Say this beside the result.")]


class Each(Shape, total=False):
    """Steps for every item of a list. Where one fails, the others go on, and the command tells of it at the end.

    Several are under way at once where each operation may be repeated by its method.
    """

    items: Required[Annotated[ListExpression, Field(description="The list.")]]
    item: Annotated[Name, Field(description="What an item is called in its steps. Default: item.")]
    name: Annotated[Expression, Field(description="Of an item: how errors name it. Default: its key, name or id.")]
    step: Required[Annotated[list[ItemStep], Field(min_length=1, description="What is done for one item, in order.")]]
    result: Annotated[Value, Field(description="What an item is in the result. Default: its last answer.")]
    done: Required[Annotated[Template, Field(description="The message when some failed; sees done and total.")]]
    bulk: Bulk
    plan: Annotated[Plan, Field(description="Shown and asked before the first item; `--yes` agrees.")]
    keep: Annotated[Keep, Field(description="What an item was is kept, and seen by `undo`.")]
    undo: Annotated[
        list[ItemStep],
        Field(min_length=1, description="What puts an item back; sees what it was as `was`. Default: the snapshot's."),
    ]


class Undoing(Shape, total=False):
    """What puts a thing back."""

    undo: Annotated[
        list[ItemStep],
        Field(
            min_length=1,
            description="What puts a thing back, unless the command says it: sees its id as `thing`, and what it was "
            "as `was`.",
        ),
    ]


_State = Annotated[Expression, Field(description="What is kept of a thing, seen as `found`.")]


class SnapshotHere(SnapshotRequest, Undoing, total=False):
    """What a snapshot's table may say differently for one deployment."""

    call: OperationId
    state: _State


class SnapshotDefinition(SnapshotRequest, Undoing, total=False):
    """What things are before they are changed, as a later change can send it back.

    `args` and `body` see the things that are asked for as `ids`, and what the command hands over in `args` of `keep`;
    `state` sees the latter and one thing of the answer as `found`.
    """

    call: Required[OperationId]
    state: Required[_State]
    on: Annotated[dict[str, SnapshotHere], keyed_by("deployment", description="Deployment → what differs there.")]


class SharedSteps(Shape, total=False):
    """Steps that several commands have in common; each says where they stand by `use`.

    They see what the command has named before, and it sees what they name.
    """

    step: Required[Annotated[list[ItemStep], Field(min_length=1, description="What is done, in order.")]]


class StepDefinition(ItemStep, total=False):
    """One thing a command does: what is done for an item too, or steps for `each` item of a list."""

    each: Each
    more: Annotated[Words, Field(description="Noted where there are more items than were read; sees total.")]


_CALL_ONLY = (
    *("args", "body", "over", "files", "save", "hold", "limit", "batch", "on_conflict", "unless_same", "tolerate"),
)

_OF_A_STEP = (
    *(KeyRule(key, needs=("call",)) for key in _CALL_ONLY),
    KeyRule("value", needs=("call", "as")),
    KeyRule("hint", needs=("fail", "call")),
    KeyRule("code", needs=("fail",)),
    KeyRule("candidates", needs=("fail",)),
    KeyRule("save", without=("value", "limit", "on_conflict")),
    KeyRule("hold", needs=("call", "as"), without=("save", "value", "limit", "on_conflict")),
    KeyRule("on_conflict", without=("batch",)),
    KeyRule("unless_same", needs=("body",), without=("batch",)),
)

# A rule holds wherever a table of that shape stands.
RULES: Rules = {
    "StepDefinition": (
        *_OF_A_STEP,
        KeyRule("as", needs=("call", "edit", "find", "value", "each")),
        KeyRule("more", needs=("call", "as"), without=("batch",)),
    ),
    "ItemStep": (*_OF_A_STEP, KeyRule("as", needs=("call", "edit", "find", "value"))),
    "TextCase": (KeyRule("convert", without=("lookup", "value", "split")),),
    "KeywordDefinition": (KeyRule("args", needs=("call",)), KeyRule("value", needs=("call",))),
    "Each": (KeyRule("undo", needs=("keep",)),),
    "OnConflict": (KeyRule("who", needs=("call",)), KeyRule("args", needs=("call",))),
}

KINDS: dict[str, Any] = {"assignment": Assignment, "steps": SharedSteps}
