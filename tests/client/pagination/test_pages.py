from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from callsheet.client.pagination.fetch_pages import fetch_pages
from callsheet.client.pagination.page_walk import Page, told_in_headers
from callsheet.client.pagination.paging_plan import plan_of
from callsheet.errors import CallsheetError, UsageError
from support.server import Exchange, exchange, reply, serve
from support.shop import Shop, shop
from support.waiting import PATIENCE

SIGN_IN = {"message": "please sign in"}
TEXT = """
[product.p]
title = "P"
base = "/v1"

[paginator.offset]
kind = "offset"
send = "startAt"
size = "maxResults"
items = ["values"]
last = "isLast"
total = "total"

[paginator.array]
kind = "array"
send = "startAt"
size = "maxResults"

[paginator.token]
kind = "token"
send = "nextPageToken"
size = "maxResults"
next = "nextPageToken"
last = "isLast"

[paginator.link]
kind = "link"
send = "cursor"
size = "limit"
next = "_links.next"
root = "_links.base"

[paginator.page]
kind = "page"
send = "page"
size = "per_page"
last = "isLast"
total = "total"
first = 0

[operation.byPage]
product = "p"
http = "GET /v1/pages"
params = [{ name = "page", type = "integer" }, { name = "per_page", type = "integer" }]
paginate = { using = "page", items = "values" }

[operation.byOffset]
product = "p"
http = "GET /v1/offset"
params = [{ name = "startAt", type = "integer" }, { name = "maxResults", type = "integer", default = 2 }]
paginate = { using = "offset", items = "values" }

[operation.byOffsetInBody]
product = "p"
http = "POST /v1/search"
safety = "read"
body = {}
paginate = { using = "offset", items = "issues" }

[operation.byArray]
product = "p"
http = "GET /v1/array"
params = [{ name = "startAt", type = "integer" }, { name = "maxResults", type = "integer" }]
paginate = { using = "array" }

[operation.byToken]
product = "p"
http = "GET /v1/token"
params = [{ name = "nextPageToken" }, { name = "maxResults", type = "integer", maximum = 100 }]
paginate = { using = "token", items = "issues" }

[operation.byTokenInBody]
product = "p"
http = "POST /v1/token"
safety = "read"
body = {}
paginate = { using = "token", items = "issues" }

[operation.byLink]
product = "p"
http = "GET /v1/link"
params = [{ name = "cursor" }, { name = "limit", type = "integer", default = 25, maximum = 250 }]
paginate = { using = "link", items = "results" }

[operation.whole]
product = "p"
http = "GET /v1/whole"
"""


def walk(here: Shop, operation: str, body: Any = None, arguments: Any = None, **options: Any) -> Iterator[Page]:
    plan = plan_of(here.definitions, _call(here, operation))
    assert plan is not None
    return fetch_pages(here.client.send, plan, here.build(operation, arguments or {}, body), **options)


def _call(here: Shop, operation: str) -> Any:
    from callsheet.client.request.operation_call import call_of

    return call_of(here.definitions, operation, "cloud")


def items(found: Iterator[Page]) -> list[Any]:
    return [item for page in found for item in page.items]


def get(path: str, query: list[str], json: Any) -> Exchange:
    return exchange("GET", path, reply(json=json), query=query)


def test_offset_advances_by_what_came() -> None:
    script = [
        get("/v1/offset", ["maxResults=100"], {"startAt": 0, "maxResults": 3, "isLast": False, "values": [1, 2, 3]}),
        get("/v1/offset", ["maxResults=100", "startAt=3"], {"startAt": 3, "isLast": False, "values": [4, 5]}),
        get("/v1/offset", ["maxResults=100", "startAt=5"], {"startAt": 5, "isLast": True, "values": [6]}),
    ]
    with shop(script, text=TEXT) as here:
        found = list(walk(here, "byOffset", size=100))
    assert [page.items for page in found] == [[1, 2, 3], [4, 5], [6]]
    assert [page.next for page in found] == ["3", "5", None]


