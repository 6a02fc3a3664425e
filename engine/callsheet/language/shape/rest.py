"""Shapes of what talks to a REST service: services, products, paginators, parameters, operations."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Required

from pydantic import Field
from typing_extensions import TypedDict

from ..http_methods import METHODS
from .access import Fact, FactHere, Probe, ProbeHere
from .base import (
    Expression,
    HeaderName,
    HeaderText,
    HelpText,
    ItemsExpression,
    KeyRule,
    Name,
    Rules,
    ScalarExpression,
    Shape,
    Template,
    Value,
    fitting,
    giving,
    keyed_by,
    pattern_key,
    reference_to,
    seeing_names,
)

# Shapes of how lists are read: page after page, or by the ids of their items.


_FETCHED = ("given",)
_OF_A_LIST = (*_FETCHED, "ids")


class PaginatorDefinition(Shape, total=False):
    """How the next page is asked for."""

    kind: Required[
        Annotated[
            str,
            reference_to(
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
    next: Annotated[ScalarExpression, Field(description="The next token or link in a reply; null ends.")]
    last: Annotated[Expression, Field(description="True in the reply of the last page.")]
    total: Annotated[ScalarExpression, Field(description="Number of all items, where the reply tells.")]
    root: Annotated[
        Expression, giving("string"), Field(description="What a relative link is relative to, where the reply tells.")
    ]


class Count(Shape, total=False):
    """How many items a list has, where its pages do not tell. Expressions see the arguments of the list."""

    call: Required[Annotated[str, reference_to("operation", description="The operation that counts.")]]
    args: Annotated[dict[str, Value], seeing_names(*_FETCHED), Field(description="Its parameters.")]
    body: Annotated[Value, seeing_names(*_FETCHED), Field(description="Its body.")]
    value: Required[Annotated[ScalarExpression, Field(description="The number in its answer.")]]


class Ends(Shape, total=False):
    """How a list of ids is read from both ends at once, which halves a chain of pages that name the next one.

    Both orders must never change while a list is read, as that of ids.
    """

    when: Annotated[Expression, seeing_names(*_FETCHED), Field(description="Only where this is true of the arguments.")]
    forwards: Required[
        Annotated[
            dict[str, Value],
            seeing_names(*_FETCHED),
            Field(description="Arguments that sort. Where the list proves to have another order, it is read as usual."),
        ]
    ]
    backwards: Required[
        Annotated[
            dict[str, Value], seeing_names(*_FETCHED), Field(description="Arguments that sort the other way round.")
        ]
    ]


class Fetch(Shape, total=False):
    """A long list in two parts: the ids of its items in long pages, then the items themselves, several calls at once.

    Used where more is wanted than one page. Expressions see the arguments of the list as `given`.
    """

    when: Annotated[Expression, seeing_names(*_FETCHED), Field(description="Only where this is true of the arguments.")]
    list: Required[
        Annotated[
            dict[str, Value],
            seeing_names(*_FETCHED),
            Field(description="Arguments in the place of those given, so that pages are long and hold little but ids."),
        ]
    ]
    id: Required[Annotated[ScalarExpression, Field(description="The id of an item, in both answers.")]]
    call: Required[
        Annotated[str, reference_to("operation", description="The operation that reads items by their ids.")]
    ]
    size: Required[Annotated[int, Field(ge=1, description="How many ids one call takes.")]]
    args: Annotated[
        dict[str, Value], seeing_names(*_OF_A_LIST), Field(description="Its parameters; they see `ids` too.")
    ]
    body: Annotated[Value, seeing_names(*_OF_A_LIST), Field(description="Its body; it sees `ids` too.")]
    items: Required[Annotated[ItemsExpression, Field(description="The items in its answer, in any order.")]]
    count: Annotated[Count, Field(description="How many items there are, for the progress bar.")]
    both_ends: Annotated[Ends, Field(description="How the ids are read from both ends of the list at once.")]


class Paging(Shape, total=False):
    """A paginator, and where this operation differs from it."""

    using: Required[Annotated[str, reference_to("paginator", description="The way of asking for the next page.")]]
    items: Annotated[
        ItemsExpression,
        Field(
            description="The items of one reply; absent: the reply itself. A reply without the list is an error, "
            'unless it says what stands for it, as in "values || `[]`".'
        ),
    ]
    send: str
    size: str
    next: ScalarExpression
    last: Expression
    total: ScalarExpression
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


# Shapes of what talks to a REST service: services, products, paginators, parameters, operations, schemas.


Safety = Annotated[
    Literal["read", "write", "destroy", "local"],
    Field(description="What it can do: read, write, destroy (asked for first), or local (nothing is sent)."),
]


Status = Annotated[
    str, fitting("^[1-5][0-9][0-9]$", "an HTTP status, 100 to 599"), Field(description="An HTTP status.")
]
ErrorStatus = Annotated[
    str,
    fitting("^[45][0-9][0-9]$", "an HTTP status of a failure, 400 to 599"),
    Field(description="An HTTP status of a failure."),
]
_OF_AN_OPERATION = ("id", "tag", "method", "path")


class Quota(Shape, total=False):
    """The names of the response headers that tell how much may still be asked."""

    limit: Annotated[HeaderName, Field(description="Header: requests in one window.")]
    remaining: Annotated[HeaderName, Field(description="Header: requests left in the window.")]
    reset: Annotated[
        HeaderName, Field(description="Header: when the window ends (ISO 8601, epoch seconds, or seconds).")
    ]
    near_limit: Annotated[HeaderName, Field(description="Header: `true` when little is left.")]
    refill: Annotated[HeaderName, Field(description="Header: requests given back per interval.")]
    interval: Annotated[HeaderName, Field(description="Header: seconds of an interval.")]
    reason: Annotated[HeaderName, Field(description="Header: which limit was met.")]
    stop: Annotated[list[str], Field(description="Reasons for which waiting is useless: stop and say when it resets.")]


class ServiceDefinition(Shape, total=False):
    """One host with one credential, serving one or more products."""

    title: Required[HelpText]
    base_url: Annotated[
        str, Field(description="Where it is. A credential goes there once a site, made by a person, is there too.")
    ]
    beside: Annotated[
        str,
        reference_to(
            "service", description="The service that this is a further server of, where a site is at its address."
        ),
    ]
    credential: Annotated[bool, Field(description="It is shown the credential of the service that it is beside.")]
    trace: Annotated[
        HeaderName, Field(description="Response header that identifies a request to the vendor's support.")
    ]
    denied: Annotated[HeaderName, Field(description="Response header that says why a login was denied.")]
    lacks_scope: Annotated[
        Expression, Field(description="True of the body of a 401 to a credential that is good but lacks a scope.")
    ]
    refused: Annotated[
        dict[HeaderName, Annotated[list[str], Field(min_length=1)]],
        Field(
            description="Response header → values by which a success says that it did not accept the credential, "
            "and so answered as to a stranger."
        ),
    ]
    quota: Quota
    auth: Annotated[
        list[Annotated[str, reference_to("auth", description="A way of signing in.")]],
        Field(min_length=1, description="How one signs in to it, the usual way first; other ways are not taken."),
    ]
    gateway: Annotated[
        Template, seeing_names("cloudId"), Field(description="Base URL for credentials that the site itself refuses.")
    ]


class ProductHere(Shape, total=False):
    """What a product's table may say differently for one deployment."""

    title: str
    base: Annotated[str, Field(description="Path that replaces the product's `base`.")]
    errors: Expression
    failed: Expression
    headers: dict[HeaderName, HeaderText]
    docs: Annotated[Template, seeing_names(*_OF_AN_OPERATION)]
    unavailable: Annotated[str, Field(description="Why the product does not exist there; calls fail locally.")]
    probe: Annotated[ProbeHere, Field(description="Asked to find out whether a credential works for the product.")]
    facts: Annotated[list[FactHere], Field(description="Asked by a check-up.")]


