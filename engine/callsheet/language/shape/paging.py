"""Shapes of how lists are read: page after page, or by the ids of their items."""

from __future__ import annotations

from typing import Annotated, Literal, Required

from pydantic import Field

from .base import Expression, Shape, Value, reference, seeing

_FETCHED = ("given",)
_OF_A_LIST = (*_FETCHED, "ids")


class PaginatorDefinition(Shape, total=False):
    """How the next page is asked for."""

    kind: Required[
        Annotated[
            str,
            reference(
                "engine:pagination",
                description="offset: a start index; array: the same over bare arrays, until one is empty; "
                "token: an opaque word out of the reply; link: the reply names the next page's URL; "
                "page: a page's number.",
            ),
        ]
    ]
    send: Annotated[str, Field(description="Parameter (query or body) that says where the page starts.")]
    size: Annotated[str, Field(description="Parameter (query or body) for the number of items a page.")]
    largest: Annotated[
        int, Field(ge=1, description="The length of a page where many are wanted, unless the operation allows less.")
    ]
    reads: Annotated[
        Literal["body", "headers"],
        Field(
            description="Where next, last and total are looked for: in the reply's body (default), or in its headers, "
            "by their lower-case names and, from a Link header, as links.next."
        ),
    ]
    first: Annotated[int, Field(ge=0, description="page: the number of the first page, if not 1.")]
    items: Annotated[list[str], Field(description="Keys the items usually stand under, likeliest first (importer).")]
    omits_empty: Annotated[
        bool,
        Field(description="A reply without items has no list: an import says so of each operation (importer)."),
    ]
    next: Annotated[Expression, Field(description="The next token or link in a reply; null ends.")]
    last: Annotated[Expression, Field(description="True in the reply of the last page.")]
    total: Annotated[Expression, Field(description="Number of all items, where the reply tells.")]
    root: Annotated[Expression, Field(description="What a relative link is relative to, where the reply tells.")]


class Count(Shape, total=False):
    """How many items a list has, where its pages do not tell. Expressions see the arguments of the list."""

    call: Required[Annotated[str, reference("operation", description="The operation that counts.")]]
    args: Annotated[dict[str, Value], seeing(*_FETCHED), Field(description="Its parameters.")]
    body: Annotated[Value, seeing(*_FETCHED), Field(description="Its body.")]
    value: Required[Annotated[Expression, Field(description="The number in its answer.")]]


class Ends(Shape, total=False):
    """How a list of ids is read from both ends at once, which halves a chain of pages that name the next one.

    Both orders must never change while a list is read, as that of ids.
    """

    when: Annotated[Expression, seeing(*_FETCHED), Field(description="Only where this is true of the arguments.")]
    forwards: Required[
        Annotated[
            dict[str, Value],
            seeing(*_FETCHED),
            Field(description="Arguments that sort. Where the list proves to have another order, it is read as usual."),
        ]
    ]
    backwards: Required[
        Annotated[dict[str, Value], seeing(*_FETCHED), Field(description="Arguments that sort the other way round.")]
    ]


class Fetch(Shape, total=False):
    """A long list in two parts: the ids of its items in long pages, then the items themselves, several calls at once.

    Used where more is wanted than one page. Expressions see the arguments of the list as `given`.
    """

    when: Annotated[Expression, seeing(*_FETCHED), Field(description="Only where this is true of the arguments.")]
    list: Required[
        Annotated[
            dict[str, Value],
            seeing(*_FETCHED),
            Field(description="Arguments in the place of those given, so that pages are long and hold little but ids."),
        ]
    ]
    id: Required[Annotated[Expression, Field(description="The id of an item, in both answers.")]]
    call: Required[Annotated[str, reference("operation", description="The operation that reads items by their ids.")]]
    size: Required[Annotated[int, Field(ge=1, description="How many ids one call takes.")]]
    args: Annotated[dict[str, Value], seeing(*_OF_A_LIST), Field(description="Its parameters; they see `ids` too.")]
    body: Annotated[Value, seeing(*_OF_A_LIST), Field(description="Its body; it sees `ids` too.")]
    items: Required[Annotated[Expression, Field(description="The items in its answer, in any order.")]]
    count: Annotated[Count, Field(description="How many items there are, for the progress bar.")]
    both_ends: Annotated[Ends, Field(description="How the ids are read from both ends of the list at once.")]


class Paging(Shape, total=False):
    """A paginator, and where this operation differs from it."""

    using: Required[Annotated[str, reference("paginator", description="The way of asking for the next page.")]]
    items: Annotated[
        Expression,
        Field(
            description="The items of one reply; absent: the reply itself. A reply without the list is an error, "
            'unless it says what stands for it, as in "values || `[]`".'
        ),
    ]
    send: str
    size: str
    next: Expression
    last: Expression
    total: Expression
    unique: Annotated[Expression, Field(description="What no two items share; one that comes again is left out.")]
    fetch: Annotated[Fetch, Field(description="How a long list is read faster than page by page.")]


class PagedOperation(Shape, total=False):
    """A paginator with what an operation says differently: nobody writes it, the engine reads it."""

    kind: Required[str]
    send: str
    size: str
    largest: int
    reads: Literal["body", "headers"]
    first: int
    items: str | None
    next: str
    last: str
    total: str
    root: str
    unique: str
    fetch: Fetch
