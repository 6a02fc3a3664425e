"""Shapes of a simulated site: its entities, what their operations do, the languages that they are searched with."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field

from .base import (
    AnyExpression,
    Expression,
    HeaderName,
    HelpText,
    KeyRule,
    ListExpression,
    Rules,
    Shape,
    Template,
    Value,
    keyed_by,
    reference_to,
    seeing_names,
)
from .listener import Duration

Entity = Annotated[str, reference_to("entity", description="A entity of the sandbox.")]


class Refusal(Shape, total=False):
    """An answer that is an error, written as the product of the operation writes its errors."""

    status: Required[Annotated[int, Field(ge=400, le=599)]]
    message: Annotated[Template, Field(description="What is wrong.")]
    fields: Annotated[dict[str, Template], Field(description="What is wrong with which field.")]


class EntitySearch(Shape, total=False):
    """Something that a request names: it is there, or the request is refused."""

    entity: Required[Entity]
    by: Annotated[Expression, Field(description="Its id or another name of it; of a list, the first given.")]
    several: Annotated[bool, Field(description="All that `by` names, as a list; without `by` all that there are.")]
    where: Annotated[AnyExpression, Field(description="True of it, or it counts as not there; sees it as `item`.")]
    optional: Annotated[
        bool, Field(description="Null where the request names none; without `missing` also where it is not there.")
    ]
    missing: Annotated[Refusal, Field(description="The answer where it is not there.")]


class Check(Shape, total=False):
    """A condition on the request."""

    unless: Required[Expression]
    fail: Required[Refusal]


class Change(Shape, total=False):
    """One change of the state. It has one of the verbs `create`, `patch`, `delete` and `run`."""

    when: Annotated[Expression, Field(description="The change is left out where this is not true.")]
    each: Annotated[
        ListExpression,
        Field(description="The change is made for every item of this list, seen as `entry`."),
    ]
    create: Annotated[Entity, Field(description="A new item of this entity.")]
    patch: Annotated[Expression, Field(description="The item, or the items, to change.")]
    delete: Annotated[Expression, Field(description="The item, or the items, to take away, with what belongs to it.")]
    run: Annotated[str, reference_to("engine:behavior", description="What no definition can say.")]
    to: Annotated[Value, Field(description="The new item's members, or those that change; null is left out.")]
    clear: Annotated[AnyExpression, Field(description="Names of members to remove.")]
    entity: Annotated[Entity, Field(description="What `patch` and `delete` name by id or name belongs to it.")]
    name: Annotated[str, Field(description="How later expressions see the item: by default as `made`.")]


class Listing(Shape, total=False):
    """Several items, a page of them."""

    entity: Required[Entity]
    where: Annotated[Expression, Field(description="Only these; sees each as `item`.")]
    of: Annotated[AnyExpression, Field(description="Only those that belong to the item with this id.")]
    only: Annotated[ListExpression, Field(description="Only those with these ids, in this order.")]
    sort: Annotated[Expression, Field(description="What they are sorted by; sees each as `item`.")]
    descending: Annotated[AnyExpression, Field(description="True: the last one first.")]
    query: Annotated[Expression, Field(description="Conditions in the entity's own language; null for none.")]
    view: Annotated[str, Field(description="How each is shown.")]
    whole: Annotated[bool, Field(description="All of them, in no pages.")]
    envelope: Annotated[
        Value, Field(description="The object around a page: sees items, start, size, count, total, last.")
    ]
    headers: Annotated[dict[HeaderName, Template], Field(description="What the headers say of the page; not null.")]


class ChangeEvent(Shape, total=False):
    """What listeners are told of a change."""

    name: Required[str]
    shows: Annotated[
        list[str], Field(description="What it shows in full: names of `find`, or the entity of the changed item.")
    ]


class Repeat(Shape, total=False):
    """Another operation, once for each of several entries; later expressions see `answers`, and what `failed`."""

    operation: Required[Annotated[str, reference_to("operation", description="What is done.")]]
    each: Required[Annotated[ListExpression, Field(description="The bodies of the requests.")]]


class Case(Shape, total=False):
    """What an action does otherwise, under a condition."""

    when: Annotated[Expression, Field(description="The first case of which this is true counts.")]
    check: list[Check]
    do: list[Change]
    list: Listing
    view: str
    shown: Expression
    reply: Value
    file: Expression
    status: Annotated[int, Field(ge=200, le=399)]


class ActionHere(Shape, total=False):
    """What an operation does to the state, and what it answers."""

    find: Annotated[
        dict[str, EntitySearch], Field(description="What the request names, by the name that expressions use.")
    ]
    check: Annotated[list[Check], Field(description="What must be so, before anything changes.")]
    cases: Annotated[list[Case], Field(description="What it does otherwise, according to what was found.")]
    repeat: Annotated[Repeat, Field(description="What it does with several entries.")]
    do: Annotated[list[Change], Field(description="The changes, in order.")]
    list: Annotated[Listing, Field(description="It answers a list.")]
    view: Annotated[str, Field(description="It answers `shown` in this view.")]
    shown: Annotated[Expression, Field(description="The item that is answered: by default `made` or `item`.")]
    reply: Annotated[Value, Field(description="It answers this.")]
    file: Annotated[Expression, Field(description="It answers the content of this uploaded file.")]
    only: Annotated[dict[str, Expression], Field(description="Of an object in the answer only these members are kept.")]
    status: Annotated[int, Field(ge=200, le=399)]
    event: Annotated[ChangeEvent, Field(description="The event that webhooks are sent.")]


class QueryField(Shape, total=False):
    """What a field of a query compares."""

    value: Annotated[Expression, Field(description="The item's value or values: ids and names that it answers to.")]
    kind: Annotated[
        Literal["name", "text", "number", "date", "key", "query"],
        Field(description="How it compares; by default as a name. A query is kept in the member `value` of `entity`."),
    ]
    sort: Annotated[Expression, Field(description="What it sorts by; by default the first of its values.")]
    entity: Annotated[Entity, Field(description="What its values are: other words are refused.")]
    history: Annotated[str, Field(description="The member whose earlier values `was` and `changed` look at.")]
    like: Annotated[str, Field(description="It is another name of this field.")]


class EntityQuery(Shape, total=False):
    """How a entity is searched."""

    language: Required[Annotated[str, reference_to("query", description="The language of the conditions.")]]
    fields: Required[Annotated[dict[str, QueryField], Field(description="Its fields, by the names in lower case.")]]
    sort: Annotated[str, Field(description="The field that sorts where the query names none.")]


class ChildItems(Shape, total=False):
    """Items of another entity that belong to an item."""

    entity: Required[Entity]
    view: str


class Identity(Shape, total=False):
    """How a new item gets its id."""

    kind: Required[Literal["number", "text-number", "hex", "uuid", "given"]]
    start: Annotated[int, Field(ge=0, description="The first number.")]
    value: Annotated[Template, Field(description="The id, where a new item brings it along.")]
    member: Annotated[str, Field(description="Where an item shows its id, and may bring it along: by default `id`.")]


class EntityHere(Shape, total=False):
    """What a entity's table may say differently for one deployment."""

    id: Identity
    names: list[Expression]
    refs: dict[str, Entity]
    children: dict[str, ChildItems]
    takes: list[str]
    views: dict[str, Value]
    new: dict[str, Value]
    history: list[str]
    query: EntityQuery
    actions: Annotated[dict[str, ActionHere], keyed_by("operation", description="What its operations do.")]
    seed: list[dict[str, Any]]