class ProductImport(Shape, total=False):
    """How the product's OpenAPI document is read."""

    experimental: Annotated[Expression, Field(description="True for an operation called experimental.")]


# `import` is a keyword of Python, so this key cannot stand in a class body.
Imported = TypedDict("Imported", {"import": ProductImport}, total=False)


class ProductDefinition(Shape, Imported, total=False):
    """One REST family."""

    title: Required[HelpText]
    order: Annotated[int, Field(description="Place among the products; earlier ones own clashing operation ids.")]
    service: Annotated[str, reference_to("service", description="The host and credential it is reached with.")]
    base: Annotated[str, Field(description="Path that its operations start with, but for those that say another one.")]
    errors: Annotated[Expression, Field(description="Every message of an error body, as one text or a (nested) list.")]
    failed: Annotated[Expression, Field(description="True of the body of a success that reports a failure.")]
    hints: Annotated[dict[ErrorStatus, str], Field(description="HTTP status → what to do about it.")]
    headers: Annotated[dict[HeaderName, HeaderText], Field(description="Headers sent with every request.")]
    docs: Annotated[
        Template,
        seeing_names(*_OF_AN_OPERATION),
        Field(description="Page of an operation at the vendor; sees id, tag, method, path."),
    ]
    probe: Annotated[Probe, Field(description="Asked to find out whether a credential works for the product.")]
    facts: Annotated[list[Fact], Field(description="Asked by a check-up.")]
    on: Annotated[dict[str, ProductHere], keyed_by("deployment", description="Deployment → what differs there.")]


