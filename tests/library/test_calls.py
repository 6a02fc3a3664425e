"""Calls of a script: what they give, what they refuse, and that they print and ask nothing."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import callsheet
from callsheet.client.http.http_client import Client
from support.canary import TOKEN
from support.server import exchange, reply, serve
from support.waiting import PATIENCE


@pytest.fixture
def issue(suite: callsheet.Program) -> str:
    """The key of an issue of one's own."""
    made = suite.issues.new(project="DEMO", type="Task", summary="Sweep the stage")
    return str(made["key"])


def test_a_list_is_gone_through_row_by_row(suite: callsheet.Program) -> None:
    rows = suite.issues.list(project="OPS")
    found = [row["key"] for row in rows]
    assert found
    assert all(key.startswith("OPS-") for key in found)
    with pytest.raises(callsheet.UsageError, match="gone through already"):
        list(rows)


def test_a_list_goes_on_to_the_last_page_and_one_page_tells_where_the_next_one_starts(suite: callsheet.Program) -> None:
    every = [row["key"] for row in suite.issues.list(project="DEMO")]
    first = suite.issues.list(project="DEMO", limit=2)
    assert [row["key"] for row in first] == every[:2]
    second = suite.issues.list(project="DEMO", limit=2, page_token=first.next_page_token)
    assert [row["key"] for row in second] == every[2:4]
    assert suite.issues.list(project="DEMO", count=True) >= len(every)


def test_a_page_is_asked_for_when_it_is_needed() -> None:
    with serve([]) as server, at(server.url) as suite:
        suite.issues.list(jql="project = DEMO")
        suite.op.searchProjects.all()
        assert server.requests == []


def test_flat_rows_have_the_columns_of_the_view_or_those_that_are_asked_for(suite: callsheet.Program) -> None:
    row = next(suite.issues.list(project="DEMO").flat())
    assert list(row) == ["key", "summary", "status", "assignee", "updated"]
    asked = next(suite.issues.list(project="DEMO", fields="status").flat("key", "fields.status.name"))
    assert list(asked) == ["key", "fields_status_name"]
    with pytest.raises(callsheet.UsageError, match="no column 'sumary', did you mean 'SUMMARY'"):
        suite.issues.list(project="DEMO").flat("sumary")


def test_a_change_is_made_and_read_back(suite: callsheet.Program, issue: str) -> None:
    suite.issues.transition(issue, to="Done", comment="**Shipped**")
    suite.issues.edit(issue, due=date(2027, 1, 2), label=["stage", "broom"])
    found = suite.issues.get(issue)
    assert found["fields"]["status"]["name"] == "Done"
    assert found["fields"]["duedate"] == "2027-01-02"
    assert sorted(found["fields"]["labels"]) == ["broom", "stage"]
    comment = suite.op.getComments(issueIdOrKey=issue)
    assert next(comment)["body"]["content"][0]["content"][0]["marks"] == [{"type": "strong"}]


def test_several_arguments_stand_where_one_may_be_repeated(suite: callsheet.Program, issue: str) -> None:
    other = suite.issues.clone(issue)["key"]
    suite.issues.assign(issue, other, to="me")
    for key in (issue, other):
        assert suite.issues.get(key)["fields"]["assignee"]["displayName"] == "Robin Sample"


@pytest.mark.parametrize("text", ["@/etc/hostname", "-", "@-", "--body", "@@x"])
def test_a_value_is_never_a_file_an_option_or_standard_input(suite: callsheet.Program, issue: str, text: str) -> None:
    suite.issues.edit(issue, summary=text)
    assert suite.issues.get(issue)["fields"]["summary"] == text


