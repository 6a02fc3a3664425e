"""`--web` opens what a command shows or made; `help` is the help of a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cases import environment, run_program
from support.server import exchange, reply, serve


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: not found.append(url))  # type: ignore[func-returns-value]
    return found


def test_what_is_shown_is_opened_instead(tmp_path: Path, opened: list[str]) -> None:
    with serve(
        [exchange("GET", "/rest/api/3/issue/A-1", reply(json={"key": "A-1", "fields": {}}))], trusted=True
    ) as server:
        done = run_program("suite", ["issues", "get", "A-1", "--web"], environment(tmp_path, server.url))
        assert (done.exit, done.stdout) == (0, b""), done.stderr
        assert opened == [f"{server.url}/browse/A-1"]


def test_what_was_made_is_printed_and_opened(tmp_path: Path, opened: list[str]) -> None:
    made = exchange("POST", "/rest/api/3/issue", reply(201, json={"id": "7", "key": "A-7"}))
    with serve([made], trusted=True) as server:
        argv = ["issues", "new", "-p", "A", "-s", "x", "--web", "-o", "id"]
        done = run_program("suite", argv, environment(tmp_path, server.url))
        assert (done.exit, done.stdout) == (0, b"A-7\n"), done.stderr
        assert opened == [f"{server.url}/browse/A-7"]


@pytest.mark.parametrize(
    "argv", [["issues", "list", "--mine"], ["op", "call", "getIssue", "--param", "issueIdOrKey=A-1"]]
)
def test_a_command_without_a_web_address_refuses_before_it_asks(
    tmp_path: Path, opened: list[str], argv: list[str]
) -> None:
    with serve([], trusted=True) as server:
        done = run_program("suite", [*argv, "--web"], environment(tmp_path, server.url))
        assert done.exit == 2
        assert "--web: the result of this command has no web address" in done.stderr
    assert opened == []


@pytest.mark.parametrize("words", [["issues", "new"], ["issues"], [], ["i", "move"]])
def test_help_is_that_of_the_command(tmp_path: Path, words: list[str]) -> None:
    environ = environment(tmp_path, "http://127.0.0.1:9")
    there = run_program("suite", ["help", *words], environ)
    assert there.exit == 0, there.stderr
    assert there.stdout == run_program("suite", [*words, "--help"], environ).stdout


def test_help_for_an_unknown_command_names_the_closest(tmp_path: Path) -> None:
    done = run_program("suite", ["help", "isues"], environment(tmp_path, "http://127.0.0.1:9"))
    assert done.exit == 2
    assert "did you mean `suite issues`" in done.stderr
