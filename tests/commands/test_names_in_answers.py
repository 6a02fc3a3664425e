"""`$name` in an expression over an answer: what the command calls so."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cases import run_program
from support.own_program import SHOP_SERVICE, own_program
from support.server import exchange, reply, serve

SHOP = (
    """
[program.demo]
title = "A shop"
prefix = "DEMO"
options = [{ name = "output", short = "o" }, { name = "dry-run", kind = "flag" }, { name = "base-url" }]

"""
    + SHOP_SERVICE
    + """
[operation.listOrders]
product = "shop"
http = "GET /orders"

[group.orders]
help = "Orders"

[command."orders value"]
help = "A part of the answer"
params = [{ name = "tag" }, { name = "data", convert = "json" }]
[[command."orders value".step]]
as = "first"
call = "listOrders"
value = "orders[0]"
[[command."orders value".step]]
call = "listOrders"
value = "orders[?contains(tags, $tag) && id != $first.id && id != $data.id].id"

[command."orders named"]
help = "Named parts"
params = [{ name = "tag" }]
result = "{picked}"
[[command."orders named".step]]
as = { picked = "orders[?contains(tags, $tag)].{id: id, tag: $tag}" }
call = "listOrders"

[command."orders items"]
help = "A list of the answer"
params = [{ name = "tag" }]
call = "listOrders"
items = "orders[?contains(tags, $tag)].id"
"""
)
ORDERS = [{"id": "1", "tags": ["red"]}, {"id": "2", "tags": ["red", "new"]}, {"id": "3", "tags": ["new"]}]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_program(tmp_path_factory.mktemp("shop"), SHOP) as root:
        yield root


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("value --tag red", ["2"]),
        ("value --tag new", ["2", "3"]),
        ('value --tag new --data \'{"id":"3"}\'', ["2"]),
        ("named --tag new", [{"id": "2", "tag": "new"}, {"id": "3", "tag": "new"}]),
        ("items --tag red", ["1", "2"]),
        ("items --tag blue", []),
    ],
)
def test_a_filter_over_an_answer_sees_what_the_command_knows(home: Path, words: str, expected: object) -> None:
    answers = [reply(json={"orders": ORDERS})] * (2 if words.startswith("value") else 1)
    with serve([exchange("GET", "/orders", answer) for answer in answers], trusted=True) as server:
        environ = {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(home / "cache"), "DEMO_BASE_URL": server.url}
        done = run_program("demo", ["orders", *shlex.split(words), "-o", "json"], environ)
    assert (done.stderr, json.loads(done.stdout)) == ("", expected)
