"""What agents change is kept in a journal, and taken back by a tool, on a simulated site."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.commands.context import Context
from callsheet.commands.journal import kept_journals
from callsheet.mcp.tool_calls import ToolAnswer, Toolbox, ToolContext, Watch
from callsheet.mcp.tools import ToolSelection
from support.cases import nobody
from support.simulated import ask_site, serving, tell_sandbox

Make = Callable[..., Toolbox]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, dict[str, str]]]:
    with serving() as url:
        yield url, nobody(tmp_path_factory)


@pytest.fixture
def site(served: tuple[str, dict[str, str]]) -> str:
    tell_sandbox(served[0], "reset")
    return served[0]


@pytest.fixture
def environ(site: str, served: tuple[str, dict[str, str]], tmp_path: Path) -> dict[str, str]:
    home = {**served[1], "CALLSHEET_HOME": str(tmp_path / "home")}
    return {**home, "SUITE_BASE_URL": site, "SUITE_EMAIL": "robin@example.org", "SUITE_TOKEN": "only here"}


@pytest.fixture
def make(environ: dict[str, str]) -> Iterator[Make]:
    made: list[Context] = []

    def make(tools: str | None = None, *, read_only: bool = False, **variables: str) -> Toolbox:
        context = Context("suite", {**environ, **variables})
        made.append(context)
        return Toolbox(context, ToolSelection(context.catalog).choose_tools(tools, read_only=read_only))

    yield make
    for context in made:
        context.close()


def labels(site: str) -> Any:
    found = ask_site("GET", f"{site}/rest/api/3/issue/DEMO-3", params={"fields": "labels"})
    return found.json()["fields"]["labels"]


def journal_of(answer: ToolAnswer) -> str:
    assert not answer.is_error, answer.text
    found = re.search(r"journal: (\S+\.jsonl); undo with this name takes back what was changed", answer.text)
    assert found is not None, answer.text
    return found[1]


def test_one_change_is_taken_back_by_the_name_that_its_answer_told(make: Make, site: str) -> None:
    toolbox, before = make(), labels(site)
    changed = toolbox.call_tool("issues_edit", {"issue": "DEMO-3", "label": ["urgent", "-checkout"]})
    assert labels(site) != before
    later = toolbox.call_tool("issues_edit", {"issue": "DEMO-4", "label": ["urgent"]})
    name = journal_of(changed)
    assert name != journal_of(later)
    back = toolbox.call_tool("undo", {"file": name})
    assert "put back" in back.text, back.text
    assert labels(site) == before
    assert toolbox.call_tool("undo", {"file": journal_of(back)}).is_error is False
    assert sorted(labels(site)) == sorted([*(each for each in before if each != "checkout"), "urgent"])


def test_what_somebody_changed_since_stays(make: Make, site: str) -> None:
    toolbox = make()
    name = journal_of(toolbox.call_tool("issues_edit", {"issue": "DEMO-3", "label": ["urgent"]}))
    theirs = {"fields": {"labels": ["theirs"]}}
    ask_site("PUT", f"{site}/rest/api/3/issue/DEMO-3", json=theirs)
    answer = toolbox.call_tool("undo", {"file": name})
    assert answer.is_error
    assert "changed since" in answer.text
    assert labels(site) == ["theirs"]
    assert toolbox.call_tool("undo", {"file": name, "force": True}).is_error  # it is a person's to discard that
    assert labels(site) == ["theirs"]


@pytest.mark.parametrize(
    "word", ["last", "{path}", "../suite/{name}", "./{name}", "", "20260101-000000-x-0000.jsonl", "/etc/passwd"]
)
def test_only_a_journal_that_is_named_is_taken(make: Make, site: str, environ: dict[str, str], word: str) -> None:
    toolbox = make()
    name = journal_of(toolbox.call_tool("issues_edit", {"issue": "DEMO-3", "label": ["urgent"]}))
    (path,) = kept_journals(environ, "suite")
    after = labels(site)
    answer = toolbox.call_tool("undo", {"file": word.format(path=path, name=name)})
    assert answer.is_error
    assert labels(site) == after


def test_what_only_reads_has_no_undo_and_a_policy_forbids_it(make: Make, site: str) -> None:
    assert "undo" not in make(read_only=True).tools
    name = journal_of(make().call_tool("issues_edit", {"issue": "DEMO-3", "label": ["urgent"]}))
    after = labels(site)
    answer = make(SUITE_POLICY="read-only").call_tool("undo", {"file": name})
    assert answer.is_error
    assert labels(site) == after


def test_an_answer_names_no_tool_that_is_not_offered(make: Make) -> None:
    answer = make("issues.edit").call_tool("issues_edit", {"issue": "DEMO-3", "label": ["urgent"]})
    assert "a person can take the change back with `suite undo 2" in answer.text
    assert "with this name" not in answer.text


@pytest.mark.parametrize(
    ("setting", "kept"), [("always", "always"), ("many", "always"), ("never", "never"), (None, "always")]
)
def test_every_change_of_an_agent_is_kept_unless_a_person_forbade_it(
    environ: dict[str, str], setting: str | None, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = Context("suite", environ)
    monkeypatch.setitem(base.site()._settings, "journal", setting)
    assert ToolContext(base, Watch()).journaling.journal_setting == kept
    assert base.journaling.journal_setting == (setting or "many")
    base.close()


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("sprints_list", {}, "DEMO board (1); OPS board (2)"),
        ("sprints_issues", {"sprint": "current"}, "DEMO board (1); OPS board (2)"),
        ("boards_backlog", {}, "DEMO board (1); OPS board (2)"),
        ("issues_new", {"summary": "x"}, "Demonstration (DEMO)"),
    ],
)
def test_where_something_is_missing_what_there_is_is_listed(make: Make, tool: str, given: Any, said: str) -> None:
    answer = make().call_tool(tool, given)
    assert (answer.is_error, said in answer.text) == (True, True)
    assert "config set" not in answer.text


def test_people_and_spaces_have_names_and_what_is_new_an_address(make: Make, site: str) -> None:
    toolbox = make()
    page = toolbox.call_tool("pages_get", {"id": "DOC/Checkout"}).text
    assert "space: DOC" in page
    assert "author: Robin Sample" in page
    made = toolbox.call_tool("issues_new", {"project": "DEMO", "summary": "x"}).text
    assert f"{site}/browse/DEMO-11" in made
    assert (
        "due: \nlabels: checkout"
        in toolbox.call_tool("issues_get", {"issue": "DEMO-2", "fields": ["due", "labels"]}).text
    )


def test_a_search_of_operations_is_short_and_says_how_to_see_more(make: Make) -> None:
    toolbox = make()
    first = toolbox.call_tool("op_search", {"text": ["issue"]}).text
    assert len([line for line in first.splitlines() if line.startswith("| ")]) == 12
    assert "more match: pass another word, or a larger max" in first
    assert len(toolbox.call_tool("op_search", {"text": ["issue"], "max": 30}).text.splitlines()) == 33


def test_a_denial_names_the_operation(make: Make) -> None:
    denied = make(SUITE_POLICY="write=deny").call_tool("issues_edit", {"issue": ["DEMO-4"], "label": ["x"]})
    assert "editIssue: denied by the policy" in denied.text


def test_a_wait_for_the_site_is_told_while_it_lasts(make: Make) -> None:
    watch, told = Watch(), []
    context = ToolContext(make().base, watch)
    context.note("waiting 4 s: 502; try 2 of 5")
    told.append(watch.doing)
    context.close()
    assert told == ["waiting 4 s: 502; try 2 of 5"]
