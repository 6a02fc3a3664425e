"""Steps for every item of a list: what is sent, what is told, and what a dry run shows."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.cases import Done, run_program
from support.own_program import SHOP_SERVICE, own_program
from support.server import Exchange, exchange, reply, serve
from support.waiting import PATIENCE

SHOP = (
    """
[program.demo]
title = "A shop"
prefix = "DEMO"
id = "id"
options = [
  { name = "output", short = "o" }, { name = "dry-run", kind = "flag" }, { name = "resolve", kind = "flag" },
  { name = "yes", kind = "flag" }, { name = "base-url" },
]

"""
    + SHOP_SERVICE
    + """errors = "message"

[operation.findOrders]
product = "shop"
http = "GET /orders"
params = [{ name = "state" }]

[operation.getOrder]
product = "shop"
http = "GET /orders/{id}"

[operation.putOrder]
product = "shop"
http = "PUT /orders/{id}"
body = {}

[operation.tellOrder]
product = "shop"
http = "POST /orders/{id}/tell"
body = {}

[operation.getReceipt]
product = "shop"
http = "GET /orders/{id}/receipt"
reply = "binary"

[command."orders receipts"]
help = "Save receipts"
params = [{ name = "id", kind = "argument", multiple = true }, { name = "to", type = "path" }]

[[command."orders receipts".step]]
[command."orders receipts".step.each]
items = "id"
done  = "saved {done} of {total}"
step  = [{ call = "getReceipt", args = { id = "{item}" }, save = "{to}/receipt.txt" }]

[group.orders]
help = "Orders"

[command."orders ship"]
help = "Ship orders"
params = [{ name = "id", kind = "argument", multiple = true }, { name = "by", default = "post" }]

[[command."orders ship".step]]
as = "shipped"
[command."orders ship".step.each]
items  = "id"
item   = "order"
done   = "shipped {done} of {total} orders by {by}"
result = { id = "{order}", was = "{old.state}" }

[[command."orders ship".step.each.step]]
as = "old"
call = "getOrder"
args = { id = "{order}" }

[[command."orders ship".step.each.step]]
when = "old.state == 'gone'"
fail = "order {order} is gone"
hint = "look for it"

[[command."orders ship".step.each.step]]
when = "old.state != 'shipped'"
call = "putOrder"
args = { id = "{order}" }
body = { state = "shipped", by = "{by}" }
tolerate = "order {order} stays: {error}"

[command."orders close"]
help = "Close orders"
params = [{ name = "id", kind = "argument", multiple = true }]

[[command."orders close".step]]
as = "first"
call = "getOrder"
args = { id = "{id[0]}" }

[[command."orders close".step]]
when = "first.state != 'open' || !starts_with(first.id, '1')"
fail = "the first order is {first.state}"

[[command."orders close".step]]
[command."orders close".step.each]
items = "id"
done  = "closed {done} of {total}"
step  = [
  { as = "old", call = "getOrder", args = { id = "{item}" } },
  { when = "old.state != 'open'", fail = "order {item} is {old.state}" },
  { call = "putOrder", args = { id = "{item}" }, body = { state = "closed" } },
]

[command."orders tell"]
help = "Tell who ordered"
params = [{ name = "state", default = "open" }]

[[command."orders tell".step]]
as = "found"
call = "findOrders"
args = { state = "{state}" }
value = "orders"

[[command."orders tell".step]]
[command."orders tell".step.each]
items = "found"
name  = "title"
done  = "told {done} of {total}"
step  = [{ call = "tellOrder", args = { id = "{item.id}" }, body = { text = "{item.title}" } }]

[[command."orders tell".step]]
call = "putOrder"
args = { id = "all" }
body = { told = true }

[command."orders recall"]
help = "Recall orders"

[[command."orders recall".step]]
as = "found"
call = "findOrders"
args = { state = "sent" }
value = "orders"

[[command."orders recall".step]]
[command."orders recall".step.each]
items = "found"
done  = "recalled {done} of {total}"
plan  = { question = "Recall {total} orders?" }
step  = [{ call = "putOrder", args = { id = "{item.id}" }, body = { state = "recalled" } }]
"""
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A program of its own, compiled once."""
    with own_program(tmp_path_factory.mktemp("shop"), SHOP) as root:
        yield root


def run(home: Path, exchanges: list[Exchange], *words: str) -> tuple[Done, list[str]]:
    with serve(exchanges, trusted=True) as server:
        environ = {
            "CALLSHEET_HOME": str(home / "home"),
            "CALLSHEET_CACHE": str(home / "cache"),
            "DEMO_BASE_URL": server.url,
        }
        done = run_program("demo", list(words), environ)
        sent = [f"{request.method} {request.path}" for request in server.requests]
    return done._replace(stdout=done.stdout.replace(server.url.encode(), b"SHOP")), sent


