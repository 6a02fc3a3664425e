"""The error bodies of the shipped products, through the shipped definitions."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from callsheet.catalog.catalog import Catalog, open_catalog
from callsheet.client.http.http_client import Client
from callsheet.client.request.build import Builder
from callsheet.errors import CallsheetError
from support.cases import nobody
from support.fakes import FakeSite
from support.places import CASES
from support.server import exchange, reply, serve

FILE = CASES / "http/families.toml"
CASES = tomllib.loads(FILE.read_text(encoding="utf-8"))["case"]


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    found = open_catalog("suite", nobody(tmp_path_factory))
    yield found
    found.close()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['operation']} {case['message']}")
def test_an_error_body_of_a_shipped_product(catalog: Catalog, case: dict[str, Any]) -> None:
    call = Builder(catalog, FakeSite(), "suite").operation_call(case["operation"])
    script = [exchange(call.method, call.path, reply(case["status"], json=case["json"]))]
    with serve(script, trusted=True) as server, Client(FakeSite(server.url), catalog) as client:
        needed = {param["name"]: "1" for param in call.params if param.get("required")}
        request = Builder(catalog, FakeSite(server.url), "suite").build_request(case["operation"], needed)
        with pytest.raises(CallsheetError) as caught:
            client.send(request)
    assert caught.value.message == f"{call.method} {server.url}{call.path}: {case['message']}"
    assert list(caught.value.details) == case.get("details", [])
