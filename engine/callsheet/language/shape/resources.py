"""Shapes of a resource: what is known of one kind of thing, and where it is shown in the browser."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field

from .agents import AgentsTable
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
    fitting,
    keyed_by,
    pattern_key,
    reference_to,
    seeing_names,
)
from .steps import LookupDefinition, NamingDefinition, SnapshotDefinition

# Shapes of web addresses: where things of a site are shown in the browser.


class AddressHere(Shape, total=False):
    """What an address's table may say differently for one deployment."""

    pattern: Annotated[str, pattern_key(description="Regular expression: a word that matches means the thing.")]
    url: Annotated[Template, seeing_names("word")]


class AddressDefinition(Shape, total=False):
    """Where a thing of a site is shown in the browser."""

    title: Annotated[str, Field(description="What it is called where words are listed. Default: that of the resource.")]
    pattern: Annotated[
        str, pattern_key(description="Regular expression: a word that matches means the thing. Default: no word does.")
    ]
    service: Required[Annotated[str, reference_to("service", description="Whose address it is below.")]]
    url: Required[Annotated[Template, seeing_names("word"), Field(description="Path and query; sees `word`.")]]
    on: Annotated[dict[str, AddressHere], keyed_by("deployment", description="Deployment → what differs there.")]


# The shape of a resource: what is known of one kind of thing, in one place.


MadeBy = Annotated[
    list[OperationId],
    Field(description="Other operations that make one, such as a copy, and answer it: `undo` removes that, too."),
]
Parents = Annotated[
    dict[str, AnyExpression],
    keyed_by(
        "resource",
        description="Resource that a thing belongs to → where a thing has its id. The first is the one under which "
        "things are listed.",
    ),
]


class ResourceCall(Shape, total=False):
    """One call about one thing.

    Its expressions see the ids of its parents by their resources (`_` for `-`) and `site`; of a thing that is there
    its `id` too, and the thing as it was read as `found`.
    """

    call: Required[OperationId]
    args: Args
    body: Annotated[Value, Field(description="Of `create` and `update`, default: `{fields}`, what is given.")]


class ResourceUpload(ResourceCall, total=False):
    """The call that makes a thing. Its expressions see what is given as `fields`, and the paths of files as `files`."""

    files: Annotated[Value, Field(description="Paths of files to send, for what is a file.")]


class ResourceRead(ResourceCall, total=False):
    value: Annotated[Expression, Field(description="The thing in the answer. Default: the answer itself.")]


class ResourceList(Shape, total=False):
    """All things under one parent, or all of the site.

    `args` and `body` see the ids of the parents, `since` (what changed later, as `changed` writes it) and `query` (a
    condition that a person gave); what is not given is null.
    """

    call: OperationId
    args: Args
    body: Value
    ids: Annotated[Args, Field(description="Laid over `args` where nothing but ids and parents is wanted.")]
    inside: Annotated[
        ListExpression, Field(description="Without `call`: the list in the first parent, as that is read.")
    ]
    items: Annotated[
        ItemsExpression,
        Field(description="The things in the answer. Default: as the operation pages."),
    ]
    where: Annotated[Expression, Field(description="Things for which this is not true are left out.")]


class ResourceChanged(Shape, total=False):
    """When a thing was changed last: what was read before need not be read again."""

    at: Required[Annotated[ScalarExpression, Field(description="The time, in a thing.")]]
    format: Annotated[
        str,
        Field(
            description="How `list` gets it as `since`, in the letters of strftime, in UTC; `%s`: seconds since 1970. "
            "Default: ISO 8601."
        ),
    ]
    oldest_first: Annotated[
        bool,
        Field(description="`list` has what was changed first in front, so that one that was cut off can be continued."),
    ]
    newest_first: Annotated[
        bool,
        Field(
            description="`list` has what was changed last in front where it sees `since`: what is older is not read."
        ),
    ]
    margin: Annotated[
        str,
        fitting(r"^\d+(s|m|h|d)$", "a whole number and a unit: 30s, 1m, 2h, 1d"),
        Field(
            description="How much earlier is asked for: what the service rounds, and how much its zone may differ. "
            "Default: 1m.",
        ),
    ]


class ResourceOrder(ResourceCall, total=False):
    """The place of a thing among others with the same parent.

    The call puts a thing behind or before another one: its expressions see the id of that as `after` or `before`; the
    other of the two is null.
    """

    at: Required[
        Annotated[NumberExpression, Field(description="A number that grows from one to the next, in a thing.")]
    ]


class ResourceBody(Shape, total=False):
    """The rich text of a thing."""

    field: Required[Annotated[Name, Field(description="Which of `fields` it is.")]]
    format: Required[Annotated[Template, Field(description="Its format: storage, adf or wiki; sees `site`.")]]


class ResourceBase(Shape, total=False):
    """Where it is kept at a thing what was applied of its file: as the value of a property, which is a thing, too."""

    resource: Annotated[str, reference_to("resource", description="The properties, whose fields are key and value.")]
    name: Annotated[str, Field(description="The key.")]
    list: Annotated[
        ResourceList,
        Field(description="Answers all things with their property; sees the first parent as it was read as `within`."),
    ]
    of: Annotated[ScalarExpression, Field(description="The thing's id, in an item of that list.")]
    found: Annotated[Expression, Field(description="The property, in an item of that list.")]
    tags: Annotated[
        dict[Name, Expression],
        Field(description="One of the resource's `tags` → their names, in an item of that list."),
    ]
    parts: Annotated[
        dict[Name, Expression],
        Field(description="One of the resource's `parts` → the thing as it is read, in an item of that list."),
    ]