def test_a_path_is_a_file_and_a_dash_is_the_name_of_one(suite: callsheet.Program, issue: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("swept", encoding="utf-8")
    (tmp_path / "-").write_text("a dash", encoding="utf-8")
    suite.issues.attach(issue, tmp_path / "notes.txt", "-")
    files = {each["filename"]: each["id"] for each in suite.issues.get(issue)["fields"]["attachment"]}
    assert sorted(files) == ["-", "notes.txt"]
    assert suite.op.getAttachmentContent(id=files["-"]) == b"a dash"
    suite.op.getAttachmentContent(id=files["notes.txt"], out=tmp_path / "copy.txt")
    assert (tmp_path / "copy.txt").read_text(encoding="utf-8") == "swept"
    suite.op.getAttachmentContent(id=files["notes.txt"], out="-")
    assert (tmp_path / "-").read_text(encoding="utf-8") == "swept"


def test_any_operation_has_its_parameters_its_body_and_its_pages(suite: callsheet.Program) -> None:
    assert suite.op.getProject(projectIdOrKey="DEMO", expand=["lead"])["lead"]["displayName"] == "Robin Sample"
    body = {"jql": "project = DEMO", "fields": ["summary"], "maxResults": 2}
    assert len(list(suite.op.searchAndReconsileIssuesUsingJqlPost(body=body))) == 2
    pages = list(suite.op.searchProjects.pages(maxResults=1))
    assert [len(page) for page in pages] == [1] * len(pages)
    assert len(pages) > 1
    assert [project["key"] for project in suite.op.searchProjects.all()] == [page[0]["key"] for page in pages]
    assert len(list(suite.op.searchProjects.all(2))) == 2
    with pytest.raises(callsheet.UsageError, match="getProject has no pages"):
        suite.op.getProject.all(projectIdOrKey="DEMO")


def test_a_thing_is_found_by_a_word_and_has_its_fields_and_its_text(suite: callsheet.Program) -> None:
    page = suite.resource("page").get("DOC/Refunds")
    assert page.title == page.name == "Refunds"
    assert page.body_markdown.startswith("A refund takes **three** days.")
    assert page.body.startswith("<p>A refund takes <strong>three</strong> days.")
    assert page.id in [each.id for each in suite.resource("page").list(space="DOC")]
    assert suite.resource("issue").get("DEMO-1").summary == "A shop that sells on its own"
    with pytest.raises(AttributeError, match="a page has no 'titel', did you mean 'title'"):
        _ = page.titel
    with pytest.raises(callsheet.UsageError, match="no resource 'pge', did you mean 'page'"):
        suite.resource("pge")


def test_a_dry_run_sends_nothing_and_gives_its_requests() -> None:
    with serve([]) as server, at(server.url, dry_run=True) as suite:
        look, change = suite.issues.assign("DEMO-1", to="Robin Sample")
        assert server.requests == []
    assert (look.method, change.method) == ("GET", "PUT")
    assert change.url == f"{server.url}/rest/api/3/issue/DEMO-1/assignee"
    assert change.body == {"accountId": '<accountId of "Robin Sample">'}
    assert change.curl.startswith("curl -X PUT ")
    assert TOKEN not in f"{look}{change}"


def test_one_call_may_be_a_dry_run(suite: callsheet.Program, issue: str) -> None:
    (planned,) = suite.issues.delete.planned(issue)
    assert planned.method == "DELETE"
    assert suite.issues.get(issue)["key"] == issue
    (planned,) = suite.op.deleteIssue.planned(issueIdOrKey=issue)
    assert planned.method == "DELETE"


def test_a_question_is_an_error_that_says_what_answers_it(suite: callsheet.Program, issue: str) -> None:
    with pytest.raises(callsheet.ConfirmationNeeded, match=issue) as told:
        suite.issues.delete(issue)
    assert told.value.hint == "pass yes=True to confirm non-interactively"
    suite.issues.delete(issue, yes=True)
    with pytest.raises(callsheet.NotFound):
        suite.issues.get(issue)


def at(url: str, **settings: Any) -> callsheet.Program:
    return callsheet.open("suite", base_url=url, email="robin@example.org", token=TOKEN, **settings)


@pytest.mark.parametrize(
    ("status", "headers", "kind", "code"),
    [
        (400, {}, callsheet.CallsheetError, 1),
        (401, {}, callsheet.NotAllowed, 3),
        (404, {}, callsheet.NotFound, 4),
        (409, {}, callsheet.Conflict, 5),
        (429, {"Retry-After": "7200"}, callsheet.RateLimited, 6),
    ],
)
def test_errors_are_told_by_class(
    status: int, headers: dict[str, str], kind: type[callsheet.CallsheetError], code: int
) -> None:
    answer = exchange("POST", "/rest/api/3/issue/DEMO-1/comment", reply(status, json={}, headers=headers))
    with serve([answer], trusted=True) as server, at(server.url) as suite, pytest.raises(kind) as told:
        suite.issues.comment("DEMO-1", body="swept")
    assert (told.value.status, told.value.exit_code) == (status, code)
    assert told.value.request == f"POST {server.url}/rest/api/3/issue/DEMO-1/comment"
    assert told.value.hint


def test_nobody_who_answers_is_a_failure_of_the_network() -> None:
    with serve([]) as server:
        url = server.url
    with at(url) as suite, pytest.raises(callsheet.NetworkError) as told:
        suite.issues.comment("DEMO-1", body="swept")
    assert told.value.exit_code == 7


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("suite.isues.list()", "suite has no 'isues', did you mean 'issues'?"),
        ('suite.op.getIsue(issueIdOrKey="DEMO-1")', "no operation 'getIsue', did you mean 'getIssue'?"),
        ("suite.op.getIssue()", 'getIssue requires "issueIdOrKey"'),
        ('suite.op.getIssue(issueIdOrKy="DEMO-1")', "getIssue takes no 'issueIdOrKy', did you mean 'issueIdOrKey'?"),
        ('suite.issues.comment("DEMO-1", bdy="x")', "issues comment takes no 'bdy', did you mean 'body'?"),
        ("suite.issues.get()", "issues get needs issue"),
        ('suite.issues.get("DEMO-1", "DEMO-2")', "issues get takes 1 arguments by place, not 2"),
        ('suite.issues.get(["DEMO-1"])', "issues get: issue takes one value, not several"),
        ('suite.issues.get({"key": "DEMO-1"})', "issues get: issue takes a text or a number, not a table"),
        ("suite.issues.get(object())", "issues get: issue takes a text, a number or a date, not object"),
        ('suite.issues.list(mine="no")', "issues list: mine takes True or False, not 'no'"),
        ("suite.issues.list(max=0)", "max expects a number of at least 1, not 0"),
        ('suite.issues.list(order_by="x", jq=".")', "issues list takes no 'jq'"),
        ("suite.issues()", "issues is a group"),
        ('suite.command("isues list")', "suite has no command 'isues list', did you mean 'issues list'?"),
    ],
)
def test_what_is_wrong_is_told_before_anything_is_sent(call: str, words: str) -> None:
    with serve([]) as server, at(server.url) as suite, pytest.raises(callsheet.UsageError) as told:
        eval(call, {"suite": suite})
    assert str(told.value).startswith(words)
    assert server.requests == []


