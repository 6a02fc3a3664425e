"""Twenty tasks of agents on a simulated site, by the calls that tests/cases/agent_tasks.toml knows."""

from __future__ import annotations

import json
import re
import statistics
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

import callsheet
from callsheet.commands.context import Context
from callsheet.language.template import evaluate
from callsheet.library.arguments import python_name
from callsheet.mcp.tool_calls import Toolbox
from callsheet.mcp.tools import ToolSelection, checked_arguments
from support.cases import nobody
from support.places import CASES
from support.simulated import PLAIN, TOKEN, serving, tell_sandbox

pytestmark = pytest.mark.slow

TASKS: list[dict[str, Any]] = tomllib.loads((CASES / "agent_tasks.toml").read_text(encoding="utf-8"))["task"]
MOST = 300  # tokens of an answer in the median
BYTES = 4  # of a token, about


@pytest.fixture(scope="module")
def variables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    with serving() as url:
        home = str(tmp_path_factory.mktemp("tasks"))
        site = {"SUITE_BASE_URL": url, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "only here"}
        yield {**nobody(tmp_path_factory), **site, "CALLSHEET_HOME": home}


@pytest.fixture(scope="module")
def toolbox(variables: dict[str, str]) -> Iterator[Toolbox]:
    context = Context("suite", variables)
    yield Toolbox(context, ToolSelection(context.catalog).choose_tools("everyday,operations,undo"))
    context.close()


@pytest.fixture(autouse=True)
def site(variables: dict[str, str]) -> str:
    url = variables["SUITE_BASE_URL"]
    tell_sandbox(url, "reset")
    return url


def wrong_ends(site: str, task: Mapping[str, Any]) -> list[Any]:
    found = []
    for end in task.get("ends", ()):
        method, _, path = end["request"].partition(" ")
        told = httpx.request(method, f"{site}{path}", verify=PLAIN, trust_env=False).json()
        if not evaluate(end["true"], told):
            found.append((end["true"], told))
    return found


def answers(toolbox: Toolbox, task: Mapping[str, Any]) -> list[str]:
    kept: dict[str, str] = {}
    found = []
    for call in task["calls"]:
        given = {
            name: value.format(**kept) if isinstance(value, str) else value for name, value in call["with"].items()
        }
        answer = toolbox.call_tool(call["tool"], given)
        assert not answer.is_error, answer.text
        kept |= {name: re.search(part, answer.text)[1] for name, part in call.get("keep", {}).items()}  # type: ignore[index]
        found.append(answer.text)
    return found


@pytest.mark.parametrize("task", TASKS, ids=[task["asks"] for task in TASKS])
def test_a_task_is_done_by_its_calls(task: dict[str, Any], toolbox: Toolbox, site: str) -> None:
    said = answers(toolbox, task)
    assert [text for text in task.get("says", ()) if text not in said[-1]] == []
    assert wrong_ends(site, task) == []


def test_answers_are_short_and_there_are_twenty_tasks(toolbox: Toolbox) -> None:
    sizes = [len(text.encode()) // BYTES for task in TASKS for text in answers(toolbox, task)]
    assert len(TASKS) == 20
    assert statistics.median(sizes) <= MOST


@pytest.mark.parametrize("task", [task for task in TASKS if task.get("of") != "tools"], ids=lambda task: task["asks"])
def test_a_task_is_done_from_python_by_the_same_calls(
    task: dict[str, Any], toolbox: Toolbox, site: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLSHEET_HOME", str(tmp_path))
    with callsheet.open("suite", base_url=site, email="robin@example.org", token=TOKEN) as suite:
        shown: Any = None
        for call in task["calls"]:
            tool = toolbox.find_tool(call["tool"])
            values = {**tool.values, **checked_arguments(tool, call["with"]).values}
            found = suite.command(tool.command)(**{python_name(name): value for name, value in values.items()})
            shown = list(found) if isinstance(found, callsheet.Rows) else found
    written = json.dumps(shown)
    assert [text for text in task.get("says", ()) if text not in written and not text.startswith("/")] == []
    assert wrong_ends(site, task) == []
