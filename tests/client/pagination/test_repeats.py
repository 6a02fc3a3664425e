"""Lists that go round in a circle, or name their next page by something endless, end in a short error."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

from callsheet.client.http.reply import Reply
from callsheet.client.pagination.fetch_pages import fetch_pages
from callsheet.client.pagination.page_walk import Repeats, SeenIds
from callsheet.client.pagination.paging_plan import plan_of
from callsheet.client.request.http_request import Request
from callsheet.client.request.operation_call import call_of
from callsheet.errors import CallsheetError
from support.draws import chance
from support.shop import shop

TEXT = """
[product.p]
title = "P"
[paginator.link]
kind = "link"
next = "next"
[paginator.token]
kind = "token"
send = "token"
next = "next"
[paginator.offset]
kind = "offset"
send = "start"
[operation.byLink]
product = "p"
http = "GET /list"
paginate = { using = "link", items = "items" }
[operation.byToken]
product = "p"
http = "GET /list"
paginate = { using = "token", items = "items" }
[operation.byOffset]
product = "p"
http = "GET /list"
paginate = { using = "offset", items = "items" }
"""
Answer = Callable[[int, Request], dict[str, Any]]


def walk(operation: str, answer: Answer, asked: list[str]) -> Iterator[list[Any]]:
    """`answer` gets the number of the page, from 1, and its request."""

    def send(request: Request) -> Reply:
        asked.append(request.url)
        body = json.dumps(answer(len(asked), request)).encode()
        return Reply(request, 200, {"content-type": "application/json"}, body, request.url)

    with shop(text=TEXT) as here:
        plan = plan_of(here.definitions, call_of(here.definitions, operation, "cloud"))  # type: ignore[arg-type]
        assert plan is not None
        for page in fetch_pages(send, plan, here.build(operation)):
            yield page.items


def ring(length: int, link: Callable[[int, Request], str]) -> Answer:
    return lambda page, request: {"items": [{"id": page % length}], "next": link(page, request)}


def _deeper(page: int, request: Request) -> str:
    return f"{urlsplit(request.url).path}/x{page}"


GROWING: dict[str, tuple[str, Callable[[int, Request], str]]] = {
    "a path that grows": ("byLink", _deeper),
    "a query that grows": ("byLink", lambda page, _: f"?a={'x' * page}"),
    "the same relative link, deeper each time": (
        "byLink",
        lambda _, request: f"{urlsplit(request.url).path}/more/more",
    ),
    "a new token each time": ("byToken", lambda page, _: f"t{page}"),
}


@pytest.mark.parametrize("length", [1, 2, 5])
@pytest.mark.parametrize("case", GROWING)
def test_a_ring_is_known_by_its_items_whatever_its_links_are(case: str, length: int) -> None:
    operation, link = GROWING[case]
    asked: list[str] = []
    with pytest.raises(CallsheetError, match=rf"page {length + 1} repeats page 1; stopped") as caught:
        list(walk(operation, ring(length, link), asked))
    assert len(asked) == length + 2
    assert len(caught.value.message) < 120


def test_a_server_that_only_counts_on_is_no_list_either() -> None:
    with pytest.raises(CallsheetError, match="page 2 repeats page 1"):
        list(walk("byOffset", lambda page, _: {"items": [{"id": 1}], "start": page}, []))


def test_links_that_lead_back_are_known_before_they_are_asked_again() -> None:
    asked: list[str] = []
    following = {1: "?at=b", 2: "?at=c", 3: "/list"}
    with pytest.raises(CallsheetError, match="page 4 repeats page 1"):
        list(walk("byLink", lambda page, _: {"items": [{"id": page}], "next": following[page]}, asked))
    assert len(asked) == 3


def test_a_page_that_happens_to_be_like_another_is_a_page() -> None:
    given = [[1, 1], [2], [1, 1], [1, 1], [3], [], [], [2], [4]]

    def answer(page: int, _: Request) -> dict[str, Any]:
        return {"items": given[page - 1], "next": f"t{page}" if page < len(given) else None}

    assert list(walk("byToken", answer, [])) == given


@pytest.mark.parametrize("operation", ["byLink", "byToken"])
def test_a_next_page_may_be_named_at_length_but_not_without_end(operation: str) -> None:
    def answer(page: int, _: Request) -> dict[str, Any]:
        return {"items": [page], "next": "?x=" + "y" * (4000 * page)}

    asked: list[str] = []
    with pytest.raises(
        CallsheetError, match=r"of page 4 is 12\d\d\d characters long, expected at most 8\d\d\d"
    ) as caught:
        list(walk(operation, answer, asked))
    assert len(asked) == 3
    assert "yyy" not in caught.value.message


def test_empty_pages_come_to_an_end_too() -> None:
    repeats = Repeats("list", "https://h/list")
    for page in range(1, 1000):
        repeats.check_items([], page)
    with pytest.raises(CallsheetError, match="1000 empty pages in a row"):
        repeats.check_items([], 1000)


@pytest.mark.parametrize("id", [0, 7, 63, 64, 10**17, "0", "007", "-1", "1.5", "", "A-1", "٣", "²", "1" * 30, "x" * 99])
def test_an_id_is_new_once(id: str | int) -> None:
    seen = SeenIds(["6", "62", "65", "A-2"])
    assert seen.add(id)
    assert not seen.add(id)
    assert not seen.add(str(id))  # a service may answer numbers and take texts
    assert seen.add(f"{id}0")


@pytest.mark.draws
def test_drawn_ids_are_told_apart_as_a_set_tells_them() -> None:
    draws = chance(7)
    kinds = [lambda: str(draws.randrange(500)), lambda: f"{draws.randrange(40):04}", lambda: f"K-{draws.randrange(40)}"]
    ids = [draws.choice(kinds)() for _ in range(3000)]
    seen, known = SeenIds(), set[str]()
    for id in ids:
        assert seen.add(id) == (id not in known)
        known.add(id)


def test_many_ids_take_little_memory() -> None:
    """100,000 texts in a set are some 10 MB, more than anything else that a long list keeps."""
    tracemalloc.start()
    try:
        seen = SeenIds(str(number) for number in range(20_000, 120_000))
        assert tracemalloc.get_traced_memory()[0] < 1_000_000
        assert not seen.add("119999")
    finally:
        tracemalloc.stop()
