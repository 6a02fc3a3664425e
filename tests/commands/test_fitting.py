"""What placeholders of a step may give: an amount, a table, a path, a word, or nothing; anything else is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cases import Done, run_program
from support.own_program import SHOP_SERVICE, own_program
from support.server import Exchange, exchange, reply, serve

SHOP = (
    """
[program.demo]
title = "A shop"
prefix = "DEMO"
id = "id"
options = [
  { name = "output", short = "o" }, { name = "dry-run", kind = "flag" }, { name = "yes", kind = "flag" },
  { name = "base-url" },
]
paging = [{ name = "all", kind = "flag" }, { name = "max", type = "integer" }]

"""
    + SHOP_SERVICE
    + """
[paginator.word]
kind = "token"
send = "after"
next = "next"

[operation.listOrders]
product = "shop"
http = "GET /orders"
params = [{ name = "after" }]
paginate = { using = "word", items = "orders" }

[operation.makeOrder]
product = "shop"
http = "POST /orders"
body = { media = "multipart/form-data", parts = { kind = {}, note = {}, file = { file = true } } }

[operation.dropOrder]
product = "shop"
http = "DELETE /orders/{id}"

[group.orders]
help = "Orders"

[resource.order.find]
title = "order"
pattern = '\\d+'

[command."orders some"]
help = "Read some"
params = [{ name = "count" }, { name = "said" }]
result = { ids = "{orders[].id}" }
step = [
  { note = "{said}" },
  { as = "orders", call = "listOrders", limit = "{count}" },
]

[command."orders all"]
help = "Read all"
call = "listOrders"

[command."orders make"]
help = "Make one"
params = [
  { name = "more", convert = "json" }, { name = "file", convert = "json" }, { name = "as" },
  { name = "note", convert = "{as}" }, { name = "to" },
]
call = "makeOrder"
body = { kind = "chair", note = "{note}" }
over = ["{more}"]
files = "{file}"
save = "{to}"

[command."orders drop"]
help = "Drop an order"
params = [{ name = "id" }, { name = "question" }]
confirm = "{question}"
result = "{id}"
convert = "json"
step = [
  { as = "found", find = { lookup = "order", word = "{id}" } },
  { when = "found", call = "dropOrder", args = { id = "{found.value}" } },
]

[command."orders parse"]
help = "Parse"
params = [{ name = "text" }]
result = "{text}"
convert = "json"
step = [{ note = "parsed" }]

[command."orders stop"]
help = "Stop"
params = [{ name = "why" }]
step = [{ fail = "{why}" }]
"""
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with own_program(tmp_path_factory.mktemp("shop"), SHOP) as root:
        yield root


def run(home: Path, exchanges: list[Exchange], *words: str) -> Done:
    with serve(exchanges, trusted=True) as server:
        environ = {
            "CALLSHEET_HOME": str(home / "home"),
            "CALLSHEET_CACHE": str(home / "cache"),
            "DEMO_BASE_URL": server.url,
        }
        return run_program("demo", list(words), environ)


def page(following: object = None, *ids: int) -> Exchange:
    return exchange("GET", "/orders", reply(json={"orders": [{"id": id} for id in ids], "next": following}))


def test_an_amount_may_be_typed_as_a_text(home: Path) -> None:
    done = run(home, [page("b", 1, 2)], "orders", "some", "--count", "2", "-o", "json")
    assert (done.exit, done.stderr) == (0, "")


REFUSED = [
    (["orders", "some", "--count", "many"], "expected a number of items, not 'many'"),
    (["orders", "some", "--count", "-1"], "expected a number of items, not '-1'"),
    (["orders", "make", "--more", '"x"'], "expected an object to lay over the body, not 'x'"),
    (["orders", "make", "--more", "[1]"], "expected an object to lay over the body, not '[1]'"),
    (["orders", "make", "--file", "5"], "expected the path of a file, not '5'"),
    (["orders", "make", "--note", "x", "--as", "zz"], "--note: no format 'zz'"),
    (["orders", "drop", "--id", "7"], "Drop an order? refused: not a terminal"),
    (["orders", "drop", "--id", "7", "--question", "Really?"], "Really? refused: not a terminal"),
    (["orders", "stop"], "it failed"),
    (["orders", "stop", "--why", "so"], "so"),
]


@pytest.mark.parametrize(("words", "told"), REFUSED, ids=[" ".join(words) for words, _ in REFUSED])
def test_what_does_not_fit_is_told_before_anything_is_sent(words: list[str], told: str, home: Path) -> None:
    done = run(home, [], *words)
    assert (done.exit, done.stderr.splitlines()[0]) == (2, f"error: {told}")


def test_nothing_is_said_saved_or_converted_where_a_placeholder_is_null(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(home, [page(None, 1)], "orders", "some", "-o", "json")
    assert (done.exit, done.stderr) == (0, "")
    made = exchange("POST", "/orders", reply(json={"id": 1}))
    done = run(home, [made], "orders", "make", "--note", "x", "-o", "id")
    assert (done.exit, done.stdout, done.stderr) == (0, b"1\n", "")
    assert list(tmp_path.iterdir()) == []
    done = run(home, [], "orders", "drop", "--yes")
    assert (done.exit, done.stderr) == (0, "")


def test_a_result_that_cannot_be_converted_is_told(home: Path) -> None:
    done = run(home, [], "orders", "parse", "--text", "[1]", "-o", "json")
    assert (done.exit, done.stdout.split()) == (0, [b"[", b"1", b"]"])
    done = run(home, [], "orders", "parse", "--text", "x")
    assert done.exit == 1
    assert "error: 'json' cannot convert the result: line 1 column 1" in done.stderr


@pytest.mark.parametrize(
    ("following", "kind"),
    [(True, "truth value"), ({"a": 1}, "table"), (["a"], "list"), (1.5, "number")],
)
def test_the_word_for_the_next_page_is_a_text_or_a_whole_number(following: object, kind: str, home: Path) -> None:
    done = run(home, [page(following, 1)], "orders", "all", "--all", "-o", "id")
    told = f"error: listOrders: expected the word for the next page, but 'next' of the answer is a {kind}"
    assert (done.exit, done.stderr.splitlines()[0]) == (1, told)