class ParameterDefinition(Shape, total=False):
    """What the name of a parameter means in operations that do not say it themselves.

    The id is the name; `<product>.<name>` says what it means in one product.
    """

    help: Required[HelpText]
    products: Annotated[
        list[Annotated[str, reference_to("product", description="A family of operations.")]],
        Field(min_length=1, description="Where it means this. Default: everywhere."),
    ]
    example: Annotated[Any, Field(description="A value that could be meant, for examples.")]


Style = Annotated[
    Literal["repeat", "comma", "space", "pipe", "deep"],
    Field(
        description="How a list is sent: repeat (query default), joined by comma (path and header default), "
        "space or pipe; deep: an object as name[key]=value, in a body at any depth."
    ),
]


# `in` is a keyword of Python, so this key cannot stand in a class body.
ParamLocation = TypedDict(
    "ParamLocation",
    {"in": Annotated[Literal["query", "path", "header"], Field(description="Where it is sent; default: query.")]},
    total=False,
)


class OperationParam(Shape, ParamLocation, total=False):
    name: Required[Name]
    type: Annotated[
        Literal["string", "integer", "number", "boolean", "array", "object"], Field(description="Default: string.")
    ]
    items: Annotated[
        Literal["string", "integer", "number", "boolean"],
        Field(description="Of an array; default: string."),
    ]
    format: Annotated[str, Field(description="As in JSON Schema: int64, date-time, uuid ...")]
    enum: Annotated[list[Any], Field(description="The allowed values (of an array: of its items).")]
    pattern: Annotated[
        str, pattern_key(description="Regular expression that a text (of an array: each item) contains.")
    ]
    default: Annotated[Any, Field(description="What the service assumes; shown, never sent.")]
    minimum: float
    maximum: float
    required: bool
    style: Style
    help: str
    example: Annotated[Any, Field(description="A value that could be meant, for examples.")]
    deprecated: bool
    remove: Annotated[bool, Field(description="In an overlay or an `on` table: remove this parameter.")]


MediaType = Annotated[str, fitting(r"^[^\s/]+/[^\s/].*$", "a media type: text/csv")]


