"""Long lists that are read by ids: nothing twice, nothing out of order, whatever changes meanwhile."""

from __future__ import annotations

import json
import random
import threading
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from callsheet.client.http.reply import Reply
from callsheet.client.pagination.fetch_pages import WORKERS, Fetching, fetch_pages
from callsheet.client.pagination.paging_plan import plan_of
from callsheet.client.request.build import Builder
from callsheet.client.request.http_request import Json, Request
from callsheet.errors import CallsheetError
from support.fakes import Definitions, FakeSite
from support.waiting import PATIENCE

TEXT = """
[product.p]
title = "P"
base = "/v1"

[paginator.token]
kind = "token"
largest = 4
send = "token"
size = "size"
next = "next"

[paginator.rows]
kind = "offset"
largest = 4
send = "start"
size = "size"
last = "last"


[operation.search]
product = "p"
http = "GET /v1/search"
params = [
  { name = "query" },
  { name = "fields", type = "array" },
  { name = "token" },
  { name = "size", type = "integer" },
]

[operation.search.paginate]
using = "token"
items = "items"

[operation.search.paginate.fetch]
when  = "given.query != 'plain'"
list  = { fields = ["id"], size = 10 }
id    = "id"
call  = "readAll"
size  = 3
body  = { ids = "{ids}", fields = "{given.fields}" }
items = "items"
count = { call = "count", args = { query = "{given.query}" }, value = "count" }

[operation.chain]
product = "p"
http = "GET /v1/chain"
params = [
  { name = "sort" },
  { name = "fields", type = "array" },
  { name = "token" },
  { name = "size", type = "integer" },
]

[operation.chain.paginate]
using = "token"
items = "items"

[operation.chain.paginate.fetch]
list  = { fields = ["id"], size = 10 }
id    = "id"
call  = "readAll"
size  = 3
body  = { ids = "{ids}", fields = "{given.fields}" }
items = "items"

[operation.chain.paginate.fetch.both_ends]
when      = "not_null(given.sort, 'id') != 'text'"
forwards  = { sort = "{given.sort || 'id'}" }
backwards = { sort = "{given.sort == '-id' && 'id' || '-id'}" }

[operation.readAll]
product = "p"
http = "POST /v1/read"
safety = "read"
body = {}

[operation.count]
product = "p"
http = "GET /v1/count"
params = [{ name = "query" }]

[operation.rows]
product = "p"
http = "GET /v1/rows"
params = [{ name = "start", type = "integer" }, { name = "size", type = "integer" }]
paginate = { using = "rows", items = "items", unique = "id" }

[operation.counted]
product = "p"
http = "GET /v1/counted"
params = [{ name = "start", type = "integer" }, { name = "size", type = "integer" }]
paginate = { using = "rows", items = "items", unique = "id", total = "total" }
"""


@dataclass
class Site:
    """A list of ids that `happens` may change before each request is answered."""

    ids: list[int]
    order: str = "id"  # of a chain that is not asked to sort
    happens: Any = lambda site: None
    asked: list[Request] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, request: Request) -> Reply:
        with self.lock:
            self.asked.append(request)
            self.happens(self)
            answer = self.answer(request)
        return Reply(request, 200, {"content-type": "application/json"}, json.dumps(answer).encode(), request.url)

    def answer(self, request: Request) -> Any:
        query = dict(request.query)
        if request.operation == "count":
            return {"count": len(self.ids)}
        if request.operation == "readAll":
            assert isinstance(request.body, Json)
            wanted = [int(id) for id in request.body.value["ids"]]
            return {"items": [{"id": id, "text": "x"} for id in sorted(set(wanted) & set(self.ids), reverse=True)]}
        if request.operation == "chain":
            return self.part(query.get("sort") or self.order, query.get("token"), int(query["size"]), query["fields"])
        start, size = int(query.get("token", query.get("start", 0))), int(query.get("size", 2))
        found = [
            {"id": id} if query.get("fields") == "id" else {"id": id, "text": "x"} for id in self.ids[start:][:size]
        ]
        more = start + size < len(self.ids)
        told = {"total": len(self.ids)} if request.operation == "counted" else {}
        return {"items": found, "last": not more, **told, **({"next": str(start + size)} if more else {})}

    def part(self, sort: str, behind: str | None, size: int, fields: str) -> Any:
        """A page whose mark is its last id, so that what is added or deleted moves no other item."""
        falls, ids = sort.startswith("-"), sorted(self.ids, reverse=sort.startswith("-"))
        found = [id for id in ids if behind is None or (id < int(behind) if falls else id > int(behind))]
        items = [{"id": id} if fields == "id" else {"id": id, "text": "x"} for id in found[:size]]
        return {"items": items, **({"next": str(items[-1]["id"])} if len(found) > size else {})}

    def read(self, operation: str = "search", may_send: Any = lambda _: True, **options: Any) -> list[int]:
        definitions: Any = Definitions(TEXT)
        builder = Builder(definitions, FakeSite(), "demo")
        call = builder.operation_call(operation)
        plan = plan_of(definitions, call)
        assert plan is not None
        named = {name: options.pop(name) for name in ("query", "sort") if name in options}
        given = {"fields": ["text"], **({"query": "q"} if operation == "search" else {}), **named}
        request = builder.build_request(operation, given if operation not in ("rows", "counted") else {})
        fetching = plan.fetch and Fetching(
            builder, call, request, plan.fetch, note=self.notes.append, may_send=may_send
        )
        found = fetch_pages(self.send, plan, request, fetching=fetching, **{"size": plan.largest, **options})
        items = [item for page in found for item in page.items]
        assert all(item.get("text") == "x" for item in items)
        return [item["id"] for item in items]

    @property
    def operations(self) -> list[str | None]:
        return [request.operation for request in self.asked]