class EntityDefinition(Shape, total=False):
    """A kind of thing that a simulated site keeps."""

    product: Required[Annotated[str, reference_to("product", description="The product it belongs to.")]]
    schema: Annotated[
        str,
        reference_to("schema", description="Bodies of requests are checked; what a new item lacks of it is made up."),
    ]
    id: Annotated[Identity, Field(description="By default numbers, written as text.")]
    names: Annotated[list[Expression], Field(description="What else a request may call an item by, besides its id.")]
    refs: Annotated[
        dict[str, Entity], Field(description="Members that hold ids of other items: views see those items, shown.")
    ]
    children: Annotated[
        dict[str, ChildItems], Field(description="What views see under a name: items that belong to it (`of`).")
    ]
    takes: Annotated[list[str], Field(description="Of `refs`, those whose items go when this one is deleted.")]
    views: Annotated[dict[str, Value], Field(description="How an item is answered; `brief` where it is referred to.")]
    new: Annotated[dict[str, Value], Field(description="What every new item has, unless it says otherwise.")]
    history: Annotated[list[str], Field(description="Members whose changes are kept.")]
    query: EntityQuery
    actions: Annotated[dict[str, ActionHere], keyed_by("operation", description="What its operations do.")]
    seed: Annotated[list[dict[str, Any]], Field(description="The items that a new site starts with.")]
    on: Annotated[dict[str, EntityHere], keyed_by("deployment", description="What is different on a deployment.")]


class WebhookSignature(Shape, total=False):
    """How an event is signed with the secret that its receiver knows: the whole body, in hexadecimal."""

    header: Required[HeaderName]
    algorithm: Required[Literal["sha1", "sha256", "sha512"]]
    prefix: str


class WebhookDefinition(Shape, total=False):
    """How a product sends events."""

    headers: Annotated[
        dict[HeaderName, Template],
        seeing_names("id", "retry"),
        Field(description="Sees the event's id, and in retry how often it was tried."),
    ]
    signature: WebhookSignature
    again: Annotated[
        Expression,
        seeing_names("status"),
        Field(description="Whether it is tried again: sees status, null without an answer."),
    ]
    retries: Annotated[int, Field(ge=0, description="How often it is tried again.")]
    wait: Annotated[
        Duration, Field(description="The time before the first further try; twice as long before each other.")
    ]