def test_a_site_is_named_or_given_with_its_credential() -> None:
    with pytest.raises(callsheet.UsageError, match="unknown site 'wrk'"):
        callsheet.open("suite", site="wrk")
    with pytest.raises(callsheet.UsageError, match="a site has its own credential"):
        callsheet.open("suite", site="work", token=TOKEN)
    with pytest.raises(callsheet.UsageError, match="token goes with base_url"):
        callsheet.open("suite", token=TOKEN)
    with pytest.raises(callsheet.UsageError, match="site names one site"):
        callsheet.open("suite", site="a,b")


def test_a_policy_holds_whatever_is_agreed_to() -> None:
    with serve([]) as server, at(server.url, policy="destroy=deny,write=ask", yes=True) as suite:
        with pytest.raises(callsheet.NotAllowed, match="denied by the policy"):
            suite.issues.delete("DEMO-1")
        with pytest.raises(callsheet.NotAllowed, match="nobody can be asked here"):
            suite.op.addComment(issueIdOrKey="DEMO-1", body={"body": {}})
        assert server.requests == []
    with pytest.raises(callsheet.UsageError, match="policy"):
        at(server.url, policy="destry=deny")


def test_many_threads_share_one_program(suite: callsheet.Program) -> None:
    def ask(number: int) -> tuple[str, int]:
        return suite.issues.get(f"DEMO-{number % 5 + 1}")["key"], len(list(suite.issues.list(project="OPS")))

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(ask, range(40)))
    assert [key for key, _ in found] == [f"DEMO-{number % 5 + 1}" for number in range(40)]
    assert len({count for _, count in found}) == 1


def test_one_list_may_be_shared_by_threads(suite: callsheet.Program) -> None:
    every = sorted(row["key"] for row in suite.issues.list(project="DEMO", limit=2, all=True))
    rows = suite.issues.list(project="DEMO", limit=2, all=True)
    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(lambda _: [row["key"] for row in rows], range(1)))
    assert sorted(key for part in parts for key in part) == every


def test_nothing_is_printed_and_remarks_go_to_a_logger(
    suite: callsheet.Program, issue: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "callsheet")
    assert suite.op.editIssue(issueIdOrKey=issue, body={"fields": {"summary": "Sweep"}}) is None
    assert "done: editIssue answered 204 without a body" in caplog.messages
    assert capfd.readouterr() == ("", "")


def test_text_stands_where_a_command_reads_standard_input(suite: callsheet.Program) -> None:
    assert suite.convert(from_="markdown", to="storage", input="**x** @-") == "<p><strong>x</strong> @-</p>\n"


def test_a_list_may_go_to_a_file(suite: callsheet.Program, tmp_path: Path) -> None:
    assert suite.issues.list(project="OPS", out=tmp_path / "issues.csv") is None
    assert (tmp_path / "issues.csv").read_text(encoding="utf-8").startswith("KEY,SUMMARY,")


def test_a_closed_program_sends_nothing_more(suite: callsheet.Program) -> None:
    suite.close()
    with pytest.raises(callsheet.UsageError, match="suite was closed"):
        suite.issues.get("DEMO-1")