def test_one_page_is_one_request() -> None:
    site = Site([1, 2, 3, 4])
    assert site.read() == [1, 2, 3, 4]
    assert site.operations == ["search"]


def test_the_rest_is_read_by_ids_in_the_order_of_the_list() -> None:
    site = Site(random.Random(5).sample(range(100), 40))
    assert site.read() == site.ids
    assert site.operations.count("readAll") == 12
    assert [dict(each.query)["size"] for each in site.asked if each.operation == "search"] == ["4"] + ["10"] * 4
    assert site.notes == []


@pytest.mark.parametrize("most", [1, 4, 5, 17, 40, 50])
def test_no_more_than_wanted(most: int) -> None:
    site = Site(list(range(40)))
    assert site.read(most=most) == site.ids[:most]


def test_it_goes_page_by_page_where_that_is_wanted_or_a_policy_holds_the_other_way_back() -> None:
    for options in ({"query": "plain"}, {"may_send": lambda request: request.operation != "readAll"}, {"start": "0"}):
        site = Site(list(range(20)))
        assert site.read(**options) == site.ids
        assert set(site.operations) == {"search"}


def test_what_is_gone_meanwhile_is_left_out_and_said() -> None:
    def delete(site: Site) -> None:
        if site.operations[-1] == "readAll" and 7 in site.ids:
            site.ids.remove(7)

    site = Site(list(range(10)), happens=delete)
    assert site.read() == [id for id in range(10) if id != 7]
    assert site.notes == ["1 item was deleted or hidden while the list was read, and left out"]


def test_an_answer_of_another_shape_is_said_with_its_address() -> None:
    site = Site(list(range(20)))
    site.answer = lambda request: {"odd": 1} if request.operation == "readAll" else Site.answer(site, request)  # type: ignore[method-assign]
    with pytest.raises(CallsheetError, match="answered without the list that was expected under 'items'"):
        site.read()


@given(
    st.integers(0, 60), st.integers(0, 2**32), st.sampled_from(["search", "rows", "counted", "chain"]), st.booleans()
)
@settings(max_examples=60)
def test_nothing_comes_twice_and_what_stays_keeps_its_order(
    length: int, seed: int, operation: str, grows: bool
) -> None:
    """Of what was there all the time, only a list by offsets may miss some, when something before it goes."""
    # How many requests are sent depends on the threads: the site draws from its own source, never from Hypothesis.
    chance, fresh = random.Random(seed), iter(range(1000, 2000))

    def change(site: Site) -> None:
        if chance.random() < 0.3:
            if grows:
                site.ids.insert(chance.randint(0, len(site.ids)), next(fresh))
            elif site.ids:
                site.ids.pop(chance.randrange(len(site.ids)))

    before = list(range(length))
    site = Site(list(before), happens=change)
    found = site.read(operation)
    assert len(found) == len(set(found))
    stayed = [id for id in before if id in site.ids]
    assert [id for id in found if id in stayed] == [id for id in stayed if id in found]
    if grows or operation == "chain":
        assert set(stayed) <= set(found)