def order(id: str, state: str = "open") -> Exchange:
    return exchange("GET", f"/orders/{id}", reply(json={"id": id, "state": state}))


def put(id: str, status: int = 200, **answer: Any) -> Exchange:
    return exchange("PUT", f"/orders/{id}", reply(status, json=answer or {"id": id}))


def tell(id: str, status: int = 200, **answer: Any) -> Exchange:
    return exchange("POST", f"/orders/{id}/tell", reply(status, json=answer or {"id": id}))


def rows(done: Done) -> Any:
    return json.loads(done.stdout)


def test_all_steps_are_taken_for_each_item_with_its_own_answers(home: Path) -> None:
    exchanges = [order("1"), put("1"), order("2", "shipped"), order("3"), put("3")]
    done, sent = run(home, exchanges, "orders", "ship", "1", "2", "3", "-o", "json")
    assert (done.exit, done.stderr) == (0, "")
    assert rows(done) == [{"id": "1", "was": "open"}, {"id": "2", "was": "shipped"}, {"id": "3", "was": "open"}]
    assert sorted(sent) == ["GET /orders/1", "GET /orders/2", "GET /orders/3", "PUT /orders/1", "PUT /orders/3"]


def test_it_goes_on_after_failures_and_tells_them_in_the_order_of_the_items(home: Path) -> None:
    missing = exchange("GET", "/orders/2", reply(404, json={"message": "no such order"}))
    exchanges = [order("1"), put("1"), missing, order("3", "gone"), order("4"), put("4", 409, message="locked")]
    done, _ = run(home, [*exchanges, order("5"), put("5")], "orders", "ship", "1", "2", "3", "4", "5", "-o", "json")
    assert done.exit == 1
    assert [row["id"] for row in rows(done)] == ["1", "4", "5"]
    note, told = done.stderr.splitlines()
    assert note.startswith("note: order 4 stays: ")
    error = json.loads(told)["error"]
    assert error["message"] == "shipped 3 of 5 orders by post; 2 failed"
    assert error["details"][0].startswith("2: ")
    assert "no such order" in error["details"][0]
    assert error["details"][1] == "3: order 3 is gone"


def test_one_item_fails_as_a_command_for_one_thing_does(home: Path) -> None:
    done, _ = run(home, [order("1", "gone")], "orders", "ship", "1")
    assert done.exit == 2
    assert done.stderr == "error: order 1 is gone\nhint: look for it\n"


@pytest.mark.parametrize("answer", [{"status": 401}, {"status": 429}, {"cut": 0}], ids=str)
def test_what_all_would_meet_ends_it_and_the_rest_is_told(answer: dict[str, int], home: Path) -> None:
    found = reply(json={"orders": [{"id": str(n), "title": f"order {n}"} for n in range(1, 5)]})
    exchanges = [exchange("GET", "/orders", found), tell("1"), exchange("POST", "/orders/2/tell", reply(**answer))]
    done, sent = run(home, exchanges, "orders", "tell")
    assert done.exit == 1
    assert sent == ["GET /orders", "POST /orders/1/tell", "POST /orders/2/tell"]
    assert "error: told 1 of 4; 1 failed\n" in done.stderr
    assert "not tried: order 3, order 4" in done.stderr


def test_steps_that_follow_are_not_taken_after_a_failure(home: Path) -> None:
    found = reply(json={"orders": [{"id": "1", "title": "one"}, {"id": "2", "title": "two"}]})
    exchanges = [exchange("GET", "/orders", found), tell("1", 400, message="no"), tell("2")]
    done, sent = run(home, exchanges, "orders", "tell", "-o", "json")
    assert (done.exit, sent[-1]) == (1, "POST /orders/2/tell")


def test_a_change_that_must_not_be_repeated_is_made_one_after_another(home: Path) -> None:
    found = reply(json={"orders": [{"id": str(n), "title": "x"} for n in range(20)]})
    exchanges = [exchange("GET", "/orders", found), *(tell(str(n)) for n in range(20)), put("all")]
    done, sent = run(home, exchanges, "orders", "tell")
    assert done.exit == 0
    assert sent[1:-1] == [f"POST /orders/{n}/tell" for n in range(20)]


