"""Shapes of what is done to many items: what is kept of them, the plan, the service's own bulk operations."""

from __future__ import annotations

from typing import Annotated, Required

from pydantic import Field

from .base import Args, Expression, Name, OperationId, Shape, Value, Words, reference


class SnapshotRequest(Shape, total=False):
    """How things are asked for."""

    args: Args
    body: Value
    size: Annotated[int, Field(ge=1, description="How many things one call takes. Default: 1.")]
    items: Annotated[Expression, Field(description="The things in the answer. Default: the answer is the only one.")]
    names: Annotated[Expression, Field(description="Of one of several things: the names that it may be given by.")]


class Keep(Shape, total=False):
    """What is read of an item before it is changed, and once more afterwards. It is kept in the journal."""

    snapshot: Required[Annotated[str, reference("snapshot", description="How it is read.")]]
    args: Annotated[dict[str, Value], Field(description="What the snapshot's expressions see by these names.")]


class KeepOne(Keep, total=False):
    """The same of a command that changes one thing: its steps are then taken as those for one item of a list."""

    of: Required[Annotated[Name, Field(description="The parameter that names the thing.")]]


class Task(Shape, total=False):
    """What a service goes on with after it has answered. Expressions see what `call` answers about it."""

    call: Required[OperationId]
    args: Annotated[dict[str, Value], Field(description="Sees the answer that began it as `started`.")]
    ended: Required[Annotated[Expression, Field(description="True when nothing more is done.")]]
    percent: Annotated[Expression, Field(description="How far it has come.")]
    done: Required[Annotated[Expression, Field(description="The list of items that were changed.")]]
    failed: Required[Annotated[Expression, Field(description="A table: item → why it was not changed.")]]
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
        Expression, Field(description="Those of the batch that the request takes; the others are done one by one.")
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
    sample: Annotated[Expression, Field(description="A list with a text or a row of texts for each item.")]