@pytest.mark.parametrize("operation", ["rows", "counted"])
def test_nothing_is_missed_between_two_pages_that_are_answered_in_the_other_order(operation: str) -> None:
    """What comes new into the first moves its last item on to the second, which was read before it was there."""
    site, later_is_answered = Site(list(range(40))), threading.Event()
    send = site.send
    sequential = {"rows": 8, "counted": 4}[operation]  # items before any is asked for ahead

    def send_late(request: Request) -> Reply:
        start = int(dict(request.query).get("start", 0))
        if start < sequential - 1:
            return send(request)
        if start > sequential:
            reply = send(request)
            later_is_answered.set()
            return reply
        if 1000 not in site.ids:
            assert later_is_answered.wait(PATIENCE)
            site.ids.insert(sequential + 1, 1000)
        return send(request)

    site.send = send_late  # type: ignore[method-assign]
    found = site.read(operation)
    assert [id for id in found if id != 1000] == list(range(40))


def longest_chain(site: Site) -> int:
    """How many pages of ids came one after another: of two orders, those of the longer one."""
    sorts = [dict(each.query).get("sort", "") for each in site.asked if dict(each.query).get("fields") == "id"]
    return max(sorts.count(sort) for sort in set(sorts))


@pytest.mark.parametrize("length", [5, 10, 14, 15, 24, 25, 34, 44, 45, 200])
@pytest.mark.parametrize(("given", "falls"), [({}, False), ({"sort": "id"}, False), ({"sort": "-id"}, True)])
def test_a_chain_is_read_from_both_ends(length: int, given: Any, falls: bool) -> None:
    site = Site(random.Random(5).sample(range(1000), length))
    assert site.read("chain", **given) == sorted(site.ids, reverse=falls)
    assert longest_chain(site) <= length // 20 + 1
    assert len({str(each.body) for each in site.asked if each.operation == "readAll"}) == -(-(length - 4) // 3)


@pytest.mark.parametrize(
    ("order", "options"),
    [("-id", {}), ("id", {"most": 150}), ("id", {"sort": "text"})],
    ids=["the list proves to have another order", "no more is wanted", "the order may change meanwhile"],
)
def test_a_chain_is_read_from_one_end_where(order: str, options: dict[str, Any]) -> None:
    site = Site(list(range(200)), order=order)
    assert site.read("chain", **options) == sorted(site.ids, reverse=order == "-id")[: options.get("most")]
    assert longest_chain(site) >= 15


@pytest.mark.parametrize("is_mixed", [False, True])
def test_a_service_that_does_not_sort_as_asked_still_gives_the_whole_list(is_mixed: bool) -> None:
    """Where the opposite order is not given, the two ends do not meet as they should."""
    site = Site(list(range(100)))
    answer = site.answer

    def odd(request: Request) -> Any:
        query = dict(request.query)
        if request.operation != "chain" or query.get("sort") != "-id":
            return answer(request)
        if is_mixed:
            start = int(query.get("token", 0))
            ids = random.Random(3).sample(range(100), 100)[start : start + 10]
            return {"items": [{"id": id} for id in ids], **({"next": str(start + 10)} if start < 90 else {})}
        return answer(request.with_query({"sort": "id"}))

    site.answer = odd  # type: ignore[method-assign]
    assert site.read("chain") == site.ids


def test_pages_by_offset_without_a_total_come_several_at_once_and_few_too_many() -> None:
    site = Site(list(range(400)))
    busy, most = 0, 0
    send = site.send

    def counted(request: Request) -> Reply:
        nonlocal busy, most
        busy += 1
        most = max(most, busy)
        try:
            threading.Event().wait(0.001)
            return send(request)
        finally:
            busy -= 1

    site.send = counted  # type: ignore[method-assign]
    assert site.read("rows") == site.ids
    assert 2 <= most <= WORKERS
    assert len(site.asked) <= 2 + 131 + 20  # three new items each, behind the last one of the page before
    few = Site(list(range(11)))
    assert few.read("rows") == few.ids
    assert len(few.asked) <= 7  # four pages; which others are asked for before the last has come is chance
