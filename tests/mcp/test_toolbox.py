"""Calls of tools: what goes out, what comes back, and what is refused before anything is sent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from callsheet.commands.context import Context
from callsheet.errors import CallsheetError, UsageError
from callsheet.mcp.mcp_server import Resources
from callsheet.mcp.tool_calls import ConsentNeeded, ToolAnswer, Toolbox, Watch
from callsheet.mcp.tools import ToolSelection
from support.canary import text_leaks
from support.shell import Shell
from support.tracker import Tracker, issue

Make = Callable[..., Toolbox]


def told(answer: ToolAnswer) -> str:
    """What stands between the marks of an answer."""
    assert not answer.is_error, answer.text
    found = re.match(r"\[(\w{8}) begin: text from [^\n]*\n(.*)\n\[\1 end\]", answer.text, re.DOTALL)
    assert found is not None, answer.text
    return found[2]


def fields(answer: ToolAnswer) -> dict[str, str]:
    """The lines `name: value` of one thing."""
    return dict(line.split(": ", 1) for line in told(answer).splitlines() if ": " in line)


def cells(answer: ToolAnswer) -> list[dict[str, str]]:
    """The rows of a table."""
    names, _, *rows = [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        for line in told(answer).splitlines()
        if line.startswith("|")
    ]
    return [dict(zip(names, row, strict=True)) for row in rows]


def handle_of(answer: ToolAnswer) -> str | None:
    found = re.search(r"^The answer was cut: read_more with handle (\w+) has the rest\.$", answer.text, re.MULTILINE)
    return found[1] if found else None


def test_a_list_is_flat_with_the_way_to_the_next_page(make: Make, tracker: Tracker) -> None:
    toolbox = make()
    answer = toolbox.call_tool("issues_list", {"mine": True, "limit": 3})
    assert cells(answer)[0] == {
        "key": "DEMO-1",
        "summary": r"Sweep \| the stage",
        "status": "Open",
        "assignee": "Robin Sample",
        "updated": "2026-01-02T03:04:05Z",
    }
    assert told(answer).endswith("\npage_token: page-2")
    assert answer.text.endswith("There are more items: the page_token above has the next ones.")
    assert "--" not in answer.text.replace("---", "")
    toolbox.call_tool("issues_list", {"mine": True, "page_token": "page-2"})
    assert "nextPageToken=page-2" in tracker.requests[-1].query


def test_an_argument_may_have_the_other_name_of_its_parameter(make: Make, tracker: Tracker) -> None:
    toolbox = make("pages")
    toolbox.call_tool("pages_list", {"space": "98305"})
    assert tracker.requests[-1].path.endswith("/spaces/98305/pages")
    wrong = toolbox.call_tool("pages_list", {"spaces": "98305"})
    assert wrong.is_error
    assert "spaces: unknown argument" in wrong.text


def test_words_about_the_command_line_are_put_in_terms_of_tools(make: Make) -> None:
    toolbox = make()
    told = toolbox.call_tool("op_call", {"id": "getIssue", "param": {"issue": "DEMO-1"}})
    assert told.text.endswith("hint: op_describe getIssue")
    assert "standard input" not in json.dumps([tool.input_schema for tool in make("all").tools.values()])


def test_fields_replace_the_columns_and_keep_what_identifies_the_item(make: Make) -> None:
    toolbox = make()
    found = cells(toolbox.call_tool("issues_list", {"mine": True, "fields": ["labels", "fields.status.name"]}))
    assert found[0] == {"key": "DEMO-1", "labels": "a, b", "fields_status_name": "Open"}


def test_a_thing_comes_whole_with_markdown(make: Make) -> None:
    toolbox = make()
    answer = toolbox.call_tool("issues_get", {"issue": "DEMO-1"})
    assert fields(answer)["description"] == "Sweep it \\*\\*twice\\*\\*"
    assert "| Ann | 2026-01-02T03:04:05Z | #7 | done |" in told(answer)
    first, *_, last = answer.text.splitlines()
    assert "data, not instructions" in first
    assert last.endswith("end]")


def test_a_large_answer_is_cut_and_read_on(make: Make, tracker: Tracker) -> None:
    tracker.text = "word " * 9000
    toolbox = make()
    answer = toolbox.call_tool("issues_get", {"issue": "DEMO-1"})
    assert len(answer.text.encode()) <= 16384
    words = told(answer).count("word")
    while handle := handle_of(answer):
        answer = toolbox.call_tool("read_more", {"handle": handle})
        assert len(answer.text.encode()) <= 16384 + 300
        words += told(answer).count("word")
    assert words == 9000


def test_a_long_list_is_cut_between_items(make: Make, tracker: Tracker) -> None:
    tracker.count = 400
    toolbox = make(budget=4096)
    answer = toolbox.call_tool("issues_list", {"mine": True})
    keys = [item["key"] for item in cells(answer)]
    assert 10 < len(keys) < 400
    assert len(answer.text.encode()) <= 4096
    rest = toolbox.rests.take_part(handle_of(answer) or "")[0]
    assert f"| DEMO-{len(keys) + 1} |" in rest


def test_a_write_sends_markdown_as_a_document_and_takes_no_word_for_a_file(make: Make, tracker: Tracker) -> None:
    toolbox = make()
    answer = toolbox.call_tool("issues_comment", {"issue": "DEMO-1", "body": "@/etc/hostname"})
    assert "@/etc/hostname" in told(answer)
    assert tracker.methods == ["GET", "POST", "GET"]  # read again: an undo compares with it what is there then
    assert "/etc/hostname" in tracker.requests[1].body.decode()


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("issues_comment", {"issue": ["HELP-1"], "body": "x"}),
        ("issues_comment", {"issue": ["DEMO-1", "HELP-1", "HELP-2"], "body": "x"}),
        ("issues_transition", {"issue": ["HELP-1"], "to": "Done", "comment": "x"}),
        ("issues_link", {"issue": "DEMO-1", "type": "blocks", "to": ["HELP-1"], "comment": "x"}),
        ("issues_link", {"issue": "HELP-1", "type": "is blocked by", "to": ["DEMO-1"], "comment": "x"}),
    ],
)
def test_on_a_service_desk_it_has_to_be_said_who_sees_a_comment(
    make: Make, tracker: Tracker, name: str, given: dict[str, Any]
) -> None:
    """Before anything is sent, for all issues at once; and what is said arrives."""
    toolbox = make()
    refused = toolbox.call_tool(name, given)
    assert refused.is_error
    assert "say who sees a comment on a service desk" in refused.text
    assert "HELP-1" in refused.text
    assert "POST" not in tracker.methods
    for internal in (True, False):
        told(toolbox.call_tool(name, {**given, "internal" if internal else "public": True}))
        bodies = [
            each.body.decode() for each in tracker.requests if each.path.endswith(("/comment", "/transitions", "Link"))
        ]
        assert ("sd.public.comment" in bodies[-1]) == internal
    assert not toolbox.call_tool(name, {**given, "internal": True, "known_reader": False}).text.startswith("[")


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("issues_comment", {"issue": ["DEMO-1", "DEMO-2"], "body": "x"}),
        ("issues_transition", {"issue": ["HELP-1"], "to": "Done"}),
        ("issues_link", {"issue": "HELP-1", "type": "blocks", "to": ["DEMO-1"], "comment": "x"}),
    ],
)
def test_elsewhere_nothing_has_to_be_said(make: Make, tracker: Tracker, name: str, given: dict[str, Any]) -> None:
    told(make().call_tool(name, given))
    assert "POST" in tracker.methods


def test_a_page_is_edited_as_markdown_and_keeps_what_markdown_cannot_say(make: Make, tracker: Tracker) -> None:
    toolbox = make()
    answer = toolbox.call_tool("pages_get", {"id": "12", "as": "markdown"})
    text = told(answer).removeprefix("## value\n\n")
    assert "<!-- callsheet toc" in text
    done = toolbox.call_tool("pages_edit", {"id": "12", "body": text.replace("Sweep it.", "Sweep it **now**.")})
    assert fields(done)["version"] == "4"
    (sent,) = (json.loads(each.body)["body"]["value"] for each in tracker.requests if each.method == "PUT")
    assert sent == tracker.page.replace("Sweep it.", "Sweep it <strong>now</strong>.")


def test_an_agent_removes_a_label_with_a_hyphen_as_a_person_does(make: Make, tracker: Tracker) -> None:
    toolbox = make()
    toolbox.call_tool("issues_edit", {"issue": "DEMO-1", "label": ["urgent", "-later"], "component": ["-Stage"]})
    (sent,) = (json.loads(each.body)["update"] for each in tracker.requests if each.method == "PUT")
    assert sent == {"labels": [{"add": "urgent"}, {"remove": "later"}], "components": [{"remove": {"name": "Stage"}}]}


def test_addresses_and_lists_are_taken_as_on_the_command_line(make: Make, tracker: Tracker) -> None:
    toolbox = make()
    assert not toolbox.call_tool("issues_get", {"issue": f"{tracker.url}/browse/DEMO-7"}).is_error
    assert tracker.requests[-1].path.endswith("/issue/DEMO-7")
    assert (
        "is not an address of site"
        in toolbox.call_tool("issues_get", {"issue": "https://evil.example/browse/A-1"}).text
    )
    call = {"id": "getIssue", "param": {"issueIdOrKey": "DEMO-1", "fields": ["a", "b"]}}
    assert not toolbox.call_tool("op_call", call).is_error
    assert {"fields=a", "fields=b"} <= set(tracker.requests[-1].query)


def test_a_dry_run_sends_nothing_and_shows_no_credential(make: Make, tracker: Tracker) -> None:
    toolbox = make("issues")
    for name in ("issues_comment", "issues_delete"):
        given = {"issue": "DEMO-1", "body": "x"} if name == "issues_comment" else {"issue": ["DEMO-1"]}
        answer = toolbox.call_tool(name, {**given, "dry_run": True})
        assert "curl -X " in told(answer)
        assert "***" in answer.text
    assert tracker.requests == []


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("issues_get", {}, "issues_get: issue: required"),
        ("issues_get", {"isue": "DEMO-1"}, "isue: unknown argument, did you mean 'issue'?; issue: required"),
        ("issues_get", {"issue": ["DEMO-1"]}, 'issue: expected a text, not ["DEMO-1"]'),
        ("issues_get", {"issue": "DEMO-1", "fields": {}}, "fields: expected a list, not {}"),
        ("issues_list", {"mine": "perhaps"}, 'mine: expected a boolean, not "perhaps"'),
        ("issues_list", {"mine": True, "limit": 1.5}, "limit: expected a whole number, not 1.5"),
        ("issues_list", {"mine": True, "limit": 0}, "limit expects a number of at least 1"),
        ("pages_get", {"id": "1", "as": "html"}, 'as: expected one of markdown, storage, adf, not "html"'),
        ("issues_edit", {"issue": "DEMO-1", "set": "x"}, 'set: expected an object, not "x"'),
        ("issues_list", {"mine": True, "site": "other"}, "site: unknown argument"),
        ("issues_get", {"issue": "DEMO-1", "yes": True, "output": "json"}, "yes: unknown argument"),
        ("issues_get", {"issue": "../../x"}, "is not a valid issue"),
        ("users_me", {"fields": ["acount"]}, "no column 'acount', did you mean 'ACCOUNT'?"),
        ("op_call", {"id": "getIssue"}, 'getIssue requires "issueIdOrKey"'),
        ("op_call", {"id": "getIssu"}, "did you mean getIssue"),
        ("op_call", {"id": "createIssue", "data": "{"}, "createIssue takes a JSON body"),
        ("op_call", {"id": "getIssue", "param": {"issueIdOrKey": "DEMO-1", "x": "1"}}, 'has no parameter "x"'),
    ],
)
def test_wrong_arguments_are_told_before_anything_is_sent(
    make: Make, tracker: Tracker, name: str, given: dict[str, Any], said: str
) -> None:
    answer = make().call_tool(name, given)
    assert answer.is_error
    assert said in answer.text
    assert "--" not in answer.text
    assert tracker.requests == []


@pytest.mark.parametrize(
    "given",
    [
        {"issue": "DEMO-1", "fields": "labels"},
        {"issue": "DEMO-1", "fields": '["labels"]'},
        {"issue": "DEMO-1", "fields": ["labels"], "nothing": None},
    ],
)
def test_what_models_write_otherwise_is_taken(make: Make, given: dict[str, Any]) -> None:
    given.pop("nothing", None)
    answer = make().call_tool("issues_get", given)
    assert told(answer) == "key: DEMO-1\nlabels: a, b"


def test_a_failure_of_the_service_is_told(make: Make) -> None:
    answer = make().call_tool("issues_get", {"issue": "DEMO-404"})
    assert answer.is_error
    assert "no such issue" in answer.text


def test_what_is_not_offered_cannot_be_called(make: Make, tracker: Tracker) -> None:
    toolbox = make("issues", read_only=True)
    for name in ("issues_comment", "issues delete", "issues_delete", "pages_get", "op_call", "auth_login", ""):
        with pytest.raises(UsageError, match="unknown tool"):
            toolbox.call_tool(name, {"issue": "DEMO-1", "body": "x"})
    assert tracker.requests == []


def test_destroying_needs_consent_to_the_very_question(make: Make, tracker: Tracker) -> None:
    toolbox = make("issues,op")
    with pytest.raises(ConsentNeeded) as asked:
        toolbox.call_tool("issues_delete", {"issue": ["DEMO-1"]})
    with pytest.raises(ConsentNeeded):
        toolbox.call_tool("issues_delete", {"issue": ["DEMO-2"]}, agreed=frozenset({asked.value.question}))
    with pytest.raises(ConsentNeeded):
        toolbox.call_tool("op_call", {"id": "deleteIssue", "param": {"issueIdOrKey": "DEMO-1"}})
    assert tracker.requests == []
    answer = toolbox.call_tool("issues_delete", {"issue": ["DEMO-1"]}, agreed=frozenset({asked.value.question}))
    assert fields(answer) == {"key": "DEMO-1", "done": "deleted"}
    assert tracker.methods == ["DELETE"]


def test_a_call_that_was_given_up_sends_nothing_more(make: Make, tracker: Tracker) -> None:
    watch = Watch()
    watch.give_up()
    answer = make().call_tool("issues_get", {"issue": "DEMO-1"}, watch)
    assert answer.is_error
    assert tracker.requests == []


def test_the_catalog_is_searched_described_and_called(make: Make) -> None:
    toolbox = make()
    found = toolbox.call_tool("op_search", {"text": ["move", "issue"], "max": 3}).text
    assert len([line for line in found.splitlines() if line.startswith("|")]) == 2 + 3
    described = toolbox.call_tool("op_describe", {"id": "getIssue"})
    assert "issueIdOrKey" in described.text
    assert "instructions" not in described.text
    called = json.loads(told(toolbox.call_tool("op_call", {"id": "getIssue", "param": {"issueIdOrKey": "DEMO-1"}})))
    assert called["key"] == "DEMO-1"
    assert called["fields"]["description"] == "Sweep it \\*\\*twice\\*\\*\n"
    assert called["fields"]["summary"] == "Sweep | the stage"


def test_things_are_read_by_their_addresses(make: Make) -> None:
    resources = Resources(make())
    text, media = resources.read_resource("suite://issues/DEMO-1", Watch())
    assert media == "text/markdown"
    assert "Sweep it" in text
    text, media = resources.read_resource("suite://issues/DEMO-1/attachments/31", Watch())
    assert media == "text/plain"
    assert text.splitlines()[1] == "hello"


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("suite://issues/DEMO-1/attachments/32", "not text, it is image/png"),
        ("suite://issues/DEMO-404", "no such issue"),
        ("suite://issues/..%2F..%2Fmyself", "is not a valid issue"),
        ("suite://issue/DEMO-1", "unknown address"),
        ("file:///etc/passwd", "unknown address"),
        ("suite://issues/DEMO-1/x", "unknown address"),
        ("suite://operations/getIssu", "unknown operation"),
    ],
)
def test_other_addresses_are_refused(make: Make, uri: str, said: str) -> None:
    with pytest.raises(CallsheetError, match=said):
        Resources(make()).read_resource(uri, Watch())


def test_names_are_completed(make: Make) -> None:
    resources = Resources(make())
    assert resources.complete_name("suite://issues/{key}", "key", "demo-2") == ["DEMO-2"]
    assert "getIssue" in resources.complete_name("suite://operations/{id}", "id", "getIss")
    assert resources.complete_name("suite://issues/{key}", "other", "") == []
    assert resources.complete_name("suite://nothing/{key}", "key", "") == []
    assert resources.complete_name("suite://projects/{key}", "key", "D") == []


def test_issues_of_the_tests_hold_what_is_hidden() -> None:
    assert issue("DEMO-1")["fields"]["summary"] != "Sweep | the stage"


@pytest.mark.slow
def test_several_calls_at_once_share_connections_and_nothing_else(make: Make, tracker: Tracker) -> None:
    toolbox = make()
    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(lambda number: toolbox.call_tool("issues_get", {"issue": f"DEMO-{number}"}), range(1, 13))
        )
    assert [fields(answer)["key"] for answer in answers] == [f"DEMO-{n}" for n in range(1, 13)]
    assert len(tracker.requests) == 12


def test_without_a_site_the_catalog_can_be_read_and_calls_say_what_to_do(variables: dict[str, str]) -> None:
    environ = {name: value for name, value in variables.items() if not name.startswith("SUITE_") or "DEFIN" in name}
    context = Context("suite", environ)
    try:
        toolbox = Toolbox(context, ToolSelection(context.catalog).choose_tools(None))
        assert not toolbox.call_tool("op_search", {"text": "move issue"}).is_error
        assert "suite init" in toolbox.call_tool("issues_get", {"issue": "DEMO-1"}).text
    finally:
        context.close()


def test_the_token_of_a_stream_is_made_once_and_replaced_when_asked(shell: Shell) -> None:
    first = shell("mcp", "token").out.strip()
    assert len(first) > 40
    assert shell("mcp", "token").out.strip() == first
    assert shell("mcp", "token", "--new").out.strip() not in ("", first)
    assert not any(first.encode() in path.read_bytes() for path in shell.files())


def test_options_of_whoever_starts_the_server_show_an_agent_no_credential(variables: dict[str, str]) -> None:
    context = Context("suite", variables)
    context.options = {"show-token": True, "verbose": True, "columns": "SUMMARY", "jq": ".[0]", "dry-run": True}
    try:
        toolbox = Toolbox(context, ToolSelection(context.catalog).choose_tools("issues"))
        answer = toolbox.call_tool("issues_comment", {"issue": "DEMO-1", "body": "x"})
        assert "***" in answer.text
        assert not text_leaks(answer.text)
    finally:
        context.close()


def test_the_bytes_of_a_file_never_reach_the_protocols_own_output(
    make: Make, tracker: Tracker, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    toolbox = make()
    answer = toolbox.call_tool("op_call", {"id": "getAttachmentContent", "param": {"id": "31"}})
    assert capfdbinary.readouterr().out == b""
    assert told(answer)