def test_what_may_be_repeated_is_under_way_at_the_same_time(home: Path) -> None:
    """Each answer waits until two requests have come: one after another they would wait in vain."""
    together = threading.Barrier(2, timeout=PATIENCE)

    def meet() -> Iterator[bytes]:
        together.wait()
        yield b'{"id": "x", "state": "shipped"}'

    both = [exchange("GET", f"/orders/{n}", reply(headers={"Content-Type": "application/json"})) for n in ("1", "2")]
    for each in both:
        each.response.chunks = meet
    done, _ = run(home, both, "orders", "ship", "1", "2", "-o", "id")
    assert (done.exit, done.stdout) == (0, b"1\n2\n")


def test_a_dry_run_shows_every_request_in_order(home: Path) -> None:
    done, sent = run(home, [], "orders", "ship", "1", "2", "--dry-run")
    assert (done.exit, sent) == (0, [])
    put_order = "curl -X PUT SHOP/orders/{} -H 'Accept: application/json' -H 'Content-Type: application/json'"
    lines = done.stdout.decode().splitlines()
    assert [line.partition(" --data")[0] for line in lines] == [
        "curl SHOP/orders/1 -H 'Accept: application/json'",
        put_order.format("1"),
        "curl SHOP/orders/2 -H 'Accept: application/json'",
        put_order.format("2"),
    ]


def test_a_dry_run_passes_over_a_refusal_that_only_an_answer_can_decide(home: Path) -> None:
    done, sent = run(home, [], "orders", "close", "1", "2", "--dry-run")
    assert (done.exit, done.stderr, sent) == (0, "", [])
    lines = [line.split(" -H ")[0] for line in done.stdout.decode().splitlines()]
    puts = [f"curl -X PUT SHOP/orders/{id}" for id in "12"]
    assert lines == ["curl SHOP/orders/1", "curl SHOP/orders/1", puts[0], "curl SHOP/orders/2", puts[1]]
    done, sent = run(home, [order("1", "gone")], "orders", "close", "1", "2")
    assert (done.exit, sent) == (2, ["GET /orders/1"])
    assert "the first order is gone" in done.stderr


def test_a_dry_run_of_a_list_that_is_not_known_shows_one_item_by_its_name(home: Path) -> None:
    done, _ = run(home, [], "orders", "tell", "--dry-run")
    assert "/orders/<id of found>/tell" in done.stdout.decode().replace("%3C", "<").replace("%20", " ").replace(
        "%3E", ">"
    )


def test_a_dry_run_can_read_the_list_first(home: Path) -> None:
    found = reply(json={"orders": [{"id": "7", "title": "x"}]})
    done, sent = run(home, [exchange("GET", "/orders", found)], "orders", "tell", "--dry-run", "--resolve")
    assert sent == ["GET /orders"]
    assert "curl -X POST SHOP/orders/7/tell" in done.stdout.decode()


def test_everything_is_checked_before_the_first_change(home: Path) -> None:
    """An argument that cannot stand in a path is found in the second item, and nothing is sent for the first."""
    found = reply(json={"orders": [{"id": "1", "title": "x"}, {"id": "", "title": "y"}]})
    done, sent = run(home, [exchange("GET", "/orders", found)], "orders", "tell")
    assert (done.exit, sent) == (2, ["GET /orders"])


def test_no_items_are_no_failure(home: Path) -> None:
    exchanges = [exchange("GET", "/orders", reply(json={"orders": []})), put("all")]
    done, _ = run(home, exchanges, "orders", "tell")
    assert done.exit == 0


@pytest.mark.parametrize(
    ("ids", "code", "said"), [([], 0, ""), (["1"], 2, "Recall 1 orders? refused"), (["1", "2"], 2, "2")]
)
def test_nobody_is_asked_whether_nothing_is_to_be_changed(home: Path, ids: list[str], code: int, said: str) -> None:
    found = exchange("GET", "/orders", reply(json={"orders": [{"id": id} for id in ids]}))
    done, sent = run(home, [found], "orders", "recall")
    assert (done.exit, sent) == (code, ["GET /orders"])
    assert said in done.stderr


def test_files_of_one_name_get_names_of_their_own(home: Path, tmp_path: Path) -> None:
    """Were they saved at the same time, two could find the same name free."""
    texts = {str(n): f"receipt {n}".encode() for n in range(6)}
    exchanges = [exchange("GET", f"/orders/{n}/receipt", reply(body=text)) for n, text in texts.items()]
    done, sent = run(home, exchanges, "orders", "receipts", *texts, "--to", str(tmp_path))
    assert done.exit == 0
    assert sent == [f"GET /orders/{n}/receipt" for n in texts]
    assert sorted(path.read_bytes() for path in tmp_path.iterdir()) == sorted(texts.values())
