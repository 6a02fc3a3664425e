"""Whatever a command makes and can delete again is removed by an undo, on a simulated site."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from callsheet.catalog.catalog import open_catalog
from callsheet.commands.context import Context
from callsheet.mcp.tool_calls import ConsentNeeded, Toolbox
from callsheet.mcp.tools import ToolSelection
from commands.test_journal import Desk, desk, served
from support.sampled import sampled

__all__ = ["desk", "served"]

ISSUE = json.dumps({"fields": {"project": {"key": "DEMO"}, "issuetype": {"id": "10001"}, "summary": "x"}})
PAGE = json.dumps({"spaceId": "98305", "title": "Fresh", "body": {"representation": "storage", "value": "<p>x</p>"}})
# A line of each command that makes a thing of a resource which can be read and deleted.
MAKING = {
    "boards create": ("--name", "b", "--project", "DEMO"),
    "blogposts create": ("--space", "DOC", "--title", "Fresh", "--body", "x"),
    "components create": ("--project", "DEMO", "--name", "c"),
    "dashboards create": ("--name", "d"),
    "filters create": ("--name", "f", "--jql", "project = DEMO"),
    "folders create": ("--space", "DOC", "--title", "f"),
    "groups create": ("--name", "g"),
    "issues attach": ("DEMO-1", "{file}"),
    "issues clone": ("DEMO-1",),
    "issues comment": ("DEMO-1", "DEMO-2", "--body", "x"),
    "issues create": ("-d", ISSUE),
    "issues link": ("DEMO-1", "blocks", "DEMO-2", "DEMO-3"),
    "issues log-work": ("DEMO-1", "1h"),
    "issues new": ("--project", "DEMO", "--summary", "x"),
    "organizations create": ("--name", "o"),
    "page-comments create": ("--page", "DOC/Checkout", "--body", "x"),
    "pages copy": ("DOC/Checkout", "DOC/Refunds", "--labels"),
    "pages create": ("-d", PAGE),
    "pages new": ("--space", "DOC", "--title", "Fresh", "--body", "x"),
    "projects create": ("--key", "FRESH", "--name", "Fresh"),
    "requests comment": ("HELP-1", "--public", "--body", "x"),
    "requests create": ("--servicedesk", "HELP", "--type", "Ask a question", "--summary", "x"),
    "spaces create": ("--key", "FRESH", "--name", "Fresh"),
    "sprints create": ("--board", "1", "--name", "s"),
    "versions create": ("--project", "DEMO", "--name", "9.9"),
    "whiteboards create": ("--space", "DOC", "--title", "w"),
}
# The simulated site does not have these; the others change something beside what they make, such as files of a text.
APART = {"custom-content create", "issue-types create"}
BESIDE = {"issues comment-edit", "issues edit", "issues transition"}


def made_by(path: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [line for line in found if "made" in line]


def calls(table: Any) -> Iterator[str]:
    if isinstance(table, dict):
        yield from ([table["call"]] if isinstance(table.get("call"), str) else [])
        for key, part in table.items():
            if key not in ("undo", "on_conflict"):
                yield from calls(part)
    for part in table if isinstance(table, list) else ():
        yield from calls(part)


def test_every_command_that_makes_a_thing_is_tried(desk: Desk) -> None:
    catalog = open_catalog("suite", desk.environ)
    resources = [table for table in catalog.resources.all().values() if table.keys() >= {"create", "read", "delete"}]
    making = {call for table in resources for call in (table["create"]["call"], *table.get("made_by", ()))}
    posted = {call for call in making if catalog.operations.get(call)["http"].startswith("POST ")}
    found = {id: table for id, table in catalog.commands.all().items() if set(calls(table.get("step"))) & posted}
    catalog.close()
    assert {id for id, table in found.items() if "journal" not in table} == set()
    assert found.keys() - BESIDE == MAKING.keys() | APART


@pytest.mark.parametrize("command", sampled(MAKING, 3))
def test_what_a_command_made_is_removed(desk: Desk, command: str) -> None:
    file = desk.folder / "f.txt"
    file.write_text("text")
    words = [word.replace("{file}", str(file)) for word in MAKING[command]]
    done = desk.run(*command.split(), *words, "--journal", desk.path("j.jsonl"))
    assert (done.exit, "takes back what was changed" in done.stderr) == (0, True), done.stderr
    refused = desk.run("undo", desk.path("j.jsonl"))
    assert refused.exit == 2, refused.stdout  # nobody agreed
    back = desk.run("undo", desk.path("j.jsonl"), "--yes", "-o", "json")
    assert back.exit == 0, back.stderr
    expected = "put back" if command == "issues link" else "removed"
    assert {row["done"] for row in json.loads(back.stdout)} == {expected}
    again = desk.run("undo", desk.path("j.jsonl"), "--yes", "-o", "json")
    if command == "filters create":  # the service calls it a wrong request
        assert "does not exist" in again.stderr
        return
    assert {row["done"] for row in json.loads(again.stdout)} == {f"was {expected.replace('put ', '')} already"}


def new_issue(desk: Desk) -> str:
    done = desk.run(
        "issues", "new", "--project", "DEMO", "--summary", "x", "--journal", desk.path("j.jsonl"), "-o", "id"
    )
    assert done.exit == 0, done.stderr
    return done.stdout.decode().strip()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("issues", "edit", "{key}", "--summary", "theirs"), "changed since: fields.summary"),
        (("issues", "comment", "{key}", "theirs"), "changed since: changed"),
        (("issues", "log-work", "{key}", "1h"), "changed since: changed"),
    ],
)
def test_what_somebody_changed_since_stays(desk: Desk, change: tuple[str, ...], said: str) -> None:
    key = new_issue(desk)
    assert desk.run(*(word.replace("{key}", key) for word in change)).exit == 0
    done = desk.run("undo", desk.path("j.jsonl"), "--yes")
    assert (done.exit, said in done.stderr, "--force removes it" in done.stderr) == (5, True, True), done.stderr
    assert desk.run("issues", "get", key).exit == 0
    assert desk.run("undo", desk.path("j.jsonl"), "--yes", "--force").exit == 0
    assert desk.run("issues", "get", key).exit == 4


def test_what_others_put_below_it_is_not_removed_with_it(desk: Desk) -> None:
    made = desk.run(
        "pages", "new", "--space", "DOC", "--title", "Fresh", "--body", "x", "--journal", desk.path("j.jsonl")
    )
    assert made.exit == 0, made.stderr
    desk.run("page-comments", "create", "--page", "DOC/Fresh", "--body", "theirs")
    done = desk.run("undo", desk.path("j.jsonl"), "--yes")
    assert (done.exit, "1 comment on a page would go with it" in done.stderr) == (5, True), done.stderr


def test_a_removal_is_judged_as_one(desk: Desk) -> None:
    key = new_issue(desk)
    for policy in ("destroy=deny", "destroy=ask", "read-only"):
        denied = Desk(desk.url, {**desk.environ, "SUITE_POLICY": policy}, desk.folder)
        done = denied.run("undo", desk.path("j.jsonl"), "--yes")
        assert done.exit == 3, done.stderr
    shown = desk.run("undo", desk.path("j.jsonl"), "--dry-run")
    assert shown.stdout.startswith(b"curl -X DELETE "), shown.stdout
    assert desk.run("issues", "get", key).exit == 0


def test_a_journal_that_cannot_be_written_stops_it_before_anything_is_made(desk: Desk) -> None:
    new_issue(desk)
    before = desk.run("issues", "list", "--jql", "project = DEMO", "--count").stdout
    done = desk.run("issues", "new", "--project", "DEMO", "--summary", "y", "--journal", desk.path("j.jsonl"))
    assert (done.exit, "already exists" in done.stderr) == (2, True)
    assert desk.run("issues", "list", "--jql", "project = DEMO", "--count").stdout == before


def test_of_what_was_refused_no_journal_stays(desk: Desk) -> None:
    words = ("pages", "new", "--space", "DOC", "--title", "Checkout", "--body", "x", "--journal", desk.path("j.jsonl"))
    assert [desk.run(*words).exit != 0 for _ in range(2)] == [True, True]
    assert not Path(desk.path("j.jsonl")).exists()


def test_the_last_change_may_have_made_something(desk: Desk) -> None:
    always = Desk(desk.url, {**desk.environ, "SUITE_JOURNAL": "always"}, desk.folder)
    key = always.run("issues", "new", "--project", "DEMO", "--summary", "x", "-o", "id").stdout.decode().strip()
    asked = always.run("undo", "last")
    assert f"Remove issue {key}, made by `suite issues new`" in asked.stderr
    assert always.run("undo", "last", "--yes").exit == 0
    assert desk.run("issues", "get", key).exit == 4
    few = desk.run("issues", "new", "--project", "DEMO", "--summary", "x")
    assert "journal" not in few.stderr
    assert "the last change has no journal" in desk.run("undo", "last", "--yes").stderr


def test_a_line_that_no_journal_has_is_refused(desk: Desk) -> None:
    new_issue(desk)
    path = Path(desk.path("j.jsonl"))
    whole = path.read_text(encoding="utf-8")
    for wrong in ('{"made": {}}', '{"made": 1}', '{"made": {"resource": [], "id": "1", "parents": {}, "name": null}}'):
        path.write_text(whole + wrong + "\n", encoding="utf-8")
        done = desk.run("undo", str(path), "--yes")
        assert (done.exit, "not a line of a journal" in done.stderr) == (2, True), done.stderr
    path.write_text(whole.replace('"resource": "issue"', '"resource": "nothing"'), encoding="utf-8")
    assert "has a nothing, which this program does not know" in desk.run("undo", str(path), "--yes").stderr


def test_an_agent_removes_what_it_made_where_a_person_agrees(desk: Desk) -> None:
    context = Context("suite", desk.environ)
    toolbox = Toolbox(context, ToolSelection(context.catalog).choose_tools(None))
    made = toolbox.call_tool("issues_new", {"project": "DEMO", "summary": "x"})
    name = re.search(r"journal: (\S+\.jsonl); undo with this name takes back what was changed", made.text)
    assert name is not None, made.text
    with pytest.raises(ConsentNeeded, match="Remove issue DEMO-11") as asked:
        toolbox.call_tool("undo", {"file": name[1]})
    assert toolbox.tools["undo"].annotations["destructiveHint"] is True
    answer = toolbox.call_tool("undo", {"file": name[1]}, agreed=frozenset({asked.value.question}))
    assert (answer.is_error, "removed" in answer.text) == (False, True), answer.text
    context.close()
