"""How an operation is paged, as its definition and its paginator say."""

from __future__ import annotations

from typing import Any

import pytest

from callsheet.client.pagination.page_walk import _invalid_link
from callsheet.client.pagination.paging_plan import plan_of
from callsheet.client.request.http_request import Request
from callsheet.errors import DefinitionError
from support.shop import shop

TEXT = """
[product.p]
title = "P"

[paginator.offset]
kind = "offset"
send = "start"
size = "limit"
items = "values"
total = "total"
last  = "isLast"

[paginator.link]
kind  = "link"
next  = "next"
root  = "root"
size  = "limit"
reads = "headers"

[paginator.half]
kind = "offset"

[operation.whole]
product = "p"
http = "GET /v1/whole"

[operation.half]
product = "p"
http = "GET /v1/half"
paginate = { using = "half" }

[operation.query]
product = "p"
http = "GET /v1/query"
params = [{ name = "start" }, { name = "limit", type = "integer", default = 7, maximum = 30 }]
paginate = { using = "offset", items = "results", total = "count" }

[operation.most]
product = "p"
http = "GET /v1/most"
params = [{ name = "limit", type = "integer", maximum = 30 }]
paginate = { using = "offset" }

[operation.many]
product = "p"
http = "GET /v1/many"
params = [{ name = "limit", type = "integer", maximum = 300 }]
paginate = { using = "offset" }

[operation.body]
product = "p"
http = "POST /v1/body"
body = {}
paginate = { using = "offset" }

[operation.form]
product = "p"
http = "POST /v1/form"
body = { media = "multipart/form-data" }
paginate = { using = "offset" }

[operation.both]
product = "p"
http = "POST /v1/both"
params = [{ name = "start" }]
body = {}
paginate = { using = "offset" }

[operation.linked]
product = "p"
http = "POST /v1/linked"
body = {}
paginate = { using = "link" }

[operation.linkedByQuery]
product = "p"
http = "POST /v1/linked"
params = [{ name = "limit" }]
body = {}
paginate = { using = "link" }
"""


def plan(operation: str) -> Any:
    with shop(text=TEXT) as here:
        return plan_of(here.definitions, here_call(here, operation))  # type: ignore[arg-type]


def here_call(here: Any, operation: str) -> Any:
    from callsheet.client.request.build import Builder

    return Builder(here.definitions, here.site, "suite").operation_call(operation)


def test_what_comes_whole_has_no_plan() -> None:
    assert plan("whole") is None


def test_an_operation_may_say_it_differently() -> None:
    found = plan("query")
    assert (found.send, found.size, found.items, found.total, found.last) == (
        "start",
        "limit",
        "results",
        "count",
        "isLast",
    )
    assert (found.next, found.root, found.reads_headers, found.first) == (None, None, False, 1)
    linked = plan("linked")
    assert (linked.send, linked.next, linked.root, linked.reads_headers) == (None, "next", "root", True)


@pytest.mark.parametrize(
    ("operation", "usual", "greatest"), [("query", 7, 30), ("most", 30, 30), ("many", 50, 300), ("body", 50, None)]
)
def test_how_long_a_page_is(operation: str, usual: int, greatest: int | None) -> None:
    found = plan(operation)
    assert (found.usual, found.greatest) == (usual, greatest)


@pytest.mark.parametrize(
    ("operation", "in_body"),
    [("query", False), ("body", True), ("form", False), ("both", False), ("linked", True), ("linkedByQuery", False)],
)
def test_where_the_parameters_travel(operation: str, in_body: bool) -> None:
    assert plan(operation).in_body is in_body


def test_a_paginator_that_says_too_little_is_named() -> None:
    with pytest.raises(DefinitionError, match="half: paginator 'half' does not say 'send'"):
        plan("half")


@pytest.mark.parametrize(("length", "end"), [(80, "'"), (81, "'…")])
def test_a_link_that_is_none_is_shown_in_part(length: int, end: str) -> None:
    request = Request("GET", "https://shop.example", "/x", (), ())
    text = "x" * length
    message = _invalid_link(request, text).message
    assert f"gave '{'x' * 80}{end} as the link" in message
