"""What compiling adds to operations: the meaning of a parameter's name, in the products that it is said of."""

from __future__ import annotations

import json
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from typing import Any

from callsheet.catalog.compile import compile_catalog
from callsheet.language.layers import Layer
from support.places import CASES, DEFINITIONS

TWO = """
[product.post]
title = "Post"
service = "shop"

[operation.listOrders]
product = "shop"
http = "GET /v1/lists/{filter}"
params = [{ name = "state" }, { name = "limit" }, { name = "sort", help = "its own" }]

[operation.listLetters]
product = "post"
http = "GET /letters/{filter}"
params = [{ name = "state" }, { name = "limit" }, { name = "sort" }]

[parameter.filter]
help = "the filter of a shop"
products = ["shop"]

[parameter.state]
help = "the state of an order"
example = "open"
products = ["shop"]

[parameter."post.state"]
help = "the state of a letter"

[parameter.limit]
help = "how many"

[parameter.sort]
help = "by what"
products = ["post"]
"""


def params(directory: Path, operation: str) -> dict[str, Any]:

    (directory / "two.toml").write_text(TWO, encoding="utf-8")
    with closing(sqlite3.connect(":memory:")) as connection:
        compile_catalog(connection, [Layer(str(CASES / "language")), Layer(str(directory))], "x")
        rows = connection.execute("SELECT data FROM definition WHERE kind = 'operation' AND id = ?", [operation])
        return {param["name"]: param for param in json.loads(rows.fetchone()[0])["params"]}


def test_a_name_means_what_its_product_says_and_nothing_that_another_one_does(tmp_path: Path) -> None:
    shop, post = params(tmp_path, "listOrders"), params(tmp_path, "listLetters")
    assert {name: param.get("help") for name, param in shop.items()} == {
        "filter": "the filter of a shop",
        "state": "the state of an order",
        "limit": "how many",
        "sort": "its own",
    }
    assert {name: param.get("help") for name, param in post.items()} == {
        "filter": None,
        "state": "the state of a letter",
        "limit": "how many",
        "sort": "by what",
    }
    assert "example" not in post["state"]
    assert not any("products" in param for param in (*shop.values(), *post.values()))


def test_every_meaning_that_is_shipped_says_where_it_holds() -> None:
    """Words about one vendor's parameters say nothing of an API that somebody imports."""

    found = list((DEFINITIONS / "suite" / "parameters").glob("*.toml"))
    assert found
    for path in found:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        assert tables["defaults"]["parameter"]["products"] or all("products" in table for table in tables["parameter"])