class Removed(Shape, total=False):
    """What is not there on a deployment."""

    remove: Required[Literal[True]]


Names = list[Name]  # a key of the shapes below is called like the type

_Referred = Annotated[str, reference_to("resource", description="Of this the field has an id.")]
_Fields = Annotated[
    list[Name] | dict[Name, Expression],
    Field(
        description="What can be given when a thing is made or changed, by the names that requests use; a table says "
        "where a thing as it was read has each, in the form that can be sent back."
    ),
]


class ResourceHere(Shape, total=False):
    """What a resource's table may say differently for one deployment."""

    id: ScalarExpression
    name: ScalarExpression
    parent: Parents
    view: Annotated[str, reference_to("view", description="The columns of a list.")]
    list: ResourceList
    read: ResourceRead
    create: ResourceUpload
    made_by: MadeBy
    update: ResourceCall
    delete: ResourceCall
    content: ResourceCall
    replace: ResourceUpload
    order: ResourceOrder
    fields: Names | dict[Name, Expression | Removed]
    fixed: Names
    changed: ResourceChanged
    version: NumberExpression
    body: ResourceBody
    base: ResourceBase
    refers: dict[Name, str | list[str] | Removed]
    hash: Name
    tags: dict[Name, str]
    parts: dict[Name, str]
    unavailable: Annotated[str, Field(description="Why there is no such thing there; calls fail locally.")]


class ResourceDefinition(Shape, total=False):
    """One kind of thing: how it is listed, read, made, changed and deleted, and what it is called."""

    title: Annotated[str, Field(description="What one is called. Default: the id in words.")]
    plural: Annotated[str, Field(description="What several are called. Default: with an s.")]
    help: Annotated[str, Field(description="What it is, in a few words.")]
    id: Annotated[ScalarExpression, Field(description="Where a thing has its id. Default: id.")]
    name: Annotated[ScalarExpression, Field(description="Where it has the name that people know it by.")]
    parent: Parents
    view: Annotated[str, reference_to("view", description="The columns of a list.")]
    list: ResourceList
    read: Annotated[ResourceRead, Field(description="Reads one by its id.")]
    create: ResourceUpload
    made_by: MadeBy
    update: Annotated[ResourceCall, Field(description="Changes one; sees what changes as `fields`, all as `whole`.")]
    delete: ResourceCall
    content: Annotated[ResourceCall, Field(description="The bytes of what is a file.")]
    replace: Annotated[ResourceUpload, Field(description="Puts other bytes into what is a file.")]
    order: ResourceOrder
    fields: _Fields
    fixed: Annotated[Names, Field(description="Those of `fields` that are given once and cannot be changed.")]
    changed: ResourceChanged
    version: Annotated[NumberExpression, Field(description="A number that each change makes greater, in a thing.")]
    body: ResourceBody
    base: ResourceBase
    tags: Annotated[
        dict[
            Name, Annotated[str, reference_to("resource", description="Of this each name is a thing below this one.")]
        ],
        Field(description="What a file may list by names → the resource of these, such as labels."),
    ]
    parts: Annotated[
        dict[Name, Annotated[str, reference_to("resource", description="The thing beside this one, with its id.")]],
        Field(
            description="What a file may say of a thing that calls of their own read and change, such as who may see "
            "it → its resource."
        ),
    ]
    refers: Annotated[
        dict[Name, _Referred | list[_Referred]],
        Field(
            description="Those of `fields` that name another thing → its resource; a file may say a word for it. "
            "Several resources: a table of them, each with its ids; a word with `RESOURCE:` in front is of that one, "
            "else of the first."
        ),
    ]
    hash: Annotated[Name, Field(description="Of what is a file: which of `fields` keeps the hash of its bytes.")]
    find: Annotated[LookupDefinition, Field(description="How a word that a person types becomes its id.")]
    names: Annotated[NamingDefinition, Field(description="How ids in a table become names.")]
    snapshot: Annotated[SnapshotDefinition, Field(description="What a thing is before a change, for `undo`.")]
    address: Annotated[AddressDefinition, Field(description="Where it is shown in the browser.")]
    agents: Annotated[AgentsTable, Field(description="Where agents can read it.")]
    on: Annotated[dict[str, ResourceHere], keyed_by("deployment", description="Deployment → what differs there.")]


_OF_A_LIST = (
    KeyRule("inside", without=("call", "args", "body", "ids", "items")),
    KeyRule("items", needs=("call",)),
)
RULES: Rules = {
    "ResourceList": _OF_A_LIST,
    "ResourceChanged": (KeyRule("oldest_first", (True,), without=("newest_first",)),),
    "ResourceDefinition": (
        KeyRule("fixed", needs=("fields",)),
        KeyRule("update", needs=("read",)),
        KeyRule("create", needs=("fields",)),
        KeyRule("body", needs=("fields",)),
        KeyRule("refers", needs=("fields",)),
        KeyRule("changed", needs=("list",)),
    ),
}
KINDS: dict[str, Any] = {"resource": ResourceDefinition}
