"""One command that reads on several sites: their items together, and what failed."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from support.canary import SITES, TOKEN
from support.cases import Done, run_program
from support.server import Server, exchange, reply, serve

Sites = Callable[..., Done]
MANY = {
    "isLast": True,
    "issues": [{"id": "1", "key": "A-1", "fields": {"summary": "Sweep"}, "weight": 12345678901234567890}],
}
OTHER = {"isLast": True, "issues": [{"id": "9", "key": "B-9", "fields": {"summary": "Paint"}, "site": "odd"}]}


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[Server, Server, Sites]]:
    home = tmp_path / "home"
    home.mkdir()
    with ExitStack() as stack:
        one, two = (stack.enter_context(serve(trusted=True)) for _ in range(2))
        profiles = ""
        for name, server in (("one", one), ("two", two)):
            SITES.add(server.url)
            profiles += (
                f'[sites.{name}]\nbase_url = "{server.url}"\nemail = "r@example.org"\ntoken_env = "CASE_TOKEN"\n'
            )
        (home / "profiles.toml").write_text(profiles, encoding="utf-8")
        cache = tmp_path.parent / "shared-cache"
        environ = {"CALLSHEET_HOME": str(home), "CALLSHEET_CACHE": str(cache), "CASE_TOKEN": TOKEN}
        yield one, two, lambda *words, site="one,two": run_program("suite", ["--site", site, *words], environ)


def answers(server: Server, json: Any = None, status: int = 200) -> None:
    server.exchanges.append(exchange("GET", "/rest/api/3/search/jql", reply(status, json=json)))


def test_what_all_sites_answer_is_one_list(sites: tuple[Server, Server, Sites]) -> None:
    one, two, run = sites
    for _ in range(3):
        answers(one, MANY)
        answers(two, OTHER)
    done = run("issues", "list", "--jql", "x", "--columns", "site,key,summary")
    assert (done.exit, done.stderr) == (0, "")
    assert done.stdout.decode() == "SITE  KEY  SUMMARY\none   A-1  Sweep\ntwo   B-9  Paint\n"
    found = json.loads(run("issues", "list", "--jql", "x", "-o", "json").stdout)
    assert [(item["site"], item["key"], item.get("weight")) for item in found] == [
        ("one", "A-1", 12345678901234567890),
        ("two", "B-9", None),
    ]
    assert run("issues", "list", "--jql", "x", "--jq", "map(.key)", "-o", "json").stdout == b'[\n  "A-1",\n  "B-9"\n]\n'


def test_numbers_are_told_beside_their_sites(sites: tuple[Server, Server, Sites]) -> None:
    one, two, run = sites
    for server, count in ((one, 3), (two, 12)):
        answer = reply(json={"total": count, "isLast": True, "values": []})
        server.exchanges.append(exchange("GET", "/rest/agile/1.0/board", answer))
    assert run("boards", "list", "--count").stdout.decode() == "SITE  COUNT\none   3\ntwo   12\n"


def test_a_site_that_fails_is_said_and_the_others_are_shown(sites: tuple[Server, Server, Sites]) -> None:
    one, two, run = sites
    answers(one, MANY)
    answers(two, {"errorMessages": ["no such field"]}, 400)
    done = run("issues", "list", "--jql", "x", "-o", "id")
    assert (done.exit, done.stdout) == (1, b"A-1\n")
    assert "error: 1 of 2 sites failed" in done.stderr
    assert "two: " in done.stderr
    assert "no such field" in done.stderr


def test_where_all_fail_the_first_says_what_kind_of_failure_it_is(sites: tuple[Server, Server, Sites]) -> None:
    one, two, run = sites
    for server in (one, two):
        answers(server, {"errorMessages": ["who are you?"]}, 401)
    done = run("issues", "list", "--jql", "x")
    assert (done.exit, done.stdout) == (3, b"")
    assert "all 2 sites failed" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ["issues", "delete", "A-1", "--yes"],
        ["issues", "comment", "A-1", "--body", "x", "--dry-run"],
        ["op", "call", "getAllBoards"],
        ["issues", "list", "--jql", "x", "--out", "x.csv"],
        ["issues", "list", "--jql", "x", "--base-url", "http://localhost:9"],
        ["issues", "list", "--jql", "x", "--columns", "sumary"],
    ],
)
def test_what_is_for_one_site_is_refused_before_anything_is_sent(
    sites: tuple[Server, Server, Sites], words: list[str]
) -> None:
    assert sites[2](*words).exit == 2


def test_a_dry_run_prints_the_requests_of_all(sites: tuple[Server, Server, Sites]) -> None:
    one, two, run = sites
    lines = run("issues", "list", "--jql", "x", "--dry-run").stdout.decode().splitlines()
    assert [server.url in line for server, line in zip((one, two), lines, strict=True)] == [True, True]


def test_a_misspelt_site_is_told_before_any_is_asked(sites: tuple[Server, Server, Sites]) -> None:
    one, two, run = sites
    done = run("issues", "list", "--jql", "x", site="one,tow")
    assert (done.exit, done.stdout) == (2, b"")
    assert "error: unknown site 'tow', did you mean 'two'?" in done.stderr
    assert one.requests + two.requests == []


def test_what_has_no_columns_stands_one_below_the_other(sites: tuple[Server, Server, Sites]) -> None:
    one, two, run = sites
    for server, key in ((one, "A-1"), (two, "B-9")):
        server.exchanges.append(exchange("GET", "/rest/api/3/field", reply(json=[])))
        due = {"issues": [{"key": key, "fields": {"summary": "Sweep", "duedate": "soon"}}]}
        for answer in (due, *[{"issues": []}] * 3):
            answers(server, answer)
        server.exchanges.append(exchange("GET", "/rest/api/3/status", reply(json=[])))
        server.exchanges.append(exchange("GET", "/rest/servicedeskapi/request", reply(404, json={})))
        server.exchanges.append(exchange("GET", "/wiki/rest/api/search", reply(json={"results": []})))
    done = run("status")
    assert (done.exit, done.stderr) == (0, "")
    shown = "SITE  {}\n\nDue within a week\n  {}  Sweep  soon\n"
    assert done.stdout.decode() == shown.format("one", "A-1") + "\n" + shown.format("two", "B-9")