def test_what_serves_is_no_call(suite: callsheet.Program) -> None:
    with pytest.raises(callsheet.UsageError, match="serves until it is stopped"):
        suite.mcp.start()


def test_a_table_of_ones_own_may_be_asked_with_sql(suite: callsheet.Program, tmp_path: Path) -> None:
    """Its argument has the name of an option of the whole program."""
    suite.mirror(tmp_path / "site.sqlite", "project")
    assert [
        row["key"] for row in suite.sql(tmp_path / "site.sqlite", "SELECT key FROM projects WHERE key = 'OPS'")
    ] == ["OPS"]


def test_control_c_ends_the_script(suite: callsheet.Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Client, "exchange", press)
    with pytest.raises(KeyboardInterrupt):
        suite.issues.get("DEMO-1")


def test_a_record_is_a_dict_that_can_be_copied_and_sent(suite: callsheet.Program) -> None:
    found = suite.issues.get("DEMO-1")
    assert isinstance(found, dict)
    for same in (copy.deepcopy(found), pickle.loads(pickle.dumps(found)), json.loads(json.dumps(found))):
        assert same == found


HOSTILE = "<script>alert(1)</script>\u202e\x1b[31m&amp;"


def test_a_notebook_shows_tables_in_which_nothing_acts(suite: callsheet.Program) -> None:
    key = suite.issues.new(project="OPS", type="Task", summary=HOSTILE.replace("\x1b", ""))["key"]
    rows = suite.issues.list(project="OPS")
    shown = rows._repr_html_()
    assert "<th>SUMMARY</th>" in shown
    for html in (shown, suite.issues.get(key)._repr_html_(), suite.resource("issue").get(key)._repr_html_()):
        assert "<script" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;" in html
        assert "&amp;amp;" in html
    assert key in [row["key"] for row in rows]  # what was shown is still there
    assert suite.issues.list(jql="project = OPS AND summary ~ nowhere")._repr_html_() == "<p>no results</p>"


def test_a_program_tells_a_notebook_what_it_has(suite: callsheet.Program) -> None:
    assert {"issues", "pages", "op", "resource"} <= set(dir(suite))
    assert "transition" in dir(suite.issues)
    assert "getIssue" in dir(suite.op)
    assert str(suite.issues.transition.__signature__).startswith("(issue=None, to=None, *, id=None")
    assert "standard input" not in suite.issues.transition.__doc__
    assert "the transition or the status it leads to" in suite.issues.transition.__doc__
    assert repr(suite.issues.list(project="DEMO")) == "<Rows of issues list>"


def test_names_of_python_and_of_the_library_are_no_obstacle(suite: callsheet.Program) -> None:
    assert "<strong>" in suite.pages.get("DOC/Refunds", as_="storage")
    assert suite.command("issues get")("DEMO-1")["key"] == "DEMO-1"


SCRIPT = """
import callsheet, sys
with callsheet.open("suite", base_url=sys.argv[1], email="robin@example.org", token=sys.stdin.read()) as suite:
    for issue in suite.issues.list(project="OPS"):
        print(issue["key"])
"""


@pytest.mark.slow
def test_a_script_is_a_process_of_its_own(sandbox: str, suite: callsheet.Program) -> None:
    command = [sys.executable, "-I", "-c", SCRIPT, sandbox]
    done = subprocess.run(command, input=TOKEN, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == [row["key"] for row in suite.issues.list(project="OPS")]


def test_importing_the_package_loads_nothing_of_it() -> None:
    """So it costs next to nothing, and so does a start of a program."""
    code = "import sys; before = {*sys.modules}; import callsheet; print(*sorted({*sys.modules} - before))"
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert done.stdout.split() == ["callsheet"]


def test_every_public_name_is_there_and_no_other() -> None:
    assert all(getattr(callsheet, name) is not None for name in callsheet.__all__)
    with pytest.raises(AttributeError):
        _ = callsheet.opn  # type: ignore[attr-defined]


def test_an_address_that_is_none_is_said_by_its_name_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SUITE_BASE_URL", raising=False)
    for credential in ({}, {"email": "me@example.org", "token": TOKEN}):
        with pytest.raises(callsheet.UsageError, match=r"^base_url: 'nope' is not an http"):
            callsheet.open("suite", base_url="nope", **credential)


def test_a_resource_that_there_is_not_is_told_which_there_are(suite: callsheet.Program) -> None:
    with pytest.raises(callsheet.UsageError, match="did you mean 'page'") as error:
        suite.resource("pgae")
    assert "sprint" in str(error.value.hint)
