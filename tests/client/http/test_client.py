from __future__ import annotations

import pytest

from callsheet.client.http.http_client import Client
from callsheet.client.request.build import Builder
from callsheet.errors import CallsheetError
from support.fakes import Definitions, FakeSite
from support.server import exchange, reply, serve

DEFINITIONS = Definitions(
    """
[service.shop]
title = "Shop"
trace = "X-Trace"

[product.items]
title = "Items"
service = "shop"
base = "/api/3"
errors = "[errorMessages, errors]"
on.datacenter = { base = "/api/2" }

[operation.getItem]
product = "items"
http = "GET /api/3/item/{id}"
params = [
  { name = "id", in = "path", required = true },
  { name = "fields", type = "array" },
]

[operation.makeItem]
product = "items"
http = "POST /api/3/item"
body = { media = "application/json" }
"""
)


def test_an_operation_is_sent_and_its_answer_read_exactly() -> None:
    answer = reply(body=b'{"id": 12345678901234567890, "n": 1.10}', headers={"Content-Type": "application/json"})
    script = [exchange("GET", "/api/3/item/a%2Fb", answer, query=["fields=x", "fields=y z"])]
    with serve(script, trusted=True) as server, Client(FakeSite(server.url), DEFINITIONS) as client:
        request = Builder(DEFINITIONS, FakeSite(server.url), "suite").build_request(
            "getItem", {"id": "a/b", "fields": ["x", "y z"]}
        )
        value = client.send(request).json()
    assert value["id"] == 12345678901234567890
    assert repr(value["n"]) == "1.10"
    assert server.requests[0].headers["authorization"].startswith("Basic ")


def test_an_error_body_becomes_one_message() -> None:
    answer = reply(
        404, json={"errorMessages": ["No such item."], "errors": {"id": "is bad"}}, headers={"X-Trace": "t1"}
    )
    with serve([exchange("GET", "/api/2/item/7", answer)], trusted=True) as server:
        site = FakeSite(server.url, deployment="datacenter")
        with Client(site, DEFINITIONS) as client, pytest.raises(CallsheetError) as caught:
            client.send(Builder(DEFINITIONS, site, "suite").build_request("getItem", {"id": "7"}))
    error = caught.value
    assert error.message == f"GET {server.url}/api/2/item/7: 404: No such item."
    assert error.details == ("id: is bad",)
    assert (error.exit_code, error.status, error.trace_id) == (4, 404, "t1")


def test_no_cookie_is_kept_or_sent() -> None:
    """A session cookie is a credential that no site's settings name."""
    answer = reply(json={}, headers={"Set-Cookie": "session=1; Path=/"})
    with serve([exchange("GET", "/api/3/item/1", answer, repeat=2)], trusted=True) as server:
        site = FakeSite(server.url)
        with Client(site, DEFINITIONS) as client:
            for _ in range(2):
                client.send(Builder(DEFINITIONS, site, "suite").build_request("getItem", {"id": "1"}))
    assert [request.headers.get("cookie") for request in server.requests] == [None, None]


def test_an_address_that_the_library_refuses_is_an_error_of_ours() -> None:
    with serve([], trusted=True) as server:
        site = FakeSite(server.url)
        request = Builder(DEFINITIONS, site, "suite").build_request("getItem", {"id": "1", "fields": ["x" * 70_000]})
        with Client(site, DEFINITIONS) as client, pytest.raises(CallsheetError, match=r"^GET .*: .*too long"):
            client.send(request)