@pytest.mark.parametrize("workers", [1, 10])
def test_a_page_that_says_more_follows_is_believed_over_the_total(workers: int) -> None:
    """Totals are often estimates, or of another moment."""
    script = [
        get("/v1/offset", [], {"total": 2, "isLast": False, "values": [1, 2]}),
        get("/v1/offset", ["startAt=2"], {"total": 2, "isLast": False, "values": [3]}),
        get("/v1/offset", ["startAt=3"], {"total": 2, "isLast": True, "values": [4]}),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byOffset", workers=workers)) == [1, 2, 3, 4]


def test_a_page_that_says_it_is_the_last_is_believed_over_the_total() -> None:
    with shop([get("/v1/offset", [], {"total": 90, "isLast": True, "values": [1, 2]})], text=TEXT) as here:
        assert items(walk(here, "byOffset", workers=1)) == [1, 2]


def test_offset_ends_at_the_total_or_at_an_empty_page() -> None:
    with shop([get("/v1/offset", [], {"total": 2, "values": [1, 2]})], text=TEXT) as here:
        assert items(walk(here, "byOffset")) == [1, 2]
    script = [get("/v1/offset", [], {"values": [1]}), get("/v1/offset", ["startAt=1"], {"values": []})]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byOffset")) == [1]


def test_offset_travels_in_the_body_where_the_operation_has_one() -> None:
    script = [
        exchange("POST", "/v1/search", reply(json={"total": 3, "issues": [1, 2]}), json={"jql": "x", "maxResults": 2}),
        exchange(
            "POST",
            "/v1/search",
            reply(json={"total": 3, "issues": [3]}),
            json={"jql": "x", "maxResults": 2, "startAt": 2},
        ),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byOffsetInBody", {"jql": "x"}, size=2)) == [1, 2, 3]


def test_a_start_in_the_body_is_where_the_first_page_starts() -> None:
    script = [
        exchange("POST", "/v1/search", reply(json={"total": 6, "issues": [5]}), json={"startAt": 4, "maxResults": 1}),
        exchange("POST", "/v1/search", reply(json={"total": 6, "issues": [6]}), json={"startAt": 5, "maxResults": 1}),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byOffsetInBody", {"startAt": 4, "maxResults": 1})) == [5, 6]


def test_one_page_more_is_asked_for_as_usual() -> None:
    """Ahead of time, and in pages as long as the last, comes what is worth it: two pages or more."""
    script = [
        get("/v1/offset", [], {"values": [1, 2], "total": 4}),
        get("/v1/offset", ["startAt=2"], {"values": [3, 4], "total": 4}),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byOffset")) == [1, 2, 3, 4]
        assert [request.path.count("maxResults") for request in here.server.requests] == [0, 0]


def test_a_length_that_is_not_documented_is_not_sent() -> None:
    text = TEXT.replace(
        '{ name = "maxResults", type = "integer" }]\npaginate = { using = "array" }',
        ']\npaginate = { using = "array" }',
    )
    with shop([get("/v1/array", [], [1, 2])], text=text) as here:
        assert items(walk(here, "byArray", most=1)) == [1]
    with shop([], text=text) as here, pytest.raises(UsageError, match="does not let the length of a page be chosen"):
        items(walk(here, "byArray", size=3))


def test_a_bare_array_goes_on_until_an_empty_page() -> None:
    script = [
        get("/v1/array", ["maxResults=3"], [1, 2]),
        get("/v1/array", ["maxResults=3", "startAt=2"], [3]),
        get("/v1/array", ["maxResults=3", "startAt=3"], []),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byArray", size=3)) == [1, 2, 3]


def test_tokens_are_followed_over_an_empty_page() -> None:
    script = [
        get("/v1/token", [], {"issues": [1], "nextPageToken": "a"}),
        get("/v1/token", ["nextPageToken=a"], {"issues": [], "nextPageToken": "b/="}),
        get("/v1/token", ["nextPageToken=b/="], {"issues": [2], "isLast": True, "nextPageToken": "c"}),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byToken")) == [1, 2]


def test_tokens_travel_in_the_body_too() -> None:
    script = [
        exchange("POST", "/v1/token", reply(json={"issues": [1], "nextPageToken": "a"}), json={}),
        exchange("POST", "/v1/token", reply(json={"issues": [2]}), json={"nextPageToken": "a"}),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byTokenInBody", {})) == [1, 2]


def test_links_are_followed_relative_to_the_service() -> None:
    script = [
        get("/site/v1/link", [], {"results": [1], "_links": {"next": "/site/v1/link?cursor=a%2Bb&limit=1"}}),
        get("/site/v1/link", ["cursor=a+b", "limit=1"], {"results": [2], "_links": {"next": "?cursor=c"}}),
        get("/site/v1/link", ["cursor=c"], {"results": [3], "_links": {}}),
    ]
    with serve(script, trusted=True) as server, shop(text=TEXT, root=f"{server.url}/site") as here:
        found = list(walk(here, "byLink"))
    assert [page.items for page in found] == [[1], [2], [3]]
    assert [page.next for page in found] == ["a+b", "c", None]


def test_links_without_the_gateways_prefix_stay_at_the_gateway() -> None:
    script = [
        get("/gate/7/v1/link", [], {"results": [1], "_links": {"next": "/v1/link?cursor=a"}}),
        get("/gate/7/v1/link", ["cursor=a"], {"results": [2]}),
    ]
    with serve(script, trusted=True) as server, shop(text=TEXT, root=f"{server.url}/gate/7") as here:
        assert items(walk(here, "byLink")) == [1, 2]


def test_of_a_root_only_the_path_counts() -> None:
    links = {"base": "https://elsewhere.example/wiki", "next": "/v1/link?cursor=a"}
    script = [
        get("/v1/link", [], {"results": [1], "_links": links}),
        get("/wiki/v1/link", ["cursor=a"], {"results": [2]}),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byLink")) == [1, 2]


@pytest.mark.parametrize("scheme", ["http:", ""])
def test_a_link_to_another_host_is_refused_without_a_request(scheme: str) -> None:
    with serve() as other:
        link = f"{scheme}{other.url.removeprefix('http:')}/v1/link?cursor=a"
        with (
            shop([get("/v1/link", [], {"results": [1], "_links": {"next": link}})], text=TEXT) as here,
            pytest.raises(CallsheetError, match="which is not this site"),
        ):
            list(walk(here, "byLink"))
        assert other.requests == []


def test_an_absolute_link_to_the_same_origin_is_followed() -> None:
    with shop(text=TEXT, verify=True) as here:
        here.server.exchanges += [
            get("/v1/link", [], {"results": [1], "_links": {"next": f"{here.server.url}/v1/link?cursor=a"}}),
            get("/v1/link", ["cursor=a"], {"results": [2]}),
        ]
        assert items(walk(here, "byLink")) == [1, 2]


@pytest.mark.parametrize(
    ("operation", "path", "answer", "words"),
    [
        ("byToken", "/v1/token", {"issues": [1], "nextPageToken": "a"}, "page 2 repeats page 1"),
        (
            "byLink",
            "/v1/link",
            {"results": [1], "_links": {"next": "?cursor=a"}},
            "page 2 repeats page 1",
        ),
        ("byArray", "/v1/array", [1, 2], "page 2 repeats page 1"),
        ("byOffset", "/v1/offset", {"startAt": 0, "values": [1]}, "page 2 repeats page 1"),
        ("byOffset", "/v1/offset", {"isLast": False, "values": []}, "an empty page at 0 says that more would follow"),
        ("byArray", "/v1/array", {"values": []}, "without the list that was expected"),
        ("byArray", "/v1/array", "text", "without the list that was expected: text"),
        ("byArray", "/v1/array", SIGN_IN, "without the list that was expected: please sign in"),
        ("byOffset", "/v1/offset", {"values": 7}, "without the list that was expected under 'values'"),
        ("byOffset", "/v1/offset", {"values": None}, "without the list that was expected under 'values'"),
        ("byOffset", "/v1/offset", {}, "without the list that was expected under 'values'"),
        ("byOffset", "/v1/offset", SIGN_IN, "without the list that was expected under 'values': please sign in"),
        ("byToken", "/v1/token", SIGN_IN, "without the list that was expected under 'issues': please sign in"),
        ("byLink", "/v1/link", SIGN_IN, "without the list that was expected under 'results': please sign in"),
    ],
)
def test_pages_without_progress_end_in_an_error(operation: str, path: str, answer: Any, words: str) -> None:
    with shop([exchange("GET", path, reply(json=answer), repeat=None)], text=TEXT) as here:
        with pytest.raises(CallsheetError, match=words):
            list(walk(here, operation))
        assert len(here.server.requests) <= 2


def test_a_list_that_may_be_missing_is_empty() -> None:
    text = TEXT.replace('items = "values"', 'items = "values || `[]`"')
    with shop([exchange("GET", "/v1/offset", reply(json={"total": 0}))], text=text) as here:
        assert items(walk(here, "byOffset")) == []


def test_most_never_asks_for_more_than_is_wanted() -> None:
    script = [
        get("/v1/token", ["maxResults=100"], {"issues": list(range(100)), "nextPageToken": "a"}),
        get("/v1/token", ["maxResults=10", "nextPageToken=a"], {"issues": list(range(12)), "nextPageToken": "b"}),
    ]
    with shop(script, text=TEXT) as here:
        found = list(walk(here, "byToken", most=110))
    assert [len(page.items) for page in found] == [100, 10]
    assert found[-1].next == "b"


def test_most_shortens_the_first_page() -> None:
    with shop(
        [get("/v1/link", ["limit=3"], {"results": [1, 2, 3], "_links": {"next": "?cursor=a"}})], text=TEXT
    ) as here:
        assert items(walk(here, "byLink", most=3)) == [1, 2, 3]
    with shop(text=TEXT) as here:
        assert items(walk(here, "byLink", most=0)) == []


def test_a_page_longer_than_the_service_gives_is_refused() -> None:
    with shop(text=TEXT) as here, pytest.raises(UsageError, match="byLink gives at most 250 items a page, not 500"):
        list(walk(here, "byLink", size=500))


def test_a_start_is_sent_and_counted_from() -> None:
    script = [
        get("/v1/offset", ["startAt=7"], {"isLast": False, "values": [1]}),
        get("/v1/offset", ["startAt=8"], {"isLast": True, "values": [2]}),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byOffset", start="7")) == [1, 2]
    with shop([get("/v1/link", ["cursor=x"], {"results": [1]})], text=TEXT) as here:
        assert items(walk(here, "byLink", start="x")) == [1]
    with shop(text=TEXT) as here, pytest.raises(UsageError, match="expected a whole number for startAt, not 'x'"):
        list(walk(here, "byOffset", start="x"))


def test_a_start_among_the_arguments_counts_too() -> None:
    script = [
        get("/v1/offset", ["startAt=7", "maxResults=1"], {"isLast": False, "values": [1]}),
        get("/v1/offset", ["startAt=8", "maxResults=1"], {"isLast": True, "values": [2]}),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byOffset", arguments={"startAt": "7", "maxResults": 1})) == [1, 2]


def test_only_what_is_taken_is_asked_for() -> None:
    with shop([get("/v1/offset", [], {"total": 100, "values": [1]})], text=TEXT) as here:
        found = walk(here, "byOffset")
        assert next(found).total == 100
        assert len(here.server.requests) == 1


def test_an_operation_without_pages_has_no_plan() -> None:
    with shop(text=TEXT) as here:
        assert plan_of(here.definitions, _call(here, "whole")) is None


class Numbers:
    """Answers offset requests over `range(total)`, at most `longest` at once; counts how many come together."""

    def __init__(self, total: int, longest: int, together: int = 1) -> None:
        self.total = total
        self.longest = longest
        self.barrier = threading.Barrier(together) if together > 1 else None
        self.asked: list[int] = []
        self.broken = False

    def send(self, request: Any) -> Any:
        from callsheet.client.http.reply import Reply
        from callsheet.jsontext import dump_json

        query = parse_qs(urlsplit(request.url).query)
        start, size = int(query.get("startAt", ["0"])[0]), int(query.get("maxResults", ["2"])[0])
        self.asked.append(start)
        if self.barrier and start and not self.broken:
            try:
                self.barrier.wait(PATIENCE)
            except threading.BrokenBarrierError:
                self.broken = True
        values = list(range(start, min(start + min(size, self.longest), self.total)))
        body = {"startAt": start, "total": self.total, "values": values}
        return Reply(request, 200, {"content-type": "application/json"}, dump_json(body).encode(), request.url)


def numbered(numbers: Numbers, **options: Any) -> list[Any]:
    with shop(text=TEXT) as here:
        plan = plan_of(here.definitions, _call(here, "byOffset"))
        assert plan is not None
        return items(fetch_pages(numbers.send, plan, here.build("byOffset"), **options))


def test_pages_come_in_parallel_and_in_order() -> None:
    numbers = Numbers(201, 10, together=10)
    assert numbered(numbers, size=10) == list(range(201))
    assert not numbers.broken, "ten requests were never on their way together"
    assert sorted(numbers.asked) == list(range(0, 201, 10))


def test_parallel_pages_stop_at_most() -> None:
    numbers = Numbers(1000, 10)
    assert numbered(numbers, size=10, most=35) == list(range(35))
    assert sorted(numbers.asked) == [0, 10, 20, 30]


def test_a_service_that_gives_shorter_pages_loses_nothing() -> None:
    assert numbered(Numbers(100, 7), size=10) == list(range(100))


def test_a_page_that_shrinks_on_the_way_loses_nothing() -> None:
    numbers = Numbers(100, 10)
    plain = numbers.send

    def send(request: Any) -> Any:
        numbers.longest = 4 if len(numbers.asked) == 5 else 10
        return plain(request)

    numbers.send = send  # type: ignore[method-assign]
    assert numbered(numbers, size=10) == list(range(100))


def test_one_worker_asks_one_after_another() -> None:
    numbers = Numbers(50, 10)
    assert numbered(numbers, size=10, workers=1) == list(range(50))
    assert numbers.asked == [0, 10, 20, 30, 40]


def test_an_error_of_a_later_page_comes_after_the_pages_before_it() -> None:
    numbers = Numbers(100, 10)
    plain = numbers.send

    def send(request: Any) -> Any:
        if "startAt=50" in request.url:
            raise CallsheetError("page 6 is broken")
        return plain(request)

    numbers.send = send  # type: ignore[method-assign]
    with shop(text=TEXT) as here:
        plan = plan_of(here.definitions, _call(here, "byOffset"))
        assert plan is not None
        found = fetch_pages(numbers.send, plan, here.build("byOffset"), size=10)
        assert [next(found).items[0] for _ in range(5)] == [0, 10, 20, 30, 40]
        with pytest.raises(CallsheetError, match="page 6 is broken"):
            next(found)


def test_leaving_early_begins_no_more_pages() -> None:
    numbers = Numbers(10_000, 10)
    with shop(text=TEXT) as here:
        plan = plan_of(here.definitions, _call(here, "byOffset"))
        assert plan is not None
        found = fetch_pages(numbers.send, plan, here.build("byOffset"), size=10)
        next(found)
        next(found)
        found.close()  # type: ignore[attr-defined]
    assert len(numbers.asked) <= 25


def by_number(query: list[str], values: list[int], **more: Any) -> Exchange:
    return get("/v1/pages", query, {"values": values, **more})


def test_pages_by_number_end_at_the_total_or_at_an_empty_page() -> None:
    script = [by_number([], [1, 2], total=3), by_number(["page=1"], [3], total=3)]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byPage")) == [1, 2, 3]
    script = [by_number([], [1, 2]), by_number(["page=1"], [3]), by_number(["page=2"], [])]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byPage")) == [1, 2, 3]


def test_a_numbered_page_that_says_more_follows_is_believed_over_the_total() -> None:
    script = [
        by_number([], [1, 2], total=2, isLast=False),
        by_number(["page=1"], [3], total=2, isLast=True),
    ]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byPage")) == [1, 2, 3]


def test_a_total_says_nothing_of_pages_that_were_left_out() -> None:
    script = [by_number(["page=5"], [6, 7], total=2), by_number(["page=6"], [], total=2)]
    with shop(script, text=TEXT) as here:
        assert items(walk(here, "byPage", start="5")) == [6, 7]
        with pytest.raises(UsageError, match="expected a whole number for page, not 'x'"):
            items(walk(here, "byPage", start="x"))


def test_a_service_that_ignores_the_number_is_not_asked_for_ever() -> None:
    script = [by_number([], [1, 2]), by_number(["page=1"], [1, 2]), by_number(["page=2"], [1, 2])]
    with shop(script, text=TEXT, verify=False) as here, pytest.raises(CallsheetError, match="repeats page"):
        items(walk(here, "byPage"))


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ('<https://a/?x=1,2>; rel="next"; title="a, b", </b>; rel=prev', {"next": "https://a/?x=1,2", "prev": "/b"}),
        ('<a>; REL="next LAST"', {"next": "a", "last": "a"}),
        ('<a>; rel="next", <b>; rel="next"', {"next": "a"}),
        ('<a>; title="rel=next", <b>', {}),
        ("a; rel=next", {}),
        ("<" * 5000 + ">;rel=next" * 1000, None),
        ("", {}),
    ],
)
def test_links_of_a_header(text: str, links: dict[str, str] | None) -> None:
    found = told_in_headers({"Link": text, "X-A": "1"} if text else {"X-A": "1"})
    assert found["x-a"] == "1"
    assert links is None or found["links"] == links