class OtherTexts(Shape, total=False):
    """Rich texts that have another format below another base path than items have it."""

    kept: Required[Annotated[Literal["adf", "storage", "wiki"], Field(description="The format that items keep.")]]
    shown: Required[Annotated[Literal["storage", "wiki"], Field(description="The format of requests and answers.")]]
    where: Required[Annotated[Expression, Field(description="Whether a table of an answer is a rich text.")]]
    members: Required[Annotated[list[str], Field(description="Where bodies hold them, such as `fields.description`.")]]


class OtherBase(Shape, total=False):
    """What is different below another base path."""

    texts: OtherTexts


_OF_AN_ERROR = seeing_names("status", "message", "fields", "site", "path")
_OF_A_LIMIT = seeing_names("seconds", "limit", "reset")


class SimulationHere(Shape, total=False):
    """What a simulation's table may say differently for one deployment."""

    error: Annotated[Value, _OF_AN_ERROR]
    unknown: Annotated[Value, _OF_AN_ERROR]
    other_bases: dict[str, OtherBase]
    limited: Annotated[dict[HeaderName, Template], _OF_A_LIMIT]
    limited_page: Annotated[Template, _OF_A_LIMIT]
    event: Value
    webhook: WebhookDefinition
    me: Entity
    pages: Annotated[dict[str, Value], keyed_by("paginator", description="The object around a page.")]


class SimulationDefinition(Shape, total=False):
    """How the operations of a product answer what has nothing to do with one entity."""

    error: Required[
        Annotated[
            Value, _OF_AN_ERROR, Field(description="The body of an error: sees status, message, fields and site.")
        ]
    ]
    unknown: Annotated[
        Value,
        _OF_AN_ERROR,
        Field(description="The body of a 404 of a path that no operation has: by default an error; sees path, too."),
    ]
    other_bases: Annotated[
        dict[str, OtherBase], Field(description="Base paths that its operations answer at besides the product's own.")
    ]
    limited: Annotated[
        dict[HeaderName, Template],
        _OF_A_LIMIT,
        Field(description="Headers of a 429, unless empty: sees seconds, limit and reset."),
    ]
    limited_page: Annotated[
        Template, _OF_A_LIMIT, Field(description="The page (HTML) of a 429, where that is what it has.")
    ]
    event: Annotated[Value, Field(description="The body of a webhook: sees name, shown, user, millis, me and now.")]
    webhook: WebhookDefinition
    me: Annotated[Entity, Field(description="The entity of people: a request comes from one of them.")]
    pages: Annotated[
        dict[str, Value],
        keyed_by(
            "paginator",
            description="The object around a page: sees items, start, size, count, total, last, next, after, link.",
        ),
    ]
    on: Annotated[dict[str, SimulationHere], keyed_by("deployment", description="What is different on a deployment.")]


class QueryFunction(Shape, total=False):
    """A function of a query language. It has either `value`, `entity` or `edge`."""

    value: Annotated[Expression, Field(description="Its value: sees arguments, me and now.")]
    entity: Annotated[Entity, Field(description="Its values are the names of these.")]
    where: Annotated[Expression, Field(description="Only these; sees each as `item`, and arguments.")]
    names: Annotated[Expression, Field(description="What of each: by default the id.")]
    edge: Annotated[Literal["start", "end", "now"], Field(description="A moment: where a unit of time starts or ends.")]
    unit: Literal["day", "week", "month", "year"]


class QueryDefinition(Shape, total=False):
    """A language of conditions that a service searches with."""

    title: Required[HelpText]
    reserved: Annotated[list[str], Field(description="Words that must stand in quotation marks.")]
    numbered: Annotated[str, Field(description="The word that names a field by its number, in brackets.")]
    functions: Annotated[dict[str, QueryFunction], Field(description="By their names in lower case.")]
    names: Annotated[list[str], Field(description="Of fields: what a misspelt one is compared with.")]
    words: Annotated[str, reference_to("lookup", description="Lists the names of a site's fields and functions.")]
    values: Annotated[
        str, reference_to("lookup", description="Lists the values of a `field` that begin as `start` does.")
    ]
    errors: Annotated[
        dict[Literal["syntax", "field", "value", "function", "operator"], Template],
        seeing_names("message", "field", "value", "function", "operator"),
        Field(description="The text of errors: sees message, field, value, function and operator."),
    ]


KINDS: dict[str, Any] = {
    "entity": EntityDefinition,
    "simulation": SimulationDefinition,
    "query": QueryDefinition,
}

_VERBS = ("create", "patch", "delete", "run")
RULES: Rules = {
    "Change": tuple(KeyRule(verb, without=tuple(other for other in _VERBS if other != verb)) for verb in _VERBS),
    "QueryField": (KeyRule("like", without=("value", "kind", "sort", "entity", "history")),),
    "QueryFunction": (
        KeyRule("edge", without=("value", "entity")),
        KeyRule("edge", ("start", "end"), needs=("unit",)),
        KeyRule("value", without=("entity",)),
        KeyRule("unit", needs=("edge",)),
        *(KeyRule(key, needs=("entity",)) for key in ("where", "names")),
    ),
}
