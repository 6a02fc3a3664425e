"""Agents ask one mirror, which a person named, in SQL: they read it, and nothing else, and so much at most."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.cli.builtin import mirror
from callsheet.commands.context import Context
from callsheet.mcp.tool_calls import Toolbox
from callsheet.mcp.tools import ToolSelection
from support.shell_user import ShellUser
from support.simulated import serving

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShellUser]:
    home = tmp_path_factory.mktemp("mirrored")
    with serving() as address:
        user = ShellUser(home, address)
        assert user("mirror", str(home / "site.sqlite"), "component") == 0, user.err
        user.environ["SUITE_MIRROR"] = str(home / "site.sqlite")
        yield user


@pytest.fixture
def toolbox(user: ShellUser) -> Iterator[Toolbox]:
    context = Context("suite", user.environ)
    yield Toolbox(context, ToolSelection(context.catalog).choose_tools("mirror"))
    context.close()


def ask(toolbox: Toolbox, query: str) -> Any:
    return toolbox.call_tool("sql", {"select": query})


def test_an_agent_asks_the_mirror_that_a_person_named(toolbox: Toolbox) -> None:
    answer = ask(toolbox, "SELECT count(*) AS n FROM components")
    assert not answer.is_error, answer.text
    assert "2" in answer.text


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("DELETE FROM components", "only questions are answered here"),
        ("ATTACH '/etc/passwd' AS x", "only questions are answered here"),
        ("SELECT length(hex(zeroblob(100000000)))", "too big"),
        ("@/etc/hostname", "unrecognized token"),
        ("-", "syntax error"),
    ],
)
def test_what_is_no_question_is_refused(toolbox: Toolbox, query: str, message: str) -> None:
    answer = ask(toolbox, query)
    assert answer.is_error
    assert message in answer.text


def test_an_agent_names_no_file(toolbox: Toolbox, tmp_path: Path) -> None:
    assert toolbox.call_tool("sql", {"select": "SELECT 1", "file": str(tmp_path / "other.sqlite")}).is_error


def test_there_is_an_end_to_rows_and_time(toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = ask(toolbox, ENDLESS.format("i"))
    assert "there are more than 1000 rows" in answer.text
    monkeypatch.setattr(mirror, "_MOST_SECONDS", 0.0)
    answer = ask(toolbox, ENDLESS.format("sum(i)"))
    assert answer.is_error
    assert "the query was stopped" in answer.text


def test_without_a_mirror_a_person_is_told_what_to_do(user: ShellUser) -> None:
    context = Context("suite", {name: value for name, value in user.environ.items() if name != "SUITE_MIRROR"})
    answer = Toolbox(context, ToolSelection(context.catalog).choose_tools("mirror")).call_tool(
        "sql", {"select": "SELECT 1"}
    )
    assert "config set mirror FILE" in answer.text
    context.close()


def test_the_settings_of_a_site_name_it(user: ShellUser, tmp_path: Path) -> None:
    there = {name: value for name, value in user.environ.items() if not name.startswith("SUITE_")}
    there["CALLSHEET_HOME"] = str(tmp_path)
    settings = f'site = "one"\n[sites.one]\nbase_url = "https://one.example.com"\nmirror = "{user.home}/site.sqlite"\n'
    (tmp_path / "profiles.toml").write_text(settings, encoding="utf-8")
    context = Context("suite", there)
    answer = Toolbox(context, ToolSelection(context.catalog).choose_tools("mirror")).call_tool(
        "sql", {"select": "SELECT 1 AS n"}
    )
    assert not answer.is_error, answer.text
    context.close()
