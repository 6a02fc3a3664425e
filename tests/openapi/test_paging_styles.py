"""The paging of well-known APIs: recognised in their documents, and walked to the end."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import pytest
import tomlkit

from callsheet.client.pagination.fetch_pages import fetch_pages
from callsheet.client.pagination.paging_plan import plan_of
from callsheet.client.request.operation_call import call_of
from callsheet.language.template import evaluate
from callsheet.openapi import import_document
from support.places import ROOT, TESTS
from support.server import exchange, reply
from support.shop import shop

STYLES = tomllib.loads((TESTS / "cases" / "paging" / "styles.toml").read_text(encoding="utf-8"))["style"]
COMMON = (ROOT / "definitions" / "common" / "paginators.toml").read_text(encoding="utf-8")


def document(style: dict[str, Any]) -> str:
    answer = {
        "description": "a page",
        "headers": {name: {"schema": {"type": "string"}} for name in style.get("headers", ())},
        "content": {"application/json": {"schema": style["reply"]}},
    }
    kinds = {name: "integer" if name in ("offset", "skip", "limit") else "string" for name in style["parameters"]}
    parameters = [{"name": name, "in": "query", "schema": {"type": kind}} for name, kind in kinds.items()]
    get = {"operationId": "listAll", "parameters": parameters, "responses": {"200": answer}}
    return json.dumps({"openapi": "3.0.0", "info": {"title": "T", "version": "1"}, "paths": {"/v1/list": {"get": get}}})


@pytest.mark.parametrize("style", STYLES, ids=lambda style: style["name"].partition(":")[0])
def test_every_page_of_a_known_api_is_found(style: dict[str, Any]) -> None:
    made = import_document(document(style), "p", name="d", paginators=tomllib.loads(COMMON)["paginator"])
    operation = made.operations["listAll"]
    assert operation["paginate"]["using"] == style["using"]
    text = '[product.p]\ntitle = "P"\n' + COMMON + tomlkit.dumps({"operation": made.operations})
    with shop([], text=text) as here:

        def told(value: Any) -> Any:
            return json.loads(json.dumps(value).replace("{host}", here.server.url))

        for page in style["pages"]:
            answer = reply(json=told(page["body"]), headers=told(page.get("headers", {})))
            here.server.exchanges.append(exchange("GET", "/v1/list", answer, query=page["query"]))
        plan = plan_of(here.definitions, call_of(here.definitions, "listAll", "cloud"))
        assert plan is not None
        found = list(fetch_pages(here.client.send, plan, here.build("listAll", {}), size=2))
    bodies = [page["body"] for page in style["pages"]]
    items = operation["paginate"].get("items")
    assert [item for page in found for item in page.items] == [
        item for body in bodies for item in (body if items is None else evaluate(items, body))
    ]
    assert found[-1].next is None
