"""Words of a site: from the cache at once, asked for in the background, and never more than words."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keyring
import pytest

from callsheet.cli.completion import refresh, site_words
from callsheet.cli.main import run
from callsheet.errors import NotAllowed
from callsheet.sites.credentials.keychain import key_store_is_silent
from support.canary import TOKEN
from support.cases import environment
from support.server import Server, exchange, reply, serve
from support.simulated import serving
from support.slow_modules import SLOW
from support.waiting import PATIENCE

BOARDS = ["Alpha", "Beta; rm", "alphabet"]


def page(*values: Any) -> Any:
    return {"values": [*values], "startAt": 0, "maxResults": 50, "isLast": True, "total": len(values)}


def board(id: int, name: str) -> dict[str, Any]:
    return {"id": id, "name": name, "type": "scrum"}


class Person:
    """Presses Tab, and does by hand what the background does."""

    def __init__(self, environ: dict[str, str]) -> None:
        self.environ = environ
        self.asked: list[Any] = []  # what was to be asked for in the background
        self.priorities: list[int] = []  # what the background gave way by

    def tab(self, *words: str, **variables: str) -> list[str]:
        out, err = io.StringIO(), io.StringIO()
        environ = {**self.environ, **variables, "_SUITE_COMPLETE": "fish"}
        assert run("suite", words, environ=environ, stdout=out, stderr=err) == 0
        assert err.getvalue() == ""
        return [line.split("\t")[1] for line in out.getvalue().splitlines()]

    def refresh(self, **variables: str) -> int:
        out, err = io.StringIO(), io.StringIO()
        environ = {**self.environ, **variables, "_SUITE_COMPLETE": "refresh"}
        asked = io.StringIO(json.dumps(self.asked.pop()))
        code = run("suite", [], environ=environ, stdin=asked, stdout=out, stderr=err)
        assert (out.getvalue(), err.getvalue()) == ("", "")
        return code

    @property
    def folder(self) -> Path:
        return Path(self.environ["CALLSHEET_CACHE"]) / "completion"


@pytest.fixture
def server() -> Iterator[Server]:
    boards = page(*(board(number, name) for number, name in enumerate(BOARDS)))
    with serve([exchange("GET", "/rest/agile/1.0/board", reply(json=boards), repeat=None)]) as server:
        yield server


@pytest.fixture
def person(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    person = Person(environment(tmp_path / "home", server.url))
    monkeypatch.setattr(site_words, "_start_refresh", lambda _context, asked: person.asked.append(asked))
    # Here the background is the process of the tests, which is to be neither slow from now on nor ended by the clock.
    monkeypatch.setattr(os, "nice", person.priorities.append)
    monkeypatch.setattr(refresh, "_LIFETIME", 3600.0)
    return person


LIST = ("sprints", "list", "--board")
WORDS = [
    (("issues", "list", "--label", "ch"), "checkout"),
    (("filters", "get", "Op"), "Open bugs"),
    (("pages", "get", "984"), "98402"),
    (("versions", "get", "--project", "DEMO", "1"), "1.1"),
]


@pytest.mark.parametrize("deployment", ["cloud", "datacenter"])
def test_each_deployment_is_asked_for_what_it_has(person: Person, deployment: str) -> None:
    with serving(deployment=deployment) as url:
        person.environ |= {"SUITE_BASE_URL": url, "SUITE_DEPLOYMENT": deployment}
        for words, wanted in WORDS:
            assert person.tab(*words) == []
            assert person.refresh() == 0, words
            assert wanted in person.tab(*words)


def test_the_first_tab_starts_the_question_and_the_next_one_has_the_answer(person: Person, server: Server) -> None:
    assert person.tab(*LIST, "") == []
    assert len(person.asked) == 1
    assert server.requests == []
    assert person.refresh() == 0
    assert person.priorities == [10]  # what a person does comes first
    assert [(each.method, each.path) for each in server.requests] == [("GET", "/rest/agile/1.0/board")]
    assert person.tab(*LIST, "") == BOARDS
    assert person.tab(*LIST, "Alpha") == ["Alpha"]
    assert person.tab(*LIST, "BETA") == ["BETA; rm"]
    assert person.tab("sprints", "list", "--board=al") == ["--board=alphabet"]
    assert person.asked == []
    person.asked.append({"site": None, "lookup": "board", "needed": {}, "params": []})
    assert person.refresh() == 0  # another one was faster
    assert len(server.requests) == 1


def test_who_waits_for_an_answer_does_not_ask_again_and_again(person: Person) -> None:
    assert [person.tab(*LIST, "") for _ in range(3)] == [[], [], []]
    assert len(person.asked) == 1


def test_what_is_kept_is_private_and_holds_no_credential(person: Person) -> None:
    person.tab(*LIST, "")
    person.refresh()
    files = [each for each in person.folder.rglob("*") if each.is_file()]
    assert {stat.S_IMODE(each.stat().st_mode) for each in files} == {0o600}
    assert {stat.S_IMODE(each.stat().st_mode) for each in person.folder.iterdir()} == {0o700}
    assert all(TOKEN.encode() not in each.read_bytes() for each in files)
    for each in files:
        each.chmod(0o666)
    assert person.tab(*LIST, "") == []
    site_words.forget_words(person.environ, "suite", "environment")
    assert not [each for each in files if each.exists()]


def test_an_old_list_is_offered_while_a_new_one_is_asked_for(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    person.tab(*LIST, "")
    person.refresh()
    now = time.time()
    monkeypatch.setattr(site_words, "time", lambda: now + site_words.FRESH + 1)
    assert person.tab(*LIST, "") == BOARDS
    assert len(person.asked) == 1
    monkeypatch.setattr(site_words, "time", lambda: now + 30 * 86_400)
    assert person.tab(*LIST, "") == []


@pytest.mark.parametrize(
    "variables",
    [{"SUITE_COMPLETION": "off"}, {"SUITE_BASE_URL": ""}, {"SUITE_POLICY": "nonsense"}],
    ids=["switched off", "no site", "a broken policy"],
)
def test_nothing_is_asked(variables: dict[str, str], person: Person) -> None:
    assert person.tab(*LIST, "", **variables) == []
    assert person.tab("--base-url", "http://localhost:1", *LIST, "") == []
    assert person.asked == []


@pytest.mark.parametrize("policy", ["read=deny", "read=ask", "getAllBoards=deny"])
def test_the_policy_holds_in_the_background(policy: str, person: Person, server: Server) -> None:
    person.tab(*LIST, "", SUITE_POLICY=policy)
    assert person.refresh(SUITE_POLICY=policy) == 1
    assert server.requests == []
    assert person.tab(*LIST, "") == []


def test_only_names_that_mean_the_thing_are_offered(person: Person, server: Server) -> None:
    names = ["-rf", "@secret", "a\nb", "\x1b[2J", "id:5", "10", "x" * 200, "https://evil.example/", "Twin", "Twin"]
    names += [" b", "", "A\u202eB", "fine"]
    answer = page(*(board(100 + number, name) for number, name in enumerate(names)))
    server.exchanges[:] = [exchange("GET", "/rest/agile/1.0/board", reply(json=answer))]
    person.tab(*LIST, "")
    assert person.refresh() == 0
    assert person.tab(*LIST, "") == ["108", "109", "fine"]


def test_a_list_may_depend_on_what_was_typed_before(person: Person, server: Server) -> None:
    sprints = page({"id": 7, "name": "Sprint 7"}, {"id": 8, "name": "Sprint 8"})
    server.exchanges.append(exchange("GET", "/rest/agile/1.0/board/1/sprint", reply(json=sprints)))
    assert person.tab("sprints", "get", "") == []
    assert person.asked == []
    person.tab("sprints", "get", "--board", "Beta; rm", "")
    assert person.refresh() == 0
    assert person.tab("sprints", "get", "--board", "Beta; rm", "") == ["Sprint 7", "Sprint 8"]
    assert person.tab("sprints", "get", "--board", "Alpha", "") == []


def test_words_of_a_list_and_what_is_left_out(person: Person, server: Server) -> None:
    statuses = [{"id": "1", "name": "To Do"}, {"id": "2", "name": "Done"}, {"id": "3", "name": "With, comma"}]
    server.exchanges[:] = [exchange("GET", "/rest/api/3/status", reply(json=statuses))]
    person.tab("issues", "list", "--status", "")
    assert person.refresh() == 0
    assert person.tab("issues", "list", "--status", "Done,not:To") == ["Done,not:To Do"]
    assert person.tab("issues", "list", "--status", "") == ["To Do", "Done"]


def test_the_background_is_a_process_that_nobody_waits_for(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(site_words, "_PAUSE", 40)  # on a busy machine it ends before its turn comes, and another asks
    person = Person({**os.environ, **environment(tmp_path / "home", server.url)})
    assert person.tab(*LIST, "") == []
    end = time.monotonic() + PATIENCE
    while not (found := person.tab(*LIST, "")) and time.monotonic() < end:
        time.sleep(0.1)
    assert found == BOARDS


def test_a_tab_loads_nothing_slow(person: Person) -> None:
    """What takes part in asking a site, or in reading an expression, is left to the background."""
    person.tab(*LIST, "")
    person.refresh()
    program = "import sys; from callsheet.cli.main import run; run('suite', sys.argv[1:]); print(*sys.modules)"
    environ = {**os.environ, **person.environ, "_SUITE_COMPLETE": "fish"}
    command = [sys.executable, "-I", "-c", program, *LIST, ""]
    done = subprocess.run(command, env=environ, capture_output=True, text=True, check=True)
    words, _, modules = done.stdout.rpartition("\t\n")
    assert "Alpha" in words
    assert sorted({*SLOW, "subprocess"}.intersection(modules.split())) == []


def test_a_key_store_that_may_ask_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    class Asks:
        pass

    monkeypatch.setattr(keyring, "get_keyring", Asks)
    with pytest.raises(NotAllowed, match="may ask"):
        key_store_is_silent()
    Asks.__module__ = "keyring.backends.Windows"
    key_store_is_silent()
