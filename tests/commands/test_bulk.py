"""The service's own operation for many items: which ones it takes, and what is known when it is cut off."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
  { name = "output", short = "o" }, { name = "dry-run", kind = "flag" }, { name = "resolve", kind = "flag" },
  { name = "yes", kind = "flag" }, { name = "base-url" },
]
journal = [{ name = "journal", type = "path" }, { name = "resume", type = "path" }]

"""
    + SHOP_SERVICE
    + """errors = "message"

[operation.shipOrder]
product = "shop"
http = "POST /orders/{id}/ship"

[operation.getWays]
product = "shop"
http = "GET /ways"
params = [{ name = "ids" }]

[operation.shipMany]
product = "shop"
http = "POST /ship"
body = {}

[operation.getTask]
product = "shop"
http = "GET /tasks/{id}"

[group.orders]
help = "Orders"

[command."orders ship"]
help = "Ship orders"
safety = "write"
params = [{ name = "id", kind = "argument", multiple = true, required = false }]

[[command."orders ship".step]]
as = "shipped"
[command."orders ship".step.each]
items  = "id"
done   = "shipped {done} of {total}"
step   = [{ call = "shipOrder", args = { id = "{item}" } }]
result = { id = "{item}" }

[command."orders ship".step.each.bulk]
size  = 10
read  = { call = "getWays", args = { ids = "{join(',', batch)}" } }
items = "read[].ids[]"
call  = "shipMany"
body  = { ways = "{read}", ids = "{batch}" }

[command."orders ship".step.each.bulk.task]
call   = "getTask"
args   = { id = "{started.task}" }
ended  = "ended"
done   = "done"
failed = "failed"
name   = "item"
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
        for path in words:  # a journal belongs to an address
            if path.endswith(".jsonl") and Path(path).exists():
                lines = Path(path).read_text("utf-8").splitlines(keepends=True)
                lines[0] = json.dumps(json.loads(lines[0]) | {"site": server.url}) + "\n"
                Path(path).write_text("".join(lines), "utf-8")
        done = run_program("demo", ["orders", "ship", *words], environ)
        return done, [f"{request.method} {request.path}" for request in server.requests]


def ways(*ids: str, asked: str = "1,2,3", status: int = 200) -> Exchange:
    return exchange("GET", "/ways", reply(status, json=[{"ids": list(ids)}]), query=[f"ids={asked}"])


def many(*ids: str, **answer: Any) -> Exchange:
    body = {"ways": [{"ids": list(ids)}], "ids": list(ids)}
    return exchange("POST", "/ship", reply(**(answer or {"json": {"task": "7"}})), json=body)


def task(*ids: str, **failed: list[str]) -> Exchange:
    return exchange("GET", "/tasks/7", reply(json={"ended": True, "done": list(ids), "failed": failed}))


def ship(id: str) -> Exchange:
    return exchange("POST", f"/orders/{id}/ship", reply(204))


def states(journal: Path) -> dict[str, str]:
    lines = map(json.loads, journal.read_text("utf-8").splitlines())
    return {line["item"]: line["state"] for line in lines if "state" in line}


def test_what_the_request_cannot_take_is_done_one_by_one(home: Path) -> None:
    done, sent = run(home, [ways("1", "3"), many("1", "3"), task("1", "3"), ship("2")], "1", "2", "3", "-o", "id")
    assert (done.exit, sorted(done.stdout.split())) == (0, [b"1", b"2", b"3"]), done.stderr
    assert sent == ["GET /ways", "POST /ship", "GET /tasks/7", "POST /orders/2/ship"]


def test_where_nothing_can_be_taken_or_nothing_is_told_no_bulk_request_is_sent(home: Path) -> None:
    for answer in (ways(), ways(status=403)):
        done, sent = run(home, [answer, ship("1"), ship("2"), ship("3")], "1", "2", "3")
        assert (done.exit, "POST /ship" in sent) == (0, False), done.stderr


def test_what_the_task_says_of_each_is_told(home: Path) -> None:
    done, _ = run(home, [ways("1", "2", "3"), many("1", "2", "3"), task("1", **{"2": ["no", "box"]})], "1", "2", "3")
    assert done.exit == 1
    assert "shipped 1 of 3; 2 failed\n  - 2: no; box\n  - 3: the service did not change it" in done.stderr


@pytest.mark.parametrize("status", [404, 403, 400, 500])
def test_a_task_that_cannot_be_asked_for_is_no_refusal(home: Path, tmp_path: Path, status: int) -> None:
    """The service has begun: doing them one by one would do them twice."""
    journal = tmp_path / "j.jsonl"
    lost = exchange("GET", "/tasks/7", reply(status, json={"message": "no task"}), repeat=None)
    script = [ways("1", "2", "3"), many("1", "2", "3"), lost]
    done, sent = run(home, script, "1", "2", "3", "--journal", str(journal))
    assert done.exit == 1
    assert "the service began with 3, and what came of it is not known" in done.stderr
    assert not any(each.startswith("POST /orders") for each in sent)
    assert states(journal) == dict.fromkeys("123", "unknown")


@pytest.mark.parametrize("told", [{"failed": 5}, {"failed": ["1"]}, {"done": {"1": 1}}, {"done": 5}], ids=json.dumps)
def test_a_task_that_says_no_outcome_is_no_refusal(home: Path, tmp_path: Path, told: dict[str, Any]) -> None:
    journal = tmp_path / "j.jsonl"
    ended = exchange("GET", "/tasks/7", reply(json={"ended": True, "done": [], "failed": {}, **told}))
    done, _ = run(home, [ways("1", "2", asked="1,2"), many("1", "2"), ended], "1", "2", "--journal", str(journal))
    assert (done.exit, states(journal)) == (1, dict.fromkeys("12", "unknown")), done.stderr
    assert "the service began with 2, and what came of it is not known" in done.stderr


def test_a_connection_that_breaks_after_the_request_leaves_what_nobody_knows(home: Path, tmp_path: Path) -> None:
    """It was read, and no answer came. A resume sends none of them again, and the rest that nobody tried."""
    journal = tmp_path / "j.jsonl"
    keys = [str(number) for number in range(1, 13)]
    script = [ways(*keys[:10], asked=",".join(keys[:10])), many(*keys[:10], cut=0)]
    done, _ = run(home, script, *keys, "--journal", str(journal))
    assert done.exit == 1
    assert "shipped 0 of 12" in done.stderr
    assert f"not tried: {', '.join(keys)}" in done.stderr
    assert states(journal) == dict.fromkeys(keys[:10], "unknown")
    done, sent = run(home, [ship("11"), ship("12")], "--resume", str(journal))
    assert sorted(sent) == ["POST /orders/11/ship", "POST /orders/12/ship"]
    assert done.exit == 1
    assert "it was under way when the run ended and may be done: check it" in done.stderr


def test_a_dry_run_shows_each_where_what_is_read_decides(home: Path) -> None:
    done, sent = run(home, [], "1", "2", "--dry-run")
    assert (done.exit, sent) == (0, [])
    assert done.stdout.count(b"/ship") == 2