class BodyPart(Shape, total=False):
    """One part of a multipart or form body."""

    file: Annotated[bool, Field(description="The part is a file.")]
    many: Annotated[bool, Field(description="The part may be repeated.")]
    type: Literal["string", "integer", "number", "boolean", "array", "object"]
    style: Style
    schema: Annotated[str, reference_to("schema", description="What it must look like: an object, sent as JSON.")]
    media: Annotated[MediaType, Field(description="Of a text: the media type of the part. JSON is sent as JSON.")]
    required: bool
    help: str


class Body(Shape, total=False):
    media: Annotated[MediaType, Field(description="Media type sent; default: application/json.")]
    schema: Annotated[str, reference_to("schema", description="What a JSON body must look like.")]
    parts: Annotated[dict[str, BodyPart], Field(min_length=1, description="The parts of a multipart or form body.")]
    optional: Annotated[bool, Field(description="The request may go without a body.")]
    example: Annotated[Any, Field(description="A body that could be meant, for examples.")]


Http = Annotated[
    str,
    fitting(
        rf"^({'|'.join(METHODS)}) /\S*$",
        "a method of HTTP and a path: GET /items/{id}",
    ),
    Field(description="Method and path, path parameters in braces."),
]


class OperationHere(Shape, total=False):
    """What an operation's table may say differently for one deployment."""

    http: Http
    params: list[OperationParam]
    body: Body
    paginate: Annotated[Paging | Literal[False], Field(description="false: the reply is whole.")]
    unavailable: Annotated[Name, Field(description="Why it does not exist there.")]


class OperationDefinition(Shape, total=False):
    """One documented call."""

    product: Required[Annotated[str, reference_to("product", description="The family it belongs to.")]]
    http: Required[Http]
    tag: Annotated[str, Field(description="The document's group.")]
    title: Annotated[str, Field(description="Default: the id in words.")]
    help: str
    params: list[OperationParam]
    body: Body
    reply: Annotated[
        Literal["json", "binary", "none", "location"],
        Field(description="What a success answers; location: the path that it redirects to. Default: json."),
    ]
    paginate: Paging
    scopes: list[HelpText]
    deprecated: bool
    experimental: bool
    hidden: Annotated[bool, Field(description="No part of the catalog that is listed and searched; it can be called.")]
    safety: Annotated[Safety, Field(description="Default: by the method.")]
    idempotent: Annotated[
        bool,
        Field(
            description="Sending it twice does no more than once: a resumed change repeats it. Default: by the method."
        ),
    ]
    service: Annotated[str, reference_to("service", description="Where it is sent. Default: that of its product.")]
    view: Annotated[str, reference_to("view", description="Output columns.")]
    headers: Annotated[dict[HeaderName, HeaderText], Field(description="Headers sent with it.")]
    on: Annotated[dict[str, OperationHere], keyed_by("deployment", description="Deployment → what differs there.")]


class CompiledOperation(OperationDefinition, total=False):
    """With a title, the parameters of its path, and the help of parameters that mean the same everywhere."""

    # compiling adds these: the engine reads them and nobody writes them
    documentation: str  # the vendor's page about it
    own: bool  # a person's file made or changed it
    unavailable: str  # as it is on a deployment: why it does not exist there


# A rule holds wherever a table of that shape stands.
RULES: Rules = {
    "Quota": (KeyRule("stop", needs=("reason",)),),
    "ServiceDefinition": (
        KeyRule("beside", needs=("base_url",), without=("auth", "gateway")),
        KeyRule("credential", needs=("beside",)),
    ),
    "OperationDefinition": (
        KeyRule("reply", ("binary", "none"), without=("view",)),
        KeyRule("reply", ("none",), without=("paginate",)),
    ),
    "BodyPart": (KeyRule("file", (True,), without=("type", "style", "media")),),
    "Body": (KeyRule("parts", without=("schema",)),),
}

SchemaDefinition = Annotated[
    dict[str, Any],
    Field(description="A JSON Schema; `ref` names another schema definition where JSON Schema has `$ref`."),
]
