"""Parameters that are credentials: the site's credential fills them, nobody types them, and nothing shows them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from support.machine import Machine
from support.places import TESTS
from support.server import exchange, reply, serve

TOKEN = "of-the-site-4711"
DOCUMENTS = TESTS / "programs" / "documents"


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    for name in ("ledger", "chat", "forum"):
        assert machine("new", name, "--from", str(DOCUMENTS / f"{name}.yaml")) == 0, machine.err
        (machine.root / f"{name}.txt").write_text(machine.err)
    machine.environ |= {"LEDGER_TOKEN": f"one\n{TOKEN}", "CHAT_TOKEN": TOKEN, "FORUM_TOKEN": TOKEN}
    return machine


def of(machine: Machine, name: str) -> dict[str, Any]:
    """Options by command."""
    found: dict[str, Any] = {}
    for path in (machine.home / "definitions" / name / "commands").glob("*.toml"):
        for words, command in tomllib.loads(path.read_text())["command"].items():
            found[words] = {param["name"] for param in command.get("params", ())}
    return found


def test_no_command_takes_them(machine: Machine) -> None:
    ledger, chat = of(machine, "ledger"), of(machine, "chat")
    assert not [words for words, names in ledger.items() if {"client-id", "secret"} & names]
    assert not [words for words, names in chat.items() if "token" in names]
    assert any("access-token" in names for names in ledger.values()), "that of one item is nobody's credential"
    assert "token: filled from the credential of a site" in (machine.root / "chat.txt").read_text()
    assert "client_id, secret: filled from the credential of a site" in (machine.root / "ledger.txt").read_text()


@pytest.fixture
def site(machine: Machine) -> Iterator[Any]:
    paths = [
        "POST /accounts/get",
        "POST /categories/get",
        "POST /items",
        "GET /api/users.list",
        "POST /api/chat.postMessage",
        "POST /api/topics",
    ]
    every = [exchange(*path.split(), reply(json={}), repeat=None) for path in paths]
    every.append(exchange("GET", "/api/topics", reply(json=[{"id": "1"}]), repeat=None))
    with serve(every, trusted=True, verify=False) as server:
        machine.environ |= {"LEDGER_BASE_URL": server.url, "CHAT_BASE_URL": server.url, "FORUM_BASE_URL": server.url}
        yield server


@pytest.mark.parametrize(
    ("operation", "words", "sent"),
    [
        ("itemsCreate", ["--set", "name=n"], {"name": "n"}),
        ("accountsGet", ["--set", "access_token=of-the-item"], {"access_token": "of-the-item"}),
        ("categoriesGet", [], {}),
    ],
)
def test_members_are_filled_where_nothing_else_says_how_one_signs_in(
    machine: Machine, site: Any, operation: str, words: list[str], sent: dict[str, str]
) -> None:
    assert machine("op", "call", operation, *words, program="ledger") == 0, machine.err
    assert site.requests[-1].json() == {**sent, "client_id": "one", "secret": TOKEN}
    assert machine("op", "call", operation, *words, "--set", "secret:=1", program="ledger") in (0, 2)
    assert site.requests[-1].json()["secret"] == TOKEN


def test_they_are_shown_nowhere(machine: Machine, site: Any) -> None:
    words = ["op", "call", "itemsCreate", "--set", "name=n"]
    assert machine(*words, "--dry-run", program="ledger") == 0
    assert TOKEN not in machine.out
    assert json.loads(machine.out.split("--data-raw '")[1].partition("'")[0]) == {
        "name": "n",
        "client_id": "***",
        "secret": "***",
    }
    assert machine(*words, "--verbose", program="ledger") == 0
    assert TOKEN not in machine.out + machine.err
    assert len(site.requests) == 1


def test_where_a_scheme_says_how_one_signs_in_that_is_how(machine: Machine, site: Any) -> None:
    for words in (["op", "call", "users_list"], ["op", "call", "chat_postMessage", "--param", "channel=c"]):
        assert machine(*words, program="chat") == 0, machine.err
        assert site.requests[-1].headers["authorization"] == f"Bearer {TOKEN}"
        assert site.requests[-1].query == []
        assert "token" not in site.requests[-1].headers


def test_a_name_that_few_operations_have_is_no_credential(machine: Machine) -> None:
    assert machine("op", "describe", "invites_refuse", program="chat") == 0
    assert "api_key" in machine.out


def test_one_that_is_in_queries_and_in_forms_is_sent_where_each_operation_has_it(machine: Machine, site: Any) -> None:
    assert machine("topics", "list", program="forum") == 0, machine.err
    assert site.requests[-1].query == [f"token={TOKEN}"]
    assert machine("topics", "add", "--title", "hi", program="forum") == 0, machine.err
    assert site.requests[-1].query == []
    assert site.requests[-1].body == f"title=hi&token={TOKEN}".encode()
    assert machine("topics", "add", "--title", "hi", "--dry-run", program="forum") == 0
    assert "token=***" in machine.out.replace("%2A", "*")
    assert TOKEN not in machine.out
    assert "?" not in machine.out
